"""`make release-check`: build what a release holds, and try it as a stranger would.

It builds the source distribution, the wheel and the site in fresh folders, prints a sentence for
each problem, and a table of the Pythons and torches with which the wheel was used. Each of these
environments takes some minutes and several GB of disk, one after the other.
"""

import sys
import tempfile
from pathlib import Path

import links
import release_matrix
from release_matrix import last_line, ran

ROOT = Path(__file__).resolve().parent.parent


def main():
    with tempfile.TemporaryDirectory() as folder:
        problems = [
            *problems_of_building(Path(folder) / "dist"),
            *links.problems_of_pages([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]),
            *problems_of_building_the_site(Path(folder) / "site"),
        ]
        for problem in problems:
            print(problem)
        wheels = list(Path(folder).glob("dist/*.whl"))
        failures = table_of(release_matrix.rows(wheels[0])) if wheels else []
    if problems or failures:
        sys.exit(f"{len(problems)} problems, and {len(failures)} environments in which it fails")


def problems_of_building(folder):
    """Build the source distribution, and from it the wheel; ask twine about both."""
    builds, output = ran([sys.executable, "-m", "build", "--outdir", folder, ROOT])
    if not builds:
        return [f"the package does not build: {last_line(output)}"]
    files = sorted(folder.iterdir())
    print(", ".join(f"{file.name}: {file.stat().st_size / 1e3:.0f} kB" for file in files))
    passes, output = ran([sys.executable, "-m", "twine", "check", "--strict", *files])
    return [] if passes else [f"twine refuses a distribution: {output}"]


def problems_of_building_the_site(folder):
    """Build the site as `make docs` does, but all of it, and follow its links."""
    sphinx = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", "docs/site"]
    builds, output = ran([*sphinx, ".", folder], ROOT)
    return links.problems_of_site(folder) + ([] if builds else [f"the site: {output}"])


def table_of(rows):
    """Print a line for each row as soon as there is one; return the rows that failed."""
    print("| Python | torch | triton | the wheel |\n|---|---|---|---|")
    failed = []
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)
        failed += [row] if "FAILED" in row[-1] else []
    return failed


if __name__ == "__main__":
    main()
