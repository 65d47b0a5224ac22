/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* How much of the cores' time the system gives this process. */
#ifndef TDMI_QUOTA_H
#define TDMI_QUOTA_H

/* The cores that the quotas of the process's control groups come to, rounded up, at least 1; 0 where there is no quota.
 * Files are read below `root`, "" but in tests. One thread at a time. */
int tdmi_quota_cores(const char *root);

#endif
