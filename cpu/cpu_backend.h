/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The cpu backend: host memory, the calling thread and the worker threads. Synchronous. */
#ifndef TDMI_CPU_BACKEND_H
#define TDMI_CPU_BACKEND_H

#include <stdatomic.h>

#include "backend.h"

#include "kernels.h"

extern const tdmi_backend tdmi_backend_cpu;

struct tdmi_bdevice {
    size_t index;
};

struct tdmi_bqueue {
    tdmi_bdevice *device;
    char *scratch; /* TDMI_CPU_SCRATCH bytes for each worker; NULL until a kernel wants it */
};

struct tdmi_bevent {
    /* CLOCK_MONOTONIC when it was recorded: all work before it was done */
    atomic_int_least64_t nanoseconds;
};

struct tdmi_bprogram {
    tdmi_cpu_entry function;
    tdmi_variant variant;
    const tdmi_blocks *blocks; /* NULL but for a user's expression */
    void *library;             /* NULL but for a user's kernel that was compiled */
    int buffers;
};

struct tdmi_bkernel {
    const tdmi_bprogram *program;
};

/* discover.c */
tdm_status tdmi_cpu_load(bool *again);
size_t tdmi_cpu_count(void);
void tdmi_cpu_diagnose(void);

/* facts.c */
tdm_status tdmi_cpu_info(size_t index, tdmi_device_facts *facts);

/* device.c */
tdm_status tdmi_cpu_device_init(tdmi_bdevice *device, size_t index);
void tdmi_cpu_device_deinit(tdmi_bdevice *device);
uint64_t tdmi_cpu_device_free_memory(tdmi_bdevice *device);

/* memory.c */
tdm_status tdmi_cpu_mem_alloc(tdmi_bdevice *device, size_t size, tdmi_mem *mem);
void tdmi_cpu_mem_free(tdmi_bdevice *device, tdmi_mem *mem);
tdm_status tdmi_cpu_mem_adopt(tdmi_bdevice *device, void *handle, size_t size, tdmi_mem *mem,
                              bool *read_only);
void tdmi_cpu_mem_disown(tdmi_bdevice *device, tdmi_mem *mem);
tdm_status tdmi_cpu_write(tdmi_bqueue *queue, const tdmi_mem *mem, size_t offset,
                          const void *source, size_t size);
tdm_status tdmi_cpu_read(tdmi_bqueue *queue, const tdmi_mem *mem, size_t offset, void *destination,
                         size_t size);
tdm_status tdmi_cpu_copy(tdmi_bqueue *queue, const tdmi_mem *source, size_t source_offset,
                         const tdmi_mem *destination, size_t destination_offset, size_t size);
tdm_status tdmi_cpu_copy_peer(tdmi_bqueue *queue, const tdmi_mem *source, size_t source_offset,
                              tdmi_bdevice *other, const tdmi_mem *destination,
                              size_t destination_offset, size_t size);
tdm_status tdmi_cpu_fill(tdmi_bqueue *queue, const tdmi_mem *mem, size_t offset, size_t size,
                         const void *pattern, size_t pattern_size);
tdm_status tdmi_cpu_map(tdmi_bqueue *queue, const tdmi_mem *mem, size_t offset, size_t size,
                        unsigned access, void **pointer);
tdm_status tdmi_cpu_unmap(tdmi_bqueue *queue, const tdmi_mem *mem, void *pointer);

/* queue.c */
tdm_status tdmi_cpu_queue_init(tdmi_bdevice *device, unsigned flags, tdmi_bqueue *queue);
void tdmi_cpu_queue_deinit(tdmi_bqueue *queue);
tdm_status tdmi_cpu_queue_nothing(tdmi_bqueue *queue);
tdm_status tdmi_cpu_event_init(tdmi_bdevice *device, tdmi_bevent *event);
void tdmi_cpu_event_deinit(tdmi_bevent *event);
tdm_status tdmi_cpu_event_record(tdmi_bevent *event, tdmi_bqueue *queue);
tdm_status tdmi_cpu_event_wait(tdmi_bevent *event);
tdm_status tdmi_cpu_event_query(tdmi_bevent *event, bool *done);
tdm_status tdmi_cpu_event_elapsed(tdmi_bevent *start, tdmi_bevent *end, double *seconds);
tdm_status tdmi_cpu_queue_wait_event(tdmi_bqueue *queue, tdmi_bevent *event);

/* The dialect in C, as the build embedded it. */
extern const char tdmi_dialect_c[];

/* program.c */
const char *tdmi_cpu_compiler(void);
tdm_status tdmi_cpu_program_build(tdmi_bdevice *device, const tdmi_program_source *source,
                                  const tdmi_blob *binary, tdmi_bprogram *program,
                                  tdmi_blob *result);
void tdmi_cpu_program_deinit(tdmi_bprogram *program);
tdm_status tdmi_cpu_kernel_init(tdmi_bprogram *program, tdmi_bqueue *queue, tdmi_bkernel *kernel);
void tdmi_cpu_kernel_deinit(tdmi_bkernel *kernel);
tdm_status tdmi_cpu_launch(tdmi_bqueue *queue, tdmi_bkernel *kernel, const tdmi_launch *launch);

/* isa.c: the kernels of the best instruction set that the processor has. */
tdmi_cpu_entry tdmi_cpu_kernel_of(uint8_t kernel, uint8_t t);

/* The kernels that cast to a dtype, by the group's u; those that apply functions to rows of a float dtype, by its op
 * (kernels_apply.h); how blocks come and go; the functions of expressions for blocks, and one of them on a type; how
 * values are combined; whether a type's values have 8 bytes. */
tdmi_cpu_entry tdmi_cpu_cast_kernel(tdm_dtype to);
tdmi_cpu_entry tdmi_cpu_applied_kernel(uint8_t t);
const tdmi_cpu_blocks *tdmi_cpu_block_ends(void);
tdmi_cpu_functions *tdmi_cpu_block_functions(void);
tdmi_cpu_function *tdmi_cpu_function_of(uint8_t function, uint8_t type);
tdmi_cpu_fold *tdmi_cpu_fold_of(uint8_t function, uint8_t type);
bool tdmi_cpu_is_wide(uint8_t type);

/* blocks.c: a group of a user's kernel; how much scratch memory it needs. */
void tdmi_cpu_run_blocks(const tdm_group *group, void *const *buffers, const void *args);
size_t tdmi_cpu_blocks_scratch(const tdmi_blocks *blocks);

/* The cast of bytes to bytes, which copies past the cache: its u is TDM_U8. */
tdmi_cpu_entry tdmi_cpu_copy_kernel(void);

/* The name of the instruction set whose kernels are used: "baseline", "avx2" or "avx512". */
const char *tdmi_cpu_isa(void);

/* blas_host.c. NULL-terminated. */
extern const tdmi_blas *const tdmi_cpu_blas[];

#endif
