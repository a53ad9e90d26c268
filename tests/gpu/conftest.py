import os

import pytest
import torch

HOPPER = (9, 0)

# `make test` runs without a GPU; `make test-gpu` refuses to.
collect_ignore_glob = [] if torch.cuda.is_available() else ["*"]


def pytest_configure(config):
    config.addinivalue_line("markers", "hopper: for a GPU of compute capability 9.0 alone")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Leave out what another GPU has no instructions for, and what other shards run: run.py."""
    if torch.cuda.is_available() and torch.cuda.get_device_capability() != HOPPER:
        items[:] = [item for item in items if not item.get_closest_marker("hopper")]
    shard, shards = map(int, os.environ.get("GEMLITE_EDU_SHARD", "0/1").split("/"))
    items[:] = items[shard::shards]
