/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Which devices of the cuda and the opencl backend are one card, on made-up machines: by UUID, by
 * address, slices, and drivers that report neither. No GPU that is listed may be lost. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

TestSuite(cards, .init = random_start);

/* U and V, P and Q are different; U's text has every digit. */
#define U "0123456789abcdeffedcba9876543210"
#define U_TEXT "01234567-89ab-cdef-fedc-ba9876543210"
#define V "0123456789abcdeffedcba9876543211"
#define V_TEXT "01234567-89ab-cdef-fedc-ba9876543211"
#define W "f123456789abcdeffedcba9876543210"
#define P "0000:3b:00.0"
#define Q "0000:af:00.0"

/* The backends' order; the variables of CUDA's devices and OpenCL's; the devices that `probe cards`
 * has to print, and the meanings of gpu:0, gpu:1 …. */
typedef struct machine {
    const char *backends, *cuda, *opencl, *same, *gpus;
} machine;

/* Runs a program on such a machine, `extra` a change of its environment. */
static void on_machine(const machine *m, const char *extra, const char *const *argv) {
    const char *changes[] = {ICD_NONE,
                             CACHE,
                             "TANDEM_LIBRARY_PATH=" TEST_CUDA_SIM ":" TEST_OPENCL_SIM
                             ":" TEST_NVML_SIM "/full",
                             formatted("TANDEM_BACKEND=%s", m->backends),
                             formatted("TDM_CUDA_SIM=%s", m->cuda),
                             formatted("TDM_OPENCL_SIM=%s", m->opencl),
                             extra ? extra : "CUDA_VISIBLE_DEVICES",
                             NULL};
    check_case("%s: %s and %s", m->backends, m->cuda, m->opencl);
    run_program(changes, argv, 60, &r);
    CHECK(r.exit_status == 0, "exit status %d: %s", r.exit_status, r.output);
}

static void expect(const char *line, const char *wanted) {
    SAYS(formatted("\n%s%s%s;", line, wanted[0] ? " " : "", wanted));
}

static void check_machine(const machine *m, const char *extra) {
    const char *argv[] = {TEST_PROBE, "cards", NULL};
    on_machine(m, extra, argv);
    expect("same:", m->same);
    expect("gpus:", m->gpus);
}

#define CHECK_ALL(machines)                                                                        \
    for (size_t i = 0; i < sizeof(machines) / sizeof(machines)[0]; i++)                            \
    check_machine(&(machines)[i], NULL)

static void tell(const machine *m, const char *command, const char *name, const char *words) {
    const char *argv[] = {TEST_PROBE, command, name, NULL};
    on_machine(m, NULL, argv);
    CHECK(contains_words(r.output, words), "probe %s %s: no \"%s\" in: %s", command, name, words,
          r.output);
}

/* One card in both backends says so both ways, by UUID whatever the addresses are, by address where
 * a driver gives no UUID, and is one GPU through the first backend that lists it. */
Test(cards, one_card) {
    static const char both[] = "cuda:0=opencl:0 opencl:0=cuda:0";
    static const char reverse[] = "opencl:0=cuda:0 cuda:0=opencl:0";
    /* in parentheses, so that clang takes no comma to be missing */
    static const char *const cuda[] = {("devices=1 uuid0=" U " pci0=" P),
                                       ("devices=1 uuid0=" U " pci0=none"),
                                       ("devices=1 uuid0=none pci0=" P)};
    static const char *const opencl[][4] = {
        {("devices=1 uuid0=" U " pci0=" P), ("devices=1 uuid0=" U), ("devices=1 pci0=" P),
         ("devices=1 uuid0=" U " pci0=" Q)},
        {("devices=1 uuid0=" U " pci0=" P), ("devices=1 uuid0=" U)},
        {("devices=1 uuid0=" U " pci0=" P), ("devices=1 pci0=" P),
         ("devices=1 uuid0=00000000000000000000000000000000 pci0=" P)}};
    for (int c = 0; c < 3; c++)
        for (int o = 0; o < 4 && opencl[c][o]; o++) {
            check_machine(&(machine){"cuda,opencl", cuda[c], opencl[c][o], both, "cuda:0"}, NULL);
            check_machine(&(machine){"opencl,cuda", cuda[c], opencl[c][o], reverse, "opencl:0"},
                          NULL);
        }
}

/* An address is the same however the driver reports it; another function, bus or domain is another
 * device, and a driver that leaves out the domain means 0. */
Test(cards, addresses) {
    static const char both[] = "cuda:0=opencl:0 opencl:0=cuda:0", two[] = "cuda:0 opencl:0";
    static const machine machines[] = {
        {"auto", "devices=1 uuid0=none pci0=0000:AF:1F.0", "devices=1 pci0=0000:af:1f.0", both,
         "cuda:0"},
        {"auto", "devices=1 pci0=" Q, "devices=1 pci0=0:AF:0.0 pci_by0=nv", both, "cuda:0"},
        {"auto", "devices=1 pci0=" Q, "devices=1 pci0=" Q " pci_by0=nv_old", both, "cuda:0"},
        {"auto", "devices=1 pci0=0000:af:1f.0", "devices=1 pci0=0:af:1f.0 pci_by0=amd", both,
         "cuda:0"},
        {"auto", "devices=1 pci0=0001:af:1c.0", "devices=1 pci0=0001:af:1c.0 pci_by0=nv", both,
         "cuda:0"},
        {"auto", "devices=1 pci0=0001:af:00.0", "devices=1 pci0=" Q " pci_by0=nv_old", "", two},
        {"auto", "devices=1 pci0=" Q, "devices=1 pci0=0000:af:00.1", "", two},
        {"auto", "devices=1 pci0=" Q, "devices=1 pci0=0000:af:00.1 pci_by0=nv", "", two},
        {"auto", "devices=1 pci0=" Q, "devices=1 pci0=0000:ae:00.0", "", two},
        {"auto", "devices=1 pci0=" Q, "devices=1 pci0=0001:af:00.0", "", two},
        /* domains past 16 bits, of Intel's VMD */
        {"auto", "devices=1 pci0=10000:af:00.0", "devices=1 pci0=10000:af:00.0", both, "cuda:0"},
        {"auto", "devices=1 pci0=10000:af:00.0", "devices=1 pci0=" Q, "", two},
        /* the answer of a driver that does not know */
        {"auto", "devices=1 uuid0=none pci0=none", "devices=1 pci0=0000:00:00.0", "", two},
        {"auto", "devices=1 pci0=0001:00:00.0", "devices=1 pci0=0001:00:00.0", both, "cuda:0"}};
    CHECK_ALL(machines);
    tell(&machines[4], "cards", NULL,
         "\ncuda:0 |pci=0001:af:1c.0;|\nopencl:0 name=simulated device uuid= pci=0001:af:1c.0;");
    tell(&machines[4], "find", "opencl:pci=0001:AF:1C.0", "TDM_OK\nopencl:0\n");
    tell(&machines[12], "cards", NULL,
         "\nopencl:0 name=simulated device uuid= pci=;| uuid= pci=;\nopencl:0 ");
    tell(&machines[12], "find", "cuda:pci=0000:00:00.0", "TDM_ERROR_NOT_FOUND");
}

/* Cards are not told apart, or taken for one another, by name; nor does a device that neither has a
 * UUID nor an address vanish. */
Test(cards, equal_names) {
    static const machine machines[] = {
        {"auto", "devices=2 name0=Twin name1=Twin uuid0=none uuid1=none pci0=" P " pci1=" Q,
         "devices=2 name0=Twin name1=Twin pci0=" Q " pci1=" P,
         "cuda:0=opencl:0 cuda:1=opencl:1 opencl:0=cuda:0 opencl:1=cuda:1", "cuda:0 cuda:1"},
        {"auto", "devices=2 name0=Twin name1=Twin uuid0=none uuid1=none pci0=" P " pci1=none",
         "devices=2 name0=Twin name1=Twin pci0=" Q, "", "cuda:0 cuda:1 opencl:0 opencl:1"},
        {"opencl,cuda", "devices=2 name0=Twin name1=Twin uuid0=none uuid1=none pci0=none pci1=none",
         "devices=2 name0=Twin name1=Twin", "", "opencl:0 opencl:1 cuda:0 cuda:1"},
        {"auto", "devices=2 name0=Twin name1=Twin uuid0=" U " uuid1=" V " pci0=" P " pci1=" Q,
         "devices=2 name0=Twin name1=Twin uuid0=" V " uuid1=" U " pci0=" P " pci1=" Q,
         "cuda:0=opencl:1 cuda:1=opencl:0 opencl:0=cuda:1 opencl:1=cuda:0", "cuda:0 cuda:1"},
        /* one without identity next to one that is known */
        {"auto", "devices=2 name0=Twin name1=Twin uuid0=" U " uuid1=none pci0=none pci1=none",
         "devices=2 name0=Twin name1=Twin uuid1=" U, "cuda:0=opencl:1 opencl:1=cuda:0",
         "cuda:0 cuda:1 opencl:0"}};
    CHECK_ALL(machines);
}

/* The backends number their devices as they like. */
Test(cards, order) {
    static const machine three = {
        "cuda,opencl", "devices=2 uuid0=" U " uuid1=" V " pci0=" P " pci1=" Q,
        "devices=3 uuid0=" V " pci0=" Q " uuid1=" U " pci1=" P " uuid2=" W " pci2=0000:01:00.0",
        "cuda:0=opencl:2 cuda:1=opencl:1 opencl:1=cuda:1 opencl:2=cuda:0",
        "cuda:0 cuda:1 opencl:0"};
    /* OpenCL's by address: W, U, V */
    check_machine(&three, "CUDA_VISIBLE_DEVICES=1,0");
    machine m = three;
    m.same = "cuda:0=opencl:1 cuda:1=opencl:2 opencl:1=cuda:0 opencl:2=cuda:1";
    check_machine(&m, NULL);
    m.same = "cuda:0=opencl:2 opencl:2=cuda:0";
    m.gpus = "cuda:0 opencl:0 opencl:1";
    check_machine(&m, "CUDA_VISIBLE_DEVICES=1");
    m.backends = "opencl,cuda";
    m.same = "opencl:2=cuda:0 cuda:0=opencl:2";
    m.gpus = "opencl:0 opencl:1 opencl:2";
    check_machine(&m, "CUDA_VISIBLE_DEVICES=1");
    /* an accelerator and a CPU are no GPUs, whatever card they are on */
    static const machine others[] = {
        {"opencl,cuda", "devices=1 uuid0=" U,
         "devices=3 type0=cpu type1=accelerator uuid1=" U " pci2=" Q,
         "opencl:1=cuda:0 cuda:0=opencl:1", "opencl:0 cuda:0"},
        {"cuda", "devices=1 uuid0=" U, "devices=1 uuid0=" U, "", "cuda:0"},
        {"opencl", "devices=1 uuid0=" U, "devices=1 uuid0=" U, "", "opencl:0"}};
    CHECK_ALL(others);
}

/* The slices of a card share its address. Each is a separate device, known by its UUID alone; an
 * entry without UUID at that address may be any of them, and so is none. */
Test(cards, slices) {
#define SLICE_NAMES "name0=NVIDIA_A100_MIG_1g.5gb name1=NVIDIA_A100_MIG_1g.5gb "
#define SLICES "devices=2 " SLICE_NAMES "uuid0=" U " uuid1=" V " pci0=" P " pci1=" P
#define NAMELESS "devices=2 " SLICE_NAMES "uuid0=none uuid1=none pci0=" P " pci1=" P
    static const machine machines[] = {
        {"auto", SLICES, SLICES, "cuda:0=opencl:0 cuda:1=opencl:1 opencl:0=cuda:0 opencl:1=cuda:1",
         "cuda:0 cuda:1"},
        {"auto", SLICES, "devices=1 uuid0=" V " pci0=" P, "cuda:1=opencl:0 opencl:0=cuda:1",
         "cuda:0 cuda:1"},
        {"opencl,cuda", SLICES, "devices=1 uuid0=" V " pci0=" P, "opencl:0=cuda:1 cuda:1=opencl:0",
         "opencl:0 cuda:0"},
        /* the whole card */
        {"auto", SLICES, "devices=1 uuid0=" W " pci0=" P, "", "cuda:0 cuda:1 opencl:0"},
        {"auto", SLICES, "devices=1 pci0=" P, "", "cuda:0 cuda:1 opencl:0"},
        {"opencl,cuda", SLICES, "devices=1 pci0=" P, "", "opencl:0 cuda:0 cuda:1"},
        {"opencl,cuda", NAMELESS, "devices=1 uuid0=" U " pci0=" P, "", "opencl:0 cuda:0 cuda:1"},
        {"auto", NAMELESS, "devices=1 pci0=" P, "", "cuda:0 cuda:1 opencl:0"},
        {"auto", "devices=1 uuid0=none pci0=" P, SLICES, "", "cuda:0 opencl:0 opencl:1"},
        {"auto", NAMELESS, SLICES, "", "cuda:0 cuda:1 opencl:0 opencl:1"},
        /* one slice alone, as CUDA shows them */
        {"auto", "devices=1 " SLICE_NAMES "uuid0=" U " pci0=" P, "devices=1 pci0=" P,
         "cuda:0=opencl:0 opencl:0=cuda:0", "cuda:0"}};
    CHECK_ALL(machines);

    /* both write a slice's UUID in one way, and read it in any */
    const machine *m = &machines[0];
    tell(m, "cards", NULL,
         "\ncuda:1 name=NVIDIA A100 MIG 1g.5gb| uuid=MIG-" V_TEXT " pci=" P
         ";\nopencl:0 |\nopencl:1 name=NVIDIA A100 MIG 1g.5gb uuid=MIG-" V_TEXT " pci=" P ";");
    static const char *const names[][2] = {{"opencl:uuid=MIG-" V_TEXT, "TDM_OK\nopencl:1\n"},
                                           {"opencl:uuid=GPU-" V_TEXT, "TDM_OK\nopencl:1\n"},
                                           {"opencl:uuid=" V_TEXT, "TDM_OK\nopencl:1\n"},
                                           {"cuda:uuid=mig-" U_TEXT, "TDM_OK\ncuda:0\n"},
                                           {"cuda:uuid=" U_TEXT, "TDM_OK\ncuda:0\n"},
                                           {"cuda:uuid=CPU-" U_TEXT, "TDM_ERROR_NOT_FOUND"},
                                           {"cuda:uuid=MIG-", "TDM_ERROR_NOT_FOUND"},
                                           {"cuda:uuid=", "TDM_ERROR_NOT_FOUND"},
                                           {"cuda:uuid=MIG-" U_TEXT "0", "TDM_ERROR_NOT_FOUND"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        tell(m, "find", names[i][0], names[i][1]);
    /* OpenCL's device has a name that says nothing */
    tell(&machines[1], "cards", NULL, "\nopencl:0 name=simulated device uuid=GPU-" V_TEXT " pci=");
    tell(&machines[1], "find", "opencl:uuid=MIG-" V_TEXT, "TDM_OK\nopencl:0\n");
    tell(&machines[1], "find", "cuda:uuid=GPU-" V_TEXT, "TDM_OK\ncuda:1\n");
    /* the figures of the card at that address (of nvml_sim) are not a slice's */
    tell(m, "usage", "opencl:0", "TDM_OK|memory_used=?;");
    tell(m, "usage", "cuda:0", "TDM_OK|memory_used=?;");
}

/* Two platforms that list one card: the entries of one backend are never taken for one, but each is
 * the card that CUDA lists. */
Test(cards, two_platforms) {
    static const machine machines[] = {
        {"auto", "devices=1 uuid0=" U " pci0=" P,
         "devices=2 platform0=One platform1=Two uuid0=" U " uuid1=" U " pci0=" P " pci1=" P,
         "cuda:0=opencl:0 opencl:0=cuda:0 opencl:1=cuda:0", "cuda:0"},
        {"auto", "devices=1 uuid0=" U " pci0=" P,
         "devices=2 platform0=One platform1=Two pci0=" P " pci1=" P,
         "cuda:0=opencl:0 opencl:0=cuda:0 opencl:1=cuda:0", "cuda:0"},
        /* a platform that makes up UUIDs next to one with none */
        {"auto", "devices=1 uuid0=" U " pci0=" P,
         "devices=2 platform0=One platform1=Two uuid0=" W " pci0=" P " pci1=" P,
         "cuda:0=opencl:1 opencl:1=cuda:0", "cuda:0 opencl:0"},
        {"opencl", "devices=1",
         "devices=2 platform0=One platform1=Two uuid0=" U " uuid1=" U " pci0=" P " pci1=" P, "",
         "opencl:0 opencl:1"}};
    CHECK_ALL(machines);
}

#ifdef TEST_PROGRAM
/* `tdm devices` shows it, and counts cards. */
Test(cards, program) {
    static const machine m = {"cuda,opencl,cpu",
                              "devices=2 uuid0=" U " uuid1=" V " pci0=" P " pci1=" Q,
                              "devices=1 uuid0=" V " pci0=" Q, NULL, NULL};
    const char *table[] = {TEST_PROGRAM, "devices", NULL};
    on_machine(&m, NULL, table);
    SAYS("cuda 2, opencl 1, cpu 1; physical GPUs 2 |");
    SAYS("| " P "  |" Q " = opencl:0 |" Q " = cuda:1 ");
    const char *json[] = {TEST_PROGRAM, "devices", "--json", NULL};
    on_machine(&m, NULL, json);
    SAYS("\"physical_gpus\": 2|\"same_as\": null|"
         "\"same_as\": \"opencl:0\"|\"same_as\": \"cuda:1\"|"
         "\"uuid\": \"GPU-" V_TEXT "\"|\"pci\": \"" Q "\"");
}
#endif

/* A device that is listed and cannot be opened, as one that another process has for itself. */
Test(cards, a_device_that_is_taken) {
    static const machine m = {"opencl", "", "devices=1 name0=Taken", NULL, NULL};
    tell(&m, "work", "gpu:0", "TDM_ERROR_UNAVAILABLE|Taken|not available now");
    tell(&m, "list", NULL, "opencl:0|Taken");
}
