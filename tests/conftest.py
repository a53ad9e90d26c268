# Answers of learners: the checker's tests read them, nobody imports them.
collect_ignore = ["wrong", "right"]

EVERY_CASE = "every_case"


def pytest_configure(config):
    config.addinivalue_line("markers", f"{EVERY_CASE}: minutes of cases; `-m {EVERY_CASE}` runs it")


def pytest_collection_modifyitems(config, items):
    """What is marked so runs only where `-m` names it."""
    if EVERY_CASE in config.option.markexpr:
        return
    left_out = [item for item in items if item.get_closest_marker(EVERY_CASE)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker(EVERY_CASE)]
