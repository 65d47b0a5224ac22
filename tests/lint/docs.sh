#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Builds the API site, which fails where a public item has no documentation or a function no example, and follows every
# link inside it. Usage: docs.sh CMAKE BUILD
set -euo pipefail
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
