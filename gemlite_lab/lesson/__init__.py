"""Helpers for a notebook, beside its kernels: plain functions that print."""

from gemlite_lab.lesson.guesses import guesses
from gemlite_lab.lesson.predict import predict, reveal
from gemlite_lab.lesson.read import read
from gemlite_lab.lesson.read_triton import read_triton
from gemlite_lab.lesson.recall import recall

__all__ = ["guesses", "predict", "read", "read_triton", "recall", "reveal"]
