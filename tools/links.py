"""Links that lead nowhere, in the Markdown pages and in the built site.

A relative link must lead to a file, and its anchor to a heading or an id there. There may be no
network, so of an external link only the address is looked at.
"""

import re
from collections import Counter
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^()\s]+(?:\([^()\s]*\)[^()\s]*)*)\)")


def problems_of_pages(paths):
    """A sentence for each link of these Markdown pages that leads nowhere."""
    return [
        problem
        for path in paths
        for link in _LINK.findall(_CODE.sub("", path.read_text(encoding="utf-8")))
        if (problem := problem_of(path, link, anchors_of_page))
    ]


def problems_of_site(folder):
    """A sentence for each link of the HTML pages in `folder` that leads nowhere."""
    return [
        problem
        for path in sorted(Path(folder).rglob("*.html"))
        for link in sorted(links_and_ids(path)[0])
        if (problem := problem_of(path, link, lambda page: links_and_ids(page)[1]))
    ]


def problem_of(page, link, anchors_of):
    """One sentence on why `link` of `page` leads nowhere, or None."""
    try:
        parts = urlsplit(link)
    except ValueError as error:
        return f"{page}: {link} is no address ({error})"
    if parts.scheme in ("data", "mailto"):
        return None
    if parts.scheme or parts.netloc:
        is_address = parts.scheme in ("http", "https") and re.fullmatch(
            r"[\w-]+(\.[\w-]+)+(:\d+)?", parts.netloc
        )
        return None if is_address else f"{page}: {link} is no address of a page"
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if not target.exists():
        return f"{page}: {link} leads to no file"
    has_anchors = parts.fragment and target.suffix in (".md", ".html")
    if has_anchors and unquote(parts.fragment) not in anchors_of(target):
        return f"{page}: {link} leads to no place in that page"
    return None


@cache
def anchors_of_page(path):
    """The anchors of a Markdown page's headings, as GitHub and MyST make them."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.M)
    seen, anchors = Counter(), set()
    for heading in re.findall(r"^#{1,6} +(.+?) *$", text, re.MULTILINE):
        words = re.sub(r"\]\([^)]*\)", "", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        anchors.add(f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor)
        seen[anchor] += 1
    return anchors


@cache
def links_and_ids(path):
    """(links, ids) of an HTML page."""
    reader = _Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    return reader.links, reader.ids


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.ids = set(), {""}

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.links.add(value)
            elif name == "id" or (name == "name" and tag == "a"):
                self.ids.add(value)
