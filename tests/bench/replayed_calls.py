class ReplayedCalls:
    """A clock without a GPU: it calls again, and writes into the outputs of the first call.

    A call that returns None in a replay did its work where no graph captured it.
    """

    microseconds = 1.0
    is_replaying = False

    def __init__(self, calls):
        self._calls = calls
        self.outputs = [call() for call in calls]

    def replay(self):
        ReplayedCalls.is_replaying = True
        for call, output in zip(self._calls, self.outputs, strict=True):
            again = call()
            if again is not None:
                output.copy_(again)
        ReplayedCalls.is_replaying = False
        return self.microseconds
