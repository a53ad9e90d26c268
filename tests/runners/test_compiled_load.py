"""What `load` returns is one operator for torch.compile and torch.export."""

import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

from gemlite_edu import load, pack_bitnet_2bit, pack_warped_int32, pair_table, quantize_linear
from gemlite_edu.runners.kernel import Kernel

K, N = 256, 48


class Layer(torch.nn.Module):
    """A user's module around a kernel."""

    def __init__(self, kernel, *operands, **named):
        super().__init__()
        self.kernel, self.operands, self.named = kernel, operands, named

    def forward(self, x):
        return self.kernel(x, *self.operands, **self.named) + 1


def layers():
    q = quantize_linear(torch.randn(N, K, generator=torch.Generator().manual_seed(0)), 4)
    fast = load("gemv_a16wn_fast", nbits=4)
    yield Layer(fast, *fast.pack(q.W_q, q.scales, q.zeros))
    yield Layer(load("gemv_a16wn_fp32", nbits=4), pack_warped_int32(q.W_q, 4), q.scales, 8)
    yield Layer(load("gemv_a16w16_warp"), q.W_q.half())
    ternary = load("gemv_a8w2_dp4a", y_dtype=torch.float16)
    yield Layer(ternary, pack_bitnet_2bit(q.W_q % 3), 0.5, token_scales=2.0, N=N)


@pytest.fixture(params=range(4), ids=["fast", "fp32", "dense", "ternary"])
def layer(request):
    return list(layers())[request.param]


@pytest.fixture
def x(layer):
    return torch.randint(-9, 9, (2, K)).to(layer.kernel.x_dtype)


def test_a_module_around_a_kernel_compiles_whole(layer, x, fresh_compiler):
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(x), layer(x))
    assert torch.equal(compiled(x[:1]), layer(x[:1]))


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_a_tracer_sees_one_operator(layer, x, mode):
    graph = make_fx(layer, tracing_mode=mode, _allow_non_fake_inputs=True)(x)
    called = [node.target for node in graph.graph.nodes if node.op == "call_function"]
    assert torch.ops.gemlite_edu.kernel.default in called and len(called) == 2
    assert torch.equal(graph(x), layer(x))


def test_fake_tensors_and_transforms_take_it(layer, x):
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        y = layer(mode.from_tensor(x))
        assert (tuple(y.shape), y.dtype) == ((2, N), layer(x).dtype)
    each = torch.vmap(layer)(torch.stack([x, x + 1]))
    assert torch.equal(each, torch.stack([layer(x), layer(x + 1)]))


@pytest.mark.parametrize("layer", range(3), indirect=True, ids=["fast", "fp32", "dense"])
def test_a_derivative_is_refused(layer, x):
    with pytest.raises(ValueError, match="x has a tangent and this kernel has no forward"):
        torch.func.jvp(layer, (x,), (x,))


@pytest.mark.parametrize("most", [{"max": 64}, {}], ids=["up to 64", "no limit"])
def test_it_is_exported_for_any_number_of_rows(layer, x, most):
    rows = torch.export.Dim("M", min=2, **most)
    exported = torch.export.export(layer, (x,), dynamic_shapes={"x": {0: rows}})
    more = torch.cat([x, x, x])
    assert torch.equal(exported.module()(more), layer(more))


def test_an_output_is_written_in_a_compiled_call_too(layer, x, fresh_compiler):
    def call(x, out):
        return layer.kernel(x, *layer.operands, **layer.named, out=out)

    out = torch.empty(2, N, dtype=layer.kernel.y_dtype)
    torch.compile(call, fullgraph=True, backend="aot_eager")(x, out)
    assert torch.equal(out + 1, layer(x))


def test_the_operator_keeps_the_rules_of_torch():
    fast = next(layers())
    operands = torch.ones(2, K).half(), *fast.operands, *[None] * 5, fast.kernel.recipe
    torch.library.opcheck(torch.ops.gemlite_edu.kernel, operands)


def test_an_own_text_is_part_of_the_recipe(fresh_compiler):
    text = "__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) { return 2.0f; }"
    kernel = load("gemv_a16wn_fp32", nbits=4, replace={"dequant_dot": text})
    layer = Layer(kernel, torch.zeros(8, 32, dtype=torch.int32), 1.0, 0.0)
    x = torch.ones(1, K).half()
    y = torch.compile(layer, fullgraph=True, backend="aot_eager")(x)
    assert torch.equal(y, layer(x)) and y.unique().item() == 2 * 32 + 1


class Coded(torch.nn.Module):
    """A user's layer whose levels are data: the kernel is everybody's."""

    kernel = load("gemv_a16wn_fast", nbits=4, replace=pair_table(range(16)))

    def __init__(self, levels):
        super().__init__()
        self.register_buffer("levels", levels)
        words, self.scales, self.zeros = self.kernel.pack(torch.arange(16).byte()[None], 1.0, 0.0)
        self.register_buffer("words", words)

    def forward(self, x):
        return self.kernel(x, self.words, self.scales, self.zeros, levels=self.levels)


def test_levels_are_operands_of_the_operator(fresh_compiler):
    graphs, x = [], torch.eye(16).half()

    def backend(graph, inputs):
        graphs.append(graph)
        return graph

    for seed in range(10):
        levels = torch.randn(16, generator=torch.Generator().manual_seed(seed))
        compiled = torch.compile(Coded(levels), fullgraph=True, backend=backend)
        assert torch.equal(compiled(x)[:, 0], levels.half())
    assert len(graphs) == 1


def test_the_levels_of_a_table_are_part_of_the_recipe(fresh_compiler):
    table = load("gemv_a16wn_fast", nbits=4, replace=pair_table(range(16, 0, -1)))
    layer = Layer(table, *table.pack(torch.arange(16).byte()[None], 1.0, 0.0))
    y = torch.compile(layer, fullgraph=True, backend="aot_eager")(torch.eye(16).half())
    assert y.flatten().tolist() == [level + 1 for level in range(16, 0, -1)]
    operands = torch.eye(16).half(), *layer.operands, *[None] * 5, table.recipe
    torch.library.opcheck(torch.ops.gemlite_edu.kernel, (*operands, torch.ones(16)))


def test_a_kernel_with_a_changed_source_is_no_operator(fresh_compiler):
    changed = load("gemv_a16w16_warp").with_changed_source(lambda source: source)
    assert isinstance(changed, Kernel) and changed.recipe is None
    with pytest.raises(Exception, match="call load again"):
        torch.compile(changed, fullgraph=True, backend="eager")(
            torch.ones(1, K).half(), torch.ones(N, K).half()
        )


def test_what_is_no_text_gets_its_sentence_before_the_recipe_is_written():
    with pytest.raises(TypeError, match="the text for dequant_dot must be a str, got object"):
        load("gemv_a16wn_fp32", nbits=4, replace={"dequant_dot": object()})
