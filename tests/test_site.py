"""`make docs` builds the site; here stands what needs no builder."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
CONTENTS = (ROOT / "docs" / "site" / "contents.txt").read_text()


def test_the_list_of_pages_has_every_document_and_no_other():
    listed = re.findall(r"^(?:[\w/]+/)?\w+$", CONTENTS, re.MULTILINE)
    pages = {f"docs/{path.stem}" for path in ROOT.glob("docs/*.md")}
    assert pages == {page for page in listed if re.fullmatch(r"docs/\w+", page)}
    assert len(listed) == len(set(listed))
    assert all((ROOT / f"{page}.md").exists() for page in listed)
    tops = {path.stem for path in ROOT.glob("*.md")} - {"README"}
    assert tops <= set(listed)
