/* The kernels for bf16, compiled once per instruction set. */
#define T_ID 3 /* TDM_BF16 */
#include "kernels_dtype.h"
