/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The refusals of attention. */
#include <criterion/criterion.h>
#include <math.h>

#include "support/array.h"

TestSuite(attention_refused, .init = device_open, .fini = device_close);

Test(attention_refused, refusals) {
    static const int64_t shapes[][4] = {{2, 4, 5, 8}, {2, 4, 6, 8}, {2, 4, 6, 3}, {2, 4, 5, 3}};
    array *operand[4];
    for (int i = 0; i < 4; i++)
        operand[i] = array_new(TDM_F32, 4, shapes[i], NULL);
    array *const lengths = array_1d(TDM_I32, 2), *const three = array_1d(TDM_I32, 3);
    array *const floats = array_1d(TDM_F32, 2), *const flags = array_1d(TDM_BOOL, 5);
    const tdm_status shape = TDM_ERROR_INVALID_SHAPE, dtype = TDM_ERROR_INVALID_DTYPE;
    const tdm_status argument = TDM_ERROR_INVALID_ARGUMENT;
    tdm_attention_options x = TDM_ATTENTION_OPTIONS_DEFAULTS;
    tdm_tensor q = operand[0]->t, k = operand[1]->t, v = operand[2]->t, y = operand[3]->t;
#define CALL() tdm_attention(queue, &x, &q, &k, &v, &y)
#define REFUSES(change, status, words)                                                             \
    do {                                                                                           \
        const tdm_tensor old_q = q, old_k = k, old_v = v, old_y = y;                               \
        const tdm_attention_options old = x;                                                       \
        change;                                                                                    \
        REFUSED(CALL(), status, words);                                                            \
        q = old_q, k = old_k, v = old_v, y = old_y, x = old;                                       \
    } while (0)
    check_case("refusals");
    REFUSES(x.scale = NAN, argument, "tdm_attention|scale|nan");
    REFUSES(x.scale = -1e39, argument, "scale|-1e+39|finite in f32");
    REFUSES(x.mask = &lengths->t, dtype, "mask|i32|bool");
    REFUSES(x.mask = &flags->t, shape, "mask|[5]|[2, 4, 5, 6]");
    REFUSES(x.lengths = &floats->t, dtype, "lengths|f32|i32");
    REFUSES(x.lengths = &three->t, shape, "lengths|[3]|[2]");
    REFUSES(x.offsets = &three->t, shape, "offsets|[heads, tokens|[2, 4, 5, 8]");
    REFUSES((x.offsets = &three->t, x.lengths = &lengths->t), argument, "lengths|offsets|one");
    REFUSES(x.size = 8, argument, "tdm_attention_options");
    REFUSES(q.ndim = 2, shape, "q|[2, 4]|heads");
    REFUSES(k.shape[3] = 7, shape, "k|[2, 4, 6, 7]|[2, 4, 5, 8]");
    REFUSES(k.shape[1] = 3, shape, "k|heads|multiple");
    REFUSES(k.shape[0] = 1, shape, "k|batch");
    REFUSES(v.shape[2] = 5, shape, "v|[2, 4, 5, 3]|[2, 4, 6, 3]");
    REFUSES(y.shape[2] = 4, shape, "y|[2, 4, 4, 3]|[2, 4, 5, 3]");
    REFUSES(v = k; y = q, TDM_ERROR_OVERLAP, "y|q");
    REFUSES(k.strides[3] = 2; k.shape[3] = q.shape[3] = 4, TDM_ERROR_UNSUPPORTED, "k|stride 2");
#undef REFUSES
#undef CALL
    ARRAY_SAME(operand[3]);
    tdm_attention_options made;
    tdm_attention_options_init(&made, sizeof made);
    CHECK(made.scale == 0 && !made.causal && !made.mask && !made.lengths && !made.offsets &&
              made.size == sizeof made,
          "defaults");
    array_free_all();
}
