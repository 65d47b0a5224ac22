/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The largest of integer keys, where one lane alone has them all: for sort_select.cl. Compiled after reduce.h. */
#ifndef TDMI_KERNEL_SELECT_H
#define TDMI_KERNEL_SELECT_H

/* KEEP_FIRST: of so many keys, which have so many bits and of which `least` is the smallest, leaves the `keep` largest,
 * of equal ones the first, in the order in which they lie, with their numbers; gives the last one's key, which it finds
 * bit by bit from the top. RAISED: the key that is so far above another one. */
#define KEEP_FIRST(keys, numbers, count, keep, least, bits)                                        \
    TDM_BY_ACC(tdm_keep_first_)(keys, numbers, count, keep, least, bits)
#define RAISED(key, by) TDM_BY_ACC(tdm_raised_)(key, by)

#define TDM_SELECTS(name, type, word)                                                              \
    INLINE type tdm_raised_##name(type key, word by)                                               \
    {                                                                                              \
        return (type)((word)key + by);                                                             \
    }                                                                                              \
    INLINE type tdm_last_key_##name(GLOBAL const type *keys, tdm_i32 count, tdm_i32 keep,          \
                                    type least, tdm_i32 bits)                                      \
    {                                                                                              \
        type last = least;                                                                         \
        for (tdm_i32 bit = bits - 1; bit >= 0; bit--) {                                            \
            const type next = tdm_raised_##name(last, (word)1 << bit);                             \
            tdm_i32 found = 0;                                                                     \
            for (tdm_i32 i = 0; i < count; i++)                                                    \
                found += keys[i] >= next;                                                          \
            last = found >= keep ? next : last;                                                    \
        }                                                                                          \
        return last;                                                                               \
    }                                                                                              \
    INLINE type tdm_keep_first_##name(GLOBAL type *keys, GLOBAL tdm_i32 *numbers, tdm_i32 count,   \
                                      tdm_i32 keep, type least, tdm_i32 bits)                      \
    {                                                                                              \
        const type last = tdm_last_key_##name(keys, count, keep, least, bits);                     \
        tdm_i32 equal = keep, kept = 0;                                                            \
        for (tdm_i32 i = 0; i < count; i++)                                                        \
            equal -= keys[i] > last;                                                               \
        for (tdm_i32 i = 0; i < count; i++) {                                                      \
            const type key = keys[i];                                                              \
            const tdm_i32 number = numbers[i];                                                     \
            const tdm_i32 is_equal = key == last && equal > 0;                                     \
            keys[kept] = key;                                                                      \
            numbers[kept] = number;                                                                \
            kept += key > last || is_equal;                                                        \
            equal -= is_equal;                                                                     \
        }                                                                                          \
        return last;                                                                               \
    }
TDM_SELECTS(w32, tdm_i32, tdm_u32)
TDM_SELECTS(w64, tdm_i64, tdm_u64)

#endif
