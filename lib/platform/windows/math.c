/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* sin and cos of Windows's C library in the place of mingw-w64's. Those are the processor's fsin and fcos, which reduce
 * an angle by 66 bits of π and leave one of 2^63 and more as it is. */
#include <math.h>

extern double (*const __imp_sin)(double);
extern double (*const __imp_cos)(double);

double sin(double x) { return __imp_sin(x); }

double cos(double x) { return __imp_cos(x); }
