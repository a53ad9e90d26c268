"""How near a kernel of the learner's comes to the least that its product needs."""

from gemlite_lab.bench.score.result import Score
from gemlite_lab.bench.score.right import NoScore
from gemlite_lab.bench.score.scoring import score_of

__all__ = ["NoScore", "Score", "score_of"]
