"""What the course says about its own solution of an exercise: notes/<exercise>.toml.

    why = "the deciding idea, in two to four sentences"
    other = "a right answer written differently, a file in tests/right/<exercise>/"
    other_is = "what that answer does in another way, in one sentence"
    blanks = ["a deciding expression of our solution, found there once", "another one"]

An exercise without `blanks` is so short that it has no rungs.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "notes"


@dataclass(frozen=True)
class Note:
    why: str
    other: str
    other_is: str
    blanks: tuple[str, ...] = ()


def note_of(name):
    """The `Note` on exercise `name`; None for a check in a lesson's text, which has none."""
    path = FOLDER / f"{name}.toml"
    if not path.exists():
        return None
    entries = tomllib.loads(path.read_text())
    return Note(**entries | {"blanks": tuple(entries.get("blanks", ()))})


def has_rungs(name):
    note = note_of(name)
    return note is not None and bool(note.blanks)
