import os
import sys

import forked_kernels
import pytest
from jupyter_client.manager import KernelManager
from jupyter_client.provisioning import local_provisioner

SPIN = """
import os, sys
while os.times()[0] < 1: pass
assert not [name for name in sys.modules if name.startswith("gemlite")]
assert not [folder for folder in sys.path if folder.endswith("tests")]
"""


@pytest.mark.skipif(sys.platform != "linux", reason="kernels are forked on Linux")
def test_a_forked_kernel_is_as_a_fresh_one_and_its_time_counts(monkeypatch, tmp_path):
    monkeypatch.setattr(local_provisioner, "launch_kernel", forked_kernels.fork_kernel)
    manager = KernelManager()
    manager.start_kernel(cwd=str(tmp_path))
    kernel = manager.provisioner.process
    assert os.getpgid(kernel.pid) == kernel.pid  # so that its end is nobody else's
    client = manager.client()
    client.start_channels()
    client.wait_for_ready()
    before = forked_kernels.seconds_so_far()
    reply = client.execute_interactive(SPIN, timeout=60)
    assert reply["content"]["status"] == "ok", reply
    assert kernel.poll() is None
    client.stop_channels()
    manager.shutdown_kernel(now=True)
    assert kernel.poll() == 0
    assert forked_kernels.seconds_so_far() - before >= 0.5
