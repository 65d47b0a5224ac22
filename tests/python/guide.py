# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
"""The new operation of CONTRIBUTING.md: puts the page's code into a copy of the sources, builds and runs it.
Usage: guide.py SOURCE BUILD COPY DEVICE...; COPY is removed first.

It compiles the files that read the list of kernels, and as C the new kernel alone, for the baseline; the rest comes
from BUILD's libraries. But for the kernel that is without optimisation: the page's text is tested, not its speed."""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

FILES, LINES = 6, 150
FOLDERS = ("cmake", "cpu", "cuda", "kernels", "lib", "opencl", "operations", "reference", "tests")
STEP = re.compile(r"`([\w/.]+)`, (new|at the end|before `([^`]+)`):\n\n   ```c\n(.*?)^   ```$", re.M | re.S)


def apply(page, copy):
    """Puts each block where the words before it say; gives the files, and how many lines there are."""
    section = page[page.index("## Add a kernel\n"):page.index("## Adding a dtype\n")]
    blocks = STEP.findall(section)
    if len(blocks) != section.count("```c\n"):
        sys.exit("a block of code has no words before it that say where it goes")
    lines = 0
    for name, place, anchor, block in blocks:
        code = re.sub(r"^   ", "", block, flags=re.M)
        path = os.path.join(copy, name)
        text = "" if place == "new" else open(path, encoding="utf-8").read()
        at = len(text)
        if anchor:
            if text.count(anchor) != 1:
                sys.exit(f"{name} has {text.count(anchor)} times {anchor}")
            at = text.rindex("\n", 0, text.index(anchor)) + 1
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text[:at] + code + text[at:])
        lines += code.count("\n")
    return sorted({name for name, *_ in blocks}), lines


class Builder:
    def __init__(self, source, build, copy):
        self.source, self.build, self.copy = source, build, copy
        commands = json.load(open(os.path.join(build, "compile_commands.json"), encoding="utf-8"))
        self.outputs = [re.search(r" -o (\S+)", entry["command"]).group(1) for entry in commands]
        self.commands = {}
        for entry in commands:
            if not re.search(r"tandem_kernels_(?!baseline)|tandem_only", entry["command"]):
                self.commands.setdefault(entry["file"], entry)

    def objects(self, folder):
        """The objects of BUILD that are of a target: old ones may lie next to them."""
        return [os.path.join(self.build, name) for name in self.outputs if f"/{folder}/" in name]

    def command(self, file):
        """The command that compiles a file of SOURCE, for that of the copy."""
        words = shlex.split(self.commands[file]["command"])
        words.insert(1, "-ffast-math")  # as a user's CFLAGS may have it, which the project's own flags undo
        words = [re.sub(re.escape(self.source) + r"(?=/(?!build/)|$)", self.copy, word) for word in words]
        return words[:words.index("-o")]

    def compile(self, file, like=None, options=()):
        """The object of a file of the copy."""
        command = self.command(like or file.replace(self.copy, self.source))
        target = os.path.join(self.copy, "objects", re.sub(r"\W", "_", os.path.relpath(file, self.copy)) + ".o")
        subprocess.run([*command, *options, "-o", target, "-c", file], check=True, cwd=self.build)
        return target

    def reads_list(self, file):
        """Whether it includes the list of kernels."""
        run = subprocess.run([*self.command(file), "-MM", file.replace(self.source, self.copy)], check=True,
                             cwd=self.build, capture_output=True, text=True)
        return "manifest.h" in run.stdout


def main(source, build, copy, *devices):
    shutil.rmtree(copy, ignore_errors=True)
    for folder in FOLDERS:
        shutil.copytree(os.path.join(source, folder), os.path.join(copy, folder))
    os.mkdir(os.path.join(copy, "objects"))
    files, lines = apply(open(os.path.join(source, "CONTRIBUTING.md"), encoding="utf-8").read(), copy)
    print(f"{len(files)} files, {lines} lines: {', '.join(files)}")
    if len(files) > FILES or lines > LINES:
        return f"an operation on rows takes {FILES} files and {LINES} lines at most"
    formatted = [os.path.join(copy, name) for name in files if not name.startswith("kernels/")]
    subprocess.run(["clang-format", "--dry-run", "-Werror", f"--style=file:{source}/.clang-format", *formatted],
                   check=True)

    builder = Builder(source, build, copy)
    made = os.path.join(copy, "made")
    script = ["cmake", f"-DROOT={copy}", f"-DOUTPUT={made}", "-DENTRY=center", "-P", f"{copy}/cmake/KernelUnits.cmake"]
    subprocess.run(script, check=True)
    texts = sorted(name for name in os.listdir(os.path.join(copy, "kernels"))
                   if name.endswith((".cl", ".h")) and name != "manifest.h")
    embedded = os.path.join(made, "embedded_kernels.c")
    subprocess.run(["cmake", f"-DOUTPUT={embedded}", "-DFILES=" + ";".join(f"{copy}/kernels/{name}" for name in texts),
                    "-P", f"{copy}/cmake/EmbedTexts.cmake"], check=True)

    quick = ("-O0", "-g0", "-U_FORTIFY_SOURCE", "-UTDMI_ISA_LIST", "-DTDMI_ISA_LIST=X(baseline)")
    table = f"{source}/cpu/kernels.c"
    jobs = [(os.path.join(made, name), table, ("-g0", f"-I{made}"))
            for name in sorted(os.listdir(made)) if name.endswith(".c") and name.startswith("kernels_")]
    jobs.append((f"{copy}/cpu/kernels.c", None, ("-g0", f"-iquote{made}")))
    jobs.append((embedded, f"{build}/lib/embedded_kernels.c", quick))
    core = [file for file, entry in builder.commands.items() if "tandem_objects.dir" in entry["command"] and
            file.startswith(source) and not file.startswith(build)]
    with ThreadPoolExecutor(2) as pool:
        reads = list(pool.map(builder.reads_list, core))
        jobs += [(file.replace(source, copy, 1), None, quick) for file, does in zip(core, reads) if does]
        tests = [f"{copy}/tests/suite/operations{name}.c" for name in ("", "_refused", "_bits")]
        pages = [f"{copy}/operations/{name}.c" for name in ("list", "center")]
        jobs += [(file, None, quick) for file in tests]
        jobs += [(file, f"{source}/operations/list.c", quick) for file in pages]
        objects = list(pool.map(lambda job: builder.compile(*job), jobs))
    print(f"{len(objects)} files compiled")
    pages, tests, objects = objects[-2:], objects[-5:-2], objects[:-5]
    names = ("operations/libtandem_operations.a", "reference/libtandem_reference.a", "lib/libtandem.a",
             "lib/libtandem_platform.a")
    static = [f"{build}/{name}" for name in names] + ["-lm", "-ldl", "-lpthread"]
    support, tools = (builder.objects(folder) for folder in ("tests_support.dir", "tandem_program.dir"))
    compiler = builder.command(table)[0]
    for name, parts in (("suite", [*tests, *support, *pages, *objects, *static, "-lcriterion"]),
                        ("tdm", [*tools, *pages, *objects, f"{build}/bench/libtandem_bench.a", *static])):
        subprocess.run([compiler, "-o", f"{copy}/{name}", *parts, "-ljansson"], check=True)
    for device in devices:
        subprocess.run([f"{copy}/suite", "--filter", "@(operations/center_*|refused/*|neighbours/*)"], check=True,
                       env={**os.environ, "TDM_TEST_DEVICE": device})
    subprocess.run([f"{copy}/tdm", "bench", "--device", "cpu", "--op", "center"], check=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except subprocess.CalledProcessError as error:
        sys.exit(f"{shlex.join(error.cmd)[:300]} ... ended with {error.returncode}")
