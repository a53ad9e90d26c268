"""`own_page`: one page with the learner's kernel, what it wrote, and its figures."""

from pathlib import Path

from gemlite_lab.lesson.record import place_beside

_NAME = "my_kernel"


def own_page(assembled, text, figures):
    """Write a Markdown page about an `Assembled` kernel, and return its path; print its name.

    text: what the model wrote with it. figures: {what: a number or text}. The page is
    my_kernel.md in work/ (outside a workbook, in the current folder), or my_kernel_2.md and so on:
    an earlier page stays.
    """
    path = _free_path()
    pieces = [_piece(name, own) for name, own in assembled.texts.items() if own]
    ours = [name for name, own in assembled.texts.items() if own is None]
    rows = [f"| {what} | {value} |" for what, value in figures.items()]
    page = [
        "# My kernel writes code",
        f"Weights: {assembled.format!r}.",
        _fenced("python", text),
        "\n".join(["| what | how much |", "|---|---|", *rows]),
        *pieces,
        *([f"From the package: {', '.join(ours)}."] if ours else []),
    ]
    path.write_text("\n\n".join(page) + "\n", encoding="utf-8")
    print(f"wrote {path.name}")
    return path


def _free_path():
    folder = (place_beside(_NAME) or Path(_NAME)).parent
    folder.mkdir(parents=True, exist_ok=True)
    number, path = 1, folder / f"{_NAME}.md"
    while path.exists():
        number += 1
        path = folder / f"{_NAME}_{number}.md"
    return path


def _piece(name, text):
    return f"## {name}\n\n{_fenced('python' if name == 'pack' else 'cuda', text.strip())}"


def _fenced(language, text):
    return f"````{language}\n{text}\n````"
