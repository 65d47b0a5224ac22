/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Loading libOpenCL.so.1, and saying which drivers (ICDs) it has to choose from. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "opencl_backend.h"

#define VENDORS "/etc/OpenCL/vendors"

#define FUNCTION_SYMBOL(name) {#name, (void (**)(void)) & tdmi_cl.name, false},
#define LATER_SYMBOL(name) {#name, (void (**)(void)) & tdmi_cl.name, true},
static const tdmi_symbol symbols[] = {TDMI_CL_FUNCTIONS(FUNCTION_SYMBOL)
                                          TDMI_CL_LATER_FUNCTIONS(LATER_SYMBOL)};
enum { FUNCTION_COUNT = sizeof symbols / sizeof *symbols };

static const char *const names[] = {"libOpenCL.so.1", NULL};

static tdmi_library library = {
    .title = "the OpenCL ICD loader",
    .names = names,
    .advice = "install the OpenCL ICD loader (Debian, Ubuntu: ocl-icd-libopencl1) and a driver "
              "(for the CPU: pocl-opencl-icd)",
};

tdm_status tdmi_cl_open(void) { return tdmi_library_open(&library, symbols, FUNCTION_COUNT); }

static bool is_icd_name(const char *name) {
    size_t length = strlen(name);
    return length > 4 && strcmp(name + length - 4, ".icd") == 0;
}

/* The name that an .icd file holds; else *why it holds none. Nothing is waited for: what is called
 * .icd may be a FIFO. */
static bool read_icd_file(const char *path, char *line, size_t size, char *why, size_t why_size) {
    struct stat status;
    ssize_t length = -1;
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (file >= 0 && fstat(file, &status) == 0) {
        if (S_ISREG(status.st_mode))
            length = read(file, line, size - 1);
        else
            errno = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
    }
    if (length < 0 && errno == EINVAL)
        snprintf(why, why_size, "is a FIFO or a device, not a file");
    else if (length < 0)
        snprintf(why, why_size, "cannot be read: %s", strerror(errno));
    if (file >= 0) close(file);
    if (length < 0) return false;
    line[length] = '\0';
    line[strcspn(line, "\n")] = '\0'; /* as ICD loaders do: a CR is part of the name to them */
    if (line[0] == '\0') snprintf(why, why_size, "is empty; its first line names a library");
    return line[0] != '\0';
}

/* Reports whether the library that an .icd file names can be opened and is a driver. The file's
 * first line is the library's name or path. */
static void diagnose_icd_file(const char *path) {
    static const char advice[] = "reinstall the driver, or remove the file";
    char line[512];
    char detail[1024];
    if (!is_icd_name(path)) { /* ocl-icd: the library itself */
        snprintf(line, sizeof line, "%s", path);
    } else if (!read_icd_file(path, line, sizeof line, detail, sizeof detail)) {
        tdmi_diagnose(TDM_DIAGNOSTIC_DRIVER, false, path, detail, advice);
        return;
    } else if (strchr(line, '\r')) {
        snprintf(
            detail, sizeof detail,
            "names %.*s in a line that ends with CR LF: the ICD loader takes the CR for a part "
            "of the name and opens nothing",
            (int)strcspn(line, "\r"), line);
        tdmi_diagnose(TDM_DIAGNOSTIC_DRIVER, false, path, detail,
                      "end its lines with LF alone, as dos2unix does");
        return;
    }
    /* Opened and kept open, as the ICD loader does. */
    void *handle = dlopen(line, RTLD_LAZY | RTLD_LOCAL);
    if (handle && dlsym(handle, "clGetExtensionFunctionAddress")) {
        snprintf(detail, sizeof detail, "names %s, which opens", line);
        tdmi_diagnose(TDM_DIAGNOSTIC_DRIVER, true, path, detail, "");
        return;
    }
    const char *reason = dlerror();
    snprintf(detail, sizeof detail, "names %s, which %s: %s", line,
             handle ? "is not an OpenCL driver" : "does not open",
             reason ? reason : "no reason given");
    tdmi_diagnose(TDM_DIAGNOSTIC_DRIVER, false, path, detail, advice);
}

static int is_icd_file(const struct dirent *item) { return is_icd_name(item->d_name); }

/* What the ICD loader looks into: a folder or, for ocl-icd, also one .icd file or library. */
static const char *vendors_path(void) {
    const char *vendors = getenv("OCL_ICD_VENDORS");
    return vendors && vendors[0] != '\0' ? vendors : VENDORS;
}

static bool is_fifo(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISFIFO(status.st_mode);
}

tdm_status tdmi_cl_check_vendors(void) {
    const char *vendors = vendors_path();
    struct dirent **items = NULL;
    char path[1024];
    /* Khronos' loader passes over what is no file, ocl-icd waits (2.3.4); which one it is cannot be
     * asked before it has looked. */
    snprintf(path, sizeof path, "%s", vendors);
    bool found = is_icd_name(vendors) && is_fifo(vendors);
    int count = found ? 0 : scandir(vendors, &items, is_icd_file, NULL);
    for (int i = 0; i < count; i++) {
        if (!found) {
            snprintf(path, sizeof path, "%.700s/%s", vendors, items[i]->d_name);
            found = is_fifo(path);
        }
        free(items[i]);
    }
    free(items);
    if (!found) return TDM_OK;
    return tdmi_fail(TDM_ERROR_UNAVAILABLE,
                     "%s is a FIFO, on which the OpenCL ICD loader would wait for ever: remove it",
                     path);
}

static void diagnose_vendors_folder(const char *folder) {
    struct dirent **items = NULL;
    int count = scandir(folder, &items, is_icd_file, alphasort);
    if (count <= 0) {
        char detail[256];
        snprintf(detail, sizeof detail, "%s",
                 count < 0 ? strerror(errno) : "the folder has no .icd file");
        tdmi_diagnose_missing(
            TDM_DIAGNOSTIC_DRIVER, folder, detail,
            "install the OpenCL driver of your device, or pocl-opencl-icd to use the CPU");
    }
    for (int i = 0; i < count; i++) {
        char path[1024];
        int length = snprintf(path, sizeof path, "%s/%s", folder, items[i]->d_name);
        if (length > 0 && (size_t)length < sizeof path) diagnose_icd_file(path);
        free(items[i]);
    }
    free(items);
}

void tdmi_cl_diagnose_drivers(void) {
    tdmi_library_diagnose(&library, symbols, FUNCTION_COUNT);
    if (tdmi_loader_refusal()) return; /* drivers stay closed as well */
    const char *vendors = vendors_path();
    struct stat status;
    if (strcmp(vendors, VENDORS) != 0)
        tdmi_diagnose(TDM_DIAGNOSTIC_VARIABLE, true, "OCL_ICD_VENDORS", vendors, "");
    if (stat(vendors, &status) == 0 && !S_ISDIR(status.st_mode))
        diagnose_icd_file(vendors);
    else
        diagnose_vendors_folder(vendors);
}
