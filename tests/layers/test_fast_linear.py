"""GemLiteLinear on the CUDA kernels: when it takes them, and that a call leaves nothing behind.

The simulator runs the kernels here, as if the CPU were a GPU that has them.
"""

import copy
import pickle
from unittest import mock

import pytest
import torch
from linear_cases import activations, make
from ternary_cases import UNALIGNED, laid_out
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from gemlite_edu.core import DType, GemLiteLinear
from gemlite_edu.kernels.errors import KernelTextError
from gemlite_edu.kernels.machine import H200, SIMULATED, Machine
from gemlite_edu.layers import gemlite_linear as linear_module
from gemlite_edu.operators import choose as rules
from gemlite_edu.operators import form, linear_op
from gemlite_edu.operators.choose import FAST

N, K = 20, 256
GPU = torch.device("cuda", 0)


@pytest.fixture
def as_on_a_gpu(monkeypatch):
    """The simulator's machine counts as a GPU with nvcc."""
    monkeypatch.setattr(form, "machine_for_cuda", lambda *of: SIMULATED)
    linear_op._prepared.cache_clear()
    yield
    linear_op._prepared.cache_clear()


@pytest.fixture
def problem(as_on_a_gpu):
    return make(4, 128, N=N, K=K, bias=torch.float16)


# The choice


@pytest.mark.parametrize("M, name", [(4, "GEMV_FAST"), (5, "GEMM_FAST"), (40, "GEMM_FAST")])
def test_a_batch_goes_to_the_product_for_batches(as_on_a_gpu, M, name):
    problem, x = make(4, 128, N=24, K=K, bias=torch.float16), activations(M, K)
    assert f"M = {M}: {name}" in problem.layer.explain(M)
    problem.assert_right(problem.layer(x), x, kernel=name)


def test_where_the_product_for_batches_ends(as_on_a_gpu):
    layer = make(4, 128, N=24, K=K).layer
    assert "M = 2048: GEMM_FAST" in layer.explain(2048)
    assert "M = 2049: DEQUANTIZE" in layer.explain(2049)


def test_what_rounds_weights_is_for_weights_that_fit():
    layer = make(4, 128, N=24, K=K, y=DType.FP32).layer
    with pytest.raises(ValueError, match="GEMM_FAST is for packed weights that fit the 16-bit"):
        layer.forward_manual(activations(9, K), "GEMM_FAST")


@pytest.mark.parametrize("M", [1, 3, 8, 9])
def test_forward_runs_what_explain_names(problem, M):
    x, layer = activations(M, K), problem.layer
    name = layer.explain(M).split()[3].strip(",")
    assert (name in FAST) == (M <= 8)
    assert torch.equal(layer(x), layer.forward_manual(x, name))
    problem.assert_right(layer(x), x, kernel=name)


@pytest.mark.parametrize(
    "options",
    [
        dict(nbits=8, group_size=64, x=DType.BF16, y=DType.BF16),
        dict(nbits=2, y=DType.FP32, bias=torch.float32),
        dict(nbits=4, group_size=128, fma_mode=True),
        dict(nbits=4, group_size=64, x=DType.INT8, y=DType.FP32, scaled=True),
        dict(nbits=3, group_size=32, word_bits=32),
        dict(nbits=8, weights=torch.int8),
    ],
)
def test_what_no_cuda_kernel_takes_stays_with_triton(as_on_a_gpu, options):
    problem = make(N=N, K=K, **options)
    layer, x = problem.layer, activations(2, K, torch.float16)
    name = layer.explain(2).split()[3].strip(",")
    takes = options["nbits"] != 3 and "weights" not in options and "scaled" not in options
    assert (name in FAST) == takes
    if "scaled" not in options:
        x = x.to(layer.input_dtype.value)
        problem.assert_right(layer(x), x, kernel=name)
    else:
        assert layer(x).shape == (2, N)


def test_on_the_cpu_dense_weights_are_chosen_and_the_simulator_must_be_named():
    problem = make(4, 128, N=N, K=K)
    x = activations(1, K)
    assert problem.layer.explain(1).startswith("M = 1: DEQUANTIZE, ")
    problem.assert_right(problem.layer(x), x)
    problem.assert_right(problem.layer.forward_manual(x, "GEMV_FAST"), x, kernel="GEMV_FAST")


@pytest.mark.parametrize("mode", [torch.inference_mode, torch.no_grad])
@pytest.mark.parametrize("name", FAST)
def test_a_layer_on_meta_knows_shapes_by_any_kernel(name, mode):
    layer, x = make(4, 128, N=24, K=K).layer.to("meta"), activations(3, K).to("meta")
    with mode():
        y = layer.forward_manual(x, name)
    assert y.is_meta and y.shape == (3, 24)


@pytest.mark.parametrize("name", FAST)
def test_torch_compile_takes_a_named_kernel_whole(name):
    torch.compiler.reset()
    layer, x = make(4, 128, N=24, K=K).layer, activations(3, K)
    compiled = torch.compile(layer.forward_manual, backend="aot_eager", fullgraph=True)
    assert torch.equal(compiled(x, name), layer.forward_manual(x, name))
    torch.compiler.reset()


def test_a_layer_that_a_cuda_kernel_does_not_take_gets_one_sentence():
    layer = make(4, 48, N=N, K=96).layer
    with pytest.raises(ValueError, match="GEMV_FAST does not take float16 x.*another matmul_type"):
        layer.forward_manual(activations(1, 96), "GEMV_FAST")


@pytest.mark.parametrize(
    ("nbits", "sentence"),
    [
        (2, r"because it reads what pack\(..., packing_bitwidth=32\) makes: take another"),
        (3, "because it reads words in pieces, which pad K = 384 to 512, and which pack makes"),
    ],
)
def test_a_kernel_says_how_the_words_that_it_reads_are_packed(nbits, sentence):
    layer = GemLiteLinear(nbits, None, 384, N)
    layer.pack(torch.ones(N, 384, dtype=torch.uint8), 1.0)
    with pytest.raises(ValueError, match=sentence):
        layer.forward_manual(activations(1, 384), "GEMV_FAST")


@pytest.mark.parametrize(
    ("layer", "name", "reason"),
    [
        (
            dict(group_size=48, N=N, K=96),
            "GEMV_FAST",
            "because group_size must be .*, got 48: take",
        ),
        (dict(group_size=64, N=3, K=K), "GEMM_FAST", "because N must be a multiple of 8: take"),
        (dict(group_size=64, N=N, K=K, y=DType.FP8), "GEMV_FAST", "because y must be float"),
    ],
)
def test_a_refusal_says_which_argument_the_kernel_does_not_take(layer, name, reason):
    layer = make(4, **layer).layer
    with pytest.raises(ValueError, match=reason):
        layer.forward_manual(activations(1, layer.in_features), name)


@pytest.fixture
def on_a_gpu(monkeypatch):
    monkeypatch.setattr(rules, "machine_of", lambda device: H200)
    rules._compiles.cache_clear()
    yield (make(4, 128, N=N, K=K).layer.layout, torch.float16, torch.float16, 24, GPU)
    rules._compiles.cache_clear()


def test_a_gpu_for_which_nvcc_compiles_has_them(on_a_gpu, monkeypatch, capsys):
    built = []
    monkeypatch.setattr(rules.cuda, "build_kernel", lambda *of: built.append(of))
    for _ in range(2):
        assert rules.machine_for_cuda(*on_a_gpu) == H200
    ((text, entry, _, capability),) = built
    assert f"void {entry}(" in text and capability == (9, 0)
    monkeypatch.setattr(rules, "machine_of", lambda device: Machine((7, 0), 80))
    assert rules.machine_for_cuda(*on_a_gpu) is None and len(built) == 1
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("nvcc was not found: set CUDA_HOME"),
        KernelTextError("the compiler failed: nvcc fatal: Unsupported gpu architecture"),
        OSError("CUDA_HOME environment variable is not set"),
    ],
)
def test_where_nothing_compiles_it_says_once_that_triton_is_taken(
    on_a_gpu, monkeypatch, capsys, error
):
    monkeypatch.setattr(rules.cuda, "build_kernel", mock.Mock(side_effect=error))
    for _ in range(2):
        assert rules.machine_for_cuda(*on_a_gpu) is None
    said = capsys.readouterr().out
    assert said.count("\n") == 1 and "Triton" in said and str(error) in said


# Nothing of a call stays behind


def assert_same_as_triton(layer, M=1):
    x = activations(M, K, layer.input_dtype.value)
    kernel = layer.explain(M).split()[3].strip(",")
    assert kernel == "GEMV_FAST"
    y, other = layer(x), layer.forward_manual(x, "GEMV")
    torch.testing.assert_close(y, other, rtol=2**-9, atol=2**-6)


def test_weights_packed_again_or_loaded_are_those_that_count(problem):
    layer = problem.layer
    assert_same_as_triton(layer)
    other = make(4, 128, N=N, K=K, bias=torch.float16, seed=5)
    layer.pack(other.codes, other.scales, other.zeros, other.bias)
    assert_same_as_triton(layer)
    wider = make(2, N=N + 3, K=K, y=DType.FP32, seed=6)
    layer.load_state_dict(wider.layer.state_dict())
    assert layer(activations(1, K)).shape == (1, N + 3)
    assert_same_as_triton(layer)


def test_a_bias_of_another_type_is_read_as_such(problem):
    for dtype in (torch.float32, torch.bfloat16):
        problem.layer.bias = torch.nn.Parameter(problem.bias.to(dtype) + 1, requires_grad=False)
        assert_same_as_triton(problem.layer)
    problem.layer.bias = None
    assert_same_as_triton(problem.layer)


def test_a_layer_that_was_called_is_copied_pickled_and_moved(problem):
    layer, x = problem.layer, activations(1, K)
    y = layer(x)
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)), layer.half().cpu()):
        assert torch.equal(other(x), y)
    empty = GemLiteLinear()
    empty.load_state_dict(layer.state_dict())
    assert torch.equal(empty(x), y)
    assert layer.to("meta")(x.to("meta")).is_meta


@pytest.mark.parametrize("shape", [(K,), (1, K), (1, 1, K), (2, 3, K), (0, K)])
def test_leading_dimensions(problem, shape):
    x = activations(6, K)[: max(torch.Size(shape[:-1]).numel(), 0)].reshape(shape)
    y = problem.layer(x)
    assert y.shape == (*shape[:-1], N)
    if len(x):
        rows = problem.layer.forward_manual(x.reshape(-1, K), "GEMV_FAST")
        assert torch.equal(y.reshape(-1, N), rows)


def test_x_need_not_be_contiguous_or_aligned(problem):
    x = activations(2, K)
    y = problem.layer(x)
    shifted = torch.empty(2 * K + 1).half()[1:].view(2, K).copy_(x)
    for view in (x.T.contiguous().T, x.repeat(1, 2)[:, :K], shifted):
        assert torch.equal(problem.layer(view), y)


@pytest.mark.parametrize("kernel", FAST)
@pytest.mark.parametrize("name", ["W_q", "scales", "zeros", "bias"])
def test_weights_need_not_be_contiguous_or_aligned(name, kernel, addresses):
    layer, x = make(4, 128, N=24, K=K, bias=torch.float16).layer, activations(2, K)
    y, tensor = layer.forward_manual(x, kernel), getattr(layer, name).data
    for view in (tensor.repeat_interleave(2, -1)[..., ::2], laid_out(tensor[None], UNALIGNED)[0]):
        setattr(layer, name, torch.nn.Parameter(view, requires_grad=False))
        assert torch.equal(layer.forward_manual(x, kernel), y)
    assert addresses and not any(address % 16 for address in addresses)


# The operator, and where it is left out


@pytest.fixture
def operators(monkeypatch):
    """What the layer calls of the operator, one entry a call."""
    calls, operator = [], linear_module.linear

    def linear(*operands):
        calls.append(operands)
        return operator(*operands)

    monkeypatch.setattr(linear_module, "linear", linear)
    return calls


@pytest.mark.parametrize("mode", [torch.inference_mode, torch.no_grad, torch.enable_grad])
def test_only_in_inference_mode_torch_is_not_told(problem, operators, mode):
    x = activations(2, K)
    y = problem.layer(x)
    operators.clear()
    with mode():
        assert torch.equal(problem.layer(x), y)
        assert bool(operators) == (mode != torch.inference_mode)


class Seen(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        return function(*arguments, **named or {})


class SeenByName(TorchFunctionMode):
    def __torch_function__(self, function, types, arguments=(), named=None):
        return function(*arguments, **named or {})


class Subclass(torch.Tensor):
    pass


def inside(mode):
    def call(layer, x):
        with mode():
            return layer(x)

    return call


LISTENERS = {
    "dispatch mode": inside(Seen),
    "function mode": inside(SeenByName),
    "default device": inside(lambda: torch.device("cpu")),
    "profiler": inside(torch.profiler.profile),
    "vmap": lambda layer, x: torch.func.vmap(layer)(x[:, None])[:, 0],
    "functionalize": lambda layer, x: torch.func.functionalize(layer)(x),
    "make_fx": lambda layer, x: make_fx(layer)(x)(x),
    "jit.trace": lambda layer, x: torch.jit.trace(layer, x)(x),
    "subclass": lambda layer, x: layer(x.as_subclass(Subclass)),
    "compile": lambda layer, x: torch.compile(layer, backend="aot_eager", fullgraph=True)(x),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", LISTENERS)
def test_who_listens_is_told_in_inference_mode_too(problem, operators, name):
    torch.compiler.reset()
    x = activations(2, K)
    y = problem.layer(x)
    operators.clear()
    with torch.inference_mode():
        heard = LISTENERS[name](problem.layer, x)
        assert operators or name == "compile"  # which knows it by its trace
    torch.testing.assert_close(torch.Tensor(heard), torch.Tensor(y), rtol=0, atol=2**-4)
    torch.compiler.reset()


def test_fake_tensors_stay_fake(problem):
    with torch.inference_mode(), FakeTensorMode(allow_non_fake_inputs=True) as mode:
        y = problem.layer(mode.from_tensor(activations(2, K)))
        assert isinstance(y, FakeTensor) and y.shape == (2, N)


@pytest.mark.parametrize(
    "x",
    [
        activations(1, K).float(),
        activations(1, K).bfloat16(),
        activations(1, K)[:, :-1],
        torch.tensor(1.0).half(),
        activations(1, K).to("meta"),
        activations(1, K).to_sparse(),
        "x",
        None,
    ],
)
def test_a_wrong_x_gets_the_same_sentence_in_any_mode(problem, x):
    problem.layer(activations(1, K))
    sentences = []
    for mode in (torch.inference_mode, torch.no_grad):
        with mode(), pytest.raises((TypeError, ValueError)) as refused:
            problem.layer(x)
        sentences.append(str(refused.value))
    assert len(set(sentences)) == 1 and "x " in sentences[0]


@pytest.mark.parametrize("matmul_type", ["", "GEMV_FAST", "GEMM_SPLITK"])
def test_the_operator_is_one_of_torch(problem, matmul_type):
    layer = problem.layer
    tensors = layer.W_q, None, layer.scales, layer.zeros, None, layer.bias
    for x in (activations(2, K), activations(4, K).reshape(2, 2, K), activations(2, K)[:0]):
        operands = x, None, *tensors, layer._form_text, matmul_type
        torch.library.opcheck(torch.ops.gemlite_edu.linear, operands)


def test_a_scale_that_requires_grad_is_refused():
    layer = make(8, x=DType.INT8, scaled=True).layer
    factor = torch.nn.Parameter(torch.ones(()))
    layer.scale_activations = lambda x: (x.to(torch.int8), factor)
    with pytest.raises(ValueError, match="scale_activations returns requires grad"):
        layer(activations(1, 128))
    with torch.no_grad():
        assert layer(activations(1, 128)).shape == (1, 20)
