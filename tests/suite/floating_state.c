/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The caller's floating-point state, which another library may have set, changes no result, and is the caller's
 * afterwards. */
#include <criterion/criterion.h>
#include <fenv.h>
#include <stdlib.h>
#include <string.h>

#include "operations/list.h"
#include "support/sample.h"

TestSuite(floating_state, .init = device_open, .fini = device_close);

/* Rounding upwards; where there is such, subnormals of inputs and of results are 0. */
static void set_other_state(void) {
    (void)fesetround(FE_UPWARD);
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#endif
}

static bool has_other_state(void) {
    bool other = fegetround() == FE_UPWARD;
#if defined(__x86_64__)
    other = other && (__builtin_ia32_stmxcsr() & 0x8040) == 0x8040;
#endif
    return other;
}

/* The result of the call in `output`, called in this thread's state or in another. */
static unsigned char *result_of(const sample *s, const array *output, bool in_other) {
    fenv_t mine;
    fegetenv(&mine);
    if (in_other) set_other_state();
    const tdm_status status = sample_call(s);
    const bool kept = !in_other || has_other_state();
    fesetenv(&mine);
    OK(status);
    CHECK(kept, "the call has changed its caller's state");
    return array_bytes(output);
}

static void check(const operation *op, tdm_dtype dtype) {
    sample s = sample_of(op, dtype, 2, (const int64_t[]){40, 700});
    if (!sample_runs_here(op, dtype)) return;
    s.c.number = op->number.may_be_negative ? 0.1 : op->number.usual;
    sample_describe(&s);
    sample_make(&s);
    for (int64_t j = 0; s.operand[0] && j < s.operand[0]->count; j += 3)
        s.operand[0]->v[j] *= 0x1p-140;
    if (s.operand[0]) array_set(s.operand[0], s.operand[0]->v);
    const array *output = NULL;
    for (int i = 0; i < OP_OPERANDS; i++)
        if (s.operand[i] && op->operand[i].role == OP_OUT) output = s.operand[i];
    if (output) {
        const unsigned char *want = result_of(&s, output, false);
        CHECK(memcmp(want, result_of(&s, output, true), output->bytes) == 0,
              "other bits in another state");
    }
    array_free_all();
}

Test(floating_state, changes_no_result) {
    const operation *op;
    for (size_t i = 0; (op = op_at(i)); i++)
        if ((!op->makes_kernel || i % 6 == 0) && in_turn((int)i)) check(op, TDM_F32);
}

/* Products by each library, and random numbers. */
Test(floating_state, changes_no_product) {
    array *a = array_2d(TDM_F32, 70, 70, 70), *c = array_2d(TDM_F32, 70, 70, 70);
    static float want[2][70 * 70], now[2][70 * 70];
    fenv_t mine;
    array_uniform(a, -1, 1);
    fegetenv(&mine);
    for (int other = 0; other < 2; other++) {
        tdm_generator g = {.seed = 3};
        float(*const got)[70 * 70] = other ? now : want;
        if (other) set_other_state();
        const tdm_status product = tdm_matmul(queue, NULL, &a->t, &a->t, &c->t);
        const tdm_status first = tdm_to_host(queue, &c->t, got[0]);
        const tdm_status random = tdm_fill_normal(queue, &g, 0.1, 0.3, &c->t);
        const tdm_status second = tdm_to_host(queue, &c->t, got[1]);
        fesetenv(&mine);
        OK(product);
        OK(first);
        OK(random);
        OK(second);
    }
    CHECK(memcmp(want[0], now[0], sizeof want[0]) == 0, "another product");
    CHECK(memcmp(want[1], now[1], sizeof want[1]) == 0, "other random numbers");
    array_free_all();
}
