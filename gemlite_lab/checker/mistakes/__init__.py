"""Models of mistakes: each computes, for any case, the wrong output that its mistake gives."""
