# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
"""Writes what the API site has besides the headers and the guides: the quick reference of all functions, by header, and
the list of the files that show them, which doxygen links with each function. Fails where a public function is in none.
Usage: reference.py SOURCE FOLDER
       reference.py --links PAGE    a page with links to what the site has, for doxygen to read
"""

import re
import sys
from pathlib import Path



def page_of(path):
    """Doxygen's page of an example."""
    return path.replace("/", "_2").replace(".", "_8") + "-example.html"


def with_links(page):
    """Programs by their pages, pages without a fragment (doxygen has other names for headings), other files no more."""
    root = Path(__file__).resolve().parent.parent

    def link(match):
        text, target = match[1], match[2].split("#")[0]
        path = (page.parent / target).resolve()
        if ":" in match[2] or not target or not path.exists():
            return match[0]
        name = path.relative_to(root).as_posix()
        if name.startswith("examples/") and path.suffix in (".c", ".cpp"):
            return f"[{text}]({page_of(name)})"
        if path.suffix == ".md" or name == "LICENSE":
            return f"[{text}]({'./' if name == 'LICENSE' else ''}{target})"
        return text

    return re.sub(r"\[([^\[\]]*)\]\(([^()\s]+)\)", link, page.read_text(encoding="utf-8"))


if sys.argv[1] == "--links":
    print(with_links(Path(sys.argv[2])))
    sys.exit()
source, folder = Path(sys.argv[1]), Path(sys.argv[2])
# First what is written for readers; of those the shortest file.
places = ("examples", "operations", "tools", "bench", "tests", "mpi")
headers = ("device queue buffer tensor create move ops functions reduce arrays attention layers kernel graph "
           "state_dict tune cache cuda opencl dlpack status setup library tandem").split()
beyond = ("comm/include/tandem/comm.h", "comm/include/tandem/parallel.h", "comm/include/tandem/transport.h",
          "comm/include/tandem/nccl.h", "mpi/include/tandem/mpi.h")


def sentence(comment):
    """The first sentence of a comment, on one line, for a table."""
    text = " ".join(line.strip().lstrip("*").strip() for line in comment.splitlines())
    text = text.replace("@file", "").strip()
    for end in re.finditer(r"\.(?= [A-Z*`])|\.$|[:;] ", text):
        if text.count("(", 0, end.start()) == text.count(")", 0, end.start()):
            text = text[: end.start()]
            break
    return text.replace("|", "\\|").replace("<", "\\<").replace("*", "\\*")


def functions_of(text):
    """Names and first sentences, in the header's order."""
    about = ""
    for match in re.finditer(r"/\*\*(?!<)(.*?)\*/|TDM_API[^;{]*?\b(tdm_\w+)\(", text, re.DOTALL):
        if match[1] is not None:
            about = sentence(match[1])
        elif "\n#define" not in match[0]:
            yield match[2], about


def shown_in():
    """Each function's file, that a reader should look at first."""
    found = {}
    for place in places:
        files = [p for p in sorted((source / place).rglob("*.c*")) if p.suffix in (".c", ".cpp")]
        for path in sorted(files, key=lambda p: p.stat().st_size):
            code = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
            for name in re.findall(r"\btdm_\w+\b", code):
                found.setdefault(name, path.relative_to(source).as_posix())
    return found


paths = [source / "lib/include/tandem" / f"{name}.h" for name in headers] + [source / name for name in beyond]
missing = set((source / "lib/include/tandem").glob("*.h")) | set((source / "comm/include/tandem").glob("*.h"))
missing -= set(paths)
found, alone, contents, lines = shown_in(), [], [], []
used = {p.relative_to(source).as_posix() for p in (source / "examples").rglob("*.c*") if p.suffix in (".c", ".cpp")}
for path in paths:
    text = path.read_text(encoding="utf-8")
    functions = list(functions_of(text))
    if not functions:
        continue
    title = sentence(re.search(r"/\*\* @file(.*?)\*/", text, re.DOTALL)[1])
    contents.append(f"[{path.name}](#reference_{path.stem})")
    lines += [f"## {title} {{#reference_{path.stem}}}", "", f"`#include <tandem/{path.name}>`", ""]
    lines += ['<div class="reference">', "| function | what it does | example |", "| --- | --- | --- |"]
    for name, about in functions:
        where = found.get(name)
        if not where:
            alone.append(name)
            continue
        used.add(where)
        lines.append(f"| @ref {name} | {about} | [{where.split('/', 1)[1]}]({page_of(where)}) |")
    lines += ["</div>", ""]
folder.mkdir(parents=True, exist_ok=True)
head = ["# Quick reference {#quick_reference}", "",
        "Every function of the C interface, by header, with an example of its use. In C++, `tandem.hpp` has them as "
        "functions that return their result.", "", " · ".join(contents), ""]
(folder / "reference.md").write_text("\n".join(head + lines), encoding="utf-8")
(folder / "examples.dox").write_text("".join(f"/** @example {path} */\n" for path in sorted(used)), encoding="utf-8")
for path in sorted(missing):
    print(f"{path}: docs/reference.py does not list it")
for name in alone:
    print(f"{name}: no example, test or program shows it; examples/ should")
sys.exit(bool(missing or alone))
