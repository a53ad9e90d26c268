"""The readme of an index page: README.md, without what is true of the repository alone.

A relative link leads nowhere there, so its text takes its place; and the page's own name installs.
"""

import re
from pathlib import Path

from setuptools import setup

LINK = re.compile(r"!?\[([^\]]*)\]\((?!https?:)[^)]*\)")
README = (Path(__file__).parent / "README.md").read_text(encoding="utf-8")
HERE = README.replace("pip install <this repository>", "pip install gemlite-edu")

setup(long_description=LINK.sub(r"\1", HERE), long_description_content_type="text/markdown")
