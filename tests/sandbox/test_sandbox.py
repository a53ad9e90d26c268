"""An answer in its own process hurts nothing, reaches nothing, and ends with one sentence."""

import os
import signal
import threading
import time
from collections import OrderedDict, namedtuple
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
import torch

from gemlite_edu.runners.forbidden_calls import filter_of_calls
from gemlite_lab.checker import EXERCISES, CheckFailed, check
from gemlite_lab.checker.wrong_answers import as_answer
from gemlite_lab.sandbox import sandbox
from gemlite_lab.sandbox.many_calls import results
from gemlite_lab.sandbox.messages import Foreign, packed, plain, unpacked
from gemlite_lab.sandbox.sandbox import AnswerError, Sandbox

CHECKER = Path(sandbox.__file__).parents[1] / "checker"
RIGHT_PACK = Path(__file__).parents[1] / "right/pack/plain.py"
confined = pytest.mark.skipif(not filter_of_calls(), reason="a machine without a filter")


@pytest.fixture(autouse=True)
def own_progress(monkeypatch, tmp_path):
    monkeypatch.setenv("GEMLITE_EDU_PROGRESS", str(tmp_path / "progress.json"))


def error_of(answer, *arguments):
    with Sandbox(answer) as sandboxed, pytest.raises(AnswerError) as caught:
        sandboxed(*arguments)
    return caught.value


def answer_with(statement):
    """A function of one argument that runs `statement`."""
    namespace = {}
    exec(f"def answer(x):\n    {statement}\n    return x", namespace)
    return namespace["answer"]


def right_pack_still_passes():
    check("pack", as_answer(EXERCISES["pack"], RIGHT_PACK.read_text(), "plain"))


@confined
@pytest.mark.parametrize(
    "statement, kind",
    [
        ("import os; os.fork()", "PermissionError"),
        ("import os; os.posix_spawn('/bin/true', ['true'], {})", "PermissionError"),
        ("import subprocess; subprocess.run(['true'])", "PermissionError"),
        ("import multiprocessing as m; p = m.Process(target=print); p.start()", "PermissionError"),
        ("open('/tmp/gemlite_edu_written', 'w')", "PermissionError"),
        ("import os; os.remove(__import__('sys').executable)", "PermissionError"),
        ("import os; os.mkdir('/tmp/gemlite_edu_made')", "PermissionError"),
        ("import socket; socket.socket()", "PermissionError"),
        ("import os; os.kill(os.getppid(), 9)", "PermissionError"),
        ("import os; os.killpg(0, 9)", "PermissionError"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSTOP)", "PermissionError"),
        ("import os; os.setsid()", "PermissionError"),
        ("import os; open(f'/proc/{os.getppid()}/mem', 'rb')", "PermissionError"),
        (f"open({str(CHECKER / 'pack.py')!r})", "PermissionError"),
        ("x = bytearray(10**10)", "MemoryError"),
        ("x = torch.ones(10**10)", "NameError"),
        ("import torch; x = torch.ones(10**10)", "RuntimeError"),
        ("import resource as r; r.setrlimit(r.RLIMIT_DATA, (-1, -1))", "ValueError"),
        (
            "import threading as t; [t.Timer(99, print).start() for _ in range(10**5)]",
            "RuntimeError",
        ),
        ("exit()", "SystemExit"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("import os; os._exit(0)", "ended"),
        ("import os; os.closerange(0, 100)", "ended"),
        ("import os; os.abort()", "ended"),
        ("import ctypes; ctypes.string_at(0)", "ended"),
        ("import gemlite_lab.checker", "ImportError"),
        ("from gemlite_edu.packing import pack_warped_int32", "ImportError"),
    ],
)
def test_what_an_answer_may_not_do_raises_there_and_the_next_check_is_right(statement, kind):
    assert error_of(answer_with(statement), 1).kind == kind
    right_pack_still_passes()


def test_nothing_of_the_process_is_left():
    def answer(x):
        import os

        return os.getpid()

    with Sandbox(answer) as sandboxed:
        process = sandboxed(1)
        os.kill(process, 0)
    assert_that_it_ends(process)


def assert_that_it_ends(process):
    for _ in range(100):
        with suppress(ProcessLookupError):
            os.kill(process, 0)
            time.sleep(0.01)
            continue
        return
    raise AssertionError("the process is still there")


@pytest.mark.parametrize(
    "body", ["while True: pass", "while True: x += 1", "[0 for _ in iter(int, 1)]"]
)
def test_a_loop_that_never_ends_is_stopped_and_its_line_told(body, monkeypatch):
    monkeypatch.setattr(sandbox, "SECONDS", 0.2)
    error = error_of(as_answer(EXERCISES["pack"], f"def pack(x):\n    {body}\n", "loop"), 1)
    assert error.kind == "endless" and error.line in body


@pytest.mark.parametrize(
    "statement",
    [
        "sum(__import__('itertools').repeat(0))",
        "__import__('collections').deque(__import__('itertools').count(), maxlen=0)",
        "max(iter(float, 1))",
        "all(__import__('itertools').repeat(True))",
        "1 in __import__('itertools').repeat(0)",
        "3 ** 10**9",
        "import signal; signal.setitimer(signal.ITIMER_PROF, 0)\n    while True: pass",
        "import signal; signal.signal(signal.SIGPROF, signal.SIG_IGN)\n    while True: pass",
    ],
)
def test_what_a_timer_of_its_own_does_not_end_is_killed(statement, monkeypatch):
    monkeypatch.setattr(sandbox, "SECONDS", 0.2)
    monkeypatch.setattr(sandbox, "_GRACE_SECONDS", 0.2)
    assert error_of(answer_with(statement), 1).kind == "endless"


@pytest.mark.parametrize(
    "statement",
    [
        "__import__('time').sleep(999)",
        "[__import__('time').sleep(0.001) for _ in iter(int, 1)]",
        "__import__('threading').Event().wait(999)",
    ],
)
def test_an_answer_that_sleeps_is_stopped(statement, monkeypatch):
    monkeypatch.setattr(sandbox, "_ASLEEP_SECONDS", 0.5)
    assert error_of(answer_with(statement), 1).kind == "asleep"


def test_an_answer_that_naps_between_its_work_is_not_stopped(monkeypatch):
    monkeypatch.setattr(sandbox, "_ASLEEP_SECONDS", 0.5)
    with Sandbox(answer_with("import time; time.sleep(0.3); [0 for _ in range(10**6)]")) as napping:
        assert napping(1) == 1


def test_after_a_call_that_was_stopped_none_runs(monkeypatch):
    monkeypatch.setattr(sandbox, "SECONDS", 0.2)
    with Sandbox(answer_with("while x > 1: pass")) as sandboxed:
        assert sandboxed(1) == 1
        for number in (2, 1):
            with pytest.raises(AnswerError) as caught:
                sandboxed(number)
            assert caught.value.kind == "endless"
            sandboxed.forget()


def test_an_interrupt_of_the_learner_ends_the_process_and_is_passed_on():
    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    with Sandbox(answer_with("__import__('time').sleep(999)")) as sandboxed:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        with pytest.raises(KeyboardInterrupt):
            sandboxed(1)
    signal.signal(signal.SIGALRM, before)


def test_a_context_that_ends_while_another_thread_begins_a_call_leaves_no_process(monkeypatch):
    begun, may_go_on, receive = threading.Event(), threading.Event(), sandbox.receive

    def receive_late(connection):
        if not begun.is_set():  # the process says which one it is
            begun.set()
            may_go_on.wait(10)
        return receive(connection)

    def call():
        with suppress(Exception):
            inside([1])

    monkeypatch.setattr(sandbox, "receive", receive_late)
    inside = Sandbox(len)
    threads = [threading.Thread(target=target) for target in (call, inside.__exit__)]
    threads[0].start()
    begun.wait(10)
    threads[1].start()
    may_go_on.set()
    for thread in threads:
        thread.join(10)
    assert_that_it_ends(inside._process)
    with pytest.raises(AnswerError):
        inside([1])


def test_an_error_that_cannot_say_what_it_is_still_has_a_sentence():
    class Mute(Exception):
        def __str__(self):
            raise ValueError

    def answer(x):
        raise Mute

    error = error_of(answer, 1)
    assert (error.kind, str(error)) == ("Mute", "(its __str__ raises ValueError)")


def test_what_it_prints_is_shown_and_a_flood_is_cut(capsys):
    with Sandbox(answer_with("[print('hello', i) for i in range(10**5)]")) as sandboxed:
        sandboxed(1)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["hello 0", "hello 1"] and len(lines) == 101
    assert lines[-1].endswith(" more lines")


def test_neither_frames_nor_modules_hold_the_right_output():
    def answer(x):
        import gc
        import sys

        frame, names = sys._getframe(), set()
        while frame:
            names |= frame.f_locals.keys()
            frame = frame.f_back
        loaded = [
            name
            for name in sys.modules
            if name.startswith(("gemlite_lab.checker", "gemlite_edu.packing"))
        ]
        tensors = sum(isinstance(o, __import__("torch").Tensor) for o in gc.get_objects())
        return "expected" in names, loaded, tensors

    with Sandbox(answer) as sandboxed:
        assert sandboxed(torch.ones(3)) == (False, [], 2)  # the argument, and the copy of it


def test_a_changed_argument_comes_back_changed():
    x = torch.ones(3)
    with Sandbox(lambda x: x.zero_().sum()) as sandboxed:
        sandboxed(x)
    assert not x.any()


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.resize_(1),
        lambda x: setattr(x, "data", x.data.double()),
        lambda x: x.requires_grad_() is None,
    ],
)
def test_an_argument_may_not_become_one_of_another_kind(change):
    with pytest.raises(AnswerError, match="changed its input x: work on a copy"):
        with Sandbox(lambda x: change(x)) as sandboxed:
            sandboxed(torch.ones(3))


def test_a_result_has_memory_of_its_own():
    kept = []

    def keep(x):
        kept.append(x + 1)
        return kept[0]

    with pytest.raises(AnswerError, match="returned a view of its input"):
        with Sandbox(lambda x: [1, x[1:]]) as sandboxed:
            sandboxed(torch.ones(3))
    with Sandbox(keep) as sandboxed:
        sandboxed(torch.ones(3))
        with pytest.raises(AnswerError, match="keep returned the tensor of an earlier call again"):
            sandboxed(torch.zeros(3))


def test_an_answer_keeps_what_it_remembers_for_one_check_only():
    def answer(x, seen=[]):  # noqa: B006
        seen.append(x)
        return len(seen)

    for _ in range(2):
        with Sandbox(answer) as sandboxed:
            assert [sandboxed(1), sandboxed(1)] == [1, 2]


def test_an_address_tells_no_two_inputs_apart():
    def answer(x, seen={}):  # noqa: B006
        return seen.setdefault(x.data_ptr(), x.sum().item())

    with Sandbox(answer) as sandboxed:
        assert sandboxed(torch.ones(3)) == sandboxed(torch.zeros(3)) == 3
    with Sandbox(lambda x, y: x - y) as sandboxed:
        assert sandboxed(torch.ones(3), torch.zeros(3)).tolist() == [1, 1, 1]


def test_what_cannot_be_sent_is_told():
    numbers = (number for number in range(3))

    def pack(W_q, nbits):
        return next(numbers)

    with pytest.raises(CheckFailed, match="pack uses what cannot be sent to the process where"):
        check("pack", pack)


class Liar(torch.Tensor):
    def __eq__(self, other):
        return True


class Number:
    def __float__(self):
        return 1.0


@pytest.mark.parametrize("value", [torch.ones(2).as_subclass(Liar), Number(), b"", {1}, 1j, object])
def test_other_values_come_back_as_nothing_but_their_types_name(value):
    came = unpacked(packed(plain(value)))
    assert isinstance(came, Foreign) and type(came).__name__ == type(value).__name__


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        2.5,
        "text",
        (1, [2.0, {"a": None}]),
        torch.arange(6).reshape(2, 3),
        torch.ones(()),
    ],
)
def test_plain_values_come_back_as_they_are(value):
    came = unpacked(packed(plain(value)))
    same = torch.equal(came, value) if isinstance(value, torch.Tensor) else came == value
    assert same and type(came) is type(value)


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
def test_reading_a_message_runs_nothing_of_it():
    import pickle

    class Attack:
        def __reduce__(self):
            return os.mkdir, ("/tmp/gemlite_edu_attack",)

    with pytest.raises(Exception):  # noqa: B017
        unpacked(pickle.dumps(Attack()))
    assert not os.path.exists("/tmp/gemlite_edu_attack")


def test_what_named_tuples_and_ordered_dicts_hold_comes_through():
    pair = namedtuple("Pair", "x_q scales")(1, [2])
    assert unpacked(packed(plain(pair))) == (1, [2])
    assert unpacked(packed(plain(OrderedDict(a=pair)))) == {"a": (1, [2])}


def test_a_partial_function_is_sent_with_the_function_that_it_fills():
    with Sandbox(partial(_sum_of, added=2)) as answer:
        assert answer(1) == 3


def _sum_of(number, added):
    return number + added


@pytest.mark.parametrize("statement", ["x.zero_()", "x[-1] += 1", "x.resize_(1)", "y.neg_()"])
def test_an_answer_that_is_called_many_times_changes_no_input(statement):
    namespace = {}
    exec(f"def answer(x, y):\n    {statement}", namespace)
    with Sandbox(namespace["answer"], module="gemlite_lab.sandbox.many_calls") as sandboxed:
        with pytest.raises(AnswerError, match=f"changed its input {statement[0]}:") as caught:
            sandboxed.run(results, [(torch.ones(2), torch.ones(3))])
    assert caught.value.kind == "CheckFailed"


def test_an_answer_that_is_called_many_times_returns_no_list_twice():
    kept = []

    def answer(number):
        kept[:] = [number]
        return kept

    with Sandbox(answer, module="gemlite_lab.sandbox.many_calls") as sandboxed:
        with pytest.raises(AnswerError, match="answer returned one list in two calls"):
            sandboxed.run(results, [(1,), (2,)])
        with pytest.raises(AnswerError, match="answer returned one list in two calls"):
            sandboxed.run(results, [(torch.ones(3),), (torch.zeros(3),)])
        assert sandboxed.run(results, [(1,), (1,)]) == [[1], [1]]
