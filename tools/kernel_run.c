/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A kernel of the user's on Oclgrind, which interprets it as a GPU would run it and finds reads and writes outside of
 * tensors and races between lanes. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guard.h"
#include "kernel.h"
#include "platform/folder.h"
#include "platform/path.h"
#include "platform/process.h"
#include "platform/program.h"
#include "system_names.h"
#include "tools.h"

/* Oclgrind writes what it finds into the file that this names. */
#define LOG "OCLGRIND_LOG"

bool kernel_read_shape(const char *text, const char *end, kernel_shape *shape) {
    shape->ndim = 0;
    for (const char *c = text; c < end; c++) {
        char *rest;
        if (!isdigit((unsigned char)*c) || shape->ndim == TDM_MAX_DIMS) return false;
        errno = 0;
        shape->extent[shape->ndim++] = strtoll(c, &rest, 10);
        if (errno != 0 || rest > end || (rest < end && (*rest != 'x' || rest + 1 == end)))
            return false;
        c = rest;
    }
    return true;
}

/* ---- the parent ---- */

static bool exists(const char *path) {
    tdmi_file_info info;
    return tdmi_file_look_up(TDMI_HERE, path, true, &info);
}

/* Next to the program `oclgrind` of PATH, or where distributions have it. */
static bool find_library(char *path, size_t size) {
    static const char *const folders[] = {TDMI_OCLGRIND_FOLDERS NULL};
    const char separator[] = {tdmi_path_separator, '\0'}, *search = tdmi_environment_get("PATH");
    for (const char *c = search ? search : ""; *c;) {
        const int length = (int)strcspn(c, separator);
        /* relative entries do not count */
        for (int i = 0; tdmi_path_is_absolute(c) && i < 2; i++) {
            snprintf(path, size, "%.*s/../lib/%s%s", length, c, i ? "oclgrind/" : "",
                     TDMI_OCLGRIND_LIBRARY);
            if (exists(path)) return true;
        }
        c += length + (c[length] != '\0');
    }
    for (size_t i = 0; folders[i]; i++) {
        snprintf(path, size, "%s/%s", folders[i], TDMI_OCLGRIND_LIBRARY);
        if (exists(path)) return true;
    }
    return false;
}

/* It has a folder for itself. */
static void remove_log(const char *log) {
    char folder[4096];
    snprintf(folder, sizeof folder, "%.*s", (int)tdmi_path_folder_length(log), log);
    (void)tdmi_file_remove(TDMI_HERE, log);
    (void)tdmi_folder_remove(folder);
}

int kernel_run_on_oclgrind(void) {
    char path[4096], vendors[4200], filenames[4200], log[4096 + 8], log_variable[4200];
    if (!find_library(path, sizeof path)) {
        puts("oclgrind     not run: it was not found (install oclgrind)");
        return EXIT_FAILED;
    }
    if (!tdmi_folder_make_temporary(NULL, log, 4096)) {
        fprintf(stderr, "tdm kernel check: no temporary folder: %s\n", strerror(errno));
        return EXIT_FAILED;
    }
    strcat(log, "/log");
    FILE *made = tdmi_stream_open(log, "w");
    if (made) fclose(made);
    snprintf(vendors, sizeof vendors, "OCL_ICD_VENDORS=%s", path);
    snprintf(filenames, sizeof filenames, "OCL_ICD_FILENAMES=%s", path);
    snprintf(log_variable, sizeof log_variable, LOG "=%s", log);
    const char *const changes[] = {
        vendors,         filenames, log_variable, "OCLGRIND_DATA_RACES=1", "TANDEM_BACKEND=opencl",
        "TANDEM_DEVICE", NULL};
    const int status = guard_run(changes, SECONDS_FOR_A_DRIVER, false);
    remove_log(log);
    return status;
}

/* ---- the child ---- */

bool kernel_is_on_oclgrind(void) { return guard_is_child() && tdmi_environment_get(LOG); }

typedef struct run {
    tdm_device *device;
    tdm_queue *queue;
    tdm_tensor tensors[MOST_PARAMETERS];
    tdm_argument arguments[MOST_PARAMETERS];
} run;

/* The tensor lies at the end of its buffer, whose size is no larger than that: buffers are multiples of STEP. So what
 * follows is none of the buffer's. */
static tdm_status make_tensor(tdm_queue *queue, tdm_dtype dtype, const kernel_shape *shape,
                              tdm_tensor *t) {
    const int64_t step = (1 << 20) / (int64_t)tdm_dtype_size(dtype);
    tdm_status status = tdm_empty(queue, dtype, shape->ndim, shape->extent, t);
    if (status != TDM_OK || tdm_tensor_get_count(t) == 0) return status;
    const int64_t count = tdm_tensor_get_count(t), whole = (count + step - 1) / step * step;
    tdm_tensor all = {.buffer = NULL};
    status = tdm_empty(queue, dtype, 1, &whole, &all);
    tdm_buffer_release(t->buffer);
    t->buffer = all.buffer; /* or NULL */
    t->offset = whole - count;
    return status;
}

static tdm_status make_arguments(run *r, const kernel_request *q, tdm_dtype dtype) {
    tdm_generator generator = {.seed = 1};
    for (size_t i = 0; i < q->parameter_count; i++) {
        const tdm_parameter *p = &q->parameters[i];
        r->arguments[i] = (tdm_argument){p->name, NULL, q->values[i], (int64_t)q->values[i]};
        if (p->kind != TDM_PARAMETER_TENSOR && p->kind != TDM_PARAMETER_OUTPUT) continue;
        const kernel_shape *shape = q->shapes[i].ndim < 0 ? &q->shape : &q->shapes[i];
        const tdm_dtype own = p->dtype == TDM_ANY_DTYPE ? dtype : (tdm_dtype)p->dtype;
        tdm_tensor *t = &r->tensors[i];
        tdm_status status = make_tensor(r->queue, own, shape, t);
        r->arguments[i] = (tdm_argument){p->name, t, 0.0, 0};
        /* integers may be indices: of these 0 is one */
        if (status == TDM_OK)
            status = tdm_dtype_is_float(own) ? tdm_fill_uniform(r->queue, &generator, -1.0, 1.0, t)
                                             : tdm_fill(r->queue, 0.0, t);
        if (status != TDM_OK) return status;
    }
    return TDM_OK;
}

static tdm_status run_once(run *r, const kernel_request *q, tdm_dtype dtype) {
    tdm_kernel *kernel = NULL;
    tdm_status status = make_arguments(r, q, dtype);
    if (status == TDM_OK)
        status = tdm_kernel_source(r->device, q->text, q->file, q->entry, q->parameters,
                                   q->parameter_count, &kernel);
    if (status == TDM_OK)
        status = tdm_kernel_run(r->queue, kernel, r->arguments, q->parameter_count);
    if (status == TDM_OK) status = tdm_queue_finish(r->queue);
    tdm_kernel_release(kernel);
    return status;
}

/* Prints what has come to the log since the last time; whether there was anything. */
static bool print_findings(FILE *log) {
    bool any = false;
    clearerr(log);
    for (int c; (c = getc(log)) != EOF; any = true) {
        if (!any) puts("is wrong:");
        putchar(c);
    }
    return any;
}

int kernel_run(const kernel_request *request) {
    run r = {.device = NULL};
    int status = EXIT_OK;
    if (tdm_device_open("opencl:0", &r.device) != TDM_OK ||
        tdm_queue_create(r.device, 0, &r.queue) != TDM_OK)
        return report_failure("kernel check");
    guard_listed();
    /* a loader that heeds neither variable would have another driver run it */
    if (!strstr(tdm_device_get_info(r.device)->name, "Oclgrind")) {
        printf("oclgrind     not run: the OpenCL loader gives %s instead\n",
               tdm_device_get_info(r.device)->name);
        tdm_queue_destroy(r.queue);
        tdm_device_release(r.device);
        return EXIT_FAILED;
    }
    /* Oclgrind has it open, too: however this process ends, no file is left */
    FILE *log = tdmi_stream_open(tdmi_environment_get(LOG), "r");
    if (!log) {
        fprintf(stderr, "tdm kernel check: %s: %s\n", tdmi_environment_get(LOG), strerror(errno));
        return EXIT_FAILED;
    }
    remove_log(tdmi_environment_get(LOG));
    for (size_t d = 0; d < request->dtype_count; d++) {
        const tdm_dtype dtype = request->dtypes[d];
        printf("oclgrind %-3s ", tdm_dtype_name(dtype));
        fflush(stdout);
        const tdm_status ran = run_once(&r, request, dtype);
        if (print_findings(log))
            status = EXIT_FAILED;
        else if (ran == TDM_OK)
            puts("runs");
        if (ran != TDM_OK) {
            printf("fails: %s\n", tdm_last_error());
            status = EXIT_FAILED;
        }
        for (size_t i = 0; i < request->parameter_count; i++)
            tdm_tensor_release(&r.tensors[i]);
    }
    fclose(log);
    tdm_queue_destroy(r.queue);
    tdm_device_release(r.device);
    return status;
}
