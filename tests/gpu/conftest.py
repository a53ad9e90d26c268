import pytest
import torch

HOPPER = (9, 0)
MOST_KEPT = 2**30  # bytes of the GPU that a process keeps between two tests

# `make test` runs without a GPU; `make test-gpu` refuses to.
collect_ignore_glob = [] if torch.cuda.is_available() else ["*"]


def pytest_configure(config):
    config.addinivalue_line("markers", "hopper: for a GPU of compute capability 9.0 alone")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Leave out what another GPU has no instructions for."""
    if torch.cuda.is_available() and torch.cuda.get_device_capability() != HOPPER:
        items[:] = [item for item in items if not item.get_closest_marker("hopper")]


@pytest.fixture(autouse=True)
def room_for_others():
    """Other processes test on this GPU, too: see run.py."""
    yield
    if torch.cuda.memory_reserved() > MOST_KEPT:
        torch.cuda.empty_cache()
