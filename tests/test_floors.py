"""Who may import whom: DESIGN as a test. A module imports modules of lower floors only."""

import ast
import subprocess
import sys
from pathlib import Path

import gemlite_edu

PACKAGE = Path(gemlite_edu.__file__).parent
FLOORS = [
    {"errors", "devices", "dtypes", "formats", "nsight", "quantize", "reference", "real_layer"}
    | {"activations", "instructions", "measurements", "roofline", "scaled_products", "toy_card"}
    | {"weight_modes", "ternary_scales"},
    {"packing"},
    {"sources", "build_cache", "operands", "launches", "pair_table", "triton_kernels"},
    {"ternary_launches", "fast_launches"},
    {"batch_launches"},
    {"batch_times"},
    {"cuda", "simulator", "timing", "eager", "layer_operands", "triton_weight", "int4_weight"},
    {"kernel_text", "progress", "info"},
    {"kernel", "batch_text"},
    {"ternary_kernel", "fast_kernel"},
    {"batch_kernel"},
    {"kernels"},
    {"ready_products"},
    {"ops", "ternary_ops", "triton_matmul", "tuning", "layer_form", "layer_weights"}
    | {"fast_matmul", "batch_matmul", "matmul_choices"},
    {"fast_types", "layer_text", "operator_form"},
    {"matmul", "gemv_linear", "triton_ops", "checkpoints", "hqq_layers", "mixed_mm"}
    | {"ternary_linear"},
    {"linear", "int4_linear"},
    {"core", "helper"},
    {"bench", "checker", "draw", "ladder"},
    {"lesson"},
]
FLOOR_OF = {name: number for number, names in enumerate(FLOORS) for name in names}
# The oracle must not unpack with the code under test; floor 0 has its own order.
WITHIN_A_FLOOR = {
    "bench": {"bench"},
    "checker": {"checker"},
    "draw": {"draw"},
    "ladder": {"ladder"},
    "lesson": {"lesson"},
    "packing": {"packing"},
    "simulator": {"simulator"},
    "triton_kernels": {"triton_kernels"},
}


def modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        relative = path.relative_to(PACKAGE)
        yield relative.parts[0].removesuffix(".py"), path


def imported(tree):
    """Names of gemlite_edu modules that a syntax tree imports, at any depth."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            if node.module == "gemlite_edu":
                yield from (f"gemlite_edu.{alias.name}" for alias in node.names)


def test_every_module_has_a_floor():
    assert {name for name, _ in modules()} - {"__init__"} == set(FLOOR_OF)


def test_imports_lead_down():
    wrong = []
    for name, path in modules():
        if name == "__init__":
            continue
        for target in imported(ast.parse(path.read_text())):
            top, _, rest = target.partition(".")
            other = rest.partition(".")[0]
            if top != "gemlite_edu" or other not in FLOOR_OF:
                continue
            same = other in WITHIN_A_FLOOR.get(name, ())
            lower = FLOOR_OF[other] < FLOOR_OF[name]
            inside_zero = FLOOR_OF[other] == FLOOR_OF[name] == 0
            if not (same or lower or inside_zero):
                wrong.append(f"{path.relative_to(PACKAGE)} imports {target}")
    assert wrong == []


def test_the_package_never_imports_lessons_or_tests():
    for _, path in modules():
        for target in imported(ast.parse(path.read_text())):
            assert target.partition(".")[0] not in {"notebooks", "exercises", "solutions", "tests"}


def test_kernels_know_neither_torch_nor_launches():
    for path in (PACKAGE / "cuda_kernels").iterdir():
        text = path.read_text()
        assert "torch" not in text and "<<<" not in text, path.name
        if path.name != "bindings.cu":
            assert "cudaLaunch" not in text, path.name


def test_import_needs_no_torch_compiler_or_gpu():
    code = (
        "import sys, gemlite_edu; "
        "loaded = {'torch', 'triton', 'subprocess', 'ctypes'} & set(sys.modules); "
        "assert not loaded, loaded"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_no_compiler_gives_one_sentence(monkeypatch, tmp_path):
    from gemlite_edu.simulator.build import find_compiler

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    try:
        find_compiler()
        message = ""
    except RuntimeError as error:
        message = str(error)
    assert message.startswith("no C++ compiler found") and "apt install g++" in message
