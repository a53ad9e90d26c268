"""A kernel's process can start nothing, write nothing, reach no other process, and ends alone."""

import pytest
import torch

from gemlite_edu.runners.forbidden_calls import filter_of_calls

pytestmark = pytest.mark.skipif(not filter_of_calls(), reason="a machine without a filter")

DECLARED = """
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
"""
REFUSED = (
    *("fork()", "vfork()", "setsid()", "setpgid(0, 0)", "kill(getppid(), 9)", "kill(0, 9)"),
    *("raise(SIGSTOP)", "raise(SIGKILL)", "socket(AF_INET, SOCK_STREAM, 0)", '-system("true")'),
    *('open("/tmp/gemlite_edu_written", O_CREAT | O_WRONLY, 0600)', 'unlink("/tmp")'),
    *('open("/etc/passwd", O_RDONLY)', 'open("/proc/self/mem", O_RDONLY)', "ftruncate(3, 0)"),
    *("mkdir_here()", 'execl("/bin/true", "true", nullptr)', "memory()", "unlimited()"),
)
TEXT = f"""{DECLARED}
#include <sys/stat.h>
int mkdir_here() {{ return mkdir("/tmp/gemlite_edu_made", 0700); }}
int memory() {{ return malloc(10000000000ul) ? 0 : -1; }}
int unlimited() {{
  rlimit most = {{RLIM_INFINITY, RLIM_INFINITY}};
  return setrlimit(RLIMIT_CPU, &most);
}}
__global__ void kernel(const float* x, float* y) {{
  {" ".join(f"y[{i}] = {call} < 0;" for i, call in enumerate(REFUSED))}
}}
"""


def test_what_a_kernel_may_not_do_fails_and_the_kernel_goes_on(launch):
    y = launch(TEXT, {"y": torch.zeros(len(REFUSED))}, {"x": torch.zeros(1)}, threads=1)
    done = [call for call, refused in zip(REFUSED, y, strict=True) if not refused]
    assert not done
