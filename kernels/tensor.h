/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Products of tiles in the group's memory: by tensor cores where TENSOR_CORES is 1, else in plain code. In CUDA and in
 * OpenCL C, for groups of whole warps, which have 32 lanes. Compiled after dtypes.h.
 *
 * The assembler is PTX of sm_80, in a form that both compilers of NVIDIA take: each statement is one instruction, whose
 * operands are 32-bit registers ("r"), floats ("f") and 64-bit addresses ("l"); an immediate stands in the text. NVIDIA
 * documents it for CUDA alone, so the host tries the kernel on a device before it is trusted (lib/tensor_cores.c).
 *
 * A tile has chunks of 16 bytes. It lies as its matrix does in memory: by depth, with some chunks of k for each row (of
 * op(A), or column of op(B): "line" below), or by line, with the chunks of all lines for each k. Chunks change places
 * so that any eight that are read or written at once are in different banks. */
#ifndef TDMI_KERNEL_TENSOR_H
#define TDMI_KERNEL_TENSOR_H

#define TDM_CHUNK (16 / T_SIZE) /* elements */
#define TDM_STEP (32 / T_SIZE)  /* of k, which one instruction multiplies */
#define TDM_WARP_SIDE 64        /* rows and columns of C that a warp has … */
#define TDM_PARTS 4             /* … in parts of 16 */

/* The place of chunk c of a line, which has 2 or 4; and that of chunk c of all lines of one k, of which there are a
 * multiple of 8. */
#define TDM_BY_DEPTH(line, c, chunks)                                                              \
    ((line) * (chunks) + ((c) ^ (line) / (8 / (chunks)) % (chunks)))
#define TDM_BY_LINE(k, c, chunks) ((k) * (chunks) + ((c) ^ (T_SIZE == 4 ? (k) % 4 * 2 : (k) % 8)))

#if TENSOR_CORES

/* The group's memory is named by its address there, in bytes. */
typedef tdm_u32 tdm_tile;
#define TILE_OF(memory) tdm_local_address(memory)
#define TILE_AT(tile, chunk) ((tile) + (tdm_u32)(chunk)*16u)

/* Copies the first `bytes` of 16 to a chunk, of which the rest becomes zeros; the lane need not wait. The cache gets
 * the whole line of 128, the rest of which later slices are. */
INLINE void tdm_copy_chunk(tdm_tile to, GLOBAL const void *from, tdm_i32 bytes)
{
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;"
                 :
                 : "r"(to), "l"(from), "r"(bytes)
                 : "memory");
}

INLINE void tdm_write_chunk(tdm_tile to, tdm_vector_16 v)
{
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};"
                 :
                 : "r"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
}

/* The copies since the last end are a batch; and a wait until all but the lane's last `count` batches are there. */
#define COPIES_AHEAD(slots) (slots)
INLINE void tdm_copies_end(void)
{
    asm volatile("cp.async.commit_group;" : : : "memory");
}

INLINE void tdm_copies_wait(int count)
{
    switch (count) {
    case 0:
        asm volatile("cp.async.wait_group 0;" : : : "memory");
        break;
    case 1:
        asm volatile("cp.async.wait_group 1;" : : : "memory");
        break;
    case 2:
        asm volatile("cp.async.wait_group 2;" : : : "memory");
        break;
    case 3:
        asm volatile("cp.async.wait_group 3;" : : : "memory");
        break;
    case 4:
        asm volatile("cp.async.wait_group 4;" : : : "memory");
        break;
    default:
        asm volatile("cp.async.wait_group 5;" : : : "memory");
    }
}

/* A lane's part of 16 lines and one step, as mma.sync takes it: of A that of lines 0 and 8 on, of the first half of
 * the step, then of the second; of B, eight lines of which are multiplied at once, both halves of lines 0 on, then of
 * lines 8 on. */
typedef struct tdm_part {
    tdm_u32 r[4];
} tdm_part;

/* f32 is rounded to TF32. */
INLINE tdm_u32 tdm_tensor_bits(tdm_u32 bits)
{
#if T_ID == TDM_ID_F32
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(tdm_as_f32((tdm_i32)bits)));
#endif
    return bits;
}

INLINE void tdm_read_part(tdm_part *to, tdm_tile tile, bool of_a, bool by_depth, tdm_i32 chunks,
                          tdm_i32 line, tdm_i32 step)
{
    /* eight lanes name the rows of each matrix that ldmatrix reads */
    const tdm_i32 lane = LANE % 32, half_step = of_a ? lane / 16 : lane / 8 % 2;
    const tdm_i32 eight = of_a ? lane / 8 % 2 : lane / 16;
    if (by_depth) {
        const tdm_i32 at = TDM_BY_DEPTH(line + eight * 8 + lane % 8, step * 2 + half_step, chunks);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to->r[0]), "=r"(to->r[1]), "=r"(to->r[2]), "=r"(to->r[3])
                     : "r"(TILE_AT(tile, at))
                     : "memory");
    } else if (T_SIZE == 2) {
        const tdm_i32 at =
            TDM_BY_LINE(step * TDM_STEP + half_step * 8 + lane % 8, line / 8 + eight, chunks);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to->r[0]), "=r"(to->r[1]), "=r"(to->r[2]), "=r"(to->r[3])
                     : "r"(TILE_AT(tile, at))
                     : "memory");
    } else { /* which ldmatrix does not transpose */
        UNROLL for (tdm_i32 q = 0; q < 4; q++)
        {
            /* TDM_BY_LINE, of which only some bits depend on q and the line */
            const tdm_i32 k = step * TDM_STEP + lane % 4 + (of_a ? q / 2 : q % 2) * 4;
            const tdm_i32 c = line / 4 + (of_a ? q % 2 : q / 2) * 2;
            const tdm_i32 at = k * chunks + c / 8 * 8 + lane / 16 + (c % 8 ^ lane % 4 * 2);
            asm volatile("ld.shared.u32 %0, [%1];"
                         : "=r"(to->r[q])
                         : "r"(TILE_AT(tile, at) + (tdm_u32)(lane / 4 % 4) * 4u)
                         : "memory");
        }
    }
    UNROLL for (tdm_i32 q = 0; q < 4; q++) to->r[q] = tdm_tensor_bits(to->r[q]);
}

/* c += a b, for a's 16 lines and the first or second eight of b's: of the results a lane has those of lines y and y + 8
 * of a, and 2 x and 2 x + 1 of the eight, for x = lane % 4 and y = lane / 4. */
INLINE void tdm_multiply(float *c, const tdm_part *a, const tdm_part *b, tdm_i32 second)
{
#if T_ID == TDM_ID_F16
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a->r[0]), "r"(a->r[1]), "r"(a->r[2]), "r"(a->r[3]), "r"(b->r[second * 2]),
                   "r"(b->r[second * 2 + 1]));
#elif T_ID == TDM_ID_BF16
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a->r[0]), "r"(a->r[1]), "r"(a->r[2]), "r"(a->r[3]), "r"(b->r[second * 2]),
                   "r"(b->r[second * 2 + 1]));
#else
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a->r[0]), "r"(a->r[1]), "r"(a->r[2]), "r"(a->r[3]), "r"(b->r[second * 2]),
                   "r"(b->r[second * 2 + 1]));
#endif
}

#else

typedef LOCAL T *tdm_tile;
#define TILE_OF(memory) ((LOCAL T *)(memory))
#define TILE_AT(tile, chunk) ((tile) + (chunk)*TDM_CHUNK)
INLINE void tdm_copy_chunk(tdm_tile to, GLOBAL const T *from, tdm_i32 bytes)
{
    UNROLL for (tdm_i32 i = 0; i < TDM_CHUNK; i++) to[i] = i * T_SIZE < bytes ? from[i] : 0;
}
INLINE void tdm_write_chunk(tdm_tile to, tdm_vector_16 v) { *(LOCAL tdm_vector_16 *)to = v; }
/* one slot less: a part is where it is read as it is multiplied */
#define COPIES_AHEAD(slots) ((slots)-1)
INLINE void tdm_copies_end(void) {}
INLINE void tdm_copies_wait(int count) { (void)count; }

typedef struct tdm_part {
    tdm_tile tile;
    bool by_depth;
    tdm_i32 chunks, line, k;
} tdm_part;

INLINE void tdm_read_part(tdm_part *to, tdm_tile tile, bool of_a, bool by_depth, tdm_i32 chunks,
                          tdm_i32 line, tdm_i32 step)
{
    (void)of_a;
    to->tile = tile;
    to->by_depth = by_depth;
    to->chunks = chunks;
    to->line = line;
    to->k = step * TDM_STEP;
}

INLINE float tdm_part_element(const tdm_part *p, tdm_i32 line, tdm_i32 k)
{
    const tdm_i32 l = p->line + line, d = p->k + k;
    return p->by_depth
               ? LOAD(p->tile, TDM_BY_DEPTH(l, d / TDM_CHUNK, p->chunks) * TDM_CHUNK + d % TDM_CHUNK)
               : LOAD(p->tile, TDM_BY_LINE(d, l / TDM_CHUNK, p->chunks) * TDM_CHUNK + l % TDM_CHUNK);
}

INLINE void tdm_multiply(float *c, const tdm_part *a, const tdm_part *b, tdm_i32 second)
{
    const tdm_i32 x = LANE % 4 * 2 + second * 8, y = LANE % 32 / 4;
    for (tdm_i32 k = 0; k < TDM_STEP; k++)
        for (tdm_i32 q = 0; q < 4; q++)
            c[q] += tdm_part_element(a, y + q / 2 * 8, k) * tdm_part_element(b, x + q % 2, k);
}

#endif
#endif
