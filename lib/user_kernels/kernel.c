/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Users' kernels: making and counting them, and what becomes of their text once dtypes and strides are known. */
#include "user_kernels/kernel.h"

#include "base/sized.h"
#include "base/text.h"

static tdm_status read_typed(const tdm_kernel *kernel, const char *function, const uint8_t *dtypes,
                             tdmi_typed_kernel **typed, bool *is_typing) {
    tdmi_parameter parameters[TDMI_MOST_PARAMETERS];
    tdmi_typed_kernel *made = tdmi_calloc(1, sizeof *made);
    if (!made) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "%s: out of host memory", function);
    for (int i = 0, tensor = 0; i < kernel->parameter_count; i++) {
        parameters[i] = kernel->parameters[i];
        if (parameters[i].kind == TDM_PARAMETER_TENSOR) parameters[i].dtype = dtypes[tensor++];
    }
    const tdm_status status =
        tdmi_expression_read(function, &kernel->texts, parameters, kernel->parameter_count,
                             &made->expression, is_typing);
    made->has_f64 = tdmi_has_f64(&made->expression);
    if (status == TDM_OK)
        *typed = made;
    else
        tdmi_free(made);
    return status;
}

static tdmi_typed_kernel *find_typed(tdm_kernel *kernel, const uint8_t *dtypes) {
    tdmi_typed_kernel *typed = atomic_load(&kernel->typed);
    while (typed &&
           memcmp(typed->expression.dtypes, dtypes, (size_t)typed->expression.tensor_count) != 0)
        typed = typed->next;
    return typed;
}

tdm_status tdmi_kernel_for_dtypes(tdm_kernel *kernel, const char *function, const uint8_t *dtypes,
                                  tdmi_typed_kernel **typed) {
    *typed = find_typed(kernel, dtypes);
    if (*typed) return TDM_OK;
    tdmi_typed_kernel *made;
    bool is_typing;
    TDMI_TRY(read_typed(kernel, function, dtypes, &made, &is_typing));
    tdmi_mutex_lock(&kernel->lock);
    *typed = find_typed(kernel, dtypes);
    if (!*typed) {
        made->next = atomic_load(&kernel->typed);
        atomic_store(&kernel->typed, made);
        *typed = made;
        made = NULL;
    }
    tdmi_mutex_unlock(&kernel->lock);
    tdmi_free(made);
    return TDM_OK;
}

/* ---- programs ---- */

/* All that a program depends on: the texts, each parameter's name, kind and dtype, the kinds of rows. */
static char *program_key(const tdm_kernel *kernel, const tdmi_expression *expression,
                         const uint8_t *row_kinds, size_t *size) {
    const size_t text = kernel->character_count, tensors = (size_t)expression->tensor_count;
    const size_t parameter = sizeof kernel->parameters[0].name + 1;
    *size = text + parameter * (size_t)kernel->parameter_count + 2 * tensors + 1;
    char *key = tdmi_calloc(1, *size), *at = key;
    if (!key) return NULL;
    memcpy(at, kernel->characters, text);
    at += text;
    for (int i = 0; i < kernel->parameter_count; i++, at += parameter) {
        memcpy(at, kernel->parameters[i].name, strlen(kernel->parameters[i].name));
        at[parameter - 1] = (char)kernel->parameters[i].kind;
    }
    memcpy(at, expression->dtypes, tensors);
    memcpy(at + tensors, row_kinds, tensors);
    at[2 * tensors] = (char)kernel->is_function;
    return key;
}

static tdm_status add_program(tdm_kernel *kernel, const tdmi_typed_kernel *typed, bool is_plain,
                              const uint8_t *row_kinds, const void *key, size_t key_size,
                              const tdmi_user_kernel **program) {
    const tdmi_expression *e = &typed->expression;
    const uint8_t other = typed->has_f64 ? TDM_F64 : TDM_F32;
    const uint8_t t = is_plain ? (uint8_t)tdmi_plain_dtype(e) : other;
    tdmi_user_kernel made = {.t = t,
                             .u = t,
                             .entry = "tdm_expression",
                             .file = "expression",
                             .has_rows = e->has_rows,
                             .is_function = kernel->is_function,
                             .buffers = e->tensor_count + (e->has_rows ? 1 : 0),
                             .args_size = sizeof(tdm_expression_args)};
    made.vectors = !is_plain ? 0 : tdm_dtype_size((tdm_dtype)made.t) == sizeof(double) ? 4 : 2;
    TDMI_TRY(tdmi_lower_to_bytecode(e, &made.bytecode));
    made.text = tdmi_lower_to_text(e, row_kinds);
    if (!made.text) {
        tdmi_free(made.bytecode);
        return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory for a kernel");
    }
    return tdmi_add_user_kernel(kernel->device, &made, key, key_size, program);
}

static tdm_status find_program(tdm_kernel *kernel, const tdmi_typed_kernel *typed, bool is_plain,
                               const uint8_t *row_kinds, const tdmi_user_kernel **program) {
    size_t size;
    char *key = program_key(kernel, &typed->expression, row_kinds, &size);
    if (!key) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory for a kernel");
    tdm_status status = TDM_OK;
    *program = tdmi_find_user_kernel(kernel->device, key, size);
    if (!*program) status = add_program(kernel, typed, is_plain, row_kinds, key, size, program);
    tdmi_free(key);
    return status;
}

tdm_status tdmi_kernel_for_rows(tdm_kernel *kernel, tdmi_typed_kernel *typed,
                                const uint8_t *row_kinds, const tdmi_row_form **form) {
    const size_t size = (size_t)typed->expression.tensor_count;
    tdmi_row_form *known = atomic_load(&typed->forms);
    while (known && memcmp(known->row_kinds, row_kinds, size) != 0)
        known = known->next;
    if (!known) {
        /* another thread may be doing the same: then there are two forms of one program */
        known = tdmi_calloc(1, sizeof *known);
        if (!known) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory for a kernel");
        memcpy(known->row_kinds, row_kinds, size);
        known->is_plain = tdmi_is_plain(&typed->expression, row_kinds);
        const tdm_status status =
            find_program(kernel, typed, known->is_plain, row_kinds, &known->program);
        if (status != TDM_OK) {
            tdmi_free(known);
            return status;
        }
        tdmi_mutex_lock(&kernel->lock);
        known->next = atomic_load(&typed->forms);
        atomic_store(&typed->forms, known);
        tdmi_mutex_unlock(&kernel->lock);
    }
    *form = known;
    return TDM_OK;
}

/* ---- making and counting ---- */

static tdm_status check_kind(const char *function, const tdm_parameter *parameter, bool outputs) {
    if ((unsigned)parameter->kind >= TDM_PARAMETER_KIND_COUNT)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "%s: the kind of %s is %d, which is not a kind of parameter", function,
                         parameter->name, (int)parameter->kind);
    if (parameter->kind == TDM_PARAMETER_OUTPUT && !outputs)
        return tdmi_fail(
            TDM_ERROR_INVALID_ARGUMENT,
            "%s: the kind of %s is TDM_PARAMETER_OUTPUT; an expression says itself what "
            "it writes: TDM_TENSOR",
            function, parameter->name);
    return TDM_OK;
}

static bool is_of_rows(const tdmi_kernel_wanted *wanted) { return !wanted->texts->statements; }

static tdm_status check_parameter(const tdmi_kernel_wanted *wanted, size_t i) {
    const char *const function = wanted->function;
    const tdm_parameter *parameters = wanted->parameters, *parameter = &parameters[i];
    if (!parameter->name)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: the name of parameters[%zu] is NULL",
                         function, i);
    const char *fault = wanted->name_fault(parameter->name, is_of_rows(wanted));
    if (fault)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "%s: the name of parameters[%zu], \"%.80s\" %s", function, i,
                         parameter->name, fault);
    for (size_t k = 0; k < i; k++)
        if (strcmp(parameters[k].name, parameter->name) == 0)
            return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                             "%s: parameters[%zu] and parameters[%zu] are both named %s", function,
                             k, i, parameter->name);
    TDMI_TRY(check_kind(function, parameter, wanted->outputs));
    const bool tensor =
        parameter->kind == TDM_PARAMETER_TENSOR || parameter->kind == TDM_PARAMETER_OUTPUT;
    if (tensor && parameter->dtype != TDM_ANY_DTYPE &&
        (unsigned)parameter->dtype >= TDM_DTYPE_COUNT)
        return tdmi_fail(TDM_ERROR_INVALID_DTYPE, "%s: the dtype of %s is %d, which is not a dtype",
                         function, parameter->name, parameter->dtype);
    return TDM_OK;
}

static tdm_status check_parameters(const tdmi_kernel_wanted *wanted) {
    const char *const function = wanted->function;
    const tdm_parameter *parameters = wanted->parameters;
    const size_t count = wanted->parameter_count;
    const bool of_rows = is_of_rows(wanted);
    /* chunks of rows need a buffer; a text's arguments have a limit */
    const size_t most = wanted->outputs
                            ? (TDM_SOURCE_BYTES - sizeof(tdm_source_launch)) / sizeof(tdm_layout)
                            : TDM_KERNEL_MAX_TENSORS - (of_rows ? 1 : 0);
    size_t tensors = 0;
    if (!parameters || count == 0)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "%s: there are no parameters; at least the output is one", function);
    if (count > TDMI_MOST_PARAMETERS)
        return tdmi_fail(TDM_ERROR_UNSUPPORTED,
                         "%s: there are %zu parameters; a kernel%s has at most %zu tensors and %d "
                         "scalars",
                         function, count, of_rows ? " over rows" : "", most,
                         TDM_KERNEL_MAX_SCALARS);
    for (size_t i = 0; i < count; i++) {
        TDMI_TRY(check_parameter(wanted, i));
        tensors += parameters[i].kind == TDM_PARAMETER_TENSOR ||
                   parameters[i].kind == TDM_PARAMETER_OUTPUT;
    }
    if (tensors > most || count - tensors > TDM_KERNEL_MAX_SCALARS)
        return tdmi_fail(
            TDM_ERROR_UNSUPPORTED,
            "%s: there are %zu parameters, of which %zu are tensors; a kernel%s has at "
            "most %zu tensors and %d scalars",
            function, count, tensors, of_rows ? " over rows" : "", most, TDM_KERNEL_MAX_SCALARS);
    return TDM_OK;
}

/* Reads the text for dtypes as far as they are known. Where only a rule of types is broken, and some tensor may be of
 * any dtype, the text may be right for others: one of each type is tried. The last failure says why the text is not. */
static tdm_status read_at_first(tdm_kernel *kernel, const char *function) {
    static const tdm_dtype tried[] = {TDM_F32, TDM_I32, TDM_BOOL, TDM_U32, TDM_U64, TDM_I64};
    tdm_status status = TDM_OK;
    bool is_generic = false;
    for (size_t k = 0; k < sizeof tried / sizeof *tried; k++) {
        uint8_t dtypes[TDM_KERNEL_MAX_TENSORS];
        bool is_typing = false;
        tdmi_typed_kernel *typed;
        for (int i = 0, tensor = 0; i < kernel->parameter_count; i++) {
            if (kernel->parameters[i].kind != TDM_PARAMETER_TENSOR) continue;
            const int dtype = kernel->parameters[i].dtype;
            is_generic = is_generic || dtype == TDM_ANY_DTYPE;
            dtypes[tensor++] = (uint8_t)(dtype == TDM_ANY_DTYPE ? (int)tried[k] : dtype);
        }
        status = read_typed(kernel, function, dtypes, &typed, &is_typing);
        if (status == TDM_OK) {
            kernel->typed = typed;
            return TDM_OK;
        }
        if (!is_typing || !is_generic) break;
    }
    return status;
}

void tdmi_kernel_free(tdm_kernel *kernel) {
    for (tdmi_typed_kernel *typed = kernel->typed, *next; typed; typed = next) {
        next = typed->next;
        for (tdmi_row_form *form = typed->forms, *after; form; form = after) {
            after = form->next;
            tdmi_free(form);
        }
        tdmi_free(typed);
    }
    tdmi_mutex_destroy(&kernel->lock);
    tdmi_free(kernel->source);
    tdmi_free(kernel->characters);
    tdmi_free(kernel);
}

/* The texts one after the other, each after a character that no text has. */
static void copy_texts(tdm_kernel *made, const tdmi_texts *texts) {
    const char *const from[] = {texts->statements, texts->map, texts->finish, texts->apply};
    const char **const to[] = {&made->texts.statements, &made->texts.map, &made->texts.finish,
                               &made->texts.apply};
    char *at = made->characters;
    *at++ = (char)(texts->combine + 1);
    for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
        *at++ = from[i] ? '+' : '-';
        if (!from[i]) continue;
        *to[i] = strcpy(at, from[i]);
        at += strlen(at) + 1;
    }
    made->character_count = (size_t)(at - made->characters);
    made->texts.combine = texts->combine;
}

static tdm_kernel *make_kernel(const tdmi_texts *texts, const tdm_parameter *parameters,
                               size_t count) {
    const char *const each[] = {texts->statements, texts->map, texts->finish, texts->apply};
    size_t size = 16;
    for (size_t i = 0; i < sizeof each / sizeof *each; i++)
        size += each[i] ? strlen(each[i]) + 1 : 0;
    tdm_kernel *made = tdmi_calloc(1, sizeof *made);
    char *characters = tdmi_malloc(size);
    if (!made || !characters) {
        tdmi_free(made);
        tdmi_free(characters);
        return NULL;
    }
    made->characters = characters;
    copy_texts(made, texts);
    atomic_init(&made->references, 1);
    (void)tdmi_mutex_init(&made->lock);
    made->parameter_count = (int)count;
    for (size_t i = 0; i < count; i++) {
        strcpy(made->parameters[i].name, parameters[i].name);
        made->parameters[i].kind = parameters[i].kind;
        made->parameters[i].dtype = parameters[i].dtype;
    }
    return made;
}

static tdm_status check_length(const char *function, const char *name, const char *text) {
    if (!text || tdmi_length(text, TDMI_MOST_TEXT + 1) <= TDMI_MOST_TEXT) return TDM_OK;
    return tdmi_fail(TDM_ERROR_UNSUPPORTED, "%s: %s is longer than %d bytes", function, name,
                     (int)TDMI_MOST_TEXT);
}

tdm_status tdmi_kernel_make(const tdmi_kernel_wanted *wanted, tdm_kernel **kernel) {
    const char *const function = wanted->function;
    const tdmi_texts *texts = wanted->texts;
    TDMI_TRY(check_parameters(wanted));
    TDMI_TRY(check_length(function, "text", texts->statements));
    TDMI_TRY(check_length(function, "map", texts->map));
    TDMI_TRY(check_length(function, "finish", texts->finish));
    TDMI_TRY(check_length(function, "apply", texts->apply));
    *kernel = make_kernel(texts, wanted->parameters, wanted->parameter_count);
    if (*kernel) return TDM_OK;
    return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "%s: out of host memory", function);
}

tdm_status tdmi_expression_make(const char *function, tdm_device *device, const tdmi_texts *texts,
                                const tdm_parameter *parameters, size_t parameter_count,
                                tdm_kernel **kernel) {
    const tdmi_kernel_wanted wanted = {function,        texts,           parameters,
                                       parameter_count, tdmi_name_fault, false};
    tdm_kernel *made;
    TDMI_TRY(tdmi_device_usable(device));
    TDMI_TRY(tdmi_kernel_make(&wanted, &made));
    const tdm_status status = TDMI_ATTEMPT(read_at_first(made, function));
    if (status != TDM_OK) {
        tdmi_kernel_free(made);
        return status;
    }
    made->device = device;
    *kernel = made;
    return TDM_OK;
}

static tdm_status make(const char *function, tdm_device *device, const tdmi_texts *texts,
                       const tdm_parameter *parameters, size_t parameter_count,
                       tdm_kernel **kernel) {
    TDMI_TRY(tdmi_expression_make(function, device, texts, parameters, parameter_count, kernel));
    tdm_device_retain(device);
    return TDM_OK;
}

tdm_status tdm_kernel_elementwise(tdm_device *device, const char *text,
                                  const tdm_parameter *parameters, size_t parameter_count,
                                  tdm_kernel **kernel) {
    TDMI_UNCANCELLED();
    TDMI_RESULT(__func__, kernel);
    TDMI_NOT_NULL(__func__, device);
    TDMI_NOT_NULL(__func__, text);
    return make(__func__, device, &(tdmi_texts){.statements = text}, parameters, parameter_count,
                kernel);
}

TDMI_SIZED(tdm_row_kernel, TDM_ROW_KERNEL_DEFAULTS, apply)

tdm_status tdm_kernel_rows(tdm_device *device, const tdm_row_kernel *texts,
                           const tdm_parameter *parameters, size_t parameter_count,
                           tdm_kernel **kernel) {
    TDMI_UNCANCELLED();
    tdm_row_kernel own = tdm_row_kernel_defaults;
    TDMI_RESULT(__func__, kernel);
    TDMI_NOT_NULL(__func__, device);
    TDMI_TRY(tdmi_sized_read(__func__, "texts", &tdm_row_kernel_sized, texts, &own));
    if (!own.map) return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: map is NULL", __func__);
    if ((unsigned)own.combine >= TDM_COMBINE_COUNT)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "%s: combine is %d, allowed are TDM_SUM, TDM_PRODUCT, TDM_MAX and TDM_MIN",
                         __func__, (int)own.combine);
    const tdmi_texts given = {
        .map = own.map, .finish = own.finish, .apply = own.apply, .combine = own.combine};
    return make(__func__, device, &given, parameters, parameter_count, kernel);
}

tdm_kernel *tdm_kernel_retain(tdm_kernel *kernel) {
    if (kernel) atomic_fetch_add_explicit(&kernel->references, 1, memory_order_relaxed);
    return kernel;
}

void tdm_kernel_release(tdm_kernel *kernel) {
    TDMI_UNCANCELLED();
    if (!kernel || tdmi_forked || atomic_fetch_sub(&kernel->references, 1) > 1) return;
    tdm_device *device = kernel->device;
    tdmi_kernel_free(kernel);
    tdm_device_release(device);
}
