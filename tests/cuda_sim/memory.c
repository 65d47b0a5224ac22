/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Device memory and pinned memory, and the books about them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim.h"

/* AddressSanitizer guards allocations itself; without it a pattern on both sides does. */
#if defined(__SANITIZE_ADDRESS__)
enum { GUARD = 0 };
#else
enum { GUARD = 256 };
#endif
enum { ALIGNMENT = 256, GUARD_BYTE = 0xc7, FRESH_BYTE = 0xff, PAGE = 4096, FREED_KEPT = 512 };
static const size_t most_filled = (size_t)8 << 20;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sim_block **blocks; /* in the order of their addresses */
static size_t count, capacity;
static size_t alive_device, alive_pinned;

/* The last ones freed, for words that help: addresses are not given out again soon. */
static struct {
    uintptr_t address;
    size_t size;
} freed[FREED_KEPT];
static size_t freed_count;

/* --- the bytes ----------------------------------------------------------------------------------
 */

/* Fresh memory is full of NaNs; of large pieces only the ends, so that they cost no real memory. */
static char *make_bytes(size_t size, size_t alignment) {
    void *whole = NULL;
    if (size > SIZE_MAX - 2 * GUARD || posix_memalign(&whole, alignment, size + 2 * GUARD) != 0)
        return NULL;
    char *bytes = (char *)whole + GUARD;
    memset(whole, GUARD_BYTE, GUARD);
    memset(bytes + size, GUARD_BYTE, GUARD);
    size_t filled = size < most_filled ? size : most_filled;
    memset(bytes, FRESH_BYTE, filled);
    memset(bytes + size - filled, FRESH_BYTE, filled);
    return bytes;
}

static void drop_bytes(char *bytes, size_t size, const char *function) {
    for (int i = 0; i < GUARD; i++) {
        if ((unsigned char)bytes[-1 - i] == GUARD_BYTE &&
            (unsigned char)bytes[size + (size_t)i] == GUARD_BYTE)
            continue;
        sim_report("%s: something wrote outside of a block of %zu bytes", function, size);
        break;
    }
    free(bytes - GUARD);
}

/* --- the books ----------------------------------------------------------------------------------
 */

/* Number of blocks that begin at or before the address. */
static size_t position(uintptr_t address) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (blocks[middle]->address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static sim_block *holding(uintptr_t address, size_t size) {
    size_t at = position(address);
    if (!at) return NULL;
    sim_block *block = blocks[at - 1];
    size_t offset = address - block->address;
    return offset < block->size && size <= block->size - offset ? block : NULL;
}

static bool insert(sim_block *block) {
    if (count == capacity) {
        size_t more = capacity ? 2 * capacity : 64;
        sim_block **grown = realloc(blocks, more * sizeof(sim_block *));
        if (!grown) return false;
        blocks = grown;
        capacity = more;
    }
    size_t at = position(block->address);
    memmove(blocks + at + 1, blocks + at, (count - at) * sizeof(sim_block *));
    blocks[at] = block;
    count++;
    return true;
}

static void take_out(sim_block *block) {
    size_t at = position(block->address) - 1;
    memmove(blocks + at, blocks + at + 1, (count - at - 1) * sizeof(sim_block *));
    count--;
    freed[freed_count % FREED_KEPT].address = block->address;
    freed[freed_count % FREED_KEPT].size = block->size;
    freed_count++;
}

static const char *what_was(uintptr_t address) {
    for (size_t i = 0; i < FREED_KEPT && i < freed_count; i++)
        if (address >= freed[i].address && address - freed[i].address < freed[i].size)
            return "memory that was freed";
    return sim_is_device_address((const void *)address) ? "outside of every block of the device"
                                                        : "no device address";
}

/* A piece of the device's range with a gap after it, so that no block touches the next. */
static uintptr_t take_addresses(sim_device *device, size_t size) {
    size_t step = (size + 2 * ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (step > SIM_RANGE) return 0;
    for (int rounds = 0; rounds < 2; rounds++) {
        while (device->base + SIM_RANGE - device->next >= step) {
            uintptr_t address = device->next;
            size_t at = position(address + step - 1);
            sim_block *last = at ? blocks[at - 1] : NULL;
            if (!last || last->address + last->size + ALIGNMENT <= address ||
                last->address < device->base) {
                device->next += step;
                return address;
            }
            device->next = (last->address + last->size + 2 * ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        }
        device->next = device->base;
    }
    return 0;
}

/* --- allocation ---------------------------------------------------------------------------------
 */

int sim_allocate(sim_device *device, size_t size, void **address) {
    *address = NULL;
    if (!size) return 0;
    if (device && size > device->memory) return cudaErrorMemoryAllocation;
    sim_block *block = calloc(1, sizeof *block);
    char *bytes = make_bytes(size, device ? ALIGNMENT : PAGE);
    bool room = block && bytes;
    pthread_mutex_lock(&lock);
    if (room && device)
        room = device->used <= device->memory && size <= device->memory - device->used;
    if (room) {
        *block = (sim_block){.device = device, .size = size, .bytes = bytes};
        block->address = device ? take_addresses(device, size) : (uintptr_t)bytes;
        room = block->address && insert(block);
    }
    if (room) {
        if (device) device->used += size;
        *(device ? &alive_device : &alive_pinned) += 1;
    }
    pthread_mutex_unlock(&lock);
    if (room) {
        *address = (void *)block->address;
        return 0;
    }
    if (bytes) free(bytes - GUARD);
    free(block);
    return cudaErrorMemoryAllocation;
}

/* Waits for work in flight, as the driver does when memory is freed, and reports it: the driver
 * would not have waited for memory that a pool gave out again. */
static void wait_for_work(const sim_block *block, const char *function) {
    if (!__atomic_load_n(&block->pending, __ATOMIC_ACQUIRE)) return;
    bool lost = block->device && sim_sticky(&block->device->context);
    if (!lost) sim_report("%s: memory is freed while work that uses it is in flight", function);
    sim_stream_wake_all();
    while (__atomic_load_n(&block->pending, __ATOMIC_ACQUIRE))
        usleep(50);
}

int sim_free(sim_device *device, void *address, const char *function) {
    if (!address) return 0;
    pthread_mutex_lock(&lock);
    sim_block *block = holding((uintptr_t)address, 1);
    bool start = block && block->address == (uintptr_t)address;
    bool right = start && block->device == device;
    if (right) {
        take_out(block);
        if (device) device->used -= block->size;
        *(device ? &alive_device : &alive_pinned) -= 1;
    }
    const char *was = start   ? "memory of another kind or device"
                      : block ? "not the start of its block"
                              : what_was((uintptr_t)address);
    pthread_mutex_unlock(&lock);
    if (!right) {
        sim_report("%s: %p is %s", function, address, was);
        return cudaErrorInvalidValue;
    }
    wait_for_work(block, function);
    drop_bytes(block->bytes, block->size, function);
    free(block);
    return 0;
}

/* --- looking up ---------------------------------------------------------------------------------
 */

sim_block *sim_find(const sim_device *device, const void *address, size_t size,
                    const char *function) {
    pthread_mutex_lock(&lock);
    sim_block *block = holding((uintptr_t)address, size);
    sim_block *around = block ? block : holding((uintptr_t)address, 1);
    const char *was = around ? "" : what_was((uintptr_t)address);
    bool elsewhere = block && block->device != device;
    pthread_mutex_unlock(&lock);
    if (block && !elsewhere) return block;
    if (elsewhere)
        sim_report("%s: %p is %s", function, address,
                   block->device ? "memory of another device" : "host memory");
    else if (around)
        sim_report("%s: %zu bytes from %p leave their block of %zu", function, size, address,
                   around->size);
    else
        sim_report("%s: %p is %s", function, address, was);
    return NULL;
}

sim_block *sim_known(const void *address, int *ordinal) {
    const sim_machine *machine = sim_get();
    pthread_mutex_lock(&lock);
    sim_block *block = holding((uintptr_t)address, 1);
    pthread_mutex_unlock(&lock);
    *ordinal = 0;
    while (block && block->device && *ordinal < machine->device_count &&
           machine->devices[*ordinal] != block->device)
        (*ordinal)++;
    return block;
}

sim_block *sim_find_pinned(const void *address, size_t size) {
    pthread_mutex_lock(&lock);
    sim_block *block = holding((uintptr_t)address, size);
    if (block && block->device) block = NULL;
    pthread_mutex_unlock(&lock);
    return block;
}

bool sim_is_device_address(const void *address) {
    const sim_machine *machine = sim_get();
    for (int i = 0; i < machine->all_count; i++)
        if ((uintptr_t)address - machine->all[i].base < SIM_RANGE) return true;
    return false;
}

void sim_hold(sim_block *block) { (void)__atomic_add_fetch(&block->pending, 1, __ATOMIC_RELAXED); }

void sim_release(sim_block *block) {
    (void)__atomic_sub_fetch(&block->pending, 1, __ATOMIC_RELEASE);
}

size_t sim_alive_blocks(cuda_sim_kind kind) {
    pthread_mutex_lock(&lock);
    size_t alive = kind == CUDA_SIM_MEMORY ? alive_device : alive_pinned;
    pthread_mutex_unlock(&lock);
    return alive;
}

size_t sim_used(const sim_device *device) {
    pthread_mutex_lock(&lock);
    size_t used = device->used;
    pthread_mutex_unlock(&lock);
    return used;
}

size_t cuda_sim_memory(int device) { return sim_used(sim_get()->devices[device]); }

void cuda_sim_limit(int device, size_t bytes) {
    pthread_mutex_lock(&lock);
    sim_get()->devices[device]->memory = bytes;
    pthread_mutex_unlock(&lock);
}
