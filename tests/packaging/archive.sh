#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# packaging/archive.sh twice, in folders of other names and at another time: the same bytes. Of "debian", the source
# package and its packages are built, with the kernels of one instruction set, and lintian reads them.
# Usage: archive.sh SOURCE source|debian [FOLDER]   (what was made goes into FOLDER)
set -euo pipefail
source=$(cd "$1" && pwd) what=$2 keep=${3:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TANDEM_OPTIONS="-DTANDEM_CPU_ISAS=baseline"
"$source/packaging/archive.sh" "$what" "$work/one" >"$work/log" 2>&1 || { tail -50 "$work/log"; exit 1; }
sleep 1.1 # another second
(umask 077 && TZ=Asia/Tokyo LC_ALL=C "$source/packaging/archive.sh" "$what" "$work/another-folder" >"$work/log" 2>&1) ||
    { tail -50 "$work/log"; exit 1; }
files=$(cd "$work/one" && find . -maxdepth 1 -type f ! -name "*.buildinfo" ! -name "*.changes" | sort)
echo "$files"
for file in $files; do cmp "$work/one/$file" "$work/another-folder/$file"; done
if [ "$what" = source ]; then
    tar -tzf "$work/one"/tandem-*.tar.gz >"$work/names"
    grep -qx 'tandem-[0-9.]*/LICENSE' "$work/names"
    grep -qx 'tandem-[0-9.]*/lib/include/tandem/tandem.h' "$work/names"
    # a maintainer's name is no pattern; a stand-in for Debian's program builds nothing
    mkdir "$work/bin"
    ln -s /bin/true "$work/bin/dpkg-buildpackage"
    name='A/B & \1 <a&b@example.org>'
    PATH=$work/bin:$PATH TANDEM_MAINTAINER=$name "$source/packaging/archive.sh" debian "$work/named"
    grep -qxF "Maintainer: $name" "$work"/named/tandem-*/debian/control
    exit
fi
[ "$(echo "$files" | grep -c '\.deb$')" -eq 3 ]
[ -z "$keep" ] || { mkdir -p "$keep" && cp "$work/one"/*.* "$keep"; }
cd "$work/one"
# An upload to Debian has the number of the bug that wishes for the package; the project has no public address.
lintian --allow-root -I --fail-on error,warning,info \
    --suppress-tags initial-upload-closes-no-bugs,debian-watch-file-is-missing ./*.changes
