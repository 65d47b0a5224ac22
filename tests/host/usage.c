/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The usage of devices: the figures of NVIDIA's library, from a stand-in. For memory that processes
 * hold, see holders.c. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "command.h"

#if TEST_HAS_CUDA
TestSuite(usage, .init = random_start);

#define CARD_0 "000102030405060708090a0b0c0d0e0f"
#define CARD_1 "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"
#define SLICE "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf"
#define NO_CARD "0123456789abcdef0123456789abcdef"
#define NOTHING "utilization=?;|temperature=?;|power=?;|power_limit=?;"

/* Lists a card (the arguments of usage_probe) with a stand-in; the output must have `words`. */
static void card(const char *sim, const char *mode, const char *arguments, const char *words) {
    const char *changes[] = {ICD_NONE, CACHE,
                             formatted("TANDEM_LIBRARY_PATH=" TEST_NVML_SIM "/%s", sim),
                             formatted("NVML_SIM=%s", mode), NULL};
    gives_with(changes, formatted(TEST_USAGE_PROBE " %s", arguments), 0, words);
}

/* Every figure of a card, found by its UUID, else by its address, by nothing else; a figure that it
 * does not report is unknown, whatever the library left in the output. */
Test(usage, nvml_figures) {
    static const char all[] = "known: 1|memory_used=21474836480;|memory_total=85899345920;|"
                              "utilization=73;|temperature=64;|power=312500;|power_limit=700000;|"
                              "process_count=2;";
    card("full", "", "GPU " CARD_0 " -", all);
    card("full", "", "GPU " CARD_0 " 0000:3b:00.0", all);
    card("full", "", "GPU - 0000:3b:00.0", all);
    card("full", "", "GPU " NO_CARD " 0000:3b:00.0", all);
    check_case("the card that has the UUID, not the one that has the address");
    card("full", "", "GPU " CARD_1 " 0000:3b:00.0",
         "known: 1|memory_used=1073741824;|memory_total=25769803776;|process_count=0;|" NOTHING);
    card("full", "", "GPU " NO_CARD " 0000:00:00.0",
         "known: 0|memory_used=?;|memory_total=1000;|process_count=0;|" NOTHING);
    card("full", "", "GPU - -", "known: 0|memory_used=?;|" NOTHING);
}

/* A slice has its own memory and processes, and never the figures of its card. */
Test(usage, nvml_slices) {
    static const char own[] = "known: 1|memory_used=2147483648;|memory_total=10737418240;|"
                              "process_count=1;|" NOTHING;
    card("full", "", "MIG " SLICE " 0000:3b:00.0", own);
    /* OpenCL does not say that it lists a slice. */
    card("full", "", "GPU " SLICE " 0000:3b:00.0", own);
    card("full", "", "MIG " NO_CARD " 0000:3b:00.0", "memory_used=?;|memory_total=1000;|" NOTHING);
}

/* The driver's processes and those that hold memory through Tandem are one list, by pid. */
Test(usage, nvml_processes) {
    card("full", "", "GPU " CARD_0 " -",
         "memory=3221225472 tandem=? name=probe??;|"
         "process 900001 memory=? tandem=? name=;");
    card("full", "", "GPU " CARD_0 " - 4096",
         "tandem_reserved=4096;|process_count=2;|process self |memory=3221225472 tandem=4096|"
         "process 900001 memory=? tandem=? name=;");
    card("full", "many", "GPU " CARD_0 " -", "process_count=32;|process 900031 ");
    check_case("one of Tandem's is reported before others");
    card("full", "many", "GPU " CARD_0 " - 4096",
         "process_count=32;|process self |memory=? tandem=4096 name=probe??;");
    CHECK(!contains_words(r.output, "process 900031 "), "%s", r.output);
}

/* Functions that are missing, a library that does not start or is none, a card that is lost:
 * numbers that are unknown, never a failure. */
Test(usage, nvml_failures) {
    card("old", "", "GPU " CARD_0 " -",
         "known: 1|memory_used=21474836480;|utilization=73;|temperature=?;|power=312500;|"
         "power_limit=?;|process_count=2;");
    card("full", "lost", "GPU " CARD_0 " -",
         "known: 1|memory_used=?;|memory_total=1000;|process_count=0;|" NOTHING);
    card("full", "init", "GPU " CARD_0 " 0000:3b:00.0",
         "known: 0|memory_used=?;|memory_total=1000;|process_count=0;|" NOTHING);
    /* The probe asks each monitor, and then for everything. */
    card("full", "once", "GPU " CARD_0 " -", "known: 0|memory_used=21474836480;|temperature=64;");
    card("foreign", "", "GPU " CARD_0 " -", "known: 0|memory_used=?;|" NOTHING);
    card("full", "init", "GPU " CARD_0 " - 4096", "tandem_reserved=4096;|process self ");
}

/* The diagnosis has the library, where it was found, and why it is of no use. */
Test(usage, nvml_diagnosis) {
    static const struct {
        const char *sim, *mode, *words;
    } cases[] = {{"full", "", "|ok|libnvidia-ml.so.1"},
                 {"full", "init", "|no|libnvidia-ml.so.1|Driver Not Loaded|install"},
                 {"foreign", "", "|no|libnvidia-ml.so.1|nvmlInit_v2"}};
    for (int i = 0; i < 3; i++) {
        const char *changes[] = {
            ICD_NONE,
            CACHE,
            formatted("TANDEM_LIBRARY_PATH=" TEST_NVML_SIM "/%s", cases[i].sim),
            formatted("NVML_SIM=%s", cases[i].mode),
            "TANDEM_BACKEND=cpu",
            NULL};
        probe_gives(changes, "diagnose", NULL, cases[i].words);
        const char *line = strstr(r.output, "libnvidia-ml.so.1 (");
        CHECK(line, "not reported: %s", r.output);
        CHECK(line && strncmp(line - 3, i == 0 ? "ok|" : "no|", 3) == 0, "%s", r.output);
    }
}
#endif
