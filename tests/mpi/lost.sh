#!/bin/sh
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# lost.sh COMMAND...: of three ranks two say in time that the other one is lost, and name it.
said=$("$@" 2>&1)
count=$(printf '%s\n' "$said" | grep -c 'in time: TDM_ERROR_RANK_LOST: .*rank 1 ended or did not answer')
[ "$count" = 2 ] && exit 0
printf '%s\n' "$said"
exit 1
