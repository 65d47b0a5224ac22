#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Gathers the packages that a GPU machine without a network lacks to build and test Tandem, from this machine's
# Debian or Ubuntu packages: headers, shared libraries and pkg-config of jansson, the OpenCL ICD loader and
# CLBlast with their dependencies, in one folder that can be moved. Nothing is installed and root is not needed;
# scripts/gpu-pack.sh adds a build, and scripts/gpu-check.sh finds the folder.
# Usage: scripts/offline-bundle.sh [FOLDER]   (default: build/offline)
set -euo pipefail
[[ " $* " != *" --help "* && " $* " != *" -h "* ]] || { sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0; }
export LC_ALL=C # the output of apt-get and others is parsed

most_mb=20
# Their contents are taken: headers, and libraries with all that those need but the C and C++ runtimes.
headers=(libjansson-dev opencl-c-headers libclblast-dev)
libraries=(libjansson.so libOpenCL.so.1 libclblast.so.1)
# Only looked into for libraries: the packages of the headers name the packages of their libraries.
packages=("${headers[@]}" ocl-icd-libopencl1)
runtime='^(libc|libm|libdl|librt|libpthread|libresolv|libgcc_s|libstdc\+\+|ld-linux[a-z0-9_-]*)\.so\.'

fail() {
    echo "offline-bundle: $*" >&2
    exit 1
}
if [ $# -gt 1 ] || [[ "${1:-}" == -* ]]; then
    echo "usage: scripts/offline-bundle.sh [FOLDER]" >&2
    exit 2
fi
for tool in apt-get apt-cache dpkg-deb dpkg-query readelf; do
    command -v "$tool" >/dev/null ||
        fail "$tool was not found: this needs Debian or Ubuntu, with dpkg and binutils"
done
root=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-$root/build/offline}
if [ -e "$folder" ] && [ ! -f "$folder/contents.txt" ]; then
    fail "$folder is there and is no bundle: remove it, or name another folder"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/packages" "$work/unpacked" "$work/headers" "$work/bundle"
bundle=$work/bundle

available() { # PACKAGE ...: those that can be had, as PACKAGE=VERSION; a virtual one cannot
    apt-cache policy "$@" | awk '/^[a-z0-9].*:$/ { name = $1; sub(/:.*/, "", name) }
                                 $1 == "Candidate:" && $2 != "(none)" { print name "=" $2 }'
}
pkgconf=$(available pkgconf-bin pkgconf | head -n 1)
packages+=("${pkgconf%%=*}")
found=$(available "${packages[@]}")
for package in "${packages[@]}"; do
    grep -q "^$package=" <<<"$found" ||
        fail "there is no package '${package:-pkgconf}': run apt-get update as root (on Ubuntu, with universe)"
done

# --- download and unpack -----------------------------------------------------------------------

# Runtime packages of the whole closure; of the -dev packages only those named above.
{
    printf '%s\n' "${packages[@]}"
    apt-cache depends --recurse --important "${packages[@]}" | grep -E '^[a-z0-9]' |
        grep -Ev -e '-(dev|base|bin|common|doc|proto)$' -e '^(libc6|libgcc-s1|libstdc\+\+6|debconf|dpkg)$'
} | sort -u >"$work/closure"
mapfile -t closure <"$work/closure"
available "${closure[@]}" >"$work/wanted"
mapfile -t wanted <"$work/wanted"
if ! (cd "$work/packages" && apt-get download -qq -o APT::Sandbox::User=root "${wanted[@]}") \
    >"$work/log" 2>&1; then
    cat "$work/log" >&2
    fail "apt-get could not download the packages (are the package lists recent? apt-get update)"
fi
for file in "$work/packages/"*.deb; do
    dpkg-deb -x "$file" "$work/unpacked"
done
for package in "${headers[@]}"; do
    dpkg-deb -x "$(echo "$work/packages/${package}_"*.deb)" "$work/headers"
done

# --- the folder: include, lib, lib/pkgconfig, bin -----------------------------------------------

mkdir "$bundle/include" "$bundle/lib" "$bundle/lib/pkgconfig" "$bundle/bin"
cp -a "$work/headers/usr/include/." "$bundle/include/"
multiarch=$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null || gcc -print-multiarch)
# Headers of an architecture come first where there are any (none of these packages has some now).
if [ -d "$bundle/include/$multiarch" ]; then
    cp -a "$bundle/include/$multiarch/." "$bundle/include/"
    rm -r "${bundle:?}/include/$multiarch"
fi

find_library() { # a file or link of that name in the unpacked packages
    find "$work/unpacked" -name "$1" -not -path '*/doc/*' | sort | head -n 1
}
needed_by() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }
add_library() { # the library under its SONAME, then its dependencies
    local found name needed
    found=$(find_library "$1")
    [ -n "$found" ] || fail "no package brought $1${2:+, which $2 needs}"
    found=$(readlink -f "$found")
    [ -f "$found" ] || fail "the link $1 leads nowhere"
    name=$(readelf -d "$found" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
    [ ! -e "$bundle/lib/$name" ] || return 0
    install -m 644 "$found" "$bundle/lib/$name"
    while read -r needed; do
        [[ "$needed" =~ $runtime ]] || add_library "$needed" "$name"
    done < <(needed_by "$found")
}
for library in "${libraries[@]}"; do
    add_library "$library" ""
done
link=$bundle/lib/libjansson.so
ln -s "$(basename "$(echo "$link".[0-9]*)")" "$link"
source=$(find_library jansson.pc)
[ -n "$source" ] || fail "no package brought jansson.pc"
# Relative to the file itself, and without the options of static linking.
sed -e '/^\(Requires\|Libs\)\.private:/d' -e '/^exec_prefix=/d' \
    -e "s|^prefix=.*|prefix=\${pcfiledir}/../..|" -e "s|^libdir=.*|libdir=\${prefix}/lib|" \
    -e "s|^includedir=.*|includedir=\${prefix}/include|" "$source" >"$bundle/lib/pkgconfig/jansson.pc"

install "$(readlink -f "$work/unpacked/usr/bin/pkgconf")" "$bundle/bin/pkgconf"
while read -r library; do
    [[ "$library" =~ $runtime ]] || add_library "$library" pkgconf
done < <(needed_by "$bundle/bin/pkgconf")
cat >"$bundle/bin/pkg-config" <<'WRAPPER'
#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd)
LD_LIBRARY_PATH=$here/../lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} exec "$here/pkgconf" "$@"
WRAPPER
chmod 755 "$bundle/bin/pkg-config"

{
    # shellcheck source=/dev/null
    echo "Made on $(. /etc/os-release && echo "$PRETTY_NAME"), $(uname -m), glibc $(getconf GNU_LIBC_VERSION |
        cut -d' ' -f2), of these packages:"
    cat "$work/wanted"
} >"$bundle/contents.txt"

mb=$(du -sm "$bundle" | cut -f1)
if [ "$mb" -ge "$most_mb" ]; then
    du -m "$bundle/lib/"* | sort -rn | head -n 8 >&2
    fail "the bundle takes $mb MB, and is to stay under $most_mb MB"
fi
mkdir -p "$(dirname "$folder")"
rm -rf "$folder"
mv "$bundle" "$folder"
chmod 755 "$folder"
echo "offline-bundle: $folder takes $mb MB ($(find "$folder/lib" -name '*.so*' -type f | wc -l) libraries" \
    "of ${#wanted[@]} packages)"
