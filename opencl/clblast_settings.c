/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Parameters of CLBlast's kernels for products: what there is to choose from, and a search.
 *
 * The parameters are explained in CLBlast's doc/details_gemm.md and in "CLBlast: A Tuned OpenCL BLAS
 * Library" (Nugteren 2018). Here the lanes that read a tile are those that compute with it, and strides
 * are left alone, which leaves the choices below. */
#include "clblast_settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The choices of both kernels. */
enum {
    TILE_M,   /* rows of C of a group */
    TILE_N,   /* columns; the direct kernel's tiles are square */
    LANES_M,  /* lanes of a group along its rows */
    LANES_N,  /* and along its columns */
    VECTOR_M, /* elements that a lane reads at once */
    VECTOR_N,
    TILE_K, /* products in local memory, or unrolled */
    LOCAL   /* 1: tiles are in local memory; of the direct kernel: there they are padded */
};

/* 0 ends a list, and is allowed of LOCAL. The kernel for large products has a second kind (GEMMK=1), which is
 * left alone: before CLBlast 1.6.3 it writes beyond its matrices where the two tiles differ, and batches that
 * need no padding lose their offsets. */
enum { MOST_VALUES = 5 };
static const int values[TDMI_CLBLAST_CHOICES][MOST_VALUES] = {
    [TILE_M] = {8, 16, 32, 64, 128}, [TILE_N] = {8, 16, 32, 64, 128},
    [LANES_M] = {2, 4, 8, 16, 32},   [LANES_N] = {2, 4, 8, 16, 32},
    [VECTOR_M] = {1, 2, 4, 8},       [VECTOR_N] = {1, 2, 4, 8},
    [TILE_K] = {2, 8, 16, 32},       [LOCAL] = {1},
};

static bool is_known(int index, int value) {
    if (index == LOCAL && value == 0) return true;
    for (int i = 0; i < MOST_VALUES && values[index][i]; i++)
        if (values[index][i] == value) return true;
    return false;
}

/* --- what CLBlast takes ------------------------------------------------------------------------- */

/* The demands of its tuners: src/tuning/kernels/xgemm.hpp and xgemm_direct.hpp of CLBlast 1.5.3. */
bool tdmi_clblast_fits(const tdmi_clblast_limits *limits, tdmi_clblast_kernel kernel,
                       const int *c) {
    for (int i = 0; i < TDMI_CLBLAST_CHOICES; i++)
        if (!is_known(i, c[i])) return false;
    const size_t lanes = (size_t)(c[LANES_M] * c[LANES_N]);
    if (lanes > limits->group || c[TILE_M] % (c[LANES_M] * c[VECTOR_M]) != 0 ||
        c[TILE_N] % (c[LANES_N] * c[VECTOR_N]) != 0)
        return false;
    if (kernel == TDMI_CLBLAST_DIRECT) {
        const size_t tile = (size_t)(c[TILE_M] * (c[TILE_M] + c[LOCAL]));
        return c[TILE_M] == c[TILE_N] && c[TILE_M] <= 64 && c[TILE_M] % c[LANES_M] == 0 &&
               c[TILE_M] % c[LANES_N] == 0 && c[TILE_M] % c[TILE_K] == 0 &&
               2 * tile * limits->element <= limits->local_memory;
    }
    const size_t local = (size_t)(c[LOCAL] * c[TILE_K] * (c[TILE_M] + c[TILE_N]));
    return c[TILE_K] % c[LANES_M] == 0 && c[TILE_K] % c[LANES_N] == 0 &&
           local * limits->element <= limits->local_memory;
}

static void add(tdmi_clblast_parameters *p, const char *name, int value) {
    p->names[p->count] = name;
    p->values[p->count++] = (size_t)value;
}

tdmi_clblast_parameters tdmi_clblast_parameters_of(tdmi_clblast_kernel kernel, const int *c) {
    tdmi_clblast_parameters p = {.count = 0};
    if (kernel == TDMI_CLBLAST_DIRECT) {
        p.kernel = "XgemmDirect";
        add(&p, "WGD", c[TILE_M]);
        add(&p, "MDIMCD", c[LANES_M]);
        add(&p, "NDIMCD", c[LANES_N]);
        add(&p, "MDIMAD", c[LANES_M]);
        add(&p, "NDIMBD", c[LANES_N]);
        add(&p, "VWMD", c[VECTOR_M]);
        add(&p, "VWND", c[VECTOR_N]);
        add(&p, "KWID", c[TILE_K]);
        add(&p, "PADA", c[LOCAL]);
        add(&p, "PADB", c[LOCAL]);
        return p;
    }
    p.kernel = "Xgemm";
    add(&p, "GEMMK", 0);
    add(&p, "MWG", c[TILE_M]);
    add(&p, "NWG", c[TILE_N]);
    add(&p, "KWG", c[TILE_K]);
    add(&p, "KWI", 2);
    add(&p, "KREG", 1);
    add(&p, "MDIMC", c[LANES_M]);
    add(&p, "NDIMC", c[LANES_N]);
    add(&p, "MDIMA", c[LANES_M]);
    add(&p, "NDIMB", c[LANES_N]);
    add(&p, "VWM", c[VECTOR_M]);
    add(&p, "VWN", c[VECTOR_N]);
    add(&p, "SA", c[LOCAL]);
    add(&p, "SB", c[LOCAL]);
    add(&p, "STRM", 0);
    add(&p, "STRN", 0);
    return p;
}

tdmi_clblast_parameters tdmi_clblast_threshold(size_t size) {
    tdmi_clblast_parameters p = {.kernel = "GemmRoutine"};
    add(&p, "XGEMM_MIN_INDIRECT_SIZE", (int)size);
    return p;
}

size_t tdmi_clblast_size_of(const tdmi_clblast_settings *s) {
    enum { USUAL = 384 }; /* about what CLBlast has for most devices */
    if (s->indirect_wins && s->direct_wins)
        return (size_t)(s->direct_wins + s->indirect_wins + 1) / 2;
    if (s->indirect_wins) return (size_t)(s->indirect_wins < USUAL ? s->indirect_wins : USUAL);
    return (size_t)(s->direct_wins > USUAL ? s->direct_wins + 1 : USUAL);
}

/* --- the search --------------------------------------------------------------------------------- */

/* Where it starts: what is good on some devices. Rows: tile m, n, lanes m, n, vectors m, n, k, local. */
enum { SEEDS = 3 };
static const int seeds[2][TDMI_CLBLAST_KERNELS][SEEDS][TDMI_CLBLAST_CHOICES] = {
    {/* GPUs */
     {{64, 64, 16, 16, 4, 4, 32, 1}, {128, 64, 16, 8, 4, 4, 16, 1}, {64, 64, 8, 8, 4, 4, 32, 0}},
     {{32, 32, 16, 16, 2, 2, 2, 1}, {32, 32, 8, 8, 4, 4, 2, 1}, {16, 16, 8, 8, 2, 2, 2, 1}}},
    {/* CPUs */
     {{64, 64, 4, 4, 8, 8, 32, 0}, {64, 64, 8, 8, 8, 8, 32, 0}, {32, 32, 4, 4, 8, 8, 32, 0}},
     {{32, 32, 4, 4, 8, 8, 2, 1}, {32, 32, 8, 8, 4, 4, 2, 1}, {16, 16, 4, 4, 4, 4, 2, 1}}},
};

const int *tdmi_clblast_usual(bool cpu) { return seeds[cpu][TDMI_CLBLAST_INDIRECT][0]; }

enum { MOST_TRIED = 256 };
typedef struct walk {
    const tdmi_clblast_search *search;
    tdmi_clblast_kernel kernel;
    int tried[MOST_TRIED][TDMI_CLBLAST_CHOICES];
    int count;
    int best[TDMI_CLBLAST_CHOICES];
    double seconds; /* of the best; infinite while there is none */
} walk;

static bool is_over(const walk *w) {
    return w->count == MOST_TRIED || w->search->time_is_up(w->search->context);
}

/* True when it is the best so far. */
static bool try_choice(walk *w, const int *choice) {
    if (is_over(w) || !tdmi_clblast_fits(&w->search->limits, w->kernel, choice)) return false;
    for (int i = 0; i < w->count; i++)
        if (memcmp(w->tried[i], choice, sizeof w->tried[i]) == 0) return false;
    memcpy(w->tried[w->count++], choice, sizeof w->tried[0]);
    const double seconds = w->search->seconds(w->search->context, w->kernel, choice);
    if (seconds < 0.0 || seconds >= w->seconds) return false;
    memcpy(w->best, choice, sizeof w->best);
    w->seconds = seconds;
    w->search->better(w->search->context, w->kernel, choice, seconds);
    return true;
}

/* Both sides of a tile are one choice for the direct kernel. */
static void set(walk *w, int *choice, int index, int value) {
    choice[index] = value;
    if (w->kernel == TDMI_CLBLAST_DIRECT && index == TILE_M) choice[TILE_N] = value;
}

/* Every value of one choice, the others as in the best. */
static bool vary(walk *w, int index) {
    bool better = false;
    for (int i = index == LOCAL ? -1 : 0; i < MOST_VALUES && (i < 0 || values[index][i]); i++) {
        int choice[TDMI_CLBLAST_CHOICES];
        memcpy(choice, w->best, sizeof choice);
        set(w, choice, index, i < 0 ? 0 : values[index][i]);
        better = try_choice(w, choice) || better;
    }
    return better;
}

/* Of LANES_M and another choice, which bound each other, one doubled and the other halved. */
static bool trade(walk *w, int other) {
    bool better = false;
    for (int way = 0; way < 2; way++) {
        int choice[TDMI_CLBLAST_CHOICES];
        memcpy(choice, w->best, sizeof choice);
        set(w, choice, way ? other : LANES_M, choice[way ? other : LANES_M] * 2);
        set(w, choice, way ? LANES_M : other, choice[way ? LANES_M : other] / 2);
        better = try_choice(w, choice) || better;
    }
    return better;
}

static bool grow(walk *w, int first, int second) {
    int choice[TDMI_CLBLAST_CHOICES];
    memcpy(choice, w->best, sizeof choice);
    set(w, choice, first, choice[first] * 2);
    set(w, choice, second, choice[second] * 2);
    return try_choice(w, choice);
}

bool tdmi_clblast_find(const tdmi_clblast_search *search, tdmi_clblast_kernel kernel,
                       const int *first) {
    static const int order[] = {VECTOR_M, LANES_M,  LANES_N, TILE_M,
                                TILE_N,   VECTOR_N, TILE_K,  LOCAL};
    walk *w = tdmi_calloc(1, sizeof *w);
    if (!w) return false;
    w->search = search;
    w->kernel = kernel;
    w->seconds = HUGE_VAL;
    if (first) (void)try_choice(w, first);
    for (int i = 0; i < SEEDS; i++)
        (void)try_choice(w, seeds[search->limits.cpu][kernel][i]);
    for (bool better = w->seconds < HUGE_VAL; better && !is_over(w);) {
        better = false;
        for (size_t i = 0; i < sizeof order / sizeof *order; i++)
            better = vary(w, order[i]) || better;
        better = trade(w, VECTOR_M) || better;
        better = trade(w, LANES_N) || better;
        better = grow(w, LANES_M, TILE_M) || better;
        better = grow(w, LANES_N, TILE_N) || better;
    }
    const bool whole = !is_over(w);
    tdmi_free(w);
    return whole;
}

/* --- as text ------------------------------------------------------------------------------------ */

void tdmi_clblast_write(const tdmi_clblast_settings *s, char text[TDMI_CLBLAST_TEXT]) {
    size_t length =
        (size_t)snprintf(text, TDMI_CLBLAST_TEXT, "%d %d", s->direct_wins, s->indirect_wins);
    for (int kernel = 0; kernel < TDMI_CLBLAST_KERNELS; kernel++) {
        length += (size_t)snprintf(text + length, TDMI_CLBLAST_TEXT - length, " %d %d",
                                   s->searched[kernel], s->found[kernel]);
        for (int i = 0; i < TDMI_CLBLAST_CHOICES && s->found[kernel]; i++)
            length += (size_t)snprintf(text + length, TDMI_CLBLAST_TEXT - length, " %d",
                                       s->choice[kernel][i]);
    }
}

static bool read_number(const char **text, int most, int *number) {
    char *end;
    const long value = strtol(*text, &end, 10);
    if (end == *text || value < 0 || value > most) return false;
    *text = end;
    *number = (int)value;
    return true;
}

bool tdmi_clblast_read(const char *text, const tdmi_clblast_limits *limits,
                       tdmi_clblast_settings *s) {
    enum { MOST = 1 << 20 };
    memset(s, 0, sizeof *s);
    if (!read_number(&text, MOST, &s->direct_wins) || !read_number(&text, MOST, &s->indirect_wins))
        return false;
    for (int kernel = 0; kernel < TDMI_CLBLAST_KERNELS; kernel++) {
        int found, searched;
        if (!read_number(&text, 1, &searched) || !read_number(&text, 1, &found)) return false;
        s->searched[kernel] = searched;
        s->found[kernel] = found;
        for (int i = 0; i < TDMI_CLBLAST_CHOICES && found; i++)
            if (!read_number(&text, MOST, &s->choice[kernel][i])) return false;
        if (found && !tdmi_clblast_fits(limits, (tdmi_clblast_kernel)kernel, s->choice[kernel]))
            return false;
    }
    return *text == '\0';
}
