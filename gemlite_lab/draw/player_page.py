"""The page of a player: HTML and SVG that show the first frame without scripts."""

import json
from html import escape

from gemlite_lab.draw.canvas import (
    ASKED,
    COPY,
    GLOBAL,
    GLOBAL_STORE,
    LANE,
    MARK,
    SHARED,
    SHARED_STORE,
    SUM,
    WAITING,
)
from gemlite_lab.draw.frames import (
    BOX,
    CELLS_HEIGHT,
    CELLS_TOP,
    COLUMN,
    KINDS,
    LANES_HEIGHT,
    LANES_TOP,
)
from gemlite_lab.draw.player_script import KEYS, SHOW
from gemlite_lab.draw.track import stride, track

_LANES = 32
_INK = "#000000"  # on the fills
_FILLS = {  # of draw.timeline, for requests
    "g": GLOBAL,
    "S": SHARED_STORE,
    "s": SHARED,
    "G": GLOBAL_STORE,
    "a": COPY,
    "c": WAITING,
    "x": SUM,
    "m": LANE,
}
_PATHS = {"plain": LANE, "served": LANE, "waits": WAITING, "asked": ASKED}
_LINES = {"lines": "currentColor", "other": ASKED}  # of draw.shuffle_tree: another lane's
_TEXTS = {
    "wrong": LANES_TOP - 3,
    "index": LANES_TOP + 13,
    "value": LANES_TOP + 27,
    "cell": CELLS_TOP + 11,
    "number": CELLS_TOP + CELLS_HEIGHT + 13,
}
_SMALL = dict.fromkeys(("index", "value", "cell"), ' font-size="8.5"')
_WRITES_IN_BOX = ("index", "value")
_HEIGHT = CELLS_TOP + CELLS_HEIGHT + 36
_HERE = "rgba(213,94,0,0.3)"  # behind the line of the step
_CALLING = "rgba(213,94,0,0.1)"  # behind the lines that call its function
_BUTTON = "font:inherit;color:inherit;background:transparent;border:1px solid;border-radius:4px"


def page(title, steps, frames, headings, details, code, lines_of, note):
    """The HTML of a player.

    frames: `Frame`s of the steps; headings, details: the words of each. code: the kernel's lines,
    as (number, text); lines_of: for each frame places in `code`, that of its line and those of the
    lines that call its function. note: a sentence, or "".
    """
    first_fault = next((i for i, words in enumerate(headings) if "WRONG" in words), None)
    parts = [
        f'<div class="gemlite-play" role="group" aria-label="{escape(title)}" '
        f"data-frames='{_data(frames, lines_of)}' onkeydown=\"{escape(KEYS)}\" "
        'style="max-width:1024px;font-family:sans-serif;font-size:13px">',
        '<div class="said" aria-live="polite" style="min-height:2.6em">'
        f"{escape(headings[0])}</div>",
        _picture(frames[0], headings[0]),
        track(steps, [_kind(frame) for frame in frames], _FILLS),
        _controls(len(frames), headings[0], first_fault),
        _legend(frames),
        f"<p>{escape(note)}</p>" if note else "",
        _code(code, lines_of[0]),
        _twin(headings, details),
        "</div>",
    ]
    return "\n".join(filter(None, parts))


def _data(frames, lines_of):
    """The frames as lists of numbers of texts, because most texts come again and again."""
    texts = {}

    def number(text):
        return texts.setdefault(text, len(texts))

    rows = [
        [
            *(number("|".join(getattr(frame, name))) for name in _TEXTS),
            *(number(getattr(frame, name)) for name in (*_PATHS, *_LINES)),
            number(frame.doing),
            number(frame.under),
            number(",".join(map(str, lines))),
        ]
        for frame, lines in zip(frames, lines_of, strict=True)
    ]
    data = {
        "frames": rows,
        "texts": list(texts),
        "texts_of": list(_TEXTS),
        "paths_of": [*_PATHS, *_LINES],
        "in_box": _WRITES_IN_BOX,
        "fills": _FILLS,
        "ink": _INK,
        "here": _HERE,
        "calling": _CALLING,
        "stride": stride(frames),
    }
    compact = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return compact.replace("&", "&amp;").replace("'", "&#39;").replace("<", "&lt;")


def _kind(frame):
    """What lanes of a frame do, of those that take part."""
    return next((letter for letter in frame.doing if letter in _FILLS), "-")


def _picture(frame, said):
    middles = [lane * COLUMN + COLUMN // 2 for lane in range(_LANES)]
    shapes = [_lane(lane, letter) for lane, letter in enumerate(frame.doing)]
    shapes += [f'<text x="{x}" y="11">{lane}</text>' for lane, x in enumerate(middles)]
    shapes += [
        f'<path class="{name}" d="{getattr(frame, name)}" fill="{color}"/>'
        for name, color in _PATHS.items()
    ]
    shapes += [
        f'<path class="{name}" d="{getattr(frame, name)}" fill="none" stroke="{color}" '
        'stroke-opacity="0.9"/>'
        for name, color in _LINES.items()
    ]
    for name, y in _TEXTS.items():
        labels = zip(middles, getattr(frame, name), frame.doing, strict=True)
        shapes += [
            f'<text class="{name}" x="{x}" y="{y}"{_SMALL.get(name, "")} '
            f'fill="{_text_color(name, letter)}">{label}</text>'
            for x, label, letter in labels
        ]
    return (
        f'<svg role="img" aria-label="{escape(said)}" viewBox="0 0 {_LANES * COLUMN} {_HEIGHT}" '
        'width="100%" font-size="10.5" text-anchor="middle" fill="currentColor">'
        + "".join(shapes)
        + f'<text class="under" x="0" y="{_HEIGHT - 6}" text-anchor="start">'
        f"{escape(frame.under)}</text></svg>"
    )


def _lane(lane, letter):
    dashes = "3" if letter == "w" else "none"
    return (
        f'<rect class="lane" x="{lane * COLUMN + (COLUMN - BOX) // 2}" y="{LANES_TOP}" '
        f'width="{BOX}" height="{LANES_HEIGHT}" stroke="currentColor" stroke-opacity="0.4" '
        f'stroke-dasharray="{dashes}" fill="{_FILLS.get(letter, "none")}"/>'
    )


def _text_color(name, letter):
    if name == "cell":
        return _INK
    is_filled = name in _WRITES_IN_BOX and letter in _FILLS
    return _INK if is_filled else MARK if name == "wrong" else "currentColor"


def _controls(count, said, first_fault):
    def button(label, words, change):
        go = f"const s=this.closest('.gemlite-play').querySelector('input');{change};s.oninput()"
        return (
            f'<button type="button" aria-label="{words}" style="{_BUTTON}" onclick="{go}">'
            f"{label}</button>"
        )

    to_fault = ""
    if first_fault is not None:
        to_fault = button("to the first fault", "to the first fault", f"s.value={first_fault}")
    return (
        '<div style="display:flex;gap:6px;align-items:center">'
        + button("◀", "previous step", "s.stepDown()")
        + button("▶", "next step", "s.stepUp()")
        + f'<input type="range" min="0" max="{count - 1}" value="0" aria-label="step" '
        f'aria-valuetext="{escape(said)}" oninput="{escape(SHOW)}" style="flex:1">'
        f"{to_fault}</div>"
    )


def _legend(frames):
    used = {letter for frame in frames for letter in frame.doing}
    lanes = [(color, KINDS[letter]) for letter, color in _FILLS.items() if letter in used]
    below = []
    if any(frame.asked for frame in frames):
        below += [(ASKED, "bytes asked for"), (WAITING, "bytes moved, not asked for")]
    if any(frame.served for frame in frames):
        below += [(LANE, "a cell that its bank delivers"), (WAITING, "a cell that waits")]
    above = f"Lanes, with the element and its value: {_squares(lanes)}"
    above += " dashed: wait for others" * ("w" in used) + " empty: take no part" * bool(
        used & {*"e-"}
    )
    rest = f"<br>Below: {_squares(below)}" if below else ""
    if any(frame.other for frame in frames):
        rest += "<br>Blue lines: to another lane's value, or to what another warp has written"
    rest += "<br>Strip: all steps, in their phases and functions; framed: this one"
    return f'<div style="margin:6px 0">{above}{rest}</div>'


def _squares(named):
    return " ".join(
        f'<span style="white-space:nowrap;margin-right:8px"><span style="background:{color}">'
        f"&emsp;</span> {words}</span>"
        for color, words in named
    )


def _code(code, here):
    backgrounds = dict.fromkeys(here, _CALLING) | dict.fromkeys(here[:1], _HERE)
    lines = "".join(
        f'<span class="code" style="background:{backgrounds.get(place, "none")}">'
        f"{escape(f'{number:>4}  {text}')}\n</span>"
        for place, (number, text) in enumerate(code)
    )
    style = "overflow:auto;max-height:24em;color:inherit;background:none"
    label = 'tabindex="0" role="region" aria-label="lines of the kernel"'  # it may scroll
    return f'<pre {label} style="{style}">{lines}</pre>'


def _twin(headings, details):
    steps = "".join(
        f'<li class="step"><b>{escape(words)}</b> {escape(more)}</li>'
        for words, more in zip(headings, details, strict=True)
    )
    style = "list-style:none;padding:0"
    return (
        f'<details><summary>All steps as text</summary><ol style="{style}">{steps}</ol></details>'
    )
