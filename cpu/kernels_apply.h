/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* y = f(a) or f(a, b) of a row whose elements lie side by side, converted, computed and stored in registers: for the
 * functions of TDMI_APPLIED_LIST, by OP. The row's length is args.cols; y may be an input. */
OPS(apply, TDMI_APPLIED_COUNT, TDMI_APPLIED_COUNT)

#define APPLY_1(name, a, b) TDM_BY_ACC(tdm_fn_##name##_)(a)
#define APPLY_2(name, a, b) TDM_BY_ACC(tdm_fn_##name##_)(a, b)
#define APPLY(NAME, name, arity) OP == TDMI_APPLIED_##NAME ? APPLY_##arity(name, va, vb):
#define TAKES_B(NAME, name, arity) || (arity == 2 && OP == TDMI_APPLIED_##NAME)

KERNEL3(apply, tdm_elementwise_args, T, y, const T, a, const T, b) {
    const tdm_i32 n = (tdm_i32)args.cols, takes_b = 0 TDMI_APPLIED_LIST(TAKES_B);
    FOR_LANES_WRITE(y, j, n, AHEAD(a), READ(a) READ_IF(takes_b, b)) {
        const ACC va = AT(a, j), vb = takes_b ? AT(b, j) : (ACC)0;
        WRITE(y, j, TDMI_APPLIED_LIST(APPLY) va);
    }
}

#undef APPLY_1
#undef APPLY_2
#undef APPLY
#undef TAKES_B
