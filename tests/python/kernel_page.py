# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
"""The kernels of docs/kernels.md by `tdm kernel check`, with the parameters that the page names, for each floating
dtype. Usage: kernel_page.py PROGRAM PAGE BACKEND...: these have to compile all of them; exit status 77 where one has
no compiler here."""
import os
import re
import subprocess
import sys
import tempfile

KERNELS = 10
PARAMETER = re.compile(r'TDM_(TENSOR|OUTPUT|NUMBER|INTEGER)(?:_OF)?\("(\w+)"(?:, TDM_(\w+))?\)')


def kernels(page):
    """The name, the text and the parameters of each; these are the last ones that stand before it."""
    parameters = []
    for part in re.split(r"(^```c\n.*?^```$)|\n\n", page, flags=re.M | re.S):
        if not part:
            continue
        entry = re.search(r"^KERNEL\((\w+)\)$", part, re.M)
        if entry:
            yield entry[1], part[len("```c\n") : -len("```")], parameters
        elif PARAMETER.search(part) and (part.startswith("Parameters:") or not parameters):
            parameters = [
                f"--{kind.lower()}={name}" + (f":{dtype.lower()}" if dtype else "")
                for kind, name, dtype in PARAMETER.findall(part)
            ]


def main(program, path, *wanted):
    page = open(path, encoding="utf-8").read()
    failed = absent = count = 0
    for entry, text, parameters in kernels(page):
        count += 1
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, entry + ".cl")
            with open(file, "w", encoding="utf-8") as stream:
                stream.write(text)
            command = [program, "kernel", "check", file, "--dtype=f32,f64,f16,bf16", *parameters]
            run = subprocess.run(command, capture_output=True, text=True, check=False)
        for backend in wanted:
            lines = [line for line in run.stdout.splitlines() if line.startswith(backend + " ")]
            good = [line for line in lines if line.endswith(" compiles")]
            absent += any("not checked" in line for line in lines)
            if len(good) != 4:
                failed += 1
                print(f"{entry}: {' '.join(command)}\n{run.stdout}{run.stderr}")
    print(f"{count} kernels, {failed} failures")
    if count != KERNELS:
        return f"the page has {count} kernels, not {KERNELS}"
    return 77 if absent else failed > 0


sys.exit(main(*sys.argv[1:]))
