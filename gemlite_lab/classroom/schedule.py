"""The schedule of a class, as Markdown: a table for each week."""

from datetime import timedelta

from gemlite_lab.classroom.plan import WEEKS, units_of


def schedule(start=None):
    """The text of the schedule. start: the date on which the first week begins, or None."""
    return "\n".join(["# The schedule", *(_week(week, start) for week in range(1, WEEKS + 1))])


def _week(week, start):
    units = units_of(week)
    minutes = sum(unit.minutes.lesson + unit.minutes.exercises for unit in units)
    points = sum(task.points for unit in units for task in unit.tasks)
    begins = f", from {start + timedelta(weeks=week - 1)}" if start else ""
    lines = [
        f"\n## Week {week}{begins}: {minutes} minutes, {points} points\n",
        "| lesson | minutes (+ exercises) | exercises (points) |",
        "|---|---|---|",
        *map(_line, units),
    ]
    return "\n".join(lines)


def _line(unit):
    minutes = unit.minutes
    more = f" + {minutes.exercises}" if minutes.exercises else ""
    tasks = ", ".join(f"{task.name} ({task.points})" for task in unit.tasks)
    return f"| {unit.lesson.title} | {minutes.lesson}{more} | {tasks} |"
