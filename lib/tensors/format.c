/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Tensors as text, laid out as PyTorch does (torch/_tensor_str.py describes the rules): values of
 * one width, rows in brackets, lines of 80 columns, large tensors cut to their corners. */
#include <tandem/create.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "base/text.h"
#include "check.h"
#include "core.h"

enum { EDGE = 3, SUMMARY_ABOVE = 1000, LINE = 80, PRECISION = 4, INDENT = 7 /* "tensor(" */ };

/* The elements of x that are shown: of each dimension all, or EDGE at both ends; row-major. */
typedef struct excerpt {
    const tdm_tensor *x;
    int64_t shape[TDM_MAX_DIMS]; /* of what is shown */
    int64_t count;
    bool summary;
    unsigned char *bytes;
} excerpt;

/* How its numbers are written. */
typedef struct style {
    bool is_float, whole, scientific; /* whole: all are integers, "1." */
    int width;
} style;

static bool is_cut(const excerpt *e, int dim) { return e->shape[dim] < e->x->shape[dim]; }

/* Where the i-th shown element of a dimension is in x. */
static int64_t place(const excerpt *e, int dim, int64_t i) {
    return is_cut(e, dim) && i >= EDGE ? e->x->shape[dim] - 2 * EDGE + i : i;
}

/* Queues the reading of one run of the last dimension's elements, adjacent or one by one. */
static tdm_status read_run(tdm_queue *queue, const excerpt *e, int64_t offset, int64_t first,
                           int64_t count, unsigned char *to) {
    const tdm_tensor *x = e->x;
    size_t size = tdm_dtype_size(x->dtype);
    int last = x->ndim - 1;
    int64_t step = x->strides[last], runs = step == 1 ? 1 : count;
    for (int64_t i = 0; i < runs; i++) {
        int64_t at = offset + place(e, last, first + i) * step;
        TDMI_TRY(tdm_buffer_read_async(queue, x->buffer, (size_t)at * size,
                                       to + (size_t)(first + i) * size,
                                       size * (size_t)(step == 1 ? count : 1)));
    }
    return TDM_OK;
}

static tdm_status read_rows(tdm_queue *queue, const excerpt *e, int dim, int64_t offset,
                            unsigned char **to) {
    const tdm_tensor *x = e->x;
    int64_t shown = e->shape[dim];
    if (dim == x->ndim - 1) {
        int64_t first = is_cut(e, dim) ? EDGE : shown;
        TDMI_TRY(read_run(queue, e, offset, 0, first, *to));
        if (shown > first) TDMI_TRY(read_run(queue, e, offset, first, shown - first, *to));
        *to += (size_t)shown * tdm_dtype_size(x->dtype);
        return TDM_OK;
    }
    for (int64_t i = 0; i < shown; i++)
        TDMI_TRY(read_rows(queue, e, dim + 1, offset + place(e, dim, i) * x->strides[dim], to));
    return TDM_OK;
}

static tdm_status read_excerpt(tdm_queue *queue, excerpt *e) {
    const tdm_tensor *x = e->x;
    e->summary = tdm_tensor_get_count(x) > SUMMARY_ABOVE;
    e->count = e->summary ? 1 : tdm_tensor_get_count(x);
    for (int i = 0; i < x->ndim; i++) {
        e->shape[i] = e->summary && x->shape[i] > 2 * EDGE ? 2 * EDGE : x->shape[i];
        if (e->summary) e->count *= e->shape[i];
    }
    size_t bytes = (size_t)e->count * tdm_dtype_size(x->dtype);
    e->bytes = tdmi_malloc(bytes + 1);
    if (!e->bytes) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
    unsigned char *to = e->bytes;
    tdm_status status = TDM_OK;
    if (!e->summary && tdm_tensor_is_contiguous(x))
        status = tdm_buffer_read_async(queue, x->buffer,
                                       (size_t)x->offset * tdm_dtype_size(x->dtype), to, bytes);
    else if (e->count > 0)
        status = read_rows(queue, e, 0, x->offset, &to);
    /* Queued work writes to e->bytes: it ends before they are freed, whatever failed. */
    tdm_status end = tdm_queue_finish(queue);
    return status == TDM_OK ? end : status;
}

static const void *element(const excerpt *e, int64_t i) {
    return e->bytes + (size_t)i * tdm_dtype_size(e->x->dtype);
}

static double float_value(const excerpt *e, int64_t i) {
    return tdmi_element_float(e->x->dtype, element(e, i));
}

enum { VALUE = 400 }; /* an f64 without exponent has up to 309 digits */

static int write_integer(const excerpt *e, int64_t i, char text[VALUE]) {
    const int64_t v = tdmi_element_integer(e->x->dtype, element(e, i));
    switch (tdmi_dtype_kind_of(e->x->dtype)) {
    case TDMI_KIND_BOOL:
        return tdmi_print(text, VALUE, v ? "True" : "False");
    case TDMI_KIND_UNSIGNED:
        return tdmi_print(text, VALUE, "%" PRIu64, (uint64_t)v);
    default:
        return tdmi_print(text, VALUE, "%" PRId64, v);
    }
}

static int write_value(const excerpt *e, const style *s, int64_t i, char text[VALUE]) {
    if (!s->is_float) return write_integer(e, i, text);
    double v = float_value(e, i);
    if (isnan(v)) return tdmi_print(text, VALUE, "nan");
    if (s->scientific) return tdmi_print(text, VALUE, "%.*e", PRECISION, v);
    if (s->whole) return tdmi_print(text, VALUE, isinf(v) ? "%.0f" : "%.0f.", v);
    return tdmi_print(text, VALUE, "%.*f", PRECISION, v);
}

static style choose_style(const excerpt *e) {
    style s = {.is_float = tdm_dtype_is_float(e->x->dtype), .whole = true, .width = 1};
    double least = INFINITY, largest = 0;
    for (int64_t i = 0; s.is_float && i < e->count; i++) {
        double v = float_value(e, i), size = fabs(v);
        if (!isfinite(v) || v == 0) continue;
        if (size < least) least = size;
        if (size > largest) largest = size;
        if (v != ceil(v)) s.whole = false;
    }
    s.scientific =
        largest > 0 && (largest / least > 1000 || largest > 1e8 || (!s.whole && least < 1e-4));
    for (int64_t i = 0; i < e->count; i++) {
        char value[VALUE];
        if (s.is_float && (!isfinite(float_value(e, i)) || float_value(e, i) == 0)) continue;
        int width = write_value(e, &s, i, value);
        if (width > s.width) s.width = width;
    }
    return s;
}

static void write_vector(tdmi_text *out, const excerpt *e, const style *s, int indent,
                         int64_t first) {
    int dim = e->x->ndim - 1;
    int per_line = (LINE - indent) / (s->width + 2), in_line = 0;
    if (per_line < 1) per_line = 1;
    tdmi_text_add(out, "[");
    for (int64_t i = 0; i < e->shape[dim]; i++) {
        bool gap = is_cut(e, dim) && i == EDGE;
        for (int turn = gap ? 0 : 1; turn < 2; turn++) {
            char value[VALUE];
            if (in_line == per_line) {
                tdmi_text_add(out, ",\n%*s", indent + 1, "");
                in_line = 0;
            } else if (i > 0 || turn == 0) {
                tdmi_text_add(out, ", ");
            }
            in_line++;
            if (turn == 0) {
                tdmi_text_add(out, " ...");
            } else {
                write_value(e, s, first + i, value);
                tdmi_text_add(out, "%*s", s->width, value);
            }
        }
    }
    tdmi_text_add(out, "]");
}

static void write_block(tdmi_text *out, const excerpt *e, const style *s, int dim, int indent,
                        int64_t first) {
    if (dim == e->x->ndim - 1) {
        write_vector(out, e, s, indent, first);
        return;
    }
    int64_t below = 1;
    for (int i = dim + 1; i < e->x->ndim; i++)
        below *= e->shape[i];
    tdmi_text_add(out, "[");
    for (int64_t i = 0; i < e->shape[dim]; i++) {
        bool gap = is_cut(e, dim) && i == EDGE;
        for (int turn = gap ? 0 : 1; turn < 2; turn++) {
            if (i > 0 || turn == 0) {
                tdmi_text_add(out, ",");
                for (int line = dim + 1; line < e->x->ndim; line++)
                    tdmi_text_add(out, "\n");
                tdmi_text_add(out, "%*s", indent + 1, "");
            }
            if (turn == 0)
                tdmi_text_add(out, "...");
            else
                write_block(out, e, s, dim + 1, indent + 1, first + i * below);
        }
    }
    tdmi_text_add(out, "]");
}

/* Shape, dtype and device, each on the last line as long as it fits. */
static void write_suffixes(tdmi_text *out, const tdm_tensor *x) {
    char shape[128], texts[3][160];
    snprintf(texts[0], sizeof texts[0], "shape=%s", tdmi_shape_text(x, shape));
    snprintf(texts[1], sizeof texts[1], "dtype=%s", tdm_dtype_name(x->dtype));
    snprintf(texts[2], sizeof texts[2], "device=%s", x->buffer->device->facts->info.id);
    const char *line = out->bytes ? strrchr(out->bytes, '\n') : NULL;
    size_t length = line ? strlen(line + 1) : out->used;
    for (int i = 0; i < 3; i++) {
        size_t more = strlen(texts[i]) + 2;
        bool fits = length + more + 1 <= LINE;
        length = fits ? length + more : INDENT + more - 2;
        if (fits)
            tdmi_text_add(out, ", %s", texts[i]);
        else
            tdmi_text_add(out, ",\n%*s%s", INDENT, "", texts[i]);
    }
    tdmi_text_add(out, ")");
}

static void write_all(tdmi_text *out, const excerpt *e) {
    style s = choose_style(e);
    tdmi_text_add(out, "tensor(");
    if (e->count == 0)
        tdmi_text_add(out, "[]");
    else
        write_block(out, e, &s, 0, INDENT, 0);
    write_suffixes(out, e->x);
}

/* All of it in `whole`, which the caller frees, on failure, too. */
static tdm_status write_text(const char *function, tdm_queue *queue, const tdm_tensor *x,
                             tdmi_text *whole) {
    const tdmi_arg args[] = {{"x", x, TDMI_ARG_MOVED, 0}};
    TDMI_TRY(tdmi_check_not_recording(function, queue));
    TDMI_TRY(tdmi_check_args(function, queue, args, 1));
    excerpt e = {.x = x};
    tdm_status status = read_excerpt(queue, &e);
    if (status == TDM_OK) write_all(whole, &e);
    if (whole->failed) status = tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
    tdmi_queue_let_go(queue, tdmi_free, e.bytes);
    return status == TDM_OK ? TDM_OK : tdmi_fail_in(status, "%s", function);
}

tdm_status tdm_format(tdm_queue *queue, const tdm_tensor *x, char *text, size_t capacity,
                      size_t *length) {
    TDMI_UNCANCELLED();
    if (length) *length = 0;
    if (!text && capacity > 0)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: text is NULL, but capacity is %zu",
                         __func__, capacity);
    if (capacity > 0) text[0] = '\0';
    tdmi_text whole = {0};
    const tdm_status status = write_text(__func__, queue, x, &whole);
    if (status == TDM_OK && capacity > 0) snprintf(text, capacity, "%s", whole.bytes);
    if (status == TDM_OK && length) *length = whole.used;
    tdmi_free(whole.bytes);
    return status;
}

tdm_status tdm_print(tdm_queue *queue, const char *name, const tdm_tensor *x, FILE *file) {
    TDMI_UNCANCELLED();
    TDMI_NOT_NULL(__func__, file);
    tdmi_text whole = {0};
    tdm_status status = write_text(__func__, queue, x, &whole);
    if (status == TDM_OK) {
        const size_t indent = name ? strlen(name) + 3 : 0;
        if (name) fputs(name, file), fputs(" = ", file);
        for (const char *c = whole.bytes; *c; c++) {
            fputc(*c, file);
            for (size_t i = 0; *c == '\n' && i < indent; i++)
                fputc(' ', file);
        }
        fputc('\n', file);
        if (fflush(file) != 0 || ferror(file))
            status = tdmi_fail(TDM_ERROR_IO, "%s: the file cannot be written", __func__);
    }
    tdmi_free(whole.bytes);
    return status;
}
