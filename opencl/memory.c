/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Device memory, and host memory that the device transfers to and from fastest. */

#include "platform/memory.h"
#include "opencl_backend.h"

/* A piece of pinned host memory: a mapped buffer that the driver keeps in host memory. The handle
 * of a tdmi_mem from host_alloc points to one, or is NULL for plain memory. */
typedef struct host_block {
    cl_mem mem;
    void *mapped;
} host_block;

tdm_status tdmi_cl_internal_queue(tdmi_bdevice *device, cl_command_queue *queue) {
    if (!device->internal) {
        cl_int code;
        device->internal =
            tdmi_cl.clCreateCommandQueue(device->context, device->entry->id, 0, &code);
        if (code != CL_SUCCESS) {
            device->internal = NULL;
            return tdmi_cl_fail(code, "clCreateCommandQueue");
        }
    }
    *queue = device->internal;
    return TDM_OK;
}

static tdm_status out_of_memory(size_t size, cl_int code) {
    return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "cannot allocate %zu bytes on the device: %s (%d)",
                     size, tdmi_cl_error_name(code), code);
}

static bool is_shortage(cl_int code) {
    return code == CL_OUT_OF_RESOURCES || tdmi_cl_status(code) == TDM_ERROR_OUT_OF_MEMORY;
}

/* Many drivers reserve memory only at first use, when a shortage can no longer be distinguished from other
 * failures. Moving the buffer to the device makes the shortage show now. */
static tdm_status make_resident(tdmi_bdevice *device, cl_mem mem, size_t size) {
    cl_command_queue queue = NULL;
    cl_int code = CL_SUCCESS;
    tdmi_mutex_lock(&device->lock);
    tdm_status status = tdmi_cl_internal_queue(device, &queue);
    if (status == TDM_OK) {
        code = tdmi_cl.clEnqueueMigrateMemObjects(
            queue, 1, &mem, CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, 0, NULL, NULL);
        if (code == CL_SUCCESS) code = tdmi_cl.clFinish(queue);
    }
    tdmi_mutex_unlock(&device->lock);
    TDMI_TRY(status);
    if (is_shortage(code)) return out_of_memory(size, code);
    if (tdmi_cl_status(code) == TDM_ERROR_DEVICE_LOST) return tdmi_cl_fail(code, "allocating");
    return TDM_OK; /* a driver that cannot migrate allocates when it likes */
}

static void CL_CALLBACK free_storage(cl_mem mem, void *storage) {
    (void)mem;
    tdmi_aligned_free(storage);
}

/* The header of shared memory. */
typedef struct shared_block {
    cl_context context;
    void *base;
} shared_block;

static void CL_CALLBACK free_shared(cl_mem mem, void *storage) {
    (void)mem;
    const shared_block *block = (const shared_block *)storage - 1;
    tdmi_cl.clSVMFree(block->context, block->base);
}

/* Memory that needs no mapping, which takes PoCL two switches between threads; NULL where there is none. */
static void *shared_storage(tdmi_bdevice *device, size_t size, size_t alignment) {
    const size_t more = alignment + sizeof(shared_block);
    if (!device->entry->shares_memory || !tdmi_cl.clSVMAlloc || !tdmi_cl.clSVMFree ||
        device->entry->facts.info.max_allocation - size < more)
        return NULL;
    unsigned char *base = tdmi_cl.clSVMAlloc(
        device->context, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, size + more, 0);
    if (!base) return NULL;
    unsigned char *storage = base + sizeof(shared_block);
    const size_t past = (uintptr_t)storage % alignment;
    if (past) storage += alignment - past;
    ((shared_block *)(void *)storage)[-1] = (shared_block){device->context, base};
    return storage;
}

/* On a CPU device all memory is host memory, so the buffer gets memory that it knows: taken now (PoCL
 * would take it at first use, and abort the process when there is none), and on huge pages when
 * large. */
static tdm_status cpu_mem_alloc(tdmi_bdevice *device, size_t size, tdmi_mem *mem) {
    const size_t huge_page = (size_t)2 << 20;
    const bool huge = size >= 4 * huge_page;
    const size_t alignment = huge ? huge_page : tdmi_page_size();
    /* The driver would refuse it; checked first, so that nothing is taken from the host. */
    if (size > device->entry->facts.info.max_allocation)
        return out_of_memory(size, CL_INVALID_BUFFER_SIZE);
    void *storage = shared_storage(device, size, alignment);
    const bool shared = storage;
    if (!shared) storage = tdmi_aligned_alloc(alignment, size);
    if (!storage) return out_of_memory(size, CL_OUT_OF_HOST_MEMORY);
    if (huge) tdmi_prefer_large_pages(storage, size);
    cl_int code;
    cl_mem handle = tdmi_cl.clCreateBuffer(device->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                           size, storage, &code);
    void(CL_CALLBACK *const give_back)(cl_mem, void *) = shared ? free_shared : free_storage;
    if (code != CL_SUCCESS) {
        give_back(NULL, storage);
        if (is_shortage(code)) return out_of_memory(size, code);
        return tdmi_cl_fail(code, "clCreateBuffer");
    }
    /* The driver may need the memory a little longer than we hold the buffer. */
    code = tdmi_cl.clSetMemObjectDestructorCallback(handle, give_back, storage);
    if (code != CL_SUCCESS) {
        (void)tdmi_cl.clReleaseMemObject(handle);
        give_back(NULL, storage);
        return tdmi_cl_fail(code, "clSetMemObjectDestructorCallback");
    }
    /* the address is for native kernels; all other accesses go through a mapping */
    *mem = (tdmi_mem){.handle = handle, .host = storage, .shared = shared};
    return TDM_OK;
}

tdm_status tdmi_cl_mem_alloc(tdmi_bdevice *device, size_t size, tdmi_mem *mem) {
    if (tdmi_cl_is_cpu(device) && device->calls_back) return cpu_mem_alloc(device, size, mem);
    cl_int code;
    cl_mem handle = tdmi_cl.clCreateBuffer(device->context, CL_MEM_READ_WRITE, size, NULL, &code);
    if (code != CL_SUCCESS) {
        if (is_shortage(code)) return out_of_memory(size, code);
        return tdmi_cl_fail(code, "clCreateBuffer");
    }
    tdm_status status = make_resident(device, handle, size);
    if (status != TDM_OK) {
        (void)tdmi_cl.clReleaseMemObject(handle);
        return status;
    }
    *mem = (tdmi_mem){.handle = handle};
    return TDM_OK;
}

void tdmi_cl_mem_free(tdmi_bdevice *device, tdmi_mem *mem) {
    /* Counted before the release: this address is used again only after the release, so the launch
     * that binds it sees the new count. */
    atomic_fetch_add(&device->generation, 1);
    (void)tdmi_cl.clReleaseMemObject(mem->handle);
    mem->handle = NULL;
}

static tdm_status plain_host_alloc(size_t size, size_t page, tdmi_mem *mem) {
    mem->handle = NULL;
    mem->host = tdmi_aligned_alloc(page, size);
    if (mem->host) return TDM_OK;
    return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "cannot allocate %zu bytes of host memory", size);
}

/* One page more than requested, because a driver need not align a mapping to pages. */
static bool pinned_host_alloc(tdmi_bdevice *device, size_t size, size_t page, tdmi_mem *mem) {
    host_block *block = tdmi_calloc(1, sizeof *block);
    if (!block || size > SIZE_MAX - page) {
        tdmi_free(block);
        return false;
    }
    cl_int code;
    block->mem = tdmi_cl.clCreateBuffer(device->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                        size + page, NULL, &code);
    if (code != CL_SUCCESS) {
        tdmi_free(block);
        return false;
    }
    cl_command_queue queue = NULL;
    tdmi_mutex_lock(&device->lock);
    bool ok = tdmi_cl_internal_queue(device, &queue) == TDM_OK;
    if (ok) {
        block->mapped =
            tdmi_cl.clEnqueueMapBuffer(queue, block->mem, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                       size + page, 0, NULL, NULL, &code);
        ok = code == CL_SUCCESS && block->mapped;
    }
    tdmi_mutex_unlock(&device->lock);
    if (!ok) {
        (void)tdmi_cl.clReleaseMemObject(block->mem);
        tdmi_free(block);
        return false;
    }
    uintptr_t address = ((uintptr_t)block->mapped + page - 1) / page * page;
    mem->handle = block;
    mem->host = (unsigned char *)block->mapped + (address - (uintptr_t)block->mapped);
    return true;
}

tdm_status tdmi_cl_host_alloc(tdmi_bdevice *device, size_t size, tdmi_mem *mem) {
    size_t page = tdmi_page_size();
    /* A CPU device copies with the host's own instructions: nothing is gained by pinning. */
    if (!tdmi_cl_is_cpu(device) && pinned_host_alloc(device, size, page, mem)) return TDM_OK;
    return plain_host_alloc(size, page, mem);
}

void tdmi_cl_host_free(tdmi_bdevice *device, tdmi_mem *mem) {
    host_block *block = mem->handle;
    if (!block) {
        tdmi_aligned_free(mem->host);
    } else {
        atomic_fetch_add(&device->generation, 1);
        tdmi_mutex_lock(&device->lock);
        (void)tdmi_cl.clEnqueueUnmapMemObject(device->internal, block->mem, block->mapped, 0, NULL,
                                              NULL);
        (void)tdmi_cl.clFinish(device->internal);
        tdmi_mutex_unlock(&device->lock);
        (void)tdmi_cl.clReleaseMemObject(block->mem);
        tdmi_free(block);
    }
    *mem = (tdmi_mem){0};
}

tdm_status tdmi_cl_write(tdmi_bqueue *queue, const tdmi_mem *mem, size_t offset, const void *source,
                         size_t size) {
    return tdmi_cl_check(tdmi_cl.clEnqueueWriteBuffer(queue->queue, mem->handle, CL_FALSE, offset,
                                                      size, source, 0, NULL, NULL),
                         "clEnqueueWriteBuffer");
}

tdm_status tdmi_cl_read(tdmi_bqueue *queue, const tdmi_mem *mem, size_t offset, void *destination,
                        size_t size) {
    return tdmi_cl_check(tdmi_cl.clEnqueueReadBuffer(queue->queue, mem->handle, CL_FALSE, offset,
                                                     size, destination, 0, NULL, NULL),
                         "clEnqueueReadBuffer");
}

tdm_status tdmi_cl_copy(tdmi_bqueue *queue, const tdmi_mem *source, size_t source_offset,
                        const tdmi_mem *destination, size_t destination_offset, size_t size) {
    return tdmi_cl_check(tdmi_cl.clEnqueueCopyBuffer(queue->queue, source->handle,
                                                     destination->handle, source_offset,
                                                     destination_offset, size, 0, NULL, NULL),
                         "clEnqueueCopyBuffer");
}

/* In pieces: NVIDIA's driver hangs, or loses the context, where one is of 2^31 bytes (pyopencl's issue 395). */
tdm_status tdmi_cl_fill(tdmi_bqueue *queue, const tdmi_mem *mem, size_t offset, size_t size,
                        const void *pattern, size_t pattern_size) {
    const size_t most = (size_t)1 << 30;
    for (; size > 0; offset += most) {
        const size_t piece = size < most ? size : most;
        TDMI_CL_TRY(tdmi_cl.clEnqueueFillBuffer(queue->queue, mem->handle, pattern, pattern_size,
                                                offset, piece, 0, NULL, NULL),
                    "clEnqueueFillBuffer");
        size -= piece;
    }
    return TDM_OK;
}

tdm_status tdmi_cl_map(tdmi_bqueue *queue, const tdmi_mem *mem, size_t offset, size_t size,
                       unsigned access, void **pointer) {
    if (mem->shared) {
        *pointer = (unsigned char *)mem->host + offset;
        return TDM_OK;
    }
    cl_map_flags flags = 0;
    if ((access & TDM_MAP_READ) != 0) flags |= CL_MAP_READ;
    if ((access & TDM_MAP_WRITE) != 0) flags |= CL_MAP_WRITE;
    /* Without READ the old content is not needed: the driver need not fetch it. */
    if (flags == CL_MAP_WRITE) flags = CL_MAP_WRITE_INVALIDATE_REGION;
    cl_int code;
    void *mapped = tdmi_cl.clEnqueueMapBuffer(queue->queue, mem->handle, CL_FALSE, flags, offset,
                                              size, 0, NULL, NULL, &code);
    if (code != CL_SUCCESS) return tdmi_cl_fail(code, "clEnqueueMapBuffer");
    *pointer = mapped;
    return TDM_OK;
}

tdm_status tdmi_cl_unmap(tdmi_bqueue *queue, const tdmi_mem *mem, void *pointer) {
    if (mem->shared) return TDM_OK;
    return tdmi_cl_check(
        tdmi_cl.clEnqueueUnmapMemObject(queue->queue, mem->handle, pointer, 0, NULL, NULL),
        "clEnqueueUnmapMemObject");
}
