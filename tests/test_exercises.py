"""As shipped every exercise fails with its own message; with the solution it passes (nbval)."""

import json
import linecache
import re
from pathlib import Path

import pytest

from gemlite_lab.checker import STUB_MARK, CheckFailed

ROOT = Path(__file__).parent.parent
AS_SHIPPED = {
    "best_scale": "best_scale returned None: write it, and return the index",
    "pack": "pack returned None: write it, and return W_packed",
    "unpack": "unpack returned None: write it, and return W_q",
    "cuda_index": "cuda_index is not written yet",
    "cuda_guard": "cuda_guard is not written yet",
    "cuda_ratio": "cuda_ratio is not written yet",
    "cuda_half": "cuda_half is not written yet",
    "cuda_row_column": "cuda_row_column is not written yet",
    "cuda_row_sum": "cuda_row_sum is not written yet",
    "cuda_field": "cuda_field is not written yet",
    "cuda_pack": "cuda_pack is not written yet",
    "cuda_lanes": "cuda_lanes is not written yet",
    "cuda_reverse": "cuda_reverse is not written yet",
    "warp_reduce_sum": "warp_reduce_sum is not written yet",
    "cuda_transpose": "cuda_transpose is not written yet",
    "cuda_two_buffers": "cuda_two_buffers is not written yet",
    "words_of_lane": "words_of_lane returned None: write it, and return words",
    "dequant_dot_4bit": "dequant_dot_4bit is not written yet",
    "fused_gemv": "fused_gemv is not written yet",
    "dequant_dot": "dequant_dot is not written yet",
    "dequant_dot_fp4": "dequant_dot_fp4 is not written yet",
    "dequant_dot_dp4a": "dequant_dot_dp4a is not written yet",
    "bug_1": "bug_1 is not written yet",
    "pack_sparse": "pack_sparse returned None: write it, and return W_packed",
    "dequant_dot_sparse": "dequant_dot_sparse is not written yet",
    "dequant_pair": "dequant_pair is not written yet",
    "dequant_pair_table": "dequant_pair_table is not written yet",
    "who_takes": "who_takes returned None: write it, and return block, warp, turn",
    "dequant_dot_planes": "dequant_dot_planes is not written yet",
    "scaled_dot": "scaled_dot is not written yet",
    "bug_2": "bug_2 is still the text as it was given",
    "bug_3": "bug_3 is still the text as it was given",
    "dense_gemv": "dense_gemv is not written yet",
    "unpack_tile": "unpack_tile is not written yet",
    "gemv_revsplitk": "gemv_revsplitk is not written yet",
    "climb": "climb is not written yet",
    "mma_rows": "mma_rows is not written yet",
    "splitk_group": "It would be right if K were one chunk.",
    "quantize_tokens": "quantize_tokens returned None: write it, and return x_q, scales",
    "mixed_mm_transposed": "mixed_mm_transposed is not written yet",
    "splitk_scales": "if: (1) stride_sg were 1, as with .T views, (2) SPLIT_K were 1.",
    "four_codes": "four_codes is not written yet",
    "all_steps": "all_steps is not written yet",
    "fragment_shape": "fragment_shape returned None: write it, and return best, costs",
    "mxfp4_encode": "mxfp4_encode returned None: write it, and return exponents, codes",
    "floor_us": "floor_us returned None: write it, and return microseconds",
    "attainable_tflops": "attainable_tflops returned None: write it, and return tflops",
    "script_1": "script_1 returned None: write it, and return microseconds",
    "script_2": "script_2 returned None: write it, and return microseconds",
    "script_3": "script_3 returned None: write it, and return microseconds",
}


def run(source, name, namespace):
    linecache.cache[name] = len(source), None, source.splitlines(True), name  # Triton reads it
    exec(compile(source, name, "exec"), namespace)


def code_of(path):
    """{number of a cell: its code}, of a notebook."""
    cells = enumerate(json.loads(path.read_text())["cells"])
    return {n: "".join(cell["source"]) for n, cell in cells if cell["cell_type"] == "code"}


def exercises_in(path):
    """The names of the exercises that a notebook checks."""
    return set(re.findall(r'^check\("(\w+)"', "\n".join(code_of(path).values()), re.MULTILINE))


def run_as_shipped(path):
    """{exercise: message} of the check cells of an exercise notebook, all other cells run."""
    namespace, messages = {}, {}
    for number, source in code_of(path).items():
        try:
            run(source, f"<{path.stem}, cell {number}>", namespace)
        except CheckFailed as error:
            name = source.split('check("')[1].split('"')[0]
            messages[name] = str(error)
    return messages


@pytest.mark.parametrize("path", sorted(ROOT.glob("exercises/*.ipynb")), ids=lambda p: p.stem)
def test_it_fails_as_shipped_with_its_own_message(path, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("GEMLITE_EDU_PROGRESS", str(tmp_path / "progress.json"))
    messages = run_as_shipped(path)
    assert messages and messages.keys() == exercises_in(path)
    for name, message in messages.items():
        assert AS_SHIPPED[name] in message
    assert not (tmp_path / "progress.json").exists()


def test_every_exercise_is_in_a_notebook():
    found = set().union(*map(exercises_in, ROOT.glob("exercises/*.ipynb")))
    assert found == set(AS_SHIPPED)


@pytest.mark.parametrize("path", sorted(ROOT.glob("exercises/*.ipynb")), ids=lambda p: p.stem)
def test_nothing_of_the_solution_is_left(path):
    text = path.read_text()
    assert "BEGIN SOLUTION" not in text and "END SOLUTION" not in text


@pytest.mark.parametrize("path", sorted(ROOT.glob("exercises/*.ipynb")), ids=lambda p: p.stem)
def test_the_stub_stands_where_code_goes_and_only_there(path):
    cells = ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"]]
    with_stub = [text for text in cells if f"#error {STUB_MARK}" in text]
    assert with_stub or "Repair the kernel" in "".join(cells)
    assert not [text for text in with_stub if text.startswith("#error")]


def test_the_snippet_that_shows_your_transposed_kernel_runs():
    cells = json.loads((ROOT / "solutions/25_transposed.ipynb").read_text())["cells"]
    text = next("".join(c["source"]) for c in cells if "replace=mine" in "".join(c["source"]))
    *lines, call = [line[4:] for line in text.splitlines() if line.startswith("    ")]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    namespace = {}
    for number, source in enumerate([*code[:3], "\n".join([*lines, f"y = {call}"])]):
        run(source, f"<25_transposed, code {number}>", namespace)
    assert namespace["y"].tolist() == namespace["weight"].dequantize().tolist()
