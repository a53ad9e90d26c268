"""python -m gemlite_lab.classroom release | grade | schedule | quizzes"""

import argparse
import sys
from datetime import date
from pathlib import Path

from gemlite_lab.classroom.grade import SECONDS, grade
from gemlite_lab.classroom.quizzes import quizzes
from gemlite_lab.classroom.release import release
from gemlite_lab.classroom.schedule import schedule


def main(words=None):
    options = _parser().parse_args(words)
    try:
        options.run(options)
    except (ValueError, OSError) as error:
        sys.exit(str(error))


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m gemlite_lab.classroom",
        description="What a teacher needs: docs/classroom.md explains it.",
    )
    commands = parser.add_subparsers(required=True)

    making = commands.add_parser(
        "release", help="a folder for a class: workbook, nbgrader, quizzes"
    )
    making.add_argument("out", type=Path, help="a folder that is not there yet")
    making.add_argument("--start", type=date.fromisoformat, help="first day, such as 2027-01-11")
    making.set_defaults(run=lambda o: release(o.out, o.start))

    grading = commands.add_parser("grade", help="check all submissions again, and write a CSV")
    grading.add_argument("folder", type=Path, help="with a folder or a notebook for each student")
    grading.add_argument("--out", type=Path, required=True, help="the CSV, such as grades.csv")
    grading.add_argument("--week", type=int, help="the exercises of one week alone")
    grading.add_argument("--seed", type=int, help="draws the hidden cases; else it is drawn by lot")
    grading.add_argument("--seconds", type=int, default=SECONDS, help="longest time of one answer")
    grading.set_defaults(run=lambda o: grade(o.folder, o.out, o.week, o.seed, o.seconds))

    planning = commands.add_parser("schedule", help="print the six weeks as Markdown")
    planning.add_argument("--start", type=date.fromisoformat, help="first day, such as 2027-01-11")
    planning.set_defaults(run=lambda o: print(schedule(o.start)))

    asking = commands.add_parser("quizzes", help="write the recall questions for Moodle, as GIFT")
    asking.add_argument("out", type=Path, help="such as quizzes.gift")
    asking.set_defaults(run=lambda o: o.out.write_text(quizzes(), encoding="utf-8"))
    return parser


if __name__ == "__main__":
    main()
