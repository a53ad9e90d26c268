"""An inspected run: the results of a plain one, every access with its line, a bounded record."""

import shutil

import pytest
import torch
from kernel_cases import is_right, make_case, small_cases

from gemlite_edu import load, pack_warped_int32
from gemlite_edu.kernels.errors import KernelFault, KernelTextError
from gemlite_edu.runners import simulator
from gemlite_edu.runners.simulator.run import run_once

NINE_CASES = small_cases(of_each_build=1)[::8]


def gemv(N=40, K=300, nbits=4, **options):
    """A kernel with operands for it."""
    generator = torch.Generator().manual_seed(0)
    W_q = torch.randint(0, 2**nbits, (N, K), dtype=torch.uint8, generator=generator)
    x = torch.randn(2, K, generator=generator).half()
    kernel = load("gemv_a16wn_fp32", nbits=nbits, **options)
    return kernel, (x, pack_warped_int32(W_q, nbits), 0.5, 3.0)


@pytest.mark.parametrize("case", NINE_CASES, ids=str)
def test_y_is_that_of_a_plain_run_and_nothing_is_wrong(case):
    inputs = make_case(case)
    report = case.load().inspect(*inputs.operands())
    assert report.findings == ()
    assert is_right(case, inputs, report.y)
    assert torch.equal(report.y, case.load()(*inputs.operands()))


# What a line says of an access, where not the tensor's own name.
OTHER_NAMES = {"W": ("row[", "words["), "x_shared": ("x[",), "y": ("static_cast<Y_T>(",)}


@pytest.mark.parametrize("case", NINE_CASES, ids=str)
def test_every_access_has_the_line_that_makes_it(case):
    report = case.load().inspect(*make_case(case).operands())
    for line in report.lines:
        names = (f"{line.name}[", *OTHER_NAMES.get(line.name, ()))
        assert any(name in line.code for name in names), line


def test_ten_runs_give_the_same_report_byte_for_byte():
    kernel, operands = gemv(N=200)
    assert len({repr(kernel.inspect(*operands)) for _ in range(10)}) == 1


def test_the_table_of_a_small_run():
    report = load("gemv_a16w16_warp").inspect(torch.ones(1, 64).half(), torch.ones(3, 64).half())
    title, *table, once, worth = str(report).splitlines()
    assert title == (
        "gemv_a16w16_warp, x_dtype=torch.float16, M = 1, N = 3, K = 64: "
        "1 x 1 blocks of 1024 threads"
    )
    assert [" ".join(row.split()) for row in table] == [
        "global memory requests sectors each lanes bytes asked/moved",
        "load W, 2 B gemv_a16w16_warp.cu:21 6 12 2.00 32.0 384/384",
        "load x, 2 B gemv_a16w16_warp.cu:21 6 12 2.00 32.0 384/384",
        "store y, 2 B gemv_a16w16_warp.cu:25 3 3 1.00 1.0 6/96",
    ]
    assert len({len(row) for row in table}) == 1 and len(table[0]) < 100
    assert once == "all tensors once: 518 bytes; moved: 864 bytes, 1.67 times as much"
    assert worth.startswith("Nsight Compute counted the same at recorded shapes (NVIDIA H200, 2026")


def test_the_lines_requests_and_phases_say_what_they_are():
    kernel, operands = gemv(N=32, K=256)
    report = kernel.inspect(*operands)
    (load_of_W,) = report.of("W")
    assert (load_of_W.space, load_of_W.bytes_per_lane, load_of_W.lanes_per_request) == (
        "global",
        4,
        32,
    )
    assert load_of_W.first.bytes_of == {lane: 4 * lane for lane in range(32)}
    assert (load_of_W.first.block, load_of_W.first.warp, load_of_W.first.cost) == (0, 0, 4)
    assert report.per_request("W") == 4 and report.total("global", "store") == (64, 64)
    assert report.least_bytes == 2 * 2 * 256 + 32 * 32 * 4 + 2 * 32 * 4 + 2 * 2 * 32
    *staging, products, reduction = report.phases
    assert [phase.place.split(":")[0] for phase in staging] == ["memory.cuh"] * 2  # two rows of x
    assert products.place.startswith("gemv.cuh:") and reduction.place == ""
    assert sum(warp[3] for phase in staging for warp in phase.requests) == 2 * 256 // 32
    assert all(warp == (1, 0, 2 * 8, 0) for warp in products.requests)
    assert all(warp == (0, 2, 0, 0) for warp in reduction.requests)
    with pytest.raises(ValueError, match="there is no load of 'V' in this report; there is load W"):
        report.of("V")


def test_what_is_kept_does_not_grow_with_the_run():
    sizes = []
    for N in (64, 1024):
        kernel, operands = gemv(N=N, K=1024)
        plan = kernel.plan(1, N, 1024).product
        library = simulator.build_instrumented_kernel(kernel.source, "gemv", plan.defines)
        arguments = [
            simulator.Tensor("x", operands[0][:1].contiguous()),
            simulator.Tensor("W", operands[1]),
            simulator.Tensor("scales", torch.ones(N)),
            simulator.Tensor("zeros", torch.ones(N)),
            simulator.Tensor("y", torch.zeros(1, N).half(), is_output=True),
            *map(simulator.Integer, plan.integers),
        ]
        launch = simulator.Launch(plan.grid, 1024, plan.shared_bytes)
        raw, _ = run_once(library, arguments, launch, 10.0, 2, library.parent / "sites.txt")
        assert raw.endswith("done")
        sizes.append(len(raw))
    assert sizes[1] < 1.1 * sizes[0]


def test_a_learners_own_line_is_named():
    unguarded = """
__device__ float warp_reduce_sum(float value) {
  __shared__ float partial[1024];
  partial[threadIdx.x] = value;
  if (threadIdx.x % 32) return value;
  for (int lane = 1; lane < 32; ++lane)
    value += partial[threadIdx.x + lane];
  return value;
}"""
    kernel = load("gemv_a16w16_warp", replace={"warp_reduce_sum": unguarded})
    report = kernel.inspect(torch.ones(1, 64).half(), torch.ones(8, 64).half())
    assert report.findings[0].place == "warp_reduce_sum:6"
    assert "which thread 1 writes (warp_reduce_sum, line 3)" in report.findings[0].sentence
    assert "replaces warp_reduce_sum" in report.title and report.recorded == ""
    with pytest.raises(KernelFault, match="nothing orders the two: __syncthreads"):
        report.raise_findings()


def test_a_text_that_does_not_compile_is_an_error_in_its_own_line():
    wrong = "__device__ float warp_reduce_sum(float value) {\n  return valeu;\n}"
    kernel = load("gemv_a16w16_warp", replace={"warp_reduce_sum": wrong})
    with pytest.raises(KernelTextError, match="warp_reduce_sum, line 2: 'valeu'"):
        kernel.inspect(torch.ones(1, 64).half(), torch.ones(8, 64).half())


def test_a_fault_around_the_learners_text_leads_to_their_call():
    text = """
__device__ float scaled_dot(Word word, const X_T* x, int k, const float* scales, const float* zeros,
                            int groups) {
  return scales[0] * dequant_dot(word, x + 5000, zeros[0]);
}
"""
    kernel, operands = gemv(K=256, group_size=64, replace={"scaled_dot": text})
    with pytest.raises(KernelFault) as caught:
        kernel.inspect(*operands).raise_findings()
    message = str(caught.value).splitlines()
    assert message[0].startswith("gemv_a16wn_fp32.cu, line ") and "x_shared" in message[0]
    assert message[2:] == [
        "That line is not yours. Your text calls its function here:",
        "    scaled_dot, line 3: return scales[0] * dequant_dot(word, x + 5000, zeros[0]);",
    ]


def test_a_race_that_names_an_own_line_says_no_more():
    text = """
__device__ void stage_to_shared(const X_T* x, X_T* x_shared, int length, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) x_shared[i] = i < length ? x[i] : X_T(0.0f);
}
"""
    kernel, operands = gemv(N=200, replace={"stage_to_shared": text})
    findings = kernel.inspect(*operands).findings
    assert findings and all("stage_to_shared, line 2" in str(found) for found in findings)
    assert [found.note for found in findings] == [""] * len(findings)


def test_no_rows_is_nothing_to_inspect():
    kernel, operands = gemv()
    with pytest.raises(ValueError, match="x has no rows"):
        kernel.inspect(operands[0][:0], *operands[1:])


def test_without_gxx_one_sentence_says_what_is_missing(monkeypatch, tmp_path):
    from gemlite_edu.runners.simulator.compilers import find_instrumenting_compiler

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(RuntimeError, match=r"no g\+\+ found.*apt install g\+\+"):
        find_instrumenting_compiler()


def test_what_a_kernel_prints_is_shown_once_and_its_faults_too(capsys):
    text = """
__global__ void kernel(const float* x, float* y) {
  if (threadIdx.x == 1) printf("lane 1 has %g\\n", x[1]);
  y[threadIdx.x + 1] = 2 * x[threadIdx.x];
}"""
    x, y = torch.arange(32.0), torch.zeros(32)
    arguments = [simulator.Tensor("x", x), simulator.Tensor("y", y, is_output=True)]
    report = simulator.inspect_text(text, arguments, simulator.Launch((1, 1), 32))
    assert capsys.readouterr().out == "lane 1 has 1\n"
    sentences = [finding.sentence for finding in report.findings]
    assert sentences == [
        "block (0, 0), thread 31 writes y[32], outside y, which has 32 elements of 4 bytes",
        "y[0] was never written",
    ]
    assert y.tolist() == [0, *range(0, 62, 2)]


def test_what_only_notes_need_is_compiled_when_they_are_asked_for(inspect, own_cache):
    report, _ = inspect("const float4 v = reinterpret_cast<const float4*>(x)[t % 16]; y[t] = v.y;")
    assert report.findings == () and not [*own_cache.glob("*/partly_used.txt")]
    shutil.rmtree(own_cache)
    (note,) = report.notes
    assert note.endswith("a GPU's compiler may load only those, one by one")
    assert [*own_cache.glob("*/partly_used.txt")]
