#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Builds the API site, which fails where a public item has no documentation or a function no example, and follows every
# link inside it. Usage: docs.sh CMAKE BUILD
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
# The macros that a user's kernel meets are those that the guide says are taken.
macros() { sort -u | comm "$1" <(sed -n '/^8\. Names/,/^$/p' "$source/docs/kernels.md" | grep -oE '`[A-Z][A-Z0-9_]*`' |
    tr -d '`' | grep -vx TDM_ | sort -u) -; }
headers=$(sed -n '/const combining/p; /of_users\[\]/,/;/p; /const first\[\]/,/;/p' "$source/lib/program.c" |
    grep -oE '[a-z]+\.h' | grep -vx fold.h)
taken=$(cd "$source/kernels" &&
    sed -nE 's/^ *# *define +([A-Z][A-Z0-9_]*).*/\1/p' vectors.h lines.h dialect_*.h $headers | grep -v ^TDM
    sed -n '/names\[OPTION_COUNT\]/,/;/p' ../lib/program.c | grep -oE '"[A-Z_]+"' | tr -d '"')
[ -z "$(macros -3 <<<"$taken")" ] || { echo "docs/kernels.md, and the headers:"; macros -3 <<<"$taken"; exit 1; }
# Each public struct has a rule on the page about how they grow.
missing=$(cd "$source" && sed -nE 's/^typedef struct (tdm_[a-z_]+) \{.*/\1/p' lib/include/tandem/*.h comm/include/tandem/*.h \
    mpi/include/tandem/*.h | while read -r struct; do grep -q "^| .*\`$struct\`.* |" docs/stability.md || echo "$struct"; done)
[ -z "$missing" ] || { echo "docs/stability.md, \"How structs grow\", lacks:"; echo "$missing"; exit 1; }
# Sources that a page names exist; "Add a kernel" and "Adding a backend" in CONTRIBUTING.md name new ones.
files=$(cd "$source" && find . -path ./build -prune -o -type f -print)
missing=$(cd "$source" && grep -oE '`[A-Za-z0-9_./+-]+\.(c|h|hpp|cl|sh|py)`' README.md SECURITY.md docs/*.md \
    {bench,kernels,packaging}/*.md | sort -u | while IFS='`' read -r page file _; do
    [[ $file == */* && ! -d ${file%%/*} ]] || grep -q "/$file$" <<<"$files" || echo "$page $file"; done)
[ -z "$missing" ] || { echo "no such file:"; echo "$missing"; exit 1; }
"$1" --build "$2" --target tandem_docs
cd "$2/docs/html"
dead=$(grep -oh 'href="[^":#]*["#]' ./*.html | sed 's/href="//; s/.$//' | sort -u | while IFS= read -r link; do
    [ -z "$link" ] || [ -e "${link%%\?*}" ] || echo "$link"
done)
[ -z "$dead" ] || { echo "the site links to what it does not have:"; echo "$dead"; exit 1; }
for page in examples_2quickstart_8c-example.html md_docs_lesson.html quick_reference.html; do
    grep -q "url:\"$page\"" menudata.js || { echo "the menu lacks $page"; exit 1; }
    [ -e "$page" ] || { echo "there is no $page"; exit 1; }
done
