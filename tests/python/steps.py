# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
"""The lines of code under "## N." of docs/layer-norm-in-seven-steps.md are those of its kernel, in that order and
next to each other but for a line "...". Usage: steps.py SOURCE"""

import re
import sys
from pathlib import Path

source = Path(sys.argv[1])
page = (source / "docs/layer-norm-in-seven-steps.md").read_text(encoding="utf-8")
found = re.findall(r"^## (\d)\..*?^```c\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
wrong = [n for n in "1234567" if n not in [number for number, _ in found]]
for number, code in found:
    path = "kernels/layer_norm.cl" if number == "7" else f"examples/layer_norm/step{number}.cl"
    kernel = "\n".join(line.strip() for line in (source / path).read_text(encoding="utf-8").splitlines())
    at = 0
    for part in re.split(r"^\s*\.\.\.\n", code, flags=re.MULTILINE):
        lines = "\n".join(line.strip() for line in part.splitlines())
        at = kernel.find(lines, at)
        if at < 0:
            print(f"step {number}: {path} does not have\n{part}")
            wrong.append(number)
            break
for number in wrong:
    print(f"step {number} of the page is not that of the program")
sys.exit(bool(wrong))
