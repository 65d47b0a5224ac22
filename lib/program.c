/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Kernel variants: built once per device (or fetched from disk), instantiated once per queue. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "core.h"
#include "kernel_list.h"
#include "lanes.h"
#include "machine/cache_entry.h"
#include "user_kernels.h"

struct tdmi_program {
    uint64_t key;
    bool building; /* by a thread that will end that, or take it off the list */
    tdmi_bprogram *impl;
    tdmi_program *next;
};

static const char *embedded(const char *file) {
    for (const tdmi_embedded_text *entry = tdmi_embedded_texts; entry->file; entry++)
        if (strcmp(entry->file, file) == 0) return entry->text;
    return "";
}

enum { OPTION_COUNT = 10 };

typedef struct source_parts {
    tdmi_program_source source;
    char file[64];
    char option_text[OPTION_COUNT][32];
    const char *options[OPTION_COUNT + 1];
    char *text;
} source_parts;

/* Texts that become one, each with its file's name for messages. */
typedef struct joined_text {
    const char *file, *text;
} joined_text;

static char *join(const joined_text *parts, int count) {
    enum { LINE_DIRECTIVE = 64 };
    size_t size = 1, used = 0;
    for (int i = 0; i < count; i++)
        size += strlen(parts[i].text) + strlen(parts[i].file) + LINE_DIRECTIVE;
    char *text = tdmi_malloc(size);
    for (int i = 0; text && i < count; i++)
        used += (size_t)snprintf(text + used, size - used, "#line 1 \"%s\"\n%s\n", parts[i].file,
                                 parts[i].text);
    return text;
}

enum { MOST_TEXTS = 11 };

/* The texts of a variant, in order; how many. */
static int list_texts(bool row_loops, tdmi_variant variant, const tdmi_user_kernel *user,
                      const char *file, joined_text texts[MOST_TEXTS]) {
    const bool lines = variant.t == TDM_F16 || variant.t == TDM_BF16;
    const char *const rows = !row_loops ? "vectors.h" : lines ? "lines.h" : NULL;
    enum { NEEDED = sizeof tdm_kernel_entries->needs / sizeof *tdm_kernel_entries->needs };
    const bool is_source = user && user->is_source, reduces = is_source || (user && user->has_rows);
    const char *const combining = is_source ? "source.h" : "fold.h";
    const char *const of_users[] = {"activation.h",
                                    "convert.h",
                                    "elementary.h",
                                    "functions.h",
                                    reduces ? "reduce.h" : NULL,
                                    reduces ? combining : NULL};
    const char *const *needed = user ? of_users : tdm_kernel_entries[variant.kernel].needs;
    const int needed_count = user ? (int)(sizeof of_users / sizeof *of_users) : (int)NEEDED;
    int count = 0;
    const char *const first[] = {"args.h", "dtypes.h", "numeric.h", rows};
    for (int i = 0; i < 4; i++)
        if (first[i]) texts[count++] = (joined_text){first[i], embedded(first[i])};
    for (int i = 0; i < needed_count; i++)
        if (needed[i]) texts[count++] = (joined_text){needed[i], embedded(needed[i])};
    texts[count++] = (joined_text){file, user ? user->text : embedded(file)};
    return count;
}

static tdm_status make_parts(const tdmi_device_facts *facts, tdmi_variant variant,
                             const tdmi_user_kernel *user, source_parts *parts) {
    const tdm_kernel_entry *kernel = user ? NULL : &tdm_kernel_entries[variant.kernel];
    const int values[OPTION_COUNT] = {variant.t,
                                      variant.u,
                                      user ? 0 : variant.op,
                                      variant.lanes,
                                      variant.stream,
                                      variant.vectors & TDMI_VECTOR_COUNT,
                                      tdmi_vector_bytes(variant.vectors),
                                      variant.vectors & TDMI_LOOSE ? 1 : 0,
                                      variant.vectors & TDMI_HOLDS ? 1 : 0,
                                      (int)tdmi_teams(facts, variant)};
    static const char *const names[OPTION_COUNT] = {"T_ID",   "U_ID",    "OP",           "LANES",
                                                    "STREAM", "VECTORS", "VECTOR_BYTES", "LOOSE",
                                                    "HOLDS",  "TEAMS"};
    if (kernel)
        snprintf(parts->file, sizeof parts->file, "%s.cl",
                 kernel->file ? kernel->file : kernel->name);
    const char *file = user ? user->file : parts->file;
    for (int i = 0; i < OPTION_COUNT; i++) {
        snprintf(parts->option_text[i], sizeof parts->option_text[i], "-D%s=%d", names[i],
                 values[i]);
        parts->options[i] = parts->option_text[i];
    }
    parts->options[OPTION_COUNT] = NULL;
    joined_text texts[MOST_TEXTS];
    parts->text = join(texts, list_texts(facts->row_loops, variant, user, file, texts));
    if (!parts->text) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
    parts->source = (tdmi_program_source){.variant = variant,
                                          .entry = user ? user->entry : kernel->entry,
                                          .file = file,
                                          .text = parts->text,
                                          .options = parts->options,
                                          .bytecode = user ? user->bytecode : NULL,
                                          .is_interpreted = user && user->is_function,
                                          .group_lanes = variant.lanes * tdmi_teams(facts, variant),
                                          .buffers = user ? user->buffers : kernel->buffers,
                                          .args_size = user ? user->args_size : kernel->args_size};
    return TDM_OK;
}

static tdm_status make_source(tdm_device *device, tdmi_variant variant, source_parts *parts) {
    return make_parts(device->facts, variant, tdmi_user_kernel_of(device, variant.user), parts);
}

/* All that a compiled kernel depends on besides its text and options; "" where it is not kept. */
static const char *kept_under(const tdm_device *device, const tdmi_program_source *source) {
    if (!device->backend->compiler) return device->facts->cache_key;
    return source->variant.user && !source->is_interpreted ? device->backend->compiler() : "";
}

/* The variant that a program is built for: where there is one for all ways to store, they are the launch's. */
static tdmi_variant built_variant(const tdm_device *device, tdmi_variant variant) {
    if (device->backend->compiler && variant.user)
        variant.op = variant.stream = variant.vectors = 0;
    return variant;
}

static tdmi_cache_key key_of(const tdm_device *device, const tdmi_program_source *source) {
    tdmi_cache_key key = tdmi_cache_key_start();
    key = tdmi_cache_key_add(key, device->backend->name);
    key = tdmi_cache_key_add(key, kept_under(device, source));
    key = tdmi_cache_key_add(key, source->entry);
    key = tdmi_cache_key_add(key, source->text);
    for (const char *const *option = source->options; *option; option++)
        key = tdmi_cache_key_add(key, *option);
    return key;
}

static void report_build(const tdm_device *device, const tdmi_program_source *source,
                         uint64_t began, bool was_kept) {
    const char *id = device->facts->info.id, *dtype = tdm_dtype_name((tdm_dtype)source->variant.t);
    tdmi_log(TDM_LOG_INFO, "%s of %s for %s: %s in %.1f ms", source->entry, dtype, id,
             was_kept ? "loaded from the cache" : "compiled",
             (double)(tdmi_nanoseconds() - began) * 1e-6);
    if (tdmi_profiles())
        tdmi_profile_note("\"dtype\":\"%s\",\"device\":\"%s\",\"backend\":\"%s\",\"from_cache\":%s",
                          dtype, id, device->backend->name, was_kept ? "true" : "false");
}

static tdm_status build(tdm_device *device, const tdmi_program_source *source,
                        tdmi_bprogram *program) {
    const tdmi_backend *backend = device->backend;
    if (!kept_under(device, source)[0])
        return backend->program_build(device->impl, source, NULL, program, NULL);
    const tdmi_cache_key key = key_of(device, source);
    const uint64_t began = tdmi_nanoseconds();
    TDMI_SPAN("compile", source->entry, "%s", "");
    tdmi_blob binary;
    if (tdmi_cache_read_kernel(key, &binary) == TDMI_CACHE_GOOD) {
        tdm_status status = backend->program_build(device->impl, source, &binary, program, NULL);
        tdmi_free(binary.data);
        if (status == TDM_OK) report_build(device, source, began, true);
        if (status != TDM_ERROR_COMPILE) return status;
        tdmi_log(TDM_LOG_WARNING, "%s refused a kept %s, which is compiled again",
                 device->facts->info.id, source->entry);
    }
    tdmi_blob result = {NULL, 0};
    tdm_status status = backend->program_build(device->impl, source, NULL, program, &result);
    if (status == TDM_OK) report_build(device, source, began, false);
    /* kept also of a kernel that is too large for its lanes: the next process finds that out sooner */
    char name[TDMI_CACHE_DEVICE];
    tdmi_cache_device(device->facts, name);
    const tdmi_cache_about about = {backend->name, name, source};
    tdmi_cache_write_kernel(key, &result, &about);
    tdmi_free(result.data);
    return status;
}

/* With fewer lanes, and fewer again, where the device has too few registers. */
static tdm_status build_variant(tdm_device *device, tdmi_variant variant, tdmi_bprogram *impl) {
    tdm_status status;
    do {
        source_parts parts;
        TDMI_TRY(make_source(device, variant, &parts));
        status = build(device, &parts.source, impl);
        tdmi_free(parts.text);
        variant = tdmi_smaller_variant(device->facts, variant);
    } while (status == TDM_ERROR_UNSUPPORTED && variant.lanes > 0);
    return status;
}

/* The program of the key, whole or being built; NULL when there is none. */
static tdmi_program *find_program(const tdm_device *device, uint64_t key) {
    tdmi_program *program = device->programs;
    while (program && program->key != key)
        program = program->next;
    return program;
}

static void remove_program(tdm_device *device, const tdmi_program *program) {
    tdmi_program **at = &device->programs;
    while (*at != program)
        at = &(*at)->next;
    *at = program->next;
}

/* Called with program_lock held, and releases it while the driver compiles, so that other threads can build
 * other programs; those that want this one wait for it. */
static tdm_status make_program(tdm_device *device, tdmi_variant variant, uint64_t key,
                               tdmi_program **program) {
    tdmi_program *made = tdmi_calloc(1, sizeof *made);
    tdmi_bprogram *impl = tdmi_calloc(1, device->backend->program_size);
    if (!made || !impl) {
        tdmi_free(made);
        tdmi_free(impl);
        return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory for a program");
    }
    *made = (tdmi_program){key, true, impl, device->programs};
    device->programs = made;
    tdmi_mutex_unlock(&device->program_lock);
    tdm_status status = TDMI_ATTEMPT(build_variant(device, variant, impl));
    tdmi_mutex_lock(&device->program_lock);
    made->building = false;
    tdmi_cond_broadcast(&device->program_built);
    if (status == TDM_OK) {
        *program = made;
        return TDM_OK;
    }
    remove_program(device, made);
    tdmi_free(made);
    tdmi_free(impl);
    return tdmi_fail_in(status, "building %s for %s",
                        variant.user ? "a kernel of the program's own"
                                     : tdm_kernel_entries[variant.kernel].entry,
                        device->facts->info.id);
}

static tdm_status device_program(tdm_device *device, tdmi_variant wanted, tdmi_program **program) {
    const tdmi_variant variant = built_variant(device, wanted);
    const uint64_t key = tdmi_variant_key(variant);
    tdm_status status = TDM_OK;
    tdmi_mutex_lock(&device->program_lock);
    while ((*program = find_program(device, key)) && (*program)->building)
        tdmi_cond_wait(&device->program_built, &device->program_lock);
    if (!*program) status = make_program(device, variant, key, program);
    tdmi_mutex_unlock(&device->program_lock);
    return tdmi_device_result(device, status);
}

tdm_status tdmi_is_compiled(tdm_device *device, tdmi_variant wanted, bool *is_compiled) {
    const tdmi_variant variant = built_variant(device, wanted);
    tdmi_mutex_lock(&device->program_lock);
    const tdmi_program *program = find_program(device, tdmi_variant_key(variant));
    *is_compiled = program && !program->building;
    tdmi_mutex_unlock(&device->program_lock);
    if (*is_compiled) return TDM_OK;
    source_parts parts;
    tdmi_blob binary;
    TDMI_TRY(make_source(device, variant, &parts));
    if (!kept_under(device, &parts.source)[0]) {
        *is_compiled = !variant.user || parts.source.bytecode;
    } else if (tdmi_cache_read_kernel(key_of(device, &parts.source), &binary) == TDMI_CACHE_GOOD) {
        *is_compiled = true;
        tdmi_free(binary.data);
    }
    tdmi_free(parts.text);
    return TDM_OK;
}

tdm_status tdmi_device_compile(tdm_device *device, tdmi_variant variant) {
    tdmi_program *program;
    return device_program(device, variant, &program);
}

tdm_status tdmi_check_source(const tdmi_backend *backend, const tdmi_user_kernel *user) {
    enum { USUAL_LANES = 128 };
    const tdmi_device_facts no_device = {0};
    const tdmi_variant variant = {
        .kernel = TDMI_KERNEL_USER, .t = user->t, .u = user->u, .lanes = USUAL_LANES};
    source_parts parts;
    TDMI_TRY(make_parts(&no_device, variant, user, &parts));
    const tdm_status status = backend->source_check(&parts.source);
    tdmi_free(parts.text);
    return status;
}

static tdmi_kernel_slot *find_slot(tdm_queue *queue, uint64_t key) {
    size_t at = (size_t)((key * 0x9e3779b97f4a7c15u) >> 32) & (queue->slot_count - 1);
    while (queue->slots[at].kernel && queue->slots[at].key != key)
        at = (at + 1) & (queue->slot_count - 1);
    return &queue->slots[at];
}

static tdm_status grow_slots(tdm_queue *queue) {
    tdmi_kernel_slot *old = queue->slots;
    size_t old_count = queue->slot_count, count = old_count ? 2 * old_count : 16;
    tdmi_kernel_slot *slots = tdmi_calloc(count, sizeof *slots);
    if (!slots) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
    queue->slots = slots;
    queue->slot_count = count;
    for (size_t i = 0; i < old_count; i++)
        if (old[i].kernel) *find_slot(queue, old[i].key) = old[i];
    tdmi_free(old);
    return TDM_OK;
}

tdm_status tdmi_queue_own_kernel(tdm_queue *queue, tdmi_variant variant, tdmi_bkernel **kernel) {
    tdmi_program *program;
    TDMI_TRY(device_program(queue->device, variant, &program));
    tdmi_bkernel *made = tdmi_calloc(1, queue->device->backend->kernel_size);
    if (!made) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
    tdm_status status = queue->device->backend->kernel_init(program->impl, queue->impl, made);
    if (status != TDM_OK) {
        tdmi_free(made);
        return tdmi_device_result(queue->device, status);
    }
    *kernel = made;
    return TDM_OK;
}

void tdmi_give_back_kernel(tdm_device *device, tdmi_bkernel *kernel) {
    if (!kernel) return;
    device->backend->kernel_deinit(kernel);
    tdmi_free(kernel);
}

void tdmi_kernel_takes(tdm_device *device, tdmi_variant variant, int *buffers, size_t *args_size) {
    const tdmi_user_kernel *user = tdmi_user_kernel_of(device, variant.user);
    *buffers = user ? user->buffers : tdm_kernel_entries[variant.kernel].buffers;
    *args_size = user ? user->args_size : tdm_kernel_entries[variant.kernel].args_size;
}

const char *tdmi_kernel_entry(tdm_device *device, tdmi_variant variant) {
    return variant.user ? tdmi_user_kernel_of(device, variant.user)->entry
                        : tdm_kernel_entries[variant.kernel].entry;
}

static tdm_status make_kernel(tdm_queue *queue, tdmi_variant variant, tdmi_bkernel **kernel) {
    const uint64_t key = tdmi_variant_key(variant);
    if (queue->slot_used * 2 >= queue->slot_count) TDMI_TRY(grow_slots(queue));
    TDMI_TRY(tdmi_queue_own_kernel(queue, variant, kernel));
    *find_slot(queue, key) = (tdmi_kernel_slot){key, *kernel};
    queue->slot_used++;
    return TDM_OK;
}

tdm_status tdmi_queue_kernel(tdm_queue *queue, tdmi_variant variant, tdmi_bkernel **kernel) {
    if (queue->slot_count) {
        *kernel = find_slot(queue, tdmi_variant_key(variant))->kernel;
        if (*kernel) return TDM_OK;
    }
    return make_kernel(queue, variant, kernel);
}

void tdmi_queue_free_kernels(tdm_queue *queue) {
    for (size_t i = 0; i < queue->slot_count; i++)
        tdmi_give_back_kernel(queue->device, queue->slots[i].kernel);
    tdmi_free(queue->slots);
}

void tdmi_device_free_programs(tdm_device *device) {
    while (device->programs) {
        tdmi_program *program = device->programs;
        device->programs = program->next;
        device->backend->program_deinit(program->impl);
        tdmi_free(program->impl);
        tdmi_free(program);
    }
    tdmi_device_free_user_kernels(device);
}
