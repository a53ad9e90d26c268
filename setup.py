"""The readme of an index page: README.md, with the text of each relative link in its place."""

import re
from pathlib import Path

from setuptools import setup

LINK = re.compile(r"!?\[([^\]]*)\]\((?!https?:)[^)]*\)")
README = (Path(__file__).parent / "README.md").read_text(encoding="utf-8")

setup(long_description=LINK.sub(r"\1", README), long_description_content_type="text/markdown")
