"""Let nbval fork its kernels from one process, to save each of them two seconds of imports."""

import atexit
import json
import os
import socket
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

_TEMPLATE = Path(__file__).parent / "kernel_template.py"
_MODULE = "ipykernel_launcher"  # what runs a kernel that is not forked


class ForkedKernel:
    """A kernel with the methods of Popen that jupyter_client calls."""

    stdin = stdout = stderr = None

    def __init__(self, pid):
        self.pid = pid

    def poll(self):
        """None while it runs; the template takes it away once it has ended."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return 0

    def wait(self):
        while self.poll() is None:
            time.sleep(0.01)
        return 0

    def send_signal(self, number):
        os.kill(self.pid, number)


def fork_kernel(command, *, env, cwd=None, **_):
    """In place of jupyter_client's `launch_kernel`; its output goes nowhere."""
    arguments = command[command.index(_MODULE) :]
    message = {"arguments": arguments, "environment": env, "folder": cwd or os.getcwd()}
    control, _ = template()
    control.send(json.dumps(message).encode())
    return ForkedKernel(int(control.recv(100)))


@cache
def template():
    """(socket, process) of the template; it starts at the first kernel of this process."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = subprocess.Popen(
        [sys.executable, "-P", str(_TEMPLATE), str(theirs.fileno())],
        pass_fds=[theirs.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    theirs.close()
    atexit.register(_end, ours, process)
    return ours, process


def _end(control, process):
    control.close()
    process.wait()


def seconds_so_far():
    """Processor time of the template and of the kernels that have ended."""
    if not template.cache_info().currsize:
        return 0.0
    _, process = template()
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(") ")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
