"""The six weeks, the points and the schedule follow from the course."""

import re
from datetime import date

import pytest

from gemlite_lab.checker import EXERCISES
from gemlite_lab.classroom.__main__ import main
from gemlite_lab.classroom.plan import ROOT, WEEKS, units, units_of
from gemlite_lab.classroom.schedule import schedule


def test_every_exercise_is_a_task_of_its_own_lesson_and_worth_something():
    tasks = {task.name: unit for unit in units() for task in unit.tasks}
    assert tasks.keys() == {name for name, exercise in EXERCISES.items() if exercise.lesson}
    for name, unit in tasks.items():
        assert EXERCISES[name].lesson == unit.lesson.slug
    assert all(task.points >= 1 for unit in units() for task in unit.tasks)


def test_points_are_the_minutes_of_a_notebook_in_equal_parts():
    unit = next(unit for unit in units() if unit.lesson.slug == "cuda_c")
    assert {task.points for task in unit.tasks} == {unit.minutes.exercises // len(unit.tasks)}


def test_an_answer_is_known_by_its_notebooks_own_name_for_it():
    variables = {task.name: task.variable for unit in units() for task in unit.tasks}
    assert variables["dequant_dot_4bit"] == "dequant_dot"
    assert variables["pack"] == "pack"


def test_the_weeks_follow_the_course_and_are_alike():
    assert [unit.lesson for week in range(1, WEEKS + 1) for unit in units_of(week)] == [
        unit.lesson for unit in units()
    ]
    loads = [
        sum(unit.minutes.lesson + unit.minutes.exercises for unit in units_of(week))
        for week in range(1, WEEKS + 1)
    ]
    longest = max(unit.minutes.lesson + unit.minutes.exercises for unit in units())
    assert max(loads) - min(loads) <= longest


@pytest.mark.parametrize("week", [0, 7])
def test_there_is_no_other_week(week):
    with pytest.raises(ValueError, match=f"weeks 1 to 6, got {week}"):
        units_of(week)


def test_the_schedule_names_every_lesson_and_exercise_once_with_the_days():
    text = schedule(date(2027, 1, 11))
    rows = re.findall(r"^\| (\d\d\. .*?) \|", text, re.MULTILINE)
    assert rows == [unit.lesson.title for unit in units()]
    for unit in units():
        for task in unit.tasks:
            assert len(re.findall(rf"\b{task.name} \({task.points}\)", text)) == 1
    heads = re.findall(r"^## Week (\d), from (\S+):", text, re.MULTILINE)
    assert heads[0] == ("1", "2027-01-11") and heads[-1] == ("6", "2027-02-15")


def test_the_command_prints_it(capsys):
    main(["schedule"])
    assert capsys.readouterr().out == schedule() + "\n"


def test_the_page_for_teachers_says_how_long_a_week_is():
    page = (ROOT / "docs" / "classroom.md").read_text()
    assert "six weeks of five to seven hours" in " ".join(page.split())
    for week in range(1, WEEKS + 1):
        minutes = [unit.minutes.lesson + unit.minutes.exercises for unit in units_of(week)]
        assert 5 * 60 <= sum(minutes) <= 7 * 60
    assert "capstone" in [unit.lesson.slug for unit in units_of(3)]
