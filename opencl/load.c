/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Loading the ICD loader, and saying which drivers (ICDs) it has to choose from. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "opencl_backend.h"
#include "platform/folder.h"
#include "platform/library.h"
#include "platform/path.h"
#include "platform/process.h"
#include "system_names.h"

#define FUNCTION_SYMBOL(name) {#name, (void (**)(void)) & tdmi_cl.name, false},
#define LATER_SYMBOL(name) {#name, (void (**)(void)) & tdmi_cl.name, true},
static const tdmi_symbol symbols[] = {TDMI_CL_FUNCTIONS(FUNCTION_SYMBOL)
                                          TDMI_CL_LATER_FUNCTIONS(LATER_SYMBOL)};
enum { FUNCTION_COUNT = sizeof symbols / sizeof *symbols };

static const char *const names[] = {TDMI_NAMES_OPENCL, NULL};

static tdmi_library library = {
    .title = "the OpenCL ICD loader",
    .names = names,
    .advice = "install the OpenCL ICD loader (" TDMI_GET_OPENCL ") and a driver "
              "(for the CPU: " TDMI_GET_OPENCL_CPU ")",
};

tdm_status tdmi_cl_open(void) { return tdmi_library_open(&library, symbols, FUNCTION_COUNT); }

static bool is_icd_name(const char *name) {
    size_t length = strlen(name);
    return length > 4 && strcmp(name + length - 4, ".icd") == 0;
}

/* The name that an .icd file holds; else *why it holds none. Nothing is waited for: what is called
 * .icd may be a FIFO. */
static bool read_icd_file(const char *path, char *line, size_t size, char *why, size_t why_size) {
    tdmi_file_info info;
    size_t length = 0;
    const tdmi_file file = tdmi_file_open(TDMI_HERE, path, TDMI_OPEN_READ, &info);
    int error = errno;
    if (file != TDMI_NO_FILE) {
        error = info.kind == TDMI_FILE_FOLDER ? EISDIR : EINVAL;
        if (info.kind == TDMI_FILE_REGULAR) {
            length = tdmi_file_read(file, 0, line, size - 1);
            error = length < size - 1 ? errno : 0;
        }
        (void)tdmi_file_close(file);
    }
    if (error == EINVAL)
        snprintf(why, why_size, "is a FIFO or a device, not a file");
    else if (error)
        snprintf(why, why_size, "cannot be read: %s", strerror(error));
    if (error) return false;
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
    char detail[1088];
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
    unsigned failure;
    char reason[512] = "no reason given";
    void *handle =
        tdmi_library_load(line, TDMI_LOAD_LAZY | TDMI_LOAD_SYSTEM, &failure, reason, sizeof reason);
    if (handle && tdmi_library_symbol(handle, "clGetExtensionFunctionAddress")) {
        const bool can_be_asked = tdmi_cl_open() == TDM_OK;
        snprintf(detail, sizeof detail, "names %s, which %s", line,
                 can_be_asked ? "opens" : "cannot be asked without the OpenCL ICD loader");
        tdmi_diagnose(TDM_DIAGNOSTIC_DRIVER, can_be_asked, path, detail,
                      can_be_asked ? "" : library.advice);
        return;
    }
    snprintf(detail, sizeof detail, "names %s, which %s: %s", line,
             handle ? "is not an OpenCL driver" : "does not open",
             handle ? "it has no clGetExtensionFunctionAddress" : reason);
    tdmi_diagnose(TDM_DIAGNOSTIC_DRIVER, false, path, detail, advice);
}

/* The place where the ICD loader looks: a folder or, for ocl-icd, also one .icd file or library. */
static const char *vendors_path(void) {
    const char *vendors = tdmi_environment_get("OCL_ICD_VENDORS");
    return vendors && vendors[0] != '\0' ? vendors : TDMI_OPENCL_VENDORS;
}

static bool is_fifo(tdmi_folder in, const char *name) {
    tdmi_file_info info;
    return tdmi_file_look_up(in, name, true, &info) && info.kind == TDMI_FILE_PIPE;
}

/* A look at the folder's .icd files: what comes after the name in the order of names, and a FIFO among them. */
typedef struct icd_files {
    tdmi_folder folder;
    char before[256], next[256], fifo[256];
} icd_files;

static void look_at(void *context, const char *name) {
    icd_files *self = context;
    if (!is_icd_name(name) || strlen(name) >= sizeof self->next) return;
    if (strcmp(name, self->before) > 0 && (!self->next[0] || strcmp(name, self->next) < 0))
        snprintf(self->next, sizeof self->next, "%s", name);
    if (is_fifo(self->folder, name)) snprintf(self->fifo, sizeof self->fifo, "%s", name);
}

/* False with errno where the folder cannot be read. */
static bool look_into(const char *folder, icd_files *files) {
    files->next[0] = '\0';
    files->folder = tdmi_folder_open(TDMI_HERE, folder, true, NULL);
    if (files->folder == TDMI_NO_FOLDER) return false;
    const bool listed = tdmi_folder_list(files->folder, look_at, files);
    tdmi_folder_close(files->folder);
    return listed;
}

tdm_status tdmi_cl_check_vendors(void) {
    const char *vendors = vendors_path();
    icd_files files = {0};
    /* Khronos' loader passes over what is no file, ocl-icd waits (2.3.4); which one it is cannot be
     * asked before it has looked. */
    const bool is_one = is_icd_name(vendors) && is_fifo(TDMI_HERE, vendors);
    if (!is_one && (!look_into(vendors, &files) || !files.fifo[0])) return TDM_OK;
    return tdmi_fail(TDM_ERROR_UNAVAILABLE,
                     "%.700s%s%s is a FIFO, on which the OpenCL ICD loader would wait for ever: "
                     "remove it",
                     vendors, is_one ? "" : "/", files.fifo);
}

static const char driver_advice[] =
    "install the OpenCL driver of your device, or " TDMI_GET_OPENCL_CPU " to use the CPU";

static void diagnose_registered(void *context, const char *file) {
    tdmi_file_info info;
    const bool there =
        !tdmi_path_is_absolute(file) || tdmi_file_look_up(TDMI_HERE, file, true, &info);
    *(bool *)context = true;
    tdmi_diagnose(TDM_DIAGNOSTIC_DRIVER, there, file,
                  there ? "is listed in " TDMI_OPENCL_REGISTRY : strerror(errno),
                  there ? "" : "reinstall the driver");
}

/* Drivers of graphics cards are listed with the card, and seen by their platforms alone. */
static void diagnose_registry(void) {
    static const char registry[] = TDMI_OPENCL_REGISTRY;
    bool any = registry[0] == '\0';
    tdmi_library_visit_drivers(diagnose_registered, &any);
    if (!any)
        tdmi_diagnose_missing(TDM_DIAGNOSTIC_DRIVER, registry,
                              "lists no driver; those of graphics cards are listed with the card",
                              driver_advice);
}

static void diagnose_vendors_folder(const char *folder) {
    icd_files files = {0};
    const bool listed = look_into(folder, &files);
    if (!files.next[0])
        tdmi_diagnose_missing(TDM_DIAGNOSTIC_DRIVER, folder,
                              listed ? "the folder has no .icd file" : strerror(errno),
                              driver_advice);
    while (files.next[0]) {
        char path[1024];
        int length = snprintf(path, sizeof path, "%s/%s", folder, files.next);
        if (length > 0 && (size_t)length < sizeof path) diagnose_icd_file(path);
        memcpy(files.before, files.next, sizeof files.before);
        (void)look_into(folder, &files);
    }
}

void tdmi_cl_diagnose_drivers(void) {
    tdmi_library_diagnose(&library, symbols, FUNCTION_COUNT);
    if (tdmi_loader_refusal()) return; /* drivers stay closed as well */
    const char *vendors = vendors_path();
    tdmi_file_info info;
    if (strcmp(vendors, TDMI_OPENCL_VENDORS) != 0)
        tdmi_diagnose(TDM_DIAGNOSTIC_VARIABLE, true, "OCL_ICD_VENDORS", vendors, "");
    if (tdmi_file_look_up(TDMI_HERE, vendors, true, &info) && info.kind != TDMI_FILE_FOLDER)
        diagnose_icd_file(vendors);
    else if (vendors[0])
        diagnose_vendors_folder(vendors);
    else
        diagnose_registry();
}
