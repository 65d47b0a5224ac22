/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Kernels: kept on disk for the next process, rebuilt when the kept file is damaged, as PTX for a
 * device that is newer than the compiler, and the messages for those that cannot be built. Every
 * machine is a separate process. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control.h"
#include "sim.h"
#include "small.h"
#include "support/check.h"
#include "support/folder.h"
#include "support/run.h"

/* The calls of a process. */
typedef struct outcome {
    tdm_status status;
    char message[2048];
    bool right, ended;
    unsigned long compiled, loaded, as_ptx;
    unsigned long reports;
    char report[512];
} outcome;

static char folder[256];
static outcome *out;

static void make_folder(const char *name) {
    run_result r;
    char command[1024];
    snprintf(folder, sizeof folder, "%s/%s", TEST_SCRATCH, name);
    snprintf(command, sizeof command, "rm -rf '%s' && mkdir -p '%s' && chmod 700 '%s'", folder,
             folder, folder);
    run_shell(NULL, command, 30, &r);
    CHECK(r.exit_status == 0, "%s", r.output);
}

static void work_and_report(const char *machine) {
    small s;
    setenv("TDM_CUDA_SIM", machine, 1);
    setenv("TANDEM_CACHE_DIR", folder, 1);
    alarm(50);
    cuda_sim_count_reports();
    out->status = small_open(&s, "cuda:0");
    if (out->status == TDM_OK) out->status = small_work(&s, 3, &out->right);
    snprintf(out->message, sizeof out->message, "%s",
             out->status == TDM_OK ? "" : tdm_last_error());
    small_close(&s);
    out->compiled = cuda_sim_calls("nvrtcCompileProgram");
    out->loaded = cuda_sim_calls("cuModuleLoadData");
    out->as_ptx = cuda_sim_calls("nvrtcGetPTX");
    (void)cuda_sim_report_leaks();
    out->reports = cuda_sim_reports();
    snprintf(out->report, sizeof out->report, "%s", cuda_sim_last_report());
    out->ended = true;
}

/* A process on such a machine, with the files of `folder`. */
static void on_machine(const char *machine) {
    if (!out)
        out = mmap(NULL, sizeof *out, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (out == MAP_FAILED) abort();
    memset(out, 0, sizeof *out);
    check_case("%s", machine);
    int how = 0;
    pid_t child = fork();
    if (child == 0) {
        work_and_report(machine);
        _exit(0);
    }
    CHECK(child > 0 && waitpid(child, &how, 0) == child && how == 0 && out->ended,
          "the process ended with %#x", (unsigned)how);
    CHECK(!out->reports, "reported: %s", out->report);
}

static void succeeds(const char *machine, unsigned long compiled) {
    on_machine(machine);
    CHECK(out->status == TDM_OK && out->right, "%s: %s", tdm_status_name(out->status),
          out->message);
    CHECK(out->compiled == compiled, "%lu programs were compiled, not %lu", out->compiled,
          compiled);
}

static void refused(const char *machine, tdm_status status, const char *words) {
    on_machine(machine);
    CHECK(out->status == status, "%s: %s", tdm_status_name(out->status), out->message);
    CHECK(contains_words(out->message, words), "'%s' lacks one of '%s'", out->message, words);
}

/* --- what is kept -------------------------------------------------------------------------------
 */

/* A kept file, as lib/machine/disk_cache.c writes it. */
typedef struct kept_header {
    char magic[8];
    uint64_t high, low, size, checksum;
} kept_header;

typedef size_t (*change)(unsigned char *image, size_t size);

/* Changes an image to one of the size given back; the file stays sound, so that only the image itself
 * shows it. */
static void change_file(const char *path, change make) {
    size_t size = 0;
    unsigned char *bytes = file_read(path, &size);
    kept_header header;
    CHECK(bytes && size > sizeof header, "%s has %zu bytes", path, size);
    if (!bytes || size <= sizeof header) return;
    memcpy(&header, bytes, sizeof header);
    header.size = make(bytes + sizeof header, size - sizeof header);
    header.checksum = header.low;
    for (size_t i = 0; i < header.size; i++)
        header.checksum = (header.checksum ^ bytes[sizeof header + i]) * 1099511628211u;
    memcpy(bytes, &header, sizeof header);
    file_write(path, bytes, sizeof header + header.size);
    free(bytes);
}

static unsigned long change_all(change make) {
    unsigned long count = 0;
    DIR *listing = opendir(folder);
    for (struct dirent *entry; listing && (entry = readdir(listing));) {
        char path[1024];
        if (!strstr(entry->d_name, ".bin")) continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (make) change_file(path, make);
        count++;
    }
    if (listing) closedir(listing);
    return count;
}

static size_t cut(unsigned char *image, size_t size) {
    (void)image;
    return size / 2;
}

static size_t cut_to_a_byte(unsigned char *image, size_t size) {
    (void)image;
    (void)size;
    return 1;
}

/* Its header speaks of more sections than there are. */
static size_t add_sections(unsigned char *image, size_t size) {
    image[58] = 64;
    image[60] = 200;
    return size;
}

static size_t set_architecture(unsigned char *image, size_t size) {
    sim_image now = {0};
    memcpy(&now, image, size);
    now.architecture = 80;
    memcpy(image, &now, size);
    return size;
}

static size_t rename_kernel(unsigned char *image, size_t size) {
    sim_image now = {0};
    memcpy(&now, image, size);
    for (int i = 0; i < SIM_MAX_ENTRIES; i++)
        now.entries[i].name[0] = 'X';
    memcpy(image, &now, size);
    return size;
}

/* The next process loads the kernels that this one compiled; it replaces a damaged file. */
Test(kept, cubins) {
    static const change changes[] = {cut, cut_to_a_byte, add_sections, set_architecture,
                                     rename_kernel};
    make_folder("cubins");
    on_machine("devices=2");
    unsigned long programs = out->compiled;
    CHECK(out->status == TDM_OK && out->right && programs > 0, "%s", out->message);
    CHECK(change_all(NULL) == programs, "%lu files for %lu programs", change_all(NULL), programs);
    succeeds("devices=2", 0);
    CHECK(out->loaded == programs, "%lu were loaded", out->loaded);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        CHECK(change_all(changes[i]) == programs, "change %zu: other files than before", i);
        succeeds("devices=2", programs);
        CHECK(change_all(NULL) == programs, "change %zu: other files than before", i);
        succeeds("devices=2", 0);
    }
    /* for another card of the architecture, and another driver */
    succeeds("name0=Other driver=13010", 0);
    /* of another architecture or compiler: not even looked at */
    succeeds("capability=80", programs);
    succeeds("nvrtc=13.1", programs);
    CHECK(change_all(NULL) == 3 * programs, "%lu files for three times %lu programs",
          change_all(NULL), programs);
    succeeds("devices=2", 0);
}

#ifdef TEST_NVRTC
static unsigned long real_cubins;

static size_t count_real(unsigned char *image, size_t size) {
    static const char section[] = ".text.tdm_";
    enum { MACHINE = 18, EM_CUDA = 190 };
    real_cubins += image[MACHINE] == EM_CUDA && memmem(image, size, section, sizeof section - 1);
    return size;
}

/* A cache that is filled here by NVIDIA's own compiler is one for any card of the architecture. */
Test(kept, cubins_of_nvidias_nvrtc) {
    make_folder("real");
    on_machine("nvrtc=" TEST_NVRTC);
    unsigned long programs = out->compiled;
    CHECK(out->status == TDM_OK && out->right && programs > 0, "%s", out->message);
    CHECK(change_all(count_real) == programs && real_cubins == programs, "%lu of %lu are cubins",
          real_cubins, programs);
    succeeds("nvrtc=" TEST_NVRTC " name0=Other driver=13010", 0);
    CHECK(out->loaded == programs, "%lu were loaded", out->loaded);
    succeeds("nvrtc=" TEST_NVRTC " capability=80", programs);
}
#endif

/* When the device is lost, or its memory has run out, building again would not help. */
Test(kept, a_load_that_fails_for_another_reason) {
    make_folder("reasons");
    on_machine("devices=2");
    unsigned long programs = out->compiled;
    refused("fail=cuModuleLoadData:1:700", TDM_ERROR_DEVICE_LOST, "cuda:0|illegal memory");
    CHECK(out->compiled == 0, "%lu programs were compiled", out->compiled);
    refused("fail=cuModuleLoadData:1:2", TDM_ERROR_OUT_OF_MEMORY, "out of memory");
    CHECK(out->compiled == 0, "%lu programs were compiled", out->compiled);
    CHECK(change_all(NULL) == programs, "the kept files are gone");
    succeeds("devices=2", 0);
}

/* --- compilers and devices ----------------------------------------------------------------------
 */

/* A device that is newer than NVRTC is given PTX, which the driver compiles, and that is kept. */
Test(kept, ptx_for_a_newer_device) {
    static const char newer[] = "capability=99 architectures=75,90";
    make_folder("ptx");
    on_machine(newer);
    unsigned long programs = out->compiled;
    CHECK(out->status == TDM_OK && out->right, "%s", out->message);
    CHECK(programs > 0 && out->as_ptx == programs, "%lu of %lu as PTX", out->as_ptx, programs);
    succeeds(newer, 0);
    /* NVRTC's list of architectures need not be sorted */
    make_folder("ptx");
    succeeds("capability=99 architectures=90,100,75,80", programs);
    CHECK(out->as_ptx == programs, "%lu of %lu as PTX", out->as_ptx, programs);
    make_folder("ptx");
    succeeds("capability=90 architectures=100,90,75", programs);
    CHECK(out->as_ptx == 0, "%lu of %lu as PTX", out->as_ptx, programs);
}

Test(kept, refusals) {
    make_folder("refusals");
    refused("capability=50", TDM_ERROR_UNSUPPORTED,
            "cuda:0|compute capability 7.5 and newer|has 5.0|older CUDA toolkit");
    refused("skew=8", TDM_ERROR_COMPILE, "cuda:0|struct of arguments|bytes on the host");
    refused("compiles=0", TDM_ERROR_COMPILE,
            "cuda:0|.cl does not compile|identifier \"simulated\" is undefined");
    refused("builtins=0", TDM_ERROR_UNAVAILABLE, "libnvrtc-builtins.so|install it|LD_LIBRARY_PATH");
    refused("nvrtc=12", TDM_ERROR_UNAVAILABLE,
            "NVRTC at |libnvrtc.so.13|is of major version 12|libcudart.so.13 needs 13|"
            "install the CUDA 13 toolkit");
    refused("runtime=11070", TDM_ERROR_UNAVAILABLE,
            "CUDA runtime at |libcudart.so.13|is of CUDA 11.7|needs CUDA 11.8, 12 or 13|install");
    refused("runtime=14000 driver=14000", TDM_ERROR_UNAVAILABLE,
            "is of CUDA 14.0|TANDEM_LIBRARY_PATH");
    refused("fail=nvrtcGetNumSupportedArchs:1+:11", TDM_ERROR_BACKEND, "NVRTC does not report");
    CHECK(change_all(NULL) == 0, "something was kept");
}

/* A kernel that the device cannot run with as many lanes as it would like runs with fewer, and the
 * next process reads that in the kept file, without the compiler. The simulated device refuses
 * launches of more. */
Test(kept, fewer_lanes) {
    make_folder("lanes");
    on_machine("devices=2");
    unsigned long programs = out->compiled;
    CHECK(out->right && programs > 0, "%s", out->message);
    on_machine("kernel_threads=16");
    unsigned long more = out->compiled;
    CHECK(out->status == TDM_OK && out->right, "%s", out->message);
    CHECK(more >= programs, "%lu programs with fewer lanes than the %lu kept ones", more, programs);
    CHECK(change_all(NULL) == programs + more, "not every program is kept");
    succeeds("kernel_threads=16", 0);
    CHECK(out->loaded == programs + more, "%lu of %lu kept programs were loaded", out->loaded,
          programs + more);
    succeeds("devices=2", 0);
    CHECK(out->loaded == programs, "%lu were loaded, not %lu", out->loaded, programs);
    make_folder("lanes");
    refused("kernel_threads=0", TDM_ERROR_UNSUPPORTED, "cuda:0|: it needs 1 lanes|allow 0");
    CHECK(change_all(NULL) > 0, "no kernel of the refused ones is kept");
    refused("kernel_threads=0", TDM_ERROR_UNSUPPORTED, "cuda:0|: it needs 1 lanes|allow 0");
    CHECK(out->compiled == 0, "%lu programs were compiled again", out->compiled);
}

/* cuBLASLt of another major version: products by the builtin kernel, or a refusal with words. */
Test(kept, another_cublas) {
    make_folder("cublas");
    on_machine("cublas=12");
    CHECK(out->status == TDM_OK && out->right, "%s", out->message);
    setenv("TANDEM_BLAS", "cublas", 1);
    refused("cublas=12", TDM_ERROR_UNAVAILABLE,
            "TANDEM_BLAS|cuBLASLt at |is of major version 12|needs 13|install");
    unsetenv("TANDEM_BLAS");
}
