/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The kernels of one dtype, T_ID, as C. Included once by each of kernels_<dtype>.c. */
#include "dialect_c.h"
#include "dtypes.h"
/* behind dtypes.h */
#include "lines.h"
#include "numeric.h"
/* behind numeric.h */
#include "reduce.h"
/* behind reduce.h */
#include "chunks.h"
#include "residual.h"

#include "activation.h"
#include "convert.h"
/* behind these */
#include "functions.h"

#define U_ID T_ID
#include "batch_norm.cl"
#include "batch_norm_cols.cl"
#include "bias_add.cl"
#include "elementwise.cl"
#include "kernels_apply.h"
#include "l2_normalize.cl"
#include "layer_norm.cl"
#include "matmul.cl"
#include "matmul_narrow.cl"
#include "norm.cl"
#include "rms_norm.cl"
#include "scatter_add_rows.cl"
#include "softmax.cl"

#if T_SIZE == 2
#include "kernels_blocks.h"

/* norms of 16-bit rows may go to f32 */
#undef U_ID
#define U_ID TDM_ID_F32
#include "norm.cl"
#endif
