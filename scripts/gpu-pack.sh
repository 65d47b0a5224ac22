#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Makes all that a GPU machine without a network needs for scripts/gpu-check.sh, in build/offline: a build of the
# preset gpu that runs from any folder, stripped, the libraries that it takes from this system, the headers of OpenCL,
# and the compiled kernels of build/gpu-cache, where scripts/gpu-kernels.sh made that. Prints the size of the sources
# and the package, 60 MB at most.
# Usage: scripts/gpu-pack.sh
set -euo pipefail
[[ " $* " != *" --help "* && " $* " != *" -h "* ]] || { sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0; }
[ $# -eq 0 ] || { echo "usage: scripts/gpu-pack.sh" >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
bundle=$root/build/offline
most_mb=60
cd "$root"
. scripts/systems/gpu-machine.sh

if [ -d build/gpu-cache ]; then
    made=$(head -n 1 build/gpu-cache/made.txt 2>/dev/null) || made='a run that did not end'
    if [ "$made" != "$(describe_sources)" ]; then
        echo "gpu-pack: the kernels in build/gpu-cache are of $made: run scripts/gpu-kernels.sh again" >&2
        exit 1
    fi
fi
configure_gpu >/dev/null
cmake --build --preset gpu --target tandem_program suite_plain tandem_comm_shared
rm -rf "$bundle"
mkdir -p "$bundle/include" "$bundle/lib"
install -D -s build/gpu/tools/tdm "$bundle/tools/tdm"
install -D -s build/gpu/tests/suite_plain "$bundle/tests/suite_plain"
for library in build/gpu/lib/libtandem*.so*; do
    if [ -L "$library" ]; then
        cp -P "$library" "$bundle/lib/"
    else
        install -s "$library" "$bundle/lib/"
    fi
done
# CLBlast, which is loaded, and what it and the programs need, such as OpenCL's loader, but the C and C++ runtimes.
clblast=$(cc -print-file-name=libclblast.so.1)
runtime='^lib(c|m|dl|rt|pthread|resolv|gcc_s|stdc[+][+])[.]so[.]'
ldd build/gpu/tools/tdm "$clblast" |
    awk -v runtime="$runtime" '$3 ~ "^/" && $1 !~ runtime && $1 !~ "^libtandem" { print $3 }' | sort -u |
    xargs cp -L -t "$bundle/lib" "$clblast"
cp -rL "$(sed -n 's/^TANDEM_CL_INCLUDE:PATH=//p' build/gpu/CMakeCache.txt)/CL" "$bundle/include/" # for an example
describe_sources >"$bundle/commit.txt"
missing=$(missing_libraries)
[ -z "$missing" ] || { echo "gpu-pack: the programs do not find: $missing" >&2; exit 1; }
if [ -d build/gpu-cache ]; then
    sed 's/^/gpu-pack: kernels of /' build/gpu-cache/made.txt
    find build/gpu-cache -maxdepth 1 -name '*.bin' -printf '%P\n' | tar -C build/gpu-cache -czf "$bundle/kernels.tar.gz" -T -
else
    echo "gpu-pack: there is no build/gpu-cache (scripts/gpu-kernels.sh), so that kernels are compiled where they run"
fi

# All files that travel: those of git, those it does not ignore, and the folder.
{
    git ls-files -co --exclude-standard
    find build/offline ! -type d
} | xargs -d '\n' du --apparent-size -b 2>/dev/null | sort -rn >build/gpu/pack.txt
mb=$(awk '{ bytes += $1 } END { print int(bytes / 1e6) + 1 }' build/gpu/pack.txt)
if [ "$mb" -gt "$most_mb" ]; then
    head -n 12 build/gpu/pack.txt >&2
    echo "gpu-pack: the sources and build/offline take $mb MB, and are to stay under $most_mb MB" >&2
    exit 1
fi
cat <<END
gpu-pack: bring the sources and build/offline, $mb MB, and run there, where OUT is a folder for the results:
    scripts/gpu-check.sh "\$OUT" --plan first --seconds 545
    scripts/gpu-check.sh "\$OUT" --plan second --seconds 185
The second needs what the first left in build/gpu-run, and does not need build/offline to be brought again.
END
