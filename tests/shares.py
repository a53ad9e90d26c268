"""How pytest's workers share the tests: whole files, and of the bank whole exercises.

As one file, the bank of answers would keep one worker busy for minutes after the others have ended.
The tests of an exercise stay together, because a process computes its cases once.
"""

from xdist.scheduler import LoadFileScheduling

_BANK = "test_wrong_answers.py"


class ByFileOrExercise(LoadFileScheduling):
    """The scheduler of `--dist loadfile`, which divides the bank further."""

    def _split_scope(self, nodeid):
        return share_of(nodeid)


def share_of(nodeid):
    """The name that a test has in common with all that run in the same process.

    >>> share_of("checker/test_wrong_answers.py::test_it[pack/every_code]")
    'checker/test_wrong_answers.py pack'
    >>> share_of("checker/test_check.py::test_it[pack/every_code]")
    'checker/test_check.py'
    """
    file, _, test = nodeid.partition("::")
    if not file.endswith(_BANK):
        return file
    exercise = test.partition("[")[2].rstrip("]").partition("/")[0]
    return f"{file} {exercise}"
