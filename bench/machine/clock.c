/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "machine/clock.h"

#include "platform/clock.h"

double bench_now(void) { return 1e-9 * (double)tdmi_nanoseconds(); }
