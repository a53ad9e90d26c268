"""A class with this course: a release without solutions, a schedule, quizzes, and safe grading.

    python -m gemlite_lab.classroom --help

docs/classroom.md tells a teacher how to use it.
"""
