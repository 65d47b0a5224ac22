/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Lanes as a grid of LANES_M x LANES_N over a tile: lane (y, x) has rows y, y + LANES_M, … and columns x,
 * x + LANES_N, … of it. For kernels of several lanes. */
#ifndef TDMI_KERNEL_GRID_H
#define TDMI_KERNEL_GRID_H

#if LANES >= 512
#define LANES_N 32
#elif LANES >= 128
#define LANES_N 16
#elif LANES >= 8
#define LANES_N 8
#else
#define LANES_N LANES
#endif
#define LANES_M (LANES / LANES_N)

#endif
