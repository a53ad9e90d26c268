"""Call an answer many times for one message to its process."""


def prepare():
    """Nothing is to be done before the first call."""


def results(answer, arguments):
    """What the answer returns for each of these tuples of arguments."""
    return [answer(*each) for each in arguments]
