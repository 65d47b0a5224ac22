/* Loading libOpenCL.so.1, and saying which drivers (ICDs) it has to choose from. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "opencl.h"

#define VENDORS "/etc/OpenCL/vendors"

tdmi_cl_functions tdmi_cl;

enum {
#define FUNCTION_INDEX(name) INDEX_##name,
    TDMI_CL_FUNCTIONS(FUNCTION_INDEX)
#undef FUNCTION_INDEX
        FUNCTION_COUNT
};

static void (*addresses[FUNCTION_COUNT])(void);

static const tdmi_symbol symbols[FUNCTION_COUNT] = {
#define FUNCTION_SYMBOL(name) {#name, &addresses[INDEX_##name], false},
    TDMI_CL_FUNCTIONS(FUNCTION_SYMBOL)
#undef FUNCTION_SYMBOL
};

static const char *const names[] = {"libOpenCL.so.1", NULL};

static tdmi_library library = {
    .title = "the OpenCL ICD loader",
    .names = names,
    .advice = "install the OpenCL ICD loader (Debian, Ubuntu: ocl-icd-libopencl1) and a driver "
              "(for the CPU: pocl-opencl-icd)",
};

tdm_status tdmi_cl_load(void) {
    TDMI_TRY(tdmi_library_open(&library, symbols, FUNCTION_COUNT));
#define FUNCTION_ASSIGN(name) tdmi_cl.name = (__typeof__(tdmi_cl.name))addresses[INDEX_##name];
    TDMI_CL_FUNCTIONS(FUNCTION_ASSIGN)
#undef FUNCTION_ASSIGN
    return TDM_OK;
}

/* Reports whether the library that an .icd file names can be opened. The file's first line is the
 * library's name or path. */
static void diagnose_icd_file(const char *path) {
    char line[512] = "";
    char detail[1024];
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        snprintf(detail, sizeof detail, "cannot be read: %s", strerror(errno));
        tdmi_diagnose(TDM_DIAGNOSTIC_DRIVER, false, path, detail, "make the file readable");
        return;
    }
    if (fgets(line, sizeof line, file) == NULL) line[0] = '\0';
    fclose(file);
    line[strcspn(line, "\r\n")] = '\0';
    if (line[0] == '\0') {
        tdmi_diagnose(TDM_DIAGNOSTIC_DRIVER, false, path,
                      "is empty; its first line names a library",
                      "reinstall the driver, or remove the file");
        return;
    }
    /* Opened and kept open, as the ICD loader does. */
    if (dlopen(line, RTLD_LAZY | RTLD_LOCAL) != NULL) {
        snprintf(detail, sizeof detail, "names %s, which opens", line);
        tdmi_diagnose(TDM_DIAGNOSTIC_DRIVER, true, path, detail, "");
    } else {
        const char *reason = dlerror();
        snprintf(detail, sizeof detail, "names %s, which does not open: %s", line,
                 reason != NULL ? reason : "no reason given");
        tdmi_diagnose(TDM_DIAGNOSTIC_DRIVER, false, path, detail,
                      "reinstall the driver, or remove the file");
    }
}

static int is_icd_file(const struct dirent *item) {
    size_t length = strlen(item->d_name);
    return length > 4 && strcmp(item->d_name + length - 4, ".icd") == 0;
}

static void diagnose_vendors_folder(const char *folder) {
    struct dirent **items = NULL;
    int count = scandir(folder, &items, is_icd_file, alphasort);
    if (count <= 0) {
        char detail[256];
        snprintf(detail, sizeof detail, "%s",
                 count < 0 ? strerror(errno) : "the folder has no .icd file");
        tdmi_diagnose(
            TDM_DIAGNOSTIC_DRIVER, false, folder, detail,
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

void tdmi_cl_diagnose(void) {
    tdmi_library_diagnose(&library, symbols, FUNCTION_COUNT);
    if (tdmi_env_privileged()) return; /* drivers stay closed as well */
    const char *vendors = getenv("OCL_ICD_VENDORS");
    struct stat status;
    if (vendors == NULL || vendors[0] == '\0') {
        diagnose_vendors_folder(VENDORS);
        return;
    }
    tdmi_diagnose(TDM_DIAGNOSTIC_VARIABLE, true, "OCL_ICD_VENDORS", vendors, "");
    /* ocl-icd also takes one .icd file. */
    if (stat(vendors, &status) == 0 && S_ISREG(status.st_mode)) {
        diagnose_icd_file(vendors);
    } else {
        diagnose_vendors_folder(vendors);
    }
}
