#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Makes packages of the last commit in FOLDER, of one commit always the same bytes: its date, not today's, is in them
# (SOURCE_DATE_EPOCH, if set, in what Debian adds). With a blank in FOLDER's path, dpkg leaves that in the libraries.
# Usage: packaging/archive.sh source FOLDER     tandem-VERSION.tar.gz
#        packaging/archive.sh debian FOLDER     a Debian source package of that, and the packages that are built of it
#        packaging/archive.sh windows FOLDER BUILD   tandem-VERSION-windows-x86_64.zip: what BUILD installs
#   TANDEM_MAINTAINER='Name <address>'          who answers for Debian's packages
set -euo pipefail
umask 022 # modes of files are in the packages
what=${1:-} folder=${2:-} build=${3:-}
if [[ $what != @(source|debian|windows) || -z $folder || ($what = windows && -z $build) ]]; then
    sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
root=$(cd "$(dirname "$0")/.." && pwd)
[ "$what" != windows ] || build=$(realpath "$build")
mkdir -p "$folder"
cd "$folder"
number() { sed -n "s/^#define TDM_VERSION_$1 \([0-9]*\).*/\1/p" "$root/lib/include/tandem/tandem.h"; }
version=$(number MAJOR).$(number MINOR).$(number PATCH)
soversion=$(number MAJOR)
[ "$soversion" != 0 ] || soversion=0.$(number MINOR)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

if [ "$what" = windows ]; then
    name=tandem-$version-windows-x86_64
    rm -rf "$name" "$name.zip"
    cmake --install "$build" --prefix "$PWD/$name" >/dev/null
    find "$name" -type f | LC_ALL=C sort >"$name.files"
    cmake -E tar cf "$name.zip" --format=zip --mtime="$(date -ud "@$SOURCE_DATE_EPOCH" '+%F %T UTC')" \
        --files-from="$name.files"
    rm -r "$name" "$name.files"
    exit 0
fi

git -C "$root" archive --format=tar --prefix="tandem-$version/" HEAD | gzip -n >"tandem-$version.tar.gz"
[ "$what" = debian ] || exit 0

mv "tandem-$version.tar.gz" "tandem_$version.orig.tar.gz"
rm -rf "tandem-$version"
tar -xf "tandem_$version.orig.tar.gz"
cd "tandem-$version"
cp -r packaging/debian debian
maintainer=$(sed 's:[&/\]:\\&:g' <<<"${TANDEM_MAINTAINER:-The Tandem authors <tandem@example.org>}")
find debian -type f -exec sed -i "s/@VERSION@/$version/g; s/@SOVERSION@/$soversion/g
    s/@MAINTAINER@/$maintainer/g
    s/@DATE@/$(LC_ALL=C date -uRd "@$SOURCE_DATE_EPOCH")/g" {} +
DEB_BUILD_OPTIONS=${DEB_BUILD_OPTIONS-noautodbgsym} dpkg-buildpackage --no-sign
