"""A process of its own for a learner's Python, which can hurt nothing and reach no right answer.

`sandbox.Sandbox` sends a function and its arguments there and gets plain values back.
"""
