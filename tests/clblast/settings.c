/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The search for CLBlast's parameters, over made-up times: it tries only allowed parameters, returns the
 * best of these, and ends in time. And the text in which they are kept. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clblast_settings.h"
#include "support/random.h"

static int failures;

#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        if (condition) break;                                                                      \
        failures++;                                                                                \
        printf("%s:%d: ", __FILE__, __LINE__);                                                     \
        printf(__VA_ARGS__);                                                                       \
        putchar('\n');                                                                             \
    } while (0)

static size_t value_of(const tdmi_clblast_parameters *p, const char *name) {
    for (size_t i = 0; i < p->count; i++)
        if (strcmp(p->names[i], name) == 0) return p->values[i];
    CHECK(false, "%s has no %s", p->kernel, name);
    return 1;
}

/* The rules for the parameters in CLBlast's documentation, written once more. */
static void check_large(const tdmi_clblast_parameters *p, const tdmi_clblast_limits *limits) {
#define V(name) value_of(p, #name)
    CHECK(p->count == 16 && V(GEMMK) == 0 && V(KWG) % V(KWI) == 0, "kinds");
    CHECK(V(MWG) % (V(MDIMC) * V(VWM)) == 0 && V(NWG) % (V(NDIMC) * V(VWN)) == 0, "C");
    CHECK(V(MWG) % (V(MDIMA) * V(VWM)) == 0 && V(NWG) % (V(NDIMB) * V(VWN)) == 0, "A, B");
    CHECK(V(KWG) % (V(MDIMC) * V(NDIMC) / V(MDIMA)) == 0 &&
              V(KWG) % (V(MDIMC) * V(NDIMC) / V(NDIMB)) == 0,
          "K");
    CHECK(V(MDIMC) * V(NDIMC) <= limits->group, "%zu lanes", V(MDIMC) * V(NDIMC));
    CHECK((V(SA) * V(KWG) * V(MWG) + V(SB) * V(KWG) * V(NWG)) * limits->element <=
              limits->local_memory,
          "local memory");
}

static void check_direct(const tdmi_clblast_parameters *p, const tdmi_clblast_limits *limits) {
    CHECK(p->count == 10 && V(WGD) % V(KWID) == 0, "kinds");
    CHECK(V(WGD) % (V(MDIMCD) * V(VWMD)) == 0 && V(WGD) % (V(NDIMCD) * V(VWND)) == 0, "C");
    CHECK(V(WGD) % (V(MDIMCD) * V(NDIMCD) / V(MDIMAD)) == 0 &&
              V(WGD) % (V(MDIMCD) * V(NDIMCD) / V(NDIMBD)) == 0,
          "A, B");
    CHECK(V(MDIMCD) * V(NDIMCD) <= limits->group, "%zu lanes", V(MDIMCD) * V(NDIMCD));
    CHECK(V(WGD) * (2 * V(WGD) + V(PADA) + V(PADB)) * limits->element <= limits->local_memory,
          "local memory");
#undef V
}

/* A made-up device: a choice takes a time that no other has, or it fails. */
typedef struct pretence {
    tdmi_clblast_limits limits;
    uint64_t seed;
    int calls, most; /* calls until time is up; 0: never */
    int tried[512][TDMI_CLBLAST_CHOICES];
    double best, reported;
} pretence;

static double seconds_of(const pretence *p, const int *choice) {
    uint64_t hash = p->seed;
    for (int i = 0; i < TDMI_CLBLAST_CHOICES; i++)
        hash = (hash ^ (uint64_t)choice[i]) * 0x100000001b3u;
    hash ^= hash >> 29;
    return hash % 7 == 0 ? -1.0 : 1e-3 * (double)(1 + hash % 1000);
}

static double run(void *context, tdmi_clblast_kernel kernel, const int *choice) {
    pretence *p = context;
    const tdmi_clblast_parameters parameters = tdmi_clblast_parameters_of(kernel, choice);
    if (kernel == TDMI_CLBLAST_DIRECT)
        check_direct(&parameters, &p->limits);
    else
        check_large(&parameters, &p->limits);
    for (int i = 0; i < p->calls; i++)
        CHECK(memcmp(p->tried[i], choice, sizeof p->tried[i]) != 0, "tried twice");
    memcpy(p->tried[p->calls++], choice, sizeof p->tried[0]);
    const double seconds = seconds_of(p, choice);
    if (seconds >= 0.0 && (p->best < 0.0 || seconds < p->best)) p->best = seconds;
    return seconds;
}

static bool time_is_up(void *context) {
    const pretence *p = context;
    return p->most > 0 && p->calls >= p->most;
}

static void better(void *context, tdmi_clblast_kernel kernel, const int *choice, double seconds) {
    pretence *p = context;
    CHECK(tdmi_clblast_fits(&p->limits, kernel, choice), "does not fit");
    CHECK(seconds == seconds_of(p, choice) && (p->reported < 0.0 || seconds < p->reported),
          "%g after %g is no news", seconds, p->reported);
    p->reported = seconds;
}

static void test_search(void) {
    static const tdmi_clblast_limits devices[] = {
        {1024, 48 << 10, 4, false}, {256, 16 << 10, 8, false},  {64, 16 << 10, 4, false},
        {4096, 512 << 10, 4, true}, {4096, 512 << 10, 8, true}, {1, 0, 4, true}};
    for (int i = 0; i < 200; i++) {
        static pretence p;
        memset(&p, 0, sizeof p);
        p.limits = devices[i % 6];
        p.seed = (uint64_t)random_integer(0, INT64_MAX - 1);
        p.most = i % 5 == 4 ? (int)random_integer(1, 20) : 0;
        p.best = p.reported = -1.0;
        const tdmi_clblast_kernel kernel = (tdmi_clblast_kernel)(i / 6 % 2);
        const tdmi_clblast_search search = {run, time_is_up, better, &p, p.limits};
        const bool whole = tdmi_clblast_find(&search, kernel, NULL);
        CHECK(p.best == p.reported, "the best is %g, not %g", p.best, p.reported);
        CHECK(p.most == 0 || p.calls <= p.most, "%d calls", p.calls);
        if (p.most == 0) CHECK(whole, "did not come to its end");
        if (p.limits.group == 1) CHECK(p.calls == 0, "%d calls with one lane", p.calls);
        if (p.limits.group > 64) CHECK(p.calls > 0, "no calls");
    }
}

static void test_text(void) {
    const tdmi_clblast_limits limits = {1024, 48 << 10, 4, false};
    tdmi_clblast_settings s = {
        .searched = {true, false},
        .found = {true, true},
        .choice = {{64, 64, 16, 16, 4, 4, 32, 1}, {32, 32, 8, 8, 4, 4, 2, 1}},
        .direct_wins = 256,
        .indirect_wins = 900};
    tdmi_clblast_settings got;
    char text[TDMI_CLBLAST_TEXT];
    tdmi_clblast_write(&s, text);
    CHECK(tdmi_clblast_read(text, &limits, &got) && memcmp(&s, &got, sizeof s) == 0, "'%s'", text);
    CHECK(tdmi_clblast_size_of(&s) == 578, "threshold %zu", tdmi_clblast_size_of(&s));
    const tdmi_clblast_limits small = {64, 16 << 10, 4, false};
    CHECK(!tdmi_clblast_read(text, &small, &got), "256 lanes of 64");
    /* whatever is read fits */
    const size_t length = strlen(text);
    for (int i = 0; i < 20000; i++) {
        char wrong[TDMI_CLBLAST_TEXT];
        memcpy(wrong, text, length + 1);
        wrong[random_integer(0, (int64_t)length - 1)] = "0123456789 -x"[random_integer(0, 12)];
        if (i % 7 == 0) wrong[random_integer(0, (int64_t)length - 1)] = '\0';
        if (!tdmi_clblast_read(wrong, &limits, &got)) continue;
        for (int kernel = 0; kernel < TDMI_CLBLAST_KERNELS; kernel++)
            CHECK(!got.found[kernel] ||
                      tdmi_clblast_fits(&limits, (tdmi_clblast_kernel)kernel, got.choice[kernel]),
                  "'%s' was read", wrong);
    }
    static const char *const refused[] = {
        "", "1", "1 1 1", "1 1 0 1 0 0", "1 1 0 0 0 0 0", "a", "1 1 2 0 0 0"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        CHECK(!tdmi_clblast_read(refused[i], &limits, &got), "'%s' was read", refused[i]);
    CHECK(tdmi_clblast_read("0 0 0 0 0 0", &limits, &got), "nothing was found, and that is all");
}

int main(void) {
    random_start();
    test_search();
    test_text();
    printf("Tested: 2, %d failures\n", failures);
    return failures > 0;
}
