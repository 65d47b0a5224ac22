/* The kernels for f64, compiled once per instruction set. */
#define T_ID 1 /* TDM_F64 */
#include "kernels_dtype.h"
