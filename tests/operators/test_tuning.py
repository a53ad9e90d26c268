"""Configs: which are tried, measured once, kept in a file, and taken from one."""

import json
import os
import random
import re
import shutil
import stat
import threading
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
import torch
from linear_cases import make

from gemlite_edu.core import GemLiteLinear
from gemlite_edu.kernels.triton import INT4_KERNELS, KERNELS, hashes
from gemlite_edu.kernels.triton.configs import candidates, default_config
from gemlite_edu.operators import tuning
from gemlite_edu.operators.weight import PackedWeight

NAMES = {"BLOCK_M", "BLOCK_N", "chunks", "num_warps", "num_stages"}
CONFIG = dict(BLOCK_M=16, BLOCK_N=64, chunks=4, num_warps=2, num_stages=3)
OTHER = CONFIG | {"BLOCK_N": 128}
DATA = Path(tuning.__file__).parent / "data"
SIZES = (1, 2, 3, 16, 17, 64, 100, 512, 4096, 11008, 16384, 65536)
BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch):
    """Each test has configs of its own, and measures where it may."""
    monkeypatch.setattr(tuning, "_configs", {})
    monkeypatch.setattr(tuning, "_measures", True)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "configs.json"


def is_config(config):
    """Whether a kernel can be cut like this."""
    powers = {"BLOCK_M", "BLOCK_N", "BLOCK_K", "num_warps"} & config.keys()
    return (
        config.keys() - {"BLOCK_K"} == NAMES
        and all(type(value) is int and value > 0 for value in config.values())
        and all(config[name].bit_count() == 1 for name in powers)
        and config["num_warps"] <= 32
    )


# What is tried


@pytest.mark.parametrize("kernel", KERNELS)
def test_candidates_are_few_plain_and_different(kernel):
    for M in (*BUCKETS, 3, 100, 5000):
        for N in SIZES:
            found = candidates(kernel, M, N)
            assert 1 <= len(found) <= 30, (M, N, len(found))
            assert all(map(is_config, found)), (M, N)
            assert len({tuple(config.items()) for config in found}) == len(found), (M, N)
            assert json.loads(json.dumps(found)) == found
            assert default_config(kernel, M, N, interpreted=False) in found
            if kernel.startswith("gemm"):
                assert all(config["BLOCK_M"] >= 16 for config in found)
            if kernel == "gemm":
                assert all(config["chunks"] == 1 for config in found)


@pytest.mark.parametrize("kernel", KERNELS)
def test_default_configs_are_plain_too(kernel):
    for interpreted in (False, True):
        for M in (1, 17, 4096):
            first, second = (default_config(kernel, M, 300, interpreted) for _ in range(2))
            assert is_config(first) and first == second
            first["BLOCK_N"] = 7
            assert default_config(kernel, M, 300, interpreted) == second


def test_candidates_are_fresh_every_time():
    candidates("gemm", 64, 64)[0]["BLOCK_N"] = 7
    assert all(map(is_config, candidates("gemm", 64, 64)))


# Keys


def test_buckets_are_powers_of_two():
    assert [tuning.bucket(M) for M in (0, 1, 2, 3, 4, 5, 9)] == [1, 1, 2, 4, 4, 8, 16]
    assert [tuning.bucket(M) for M in (4095, 4096, 4097, 10**6)] == [4096] * 4
    assert all(tuning.bucket(M) in BUCKETS and tuning.bucket(M) >= M for M in range(1, 4097))


def weight(nbits=4, group_size=64, N=24, K=128, mode=None, **options):
    layer = make(nbits, group_size, N=N, K=K, **options).layer
    return PackedWeight(
        layer.W_q, layer.layout, mode or layer.mode, layer.scales, layer.zeros, high=layer.high
    )


def rows(M, K=128, dtype=torch.float16):
    return torch.zeros(M, K, dtype=dtype)


def test_one_key_for_the_rows_of_a_bucket():
    keys = {tuning.key_of("gemm", rows(M), weight()) for M in range(33, 65)}
    assert len(keys) == 1
    assert tuning.key_of("gemm", rows(65), weight()) not in keys


def test_another_problem_has_another_key():
    problems = [
        ("gemm", rows(4), weight()),
        ("gemv", rows(4), weight()),
        ("gemm", rows(8), weight()),
        ("gemm", rows(4, dtype=torch.bfloat16), weight()),
        ("gemm", rows(4, dtype=torch.int8), weight()),
        ("gemm", rows(4), weight(N=25)),
        ("gemm", rows(4, K=192), weight(K=192)),
        ("gemm", rows(4), weight(group_size=32)),
        ("gemm", rows(4), weight(group_size=None)),
        ("gemm", rows(4), weight(nbits=2)),
        ("gemm", rows(4), weight(nbits=3)),
        ("gemm", rows(4), weight(zeros=False)),
        ("gemm", rows(4), weight(nbits=8, group_size=None)),
        ("gemm", rows(4), weight(nbits=8, group_size=None, weights=torch.int8)),
        ("gemm", rows(4), weight(nbits=8, group_size=None, weights=torch.float8_e4m3fn)),
    ]
    keys = [tuning.key_of(*problem) for problem in problems]
    keys.append(tuning.key_of(*problems[0], torch.float16))
    assert len(set(keys)) == len(problems) + 1
    assert all(isinstance(key, str) and "\n" not in key for key in keys)


# Measured once


class OnGpu:
    """x of a GPU, as far as a choice of config looks at it."""

    dtype = torch.float16

    def __init__(self, M, K=128):
        self.shape, self.device = (M, K), torch.device("cuda", 0)

    def __len__(self):
        return self.shape[0]


@pytest.fixture
def gpu(monkeypatch):
    """A device in name alone; the list of what was measured on it."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device=None: "Some GPU")
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    seen = []

    def measured(name, x, weight, run):
        seen.append((name, tuning.bucket(len(x))))
        return dict(OTHER)

    monkeypatch.setattr(tuning, "measured", measured)
    return seen


def config_for(M, name="gemm"):
    return tuning.config_for(name, OnGpu(M), weight(), run=None)


def test_every_key_is_measured_once(gpu):
    for M in (3, 4, 3, 64, 33, 64):
        assert config_for(M) == OTHER
    config_for(4, "gemv")
    assert gpu == [("gemm", 4), ("gemm", 64), ("gemv", 4)]


def test_on_the_cpu_nothing_is_measured(gpu):
    config = tuning.config_for("gemm", rows(4), weight(), run=None)
    assert config == default_config("gemm", 4, 24, interpreted=True) and not gpu


def test_measuring_can_be_turned_off(gpu):
    tuning.set_autotune(False)
    assert config_for(4) == default_config("gemm", 4, 24, interpreted=False) and not gpu
    tuning.set_autotune(True)
    assert config_for(4) == OTHER and gpu == [("gemm", 4)]
    tuning.set_autotune(False)
    assert config_for(3) == OTHER


def test_nothing_is_measured_while_a_graph_is_captured(gpu, monkeypatch):
    with monkeypatch.context() as capture:
        capture.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
        assert config_for(4) == default_config("gemm", 4, 24, interpreted=False)
    assert not gpu
    assert config_for(4) == OTHER
    with monkeypatch.context() as capture:
        capture.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
        assert config_for(4) == OTHER


def test_a_default_is_not_kept(gpu):
    tuning.set_autotune(False)
    config_for(4)
    assert tuning._known("Some GPU") == {}


def test_reset_forgets_what_was_measured(gpu):
    config_for(4)
    tuning.reset()
    config_for(4)
    assert gpu == [("gemm", 4)] * 2


class Properties:
    L2_cache_size = 1000


@pytest.fixture
def clock(monkeypatch):
    """Times of configs by their BLOCK_N, in place of a GPU's; a list of what was timed."""
    timed = []

    class Clock:
        def __init__(self, calls):
            self.outputs = [call() for call in calls]

    def time_replays(clock, replays):
        timed.append(clock.outputs)
        config = clock.outputs[0][2]
        return type("Timing", (), {"p50": abs(config["BLOCK_N"] - 128) + config["chunks"]})

    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: Properties)
    monkeypatch.setattr(tuning, "CudaGraphClock", Clock)
    monkeypatch.setattr(tuning, "time_replays", time_replays)
    return timed


def test_the_fastest_candidate_is_taken(clock):
    run = lambda x, weight, config: (x, weight, config)  # noqa: E731
    config = tuning.measured("gemm_splitk", rows(3), weight(), run)
    found = candidates("gemm_splitk", 4, 24)
    assert config == min(found, key=lambda c: abs(c["BLOCK_N"] - 128) + c["chunks"])
    assert [outputs[0][2] for outputs in clock] == found
    for outputs in clock:
        words = {copy.words.data_ptr() for _, copy, _ in outputs}
        assert len(words) == len(outputs) > 1  # more copies than the L2 holds
        assert all(len(x) == 4 for x, _, _ in outputs)


def test_all_that_a_kernel_reads_is_copied(clock):
    run = lambda x, weight, config: (x, weight, config)  # noqa: E731
    tuning.measured("gemv", rows(1), weight(3), run)
    high = {copy.high.data_ptr() for _, copy, _ in clock[0]}
    assert len(high) == len(clock[0])


def test_what_does_not_fit_on_the_gpu_is_left_out(clock):
    class OutOfResources(Exception):
        pass

    def run(x, weight, config):
        if config["BLOCK_N"] == 128:
            raise OutOfResources("shared memory")
        return x, weight, config

    assert tuning.measured("gemm", rows(64), weight(), run)["BLOCK_N"] != 128


def test_other_errors_are_not_hidden(clock):
    def run(x, weight, config):
        raise KeyError("a bug")

    with pytest.raises(KeyError, match="a bug"):
        tuning.measured("gemm", rows(64), weight(), run)


# Files


def test_what_is_saved_is_loaded(gpu, path, capsys):
    config_for(4)
    config_for(64)
    known = dict(tuning._known("Some GPU"))
    GemLiteLinear.cache_config(path)
    tuning.reset()
    GemLiteLinear.load_config(str(path))
    assert tuning._known("Some GPU") == known and len(known) == 2
    gpu.clear()
    assert config_for(3) == OTHER and not gpu  # none is measured again
    assert capsys.readouterr().out == ""


def test_a_file_says_what_it_is_for(gpu, path):
    config_for(4)
    tuning.save(path)
    text = path.read_text()
    content = json.loads(text)
    assert content.keys() == {"device", "triton", "kernels", "configs"}
    assert content["device"] == "Some GPU" and content["kernels"] == hashes.kernel_hashes()
    assert list(content["configs"].values()) == [OTHER]
    assert text.endswith("\n") and text.count("\n") > 10  # for people to read, too


def test_loading_adds_to_what_is_known(gpu, path):
    config_for(4)
    tuning.save(path)
    tuning.reset()
    config_for(64)
    tuning.load(path)
    assert len(tuning._known("Some GPU")) == 2


def content_for(**changes):
    try:
        triton = version("triton")
    except PackageNotFoundError:
        triton = "not installed"
    about = dict(device="Some GPU", triton=triton, kernels=hashes.kernel_hashes())
    key = tuning.key_of("gemm", rows(4), weight())
    return about | {"configs": {key: dict(CONFIG)}} | changes


def test_a_file_that_a_person_wrote_is_used(gpu, path):
    path.write_text(json.dumps(content_for()))
    tuning.load(path)
    assert config_for(3) == CONFIG and not gpu


@pytest.mark.parametrize("what", ["device", "triton"])
def test_a_file_from_elsewhere_is_left_aside_with_a_notice(gpu, path, what, capsys):
    config_for(4)
    before = json.dumps(tuning._configs)
    path.write_text(json.dumps(content_for(**{what: "another"})))
    assert tuning.load(path) is None
    said = capsys.readouterr()
    assert said.err == "" and said.out.count("\n") == 1
    assert str(path) in said.out and what in said.out and "another" in said.out
    assert json.dumps(tuning._configs) == before


def test_configs_of_a_kernel_whose_text_changed_are_left_aside_alone(gpu, path, capsys):
    own, gemv = hashes.kernel_hashes(), tuning.key_of("gemv", rows(1), weight())
    content = content_for(kernels=own | {"gemm": "another"})
    content["configs"][gemv] = dict(CONFIG)
    path.write_text(json.dumps(content))
    tuning.load(path)
    assert config_for(4) == OTHER and config_for(1, "gemv") == CONFIG
    said = capsys.readouterr().out
    assert said == f"{path}: no config of gemm is used: changed since\n"


def config_with(**changes):
    return {"configs": {"gemm key": CONFIG | changes}}


DAMAGED = {
    "empty": "",
    "blank": " \n",
    "cut off": json.dumps(dict(device="Some GPU", triton="3", kernels={}, configs={}))[:-9],
    "no JSON": "device: Some GPU",
    "a list": "[]",
    "a number": "3",
    "null": "null",
    "a text": '"configs"',
    "nothing in it": "{}",
    "nested without end": "[" * 100_000,
    "a huge number": "9" * 10_000,
    "other keys": content_for() | {"more": 1},
    "no device": {name: value for name, value in content_for().items() if name != "device"},
    "configs as a list": content_for(configs=[CONFIG]),
    "configs as a text": content_for(configs="gemm"),
    "no configs": content_for(configs=None),
    "a config as a list": content_for(configs={"gemm key": [1, 2]}),
    "a config as a number": content_for(configs={"gemm key": 3}),
    "a config without chunks": content_for(
        configs={"gemm key": {name: value for name, value in CONFIG.items() if name != "chunks"}}
    ),
    "a config with more": content_for(**config_with(more=1)),
    "a text for a number": content_for(**config_with(BLOCK_N="64")),
    "a fraction": content_for(**config_with(BLOCK_N=64.0)),
    "NaN": content_for(**config_with(BLOCK_N=float("nan"))),
    "a truth value": content_for(**config_with(chunks=True)),
    "zero": content_for(**config_with(num_warps=0)),
    "a negative": content_for(**config_with(chunks=-1)),
    "no power of two": content_for(**config_with(BLOCK_N=100)),
    "three warps": content_for(**config_with(num_warps=3)),
    "columns that Triton multiplies wrongly": content_for(
        configs={"mixed_mm key": CONFIG | {"BLOCK_K": 16}}
    ),
    "an int4 kernel's config without columns": content_for(configs={"mixed_mm key": CONFIG}),
    "columns for another kernel": content_for(configs={"gemm key": CONFIG | {"BLOCK_K": 64}}),
    "kernels as a text": content_for(kernels="another"),
    "a config of a kernel without a hash": content_for(kernels={}),
    "null inside": content_for(**config_with(BLOCK_M=None)),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_gets_one_sentence_and_changes_nothing(gpu, path, name):
    content = DAMAGED[name]
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    config_for(4)
    before = json.dumps(tuning._configs)
    with pytest.raises(ValueError, match="configs.json is damaged or no file of") as refused:
        tuning.load(path)
    assert "\n" not in str(refused.value) and "cache_config" in str(refused.value)
    assert json.dumps(tuning._configs) == before


def test_a_binary_file_is_damaged_too(path):
    for content in (b"\xff\xfe\x00{", b"\x80" * 100, b"\x00"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="is damaged"):
            tuning.load(path)


def test_every_cut_of_a_file_is_noticed(gpu, path):
    config_for(4)
    tuning.save(path)
    whole = path.read_text().strip()
    for end in random.Random(0).sample(range(len(whole)), 40):
        path.write_text(whole[:end])
        with pytest.raises(ValueError, match="is damaged"):
            tuning.load(path)


def test_a_missing_file_or_a_folder_is_the_usual_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere.json"):
        tuning.load(tmp_path / "nowhere.json")
    with pytest.raises(OSError):
        tuning.load(tmp_path)
    with pytest.raises(FileNotFoundError):
        tuning.save(tmp_path / "nowhere" / "configs.json")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError):
        tuning.save(tmp_path / "folder")
    assert [found.name for found in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize("broken", ["json.dump", "os.replace", "os.fdopen"])
@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_a_failed_write_leaves_the_old_file_alone(gpu, path, monkeypatch, broken, error):
    config_for(4)
    tuning.save(path)
    before = path.read_bytes()
    config_for(64)
    module, name = broken.split(".")
    real = getattr({"json": json, "os": os}[module], name)

    def fail(*arguments, **options):
        if broken == "json.dump":
            arguments[1].write("{")
        raise error

    monkeypatch.setattr(f"{broken}", fail)
    with pytest.raises(type(error)):
        tuning.save(path)
    monkeypatch.setattr(f"{broken}", real)
    assert path.read_bytes() == before
    assert [found.name for found in path.parent.iterdir()] == [path.name]
    tuning.save(path)
    assert len(json.loads(path.read_text())["configs"]) == 2


def test_others_may_read_a_file(gpu, path):
    before = os.umask(0o022)
    try:
        tuning.save(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_a_bare_name_is_in_the_current_folder(gpu, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tuning.save("configs.json")
    tuning.load("configs.json")
    assert [found.name for found in tmp_path.iterdir()] == ["configs.json"]


def test_many_may_write_one_file(gpu, path):
    config_for(4)
    tuning.save(path)
    errors, done = [], threading.Event()

    def work(use):
        try:
            while not done.is_set():
                use(path)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(use,)) for use in 3 * [tuning.save]]
    threads += [threading.Thread(target=work, args=(tuning.load,))]
    for thread in threads:
        thread.start()
    done.wait(0.5)
    done.set()
    for thread in threads:
        thread.join()
    assert not errors
    tuning.load(path)
    assert [found.name for found in path.parent.iterdir()] == [path.name]


def test_configs_of_the_cpu_can_be_saved_too(path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    tuning.save(path)
    tuning.load(path)
    assert json.loads(path.read_text())["device"] == "cpu"


# The kernels' texts

GEMMS = {"gemm_splitk", "gemm"}
USERS = {name: {name} for name in (*KERNELS, *INT4_KERNELS)} | {
    "add_chunks": {*KERNELS, *INT4_KERNELS},
    "finish": {*KERNELS, *INT4_KERNELS},
    "dequantize": {*KERNELS, *INT4_KERNELS},
    "tile_dot": GEMMS,
    "tile_sum": {*KERNELS} - GEMMS,
    "int4_pairs": {*INT4_KERNELS},
    "configs": set(),
    "dequantize_weights": set(),
}


def test_a_hash_is_of_a_kernel_and_of_what_it_takes_from_others(monkeypatch, tmp_path):
    folder = tmp_path / "kernels"
    shutil.copytree(hashes.FOLDER, folder)
    monkeypatch.setattr(hashes, "FOLDER", folder)

    def hashed():
        hashes.kernel_hashes.cache_clear()
        return hashes.kernel_hashes()

    try:
        before = hashed()
        assert before.keys() == {*KERNELS, *INT4_KERNELS}
        assert all(re.fullmatch("[0-9a-f]{16}", one) for one in before.values())
        assert len(set(before.values())) == len(before) and hashed() == before
        (folder / "notes.txt").write_text("no kernel")
        assert hashed() == before
        for name, users in USERS.items():
            text = (folder / f"{name}.py").read_text()
            (folder / f"{name}.py").write_text(text + "\n# changed\n")
            assert hashed() == before, name
            (folder / f"{name}.py").write_text(text + "\nCHANGED = 1\n")
            assert {kernel for kernel, one in hashed().items() if one != before[kernel]} == users
            (folder / f"{name}.py").write_text(text)
        assert hashed() == before
    finally:
        hashes.kernel_hashes.cache_clear()


# Shipped


@pytest.fixture
def shipped(monkeypatch, tmp_path, gpu):
    """A function that ships a content for "Some GPU"."""
    monkeypatch.setattr(tuning, "_SHIPPED", tmp_path)

    def ship(content):
        (tmp_path / "triton_configs_some_gpu.json").write_text(json.dumps(content))

    return ship


def test_shipped_configs_are_there_from_the_start(shipped, gpu):
    shipped(content_for())
    assert config_for(3) == CONFIG and not gpu
    assert config_for(64) == OTHER


@pytest.mark.parametrize("what", ["device", "triton"])
def test_shipped_configs_of_another_version_get_one_notice(shipped, gpu, what, capsys):
    shipped(content_for(**{what: "another"}))
    assert config_for(3) == config_for(64) == OTHER
    assert capsys.readouterr().out.count(f"is not used: its {what} is another, here it is") == 1


@pytest.mark.parametrize("looked", [True, False])
def test_reset_forgets_shipped_configs_too(shipped, gpu, looked):
    shipped(content_for())
    if looked:
        config_for(3)
    tuning.reset()
    assert config_for(3) == OTHER


KEY = re.compile(
    rf"({'|'.join(KERNELS)}) M(\d+) N\d+ K\d+ group (\d+|channel) \S+ x (\d )?\S+ [A-Z_]+.*|"
    rf"({'|'.join(INT4_KERNELS)}) M(\d+) N\d+ K\d+ group \d+ \S+ x u?int8 by (output|k) \w+"
)


def test_what_is_shipped_fits_the_kernels_as_they_are():
    for path in DATA.glob("triton_configs_*.json"):
        content = tuning._read(path)
        assert path.stem == f"triton_configs_{content['device'].replace(' ', '_').lower()}"
        used = {key.split()[0] for key in content["configs"]}
        changed = used - dict(content["kernels"].items() & hashes.kernel_hashes().items()).keys()
        assert not changed, f"{path.name}: measure {changed} again"
        assert content["configs"] and all(map(is_config, content["configs"].values()))
        for key in content["configs"]:
            found = KEY.fullmatch(key)
            assert found and int(found[2] or found[6]) in BUCKETS, key
