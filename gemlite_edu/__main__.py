"""`python -m gemlite_edu`, or `gemlite-edu`: what the package finds here, and what it can do."""

import sys

from gemlite_edu.runners import info

USAGE = """usage: python -m gemlite_edu

Prints versions, compilers and GPUs, and what runs where on this machine. It takes no arguments."""


def main(arguments=None):
    if sys.argv[1:] if arguments is None else arguments:
        sys.exit(USAGE)
    print(f"{info.report()}\n\n{info.abilities()}")


if __name__ == "__main__":
    main()
