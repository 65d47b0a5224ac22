# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
"""The recipes of packaging/ against the sources, and the bill of materials of a build against SPDX 2.3.
Usage: recipes.py SOURCE SBOM JANSSON_VERSION"""

import ast
import json
import re
import sys
from pathlib import Path

source, sbom, jansson = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
failures = []


def check(right, what):
    if not right:
        failures.append(what)


def read(path):
    return (source / path).read_text(encoding="utf-8")


header = read("lib/include/tandem/tandem.h")
version = ".".join(re.findall(r"#define TDM_VERSION_(?:MAJOR|MINOR|PATCH) ([0-9]+)", header))
check(json.loads(read("packaging/vcpkg/tandem/vcpkg.json"))["version"] == version, f"vcpkg.json is not of {version}")
check(f'version("{version}")' in read("packaging/spack/tandem/package.py"), f"Spack's recipe is not of {version}")
check(f"version: {version}\n" in read("CITATION.cff"), f"CITATION.cff is not of {version}")

# Options that the build does not have are ignored by CMake, and the package is another one than was meant.
options = set(re.findall(r"(?:option\(|set\()(TANDEM_[A-Z_]+) ", read("CMakeLists.txt") + read("lib/CMakeLists.txt")))
options |= set(re.findall(r"find_path\((TANDEM_[A-Z_]+) ", read("CMakeLists.txt")))
for recipe in ("vcpkg/tandem/portfile.cmake", "spack/tandem/package.py", "conan/conanfile.py", "debian/rules"):
    text = read(f"packaging/{recipe}")
    names = set(re.findall(r"TANDEM_[A-Z_]+", text)) - {"TANDEM_LIBRARY_PATH", "TANDEM_BACKEND"}
    names -= {"TANDEM_OPTIONS"}  # the packager's, for debian/rules
    check(names, f"{recipe} sets no option")
    check(names <= options, f"{recipe} sets {sorted(names - options)}, which the build does not have")
    check("TANDEM_MPI" in names, f"{recipe} leaves it to the machine whether libtandem-mpi is built")
    if recipe.endswith(".py"):
        ast.parse(text)

document = json.loads(sbom.read_text(encoding="utf-8"))
check(document["spdxVersion"] == "SPDX-2.3" and document["dataLicense"] == "CC0-1.0", "the SBOM is not of SPDX 2.3")
check(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", document["creationInfo"]["created"]), "the SBOM has no date")
check(re.fullmatch(r"https://\S+-[0-9a-f-]{36}", document["documentNamespace"]), "the SBOM's namespace is not unique")
packages = {package["SPDXID"]: package for package in document["packages"]}
check(len(packages) == len(document["packages"]), "two packages of the SBOM have one SPDXID")
for id, package in packages.items():
    check(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", id), f"{id} is not a name of SPDX")
    check(package["name"] and package["downloadLocation"], f"{id} lacks what SPDX requires")
relations = {(r["spdxElementId"], r["relationshipType"], r["relatedSpdxElement"]) for r in document["relationships"]}
check({end for a, _, b in relations for end in (a, b)} == set(packages) | {"SPDXRef-DOCUMENT"},
      "relationships and packages of the SBOM do not match")
check(packages["SPDXRef-tandem"]["versionInfo"] == version, f"the SBOM is not of {version}")
if jansson:
    check(packages["SPDXRef-jansson"]["versionInfo"] == jansson, f"the SBOM names another jansson than {jansson}")

for failure in failures:
    print(failure)
sys.exit(bool(failures))
