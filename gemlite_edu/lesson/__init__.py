"""Floor 6: what a notebook needs around its kernels. Plain functions that print."""

from gemlite_edu.lesson.predict import predict, reveal
from gemlite_edu.lesson.read import read
from gemlite_edu.lesson.recall import recall
from gemlite_edu.lesson.workbook import give_up, progress, reset, solution

__all__ = ["give_up", "predict", "progress", "read", "recall", "reset", "reveal", "solution"]
