"""Accepted answers are kept, and `assemble` puts exactly these into a model."""

import pytest
import torch

from gemlite_edu import Format
from gemlite_edu.kernels.errors import KernelTextError
from gemlite_lab import CheckFailed, assemble, check, give_up
from gemlite_lab.checker.assemble import PIECES
from gemlite_lab.lesson.kept_answers import keep_answer, kept_answer

GROUPS = Format(4, group_size=32)
DEQUANT_DOT = """
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int j = 0; j < PACK_FACTOR; ++j) {
    const uint32_t code = (word >> (32 - W_NBITS * (j + 1))) & CODE_MASK;
    sum += (code - zero) * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
"""
PACK = """def pack(W_q, nbits):
    per_word = 32 // nbits
    N, K = W_q.shape
    padded = torch.nn.functional.pad(W_q.to(torch.int32), (0, -K % (32 * per_word)))
    words = torch.zeros(N, padded.shape[1] // per_word // 32, 32, dtype=torch.int32)
    for j, codes in enumerate(padded.view(N, -1, per_word, 32).unbind(2)):
        words |= codes << (32 - nbits * (j + 1))
    return words.view(N, -1)
"""


@pytest.fixture(autouse=True)
def own_record(monkeypatch, tmp_path):
    monkeypatch.setenv("GEMLITE_EDU_PROGRESS", str(tmp_path / "progress.json"))
    monkeypatch.delenv("GEMLITE_EDU_PIECES", raising=False)


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    parts = torch.nn.Linear(64, 40), torch.nn.ReLU(), torch.nn.Linear(40, 8, bias=False)
    return torch.nn.Sequential(*parts).requires_grad_(False)


@pytest.fixture(scope="module")
def x():
    return torch.randn(3, 64, generator=torch.Generator().manual_seed(1))


def close(made, expected):
    return torch.allclose(made, expected, atol=0.01, rtol=0.01)


def test_check_keeps_the_last_accepted_answer_and_no_other():
    check("dequant_dot_4bit", DEQUANT_DOT)
    assert kept_answer("dequant_dot_4bit", ".cu") == DEQUANT_DOT
    with pytest.raises(CheckFailed):
        check("dequant_dot_4bit", DEQUANT_DOT.replace("- zero", "+ zero"))
    assert kept_answer("dequant_dot_4bit", ".cu") == DEQUANT_DOT
    other = DEQUANT_DOT.replace("float sum = 0.0f", "float sum = 0")
    check("dequant_dot_4bit", other)
    assert kept_answer("dequant_dot_4bit", ".cu") == other
    give_up("pack")
    assert kept_answer("pack", ".py") is None


def test_a_missing_piece_stops_and_names_its_exercise():
    everything = r"missing: pack \(work/\d\d_bitpacking_exercises\), dequant_dot .*, scaled_dot "
    with pytest.raises(ValueError, match=everything):
        assemble(GROUPS)
    keep_answer("pack", PACK, ".py")
    with pytest.raises(ValueError, match=r"missing: dequant_dot \(work/"):
        assemble(GROUPS, ours=["scaled_dot", "warp_reduce_sum"])


def test_it_says_whose_each_piece_is(capsys):
    keep_answer("dequant_dot", DEQUANT_DOT, ".cu")
    assemble(Format(4), ours=["pack", "warp_reduce_sum"])
    said = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert said == [["pack", "ours"], ["dequant_dot", "yours"], ["warp_reduce_sum", "ours"]]


def test_the_learners_pieces_multiply_in_every_layer(model, x):
    keep_answer("pack", PACK, ".py")
    keep_answer("dequant_dot", DEQUANT_DOT, ".cu")
    made = assemble(Format(4), ours="warp_reduce_sum")
    assembled = made.put_into(model)
    assert not any(isinstance(m, torch.nn.Linear) for m in assembled.modules())
    assert close(assembled(x), made.dense(model)(x))
    assert not close(assembled(x), model(x))
    assert isinstance(model[0], torch.nn.Linear)


@pytest.mark.parametrize(
    "name, suffix, text",
    [
        ("pack", ".py", PACK.replace("(j + 1)", "(per_word - j)")),
        ("dequant_dot", ".cu", DEQUANT_DOT.replace("- zero", "+ zero")),
    ],
)
def test_a_wrong_piece_changes_the_output(model, x, name, suffix, text):
    keep_answer(name, text, suffix)
    made = assemble(Format(4), ours=[piece for piece in PIECES if piece != name])
    assert not close(made.put_into(model[:1])(x), made.dense(model[:1])(x))


def test_a_piece_that_does_not_run_stops(model):
    keep_answer("pack", "def pack(W_q, nbits):\n    return helper(W_q)\n", ".py")
    with pytest.raises(ValueError, match="your pack raised NameError.*define inside"):
        assemble(Format(4), ours=["dequant_dot", "warp_reduce_sum"]).put_into(model)
    keep_answer("dequant_dot", DEQUANT_DOT.replace("return sum;", "return sum"), ".cu")
    made = assemble(Format(4), ours=["pack", "warp_reduce_sum"]).put_into(model)
    with pytest.raises(KernelTextError, match="a statement ends with a semicolon"):
        made(torch.ones(1, 64))


def test_an_own_format_needs_and_gets_its_own_text(model, x):
    levels = (-3.0, -1.0, 1.0, 3.0)
    mine = Format(2, levels=levels, group_size=40)
    with pytest.raises(ValueError, match="has levels.*pass a dequant_dot"):
        assemble(mine, ours=PIECES)
    text = DEQUANT_DOT.replace("PACK_FACTOR", "CODES_PER_GROUP")
    text = text.replace("(code - zero)", "(2.0f * code - 3.0f)")
    made = assemble(mine, dequant_dot=text, ours=[p for p in PIECES if p != "dequant_dot"])
    last = model[2:]
    x = x[:, :40].contiguous()
    assert close(made.put_into(last)(x), made.dense(last)(x))


def test_where_tests_run_the_lesson_missing_pieces_are_ours(monkeypatch, model, x, capsys):
    monkeypatch.setenv("GEMLITE_EDU_PIECES", "ours")
    made = assemble(Format(4))
    assert "ours" in capsys.readouterr().out
    assert close(made.put_into(model)(x), made.dense(model)(x))


def test_a_loop_over_the_whole_word_is_refused_where_a_word_has_several_groups(model):
    keep_answer("dequant_dot", DEQUANT_DOT, ".cu")
    calling = """
__device__ float scaled_dot(Word word, const X_T* x, int k, const float* scales, const float* zeros,
                            int groups) {
  float sum = 0.0f;
  for (int j = 0; j < PACK_FACTOR; j += CODES_PER_GROUP) {
    const int group = min((k + j * WARP_SIZE) / GROUP_SIZE, groups - 1);
    sum += scales[group] * dequant_dot(from_code(word, j), &x[j * WARP_SIZE], zeros[group]);
  }
  return sum;
}
"""
    keep_answer("scaled_dot", calling, ".cu")
    others = ["pack", "warp_reduce_sum"]
    with pytest.raises(ValueError, match="end its loop at CODES_PER_GROUP"):
        assemble(GROUPS, ours=others)
    assemble(GROUPS, ours=[*others, "dequant_dot"])
    assemble(Format(4, group_size=256), ours=others)
    assemble(GROUPS, ours=others, dequant_dot=DEQUANT_DOT.replace("PACK_FACTOR", "CODES_PER_GROUP"))


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        ({"format": 4}, "format must be a Format, got int"),
        ({"format": Format(4), "ours": True}, "ours must be a list of pieces, got bool"),
        ({"format": Format(4), "ours": ["scale"]}, "ours has 'scale'; the pieces are pack"),
    ],
)
def test_other_arguments_are_refused(arguments, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence):
        assemble(**arguments)
