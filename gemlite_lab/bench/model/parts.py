"""The parts of a run: a shape of model with a contender's layers."""

from gemlite_lab.bench.model.contenders import CONTENDERS
from gemlite_lab.bench.model.shapes import SHAPES


def parts_of(words, shapes=SHAPES, contenders=CONTENDERS):
    """[(shape, contender)] of words such as "8B", "ours" or "8B-ours"; all for no words.

    Raises ValueError for a word that names no part.
    """
    every = [(shape, contender) for shape in shapes.values() for contender in contenders.values()]
    names = [{s.name, c.name, f"{s.name}-{c.name}"} for s, c in every]
    unknown = [word for word in words if not any(word in of for of in names)]
    if unknown:
        raise ValueError(
            f"there is no part {unknown[0]!r}: name a shape ({', '.join(shapes)}), a contender "
            f"({', '.join(contenders)}) or both, as in 8B-ours"
        )
    return [part for part, of in zip(every, names, strict=True) if not words or of & set(words)]
