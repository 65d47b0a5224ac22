#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# The workflows for the usual hosts against their schemas, and what zizmor finds unsafe in them; it asks no server.
# Usage: workflows.sh FOLDER_OF_THE_PROGRAMS
set -euo pipefail
export PATH=$1:$PATH
cd "$(dirname "$0")/../.."
check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
check-jsonschema --builtin-schema vendor.gitlab-ci .gitlab-ci.yml
zizmor --offline .github
# The scripts, presets and targets that they run are there.
for script in $(grep -oh 'scripts/[a-z/-]*\.sh' .github/workflows/*.yml .gitlab-ci.yml | sort -u); do
    [ -x "$script" ] || { echo "a workflow runs $script, which is not there"; exit 1; }
done
