# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
"""Checks a page of tdm bench --report: every element is closed, in order, it fetches nothing, and what is drawn lies in
its plot, which is 340 wide.

Usage: check_page.py PAGE FIGURES WORDS...    exit status 1, and what is wrong, when one of the figures or of the words
is missing"""

import html.parser
import sys


class Page(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open, self.wrong, self.figures, self.text = [], [], 0, ""

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "link"):
            self.open.append(tag)
        self.look(tag, attrs)

    def handle_startendtag(self, tag, attrs):
        self.look(tag, attrs)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> closes something else")

    def handle_data(self, data):
        self.text += data

    def look(self, tag, attrs):
        self.figures += tag == "figure"
        if tag in ("script", "iframe", "img"):
            self.wrong.append(f"<{tag}>")
        for name, value in attrs:
            places = []
            if name in ("x", "x1", "x2", "cx") or (name == "width" and tag == "rect"):
                places = [value]
            if tag == "polyline" and name == "points":
                places = [pair.split(",")[0] for pair in value.split()]
            if any(not 0 <= float(place) <= 340 for place in places):  # NaN, too
                self.wrong.append(f"<{tag} {name}=\"{value}\"> is not in its plot")


def main() -> int:
    with open(sys.argv[1], encoding="utf-8") as file:
        whole = file.read()
    page = Page()
    page.feed(whole)
    wrong = page.wrong + [f"<{tag}> is not closed" for tag in page.open]
    wrong += [f"it has {word}" for word in ("http://", "https://", "@import", "url(") if word in whole]
    wrong += [f"no '{word}'" for word in sys.argv[3:] if word not in page.text]
    if page.figures != int(sys.argv[2]):
        wrong.append(f"{page.figures} figures")
    print("\n".join(wrong))
    return bool(wrong)


sys.exit(main())
