import pytest

from gemlite_lab.lesson.minutes import Stated, minutes_by_rule, predictions, stated_minutes


def prose(text):
    return {"cell_type": "markdown", "source": text}


def code(source, *outputs):
    return {"cell_type": "code", "source": source, "outputs": list(outputs)}


def printed(lines):
    return {"output_type": "stream", "name": "stdout", "text": lines}


def shown(kind, text):
    return {"output_type": "display_data", "data": {kind: text, "text/plain": "what it is"}}


FIVE_MINUTES = {
    "750 words": [prose("word " * 750)],
    "50 lines of code": [code(["x = 1\n"] * 50)],
    "50 lines shown from a file": [code("", shown("text/markdown", "x = 1\n" * 50))],
    "100 printed lines": [code("", printed(["a line\n"] * 100))],
    "5 pictures": [code("", *[shown("image/png", "")] * 5)],
    "2 predictions, with 10 lines of code": [code("predict(1, None)\n" * 2), code("x = 1\n" * 8)],
    "4 questions, with 10 lines of code": [code('recall("a.1")\n' * 4), code("x = 1\n" * 6)],
}


@pytest.mark.parametrize("cells", FIVE_MINUTES.values(), ids=list(FIVE_MINUTES))
def test_the_rule_counts_it(cells):
    assert minutes_by_rule(cells) == 5
    assert minutes_by_rule([*cells, prose("word")]) == 10


def test_empty_lines_and_targets_of_links_take_no_time():
    cells = [prose("word " * 749 + "[a](b c d)"), code("\n\n", printed("\n\n"))]
    assert minutes_by_rule(cells) == 5


def test_only_a_line_that_asks_is_a_prediction():
    assert predictions([code('predict("a", None)\n# predict\nx = predict'), prose("predict(")]) == 1


@pytest.mark.parametrize(
    "text, minutes",
    [
        ("# A title?\n\n**45 minutes.** At the end", Stated(45, 0)),
        ("**45 minutes, and 15 for the exercise.**", Stated(45, 15)),
        ("**45 minutes, and 15 for the exercises.**", Stated(45, 15)),
    ],
)
def test_a_lesson_states_its_minutes(text, minutes):
    assert stated_minutes([code("x"), prose(text)]) == minutes


def test_a_lesson_without_minutes_gets_a_sentence():
    with pytest.raises(ValueError, match="the first cell must state"):
        stated_minutes([prose("45 minutes")])
