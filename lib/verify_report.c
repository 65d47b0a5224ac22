/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The report of a wrong result, and its safetensors file: 8 bytes of the header's size, the header in JSON, data. */
#include "verify_report.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "base/log.h"
#include "check.h"
#include "platform/file.h"
#include "platform/process.h"

enum { HEADER = 4096 };

typedef struct header_text {
    size_t used;
    char text[HEADER];
} header_text;

static void add(header_text *header, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(header_text *header, const char *format, ...) {
    va_list values;
    va_start(values, format);
    const int length =
        vsnprintf(header->text + header->used, HEADER - header->used, format, values);
    va_end(values);
    header->used += (size_t)length; /* of 9 tensors with 8 dimensions there is room for all */
}

static size_t bytes_of(const tdmi_saved_tensor *tensor) {
    return (size_t)tdm_tensor_get_count(tensor->shape) * tdm_dtype_size(tensor->dtype);
}

static size_t make_header(header_text *header, const tdmi_wrong_result *wrong,
                          const tdmi_saved_tensor *tensors, int count) {
    size_t offset = 0;
    add(header, "{\"__metadata__\":{\"function\":\"%s\",\"device\":\"%s\"}", wrong->function,
        wrong->device->id);
    for (int i = 0; i < count; i++) {
        const tdmi_saved_tensor *const t = &tensors[i];
        char dtype[8] = "";
        for (size_t c = 0; c < sizeof dtype - 1 && tdm_dtype_name(t->dtype)[c]; c++)
            dtype[c] = (char)toupper((unsigned char)tdm_dtype_name(t->dtype)[c]);
        add(header, ",\"%s%s%s\":{\"dtype\":\"%s\",\"shape\":[", t->name, t->suffix ? "." : "",
            t->suffix ? t->suffix : "", dtype);
        for (int d = 0; d < t->shape->ndim; d++)
            add(header, "%s%lld", d ? "," : "", (long long)t->shape->shape[d]);
        add(header, "],\"data_offsets\":[%zu,%zu]}", offset, offset + bytes_of(t));
        offset += bytes_of(t);
    }
    add(header, "}");
    while (header->used % 8)
        add(header, " ");
    return offset;
}

/* A new file, that no other user can have put a link in the place of. False with errno. */
static bool save(const char *path, const tdmi_wrong_result *wrong, const tdmi_saved_tensor *tensors,
                 int count) {
    static header_text header; /* written once in a process */
    unsigned char size[8];
    const size_t data = make_header(&header, wrong, tensors, count);
    for (int i = 0; i < 8; i++)
        size[i] = (unsigned char)((uint64_t)header.used >> (8 * i));
    errno = EFBIG;
    if (sizeof size + header.used + data > tdmi_file_limit()) return false;
    const unsigned how = TDMI_OPEN_WRITE | TDMI_OPEN_NEW | TDMI_OPEN_PRIVATE;
    const tdmi_file file = tdmi_file_open(TDMI_HERE, path, how, NULL);
    if (file == TDMI_NO_FILE) return false;
    bool written = tdmi_file_write(file, size, sizeof size) == sizeof size &&
                   tdmi_file_write(file, header.text, header.used) == header.used;
    for (int i = 0; written && i < count; i++)
        written = tdmi_file_write(file, tensors[i].elements, bytes_of(&tensors[i])) ==
                  bytes_of(&tensors[i]);
    const int error = errno;
    if (tdmi_file_close(file) && written) return true;
    if (!written) errno = error;
    (void)tdmi_file_remove(TDMI_HERE, path);
    return false;
}

/* "[3, 5]" of an element that is counted row-major. */
static const char *place_of(const tdm_tensor *tensor, size_t element, char text[128]) {
    tdm_tensor at = *tensor; /* its shape becomes the place */
    for (int i = tensor->ndim - 1; i >= 0; i--) {
        at.shape[i] = (int64_t)(element % (size_t)tensor->shape[i]);
        element /= (size_t)tensor->shape[i];
    }
    return tdmi_shape_text(&at, text);
}

tdm_status tdmi_report_wrong(const tdmi_wrong_result *wrong, const tdmi_saved_tensor *tensors,
                             int count) {
    static atomic_flag reported = ATOMIC_FLAG_INIT;
    const char *const folder = tdmi_env_values()->verify_folder;
    char path[1024], file[1400] = "the operands of the first one were saved", place[128];
    if (!atomic_flag_test_and_set(&reported)) {
        snprintf(path, sizeof path, "%.900s/tandem-verify-%llu.safetensors", folder ? folder : ".",
                 (unsigned long long)tdmi_process_id());
        if (save(path, wrong, tensors, count))
            snprintf(file, sizeof file, "its operands are in %s", path);
        else
            snprintf(file, sizeof file, "its operands could not be saved in %s: %s", path,
                     strerror(errno));
    }
    const tdm_status status = tdmi_fail(
        TDM_ERROR_BACKEND,
        "%s: %s computes wrongly (TANDEM_VERIFY): %s%s is %.17g, and %.17g on the host, which may "
        "differ by %.3g; %s",
        wrong->function, wrong->device->id, wrong->name,
        place_of(wrong->tensor, wrong->element, place), wrong->got, wrong->expected, wrong->allowed,
        file);
    tdmi_log(TDM_LOG_ERROR, "%s; the device is %s, driver %s", tdm_last_error(),
             wrong->device->name, wrong->device->driver_version);
    return status;
}
