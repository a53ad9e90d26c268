import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import links  # noqa: E402


@pytest.fixture
def pages(tmp_path):
    (tmp_path / "b.md").write_text(
        "# Two `words`\n\n## Twice\n\n## Twice\n\n```\n# no heading\n```\n"
    )

    def problems(text):
        path = tmp_path / "a.md"
        path.write_text(text)
        return links.problems_of_pages([path])

    return problems


@pytest.mark.parametrize(
    "link",
    ["b.md", "b.md#two-words", "b.md#twice-1", "https://a.org/b_(c)#d", "mailto:a@b.org"],
)
def test_a_link_that_leads_somewhere(pages, link):
    assert pages(f"see [it]({link})") == []


@pytest.mark.parametrize(
    "link, problem",
    [
        ("c.md", "leads to no file"),
        ("b.md#three", "leads to no place in that page"),
        ("b.md#no-heading", "leads to no place in that page"),
        ("#here", "leads to no place in that page"),
        ("https://nowhere", "is no address of a page"),
        ("htps://a.org", "is no address of a page"),
        ("https://[a.org", "is no address"),
    ],
)
def test_a_link_that_leads_nowhere(pages, link, problem):
    (found,) = pages(f"see [it]({link})")
    assert f"a.md: {link} {problem}" in found


def test_what_looks_like_a_link_in_code_is_none(pages):
    assert pages("`x[0](c)`\n\n```python\nf[1](d.md)\n```\n") == []


def test_the_links_of_a_site(tmp_path):
    (tmp_path / "a.html").write_text(
        '<p id="top"><a href="#top">1</a><a href="b.html#it">2</a><img src="c.png">'
        '<a href="b.html#other">3</a><a href="https://a.org">4</a></p>'
    )
    (tmp_path / "b.html").write_text('<h1 id="it">b</h1>')
    assert [problem.split(": ")[1] for problem in links.problems_of_site(tmp_path)] == [
        "b.html#other leads to no place in that page",
        "c.png leads to no file",
    ]
