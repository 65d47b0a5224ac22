/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Any bytes where the library reads what others wrote: a safetensors file, a device's name, a setting, an entry of the
 * cache, the file in which a process says what it holds; FUZZ_TARGET in the environment says which. Built with
 * libFuzzer by scripts/fuzz.sh; without it main changes the lines of the kept corpus at random.
 *
 *     FUZZ_TARGET=names fuzz_inputs [INPUTS [SEED]] */
#include <fcntl.h>
#include <unistd.h>

#include <tandem/cache.h>
#include <tandem/tandem.h>

#include "base/hash.h"
#include "devices/registry.h"
#include "machine/holders.h"
#include "texts.h"
#include "tuned.h"

static long taken; /* inputs that were not refused */
static char folder[64], path[512];

static void fail(const char *what) {
    fprintf(stderr, "fuzz: %s: %s\n", what, tdm_last_error());
    abort();
}

/* OK, or a refusal in words. */
static bool is_ok(tdm_status status) {
    if (status != TDM_OK && !tdm_last_error()[0]) fail("refused without a word");
    taken += status == TDM_OK;
    return status == TDM_OK;
}

static void remove_folder(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0) fail("the folder stays");
}

/* A new folder, for files and the cache; device 0, cpu. */
static tdm_queue *begin(void) {
    static tdm_queue *queue;
    tdm_device *device = NULL;
    if (queue) return queue;
    snprintf(folder, sizeof folder, "%s/tandem-fuzz-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(folder) || atexit(remove_folder) != 0) fail("no folder");
    if (tdm_configure("TANDEM_CACHE_DIR", folder) != TDM_OK ||
        tdm_configure("TANDEM_BACKEND", "cpu") != TDM_OK ||
        tdm_configure("TANDEM_CPU_DEVICES", "3") != TDM_OK ||
        tdm_device_open("cpu", &device) != TDM_OK || tdm_queue_create(device, 0, &queue) != TDM_OK)
        fail("cpu was not opened");
    tdm_device_release(device);
    return queue;
}

static void write_path(const void *bytes, size_t size) {
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || write(file, bytes, size) != (ssize_t)size || close(file) != 0) fail(path);
}

/* The header, then as many bytes of data as the first byte says; after "!" the file as it is. */
static void safetensors(const uint8_t *data, size_t size) {
    static char bytes[LONGEST + 512];
    tdm_queue *queue = begin();
    tdm_state_dict *dict = NULL;
    tdm_file *file = NULL;
    uint64_t end = 0;
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    const size_t all = data[0] == '!' ? size - 1 : 8 + size - 1 + data[0];
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes + (data[0] == '!' ? 0 : 8), data + 1, size - 1);
    for (int i = 0; i < 8 && data[0] != '!'; i++)
        bytes[i] = (char)(uint8_t)((uint64_t)(size - 1) >> (8 * i));
    write_path(bytes, all);
    if (!is_ok(tdm_file_open(path, &file))) {
        if (file) fail("refused with a file");
        return;
    }
    for (size_t i = 0; i < tdm_file_get_count(file); i++) {
        const tdm_file_entry *entry, *found;
        if (tdm_file_get_item(file, i, &entry) != TDM_OK ||
            tdm_file_find(file, entry->name, &found) != TDM_OK || found != entry)
            fail("a tensor is not found");
        int64_t count = 1;
        for (int d = 0; d < entry->ndim; d++)
            count *= entry->shape[d];
        end = entry->offset + (uint64_t)count * tdm_dtype_size(entry->dtype);
        if (count != entry->count || end > all) fail("a tensor is not in the file");
    }
    if (end != all && tdm_file_get_count(file) > 0) fail("bytes belong to no tensor");
    if (tdm_load(queue, path, NULL, &dict) != TDM_OK ||
        tdm_state_dict_get_count(dict) != tdm_file_get_count(file))
        fail("it opens, and is not read");
    tdm_state_dict_destroy(dict);
    tdm_file_destroy(file);
}

static void names(const uint8_t *data, size_t size) {
    const tdmi_listed_device *devices;
    size_t index = SIZE_MAX, count;
    char name[LONGEST];
    memcpy(name, data, size);
    name[size] = '\0';
    if (tdmi_registry_get(&devices, &count) != TDM_OK) fail("no list");
    if (is_ok(tdmi_registry_find(name, &index)) && index >= count) fail("no such device");
}

/* NAME=value. A value that was taken stays until another takes its place. */
static void environment(const uint8_t *data, size_t size) {
    char name[LONGEST];
    memcpy(name, data, size);
    name[size] = '\0';
    char *value = strchr(name, '=');
    if (value) *value++ = '\0';
    const tdm_status status = tdm_configure(name, value);
    if (!is_ok(status) && value && !strstr(value, "too long") && !strstr(name, "too long") &&
        strstr(tdm_last_error(), "too long"))
        fail("32 KiB are not full");
    if (status == TDM_OK && tdm_configure(name, NULL) != TDM_OK) fail("it is not taken back");
}

/* Of a file that the library wrote: places of 16 bits with their new bytes; then the last byte's part of its length. */
static size_t change(const uint8_t *data, size_t size, uint8_t *bytes, size_t room) {
    for (; size >= 3; data += 3, size -= 3)
        bytes[((size_t)data[0] << 8 | data[1]) % room] ^= data[2];
    return size > 0 ? room * *data / 256 : room;
}

static size_t read_path(uint8_t *bytes, size_t room) {
    const int file = open(path, O_RDONLY);
    const ssize_t size = file >= 0 ? read(file, bytes, room) : -1;
    if (size <= 0 || (size_t)size == room || close(file) != 0) fail(path);
    return (size_t)size;
}

enum { FILES = 3, MOST_FILE = 1 << 15 };

static void keep_records(const tdmi_device_facts *facts) {
    const tdmi_tuned product = {.product = {.m = 64, .n = 64, .k = 64, .batch = 1}, .seconds = 1};
    const tdmi_row_choice choice = {.lanes = 1, .vectors = 1, .groups = 1};
    if (!tdmi_tuned_keep("cpu", facts, &product) || !tdmi_tuned_keep_rows("cpu", facts, &choice))
        fail("a record is not kept");
}

/* The first byte: which entry, and whether its checksum is that of its new bytes. */
static void records(const uint8_t *data, size_t size) {
    static char entries[FILES][80];
    static uint8_t kept[FILES][MOST_FILE], bytes[MOST_FILE];
    static size_t sizes[FILES];
    enum { KEY_LOW = 16, CHECKSUM = 32, CONTENT = 40 }; /* as lib/machine/disk_cache.c has them */
    const tdmi_listed_device *devices;
    tdm_cache_listing *listing;
    const tdm_cache_entry *entry;
    bool current;
    size_t count;
    (void)begin();
    if (tdmi_registry_get(&devices, &count) != TDM_OK) fail("no list");
    const tdmi_device_facts *facts = &devices[0].facts;
    for (size_t i = 0; !sizes[FILES - 1] && i < FILES; i++) {
        keep_records(facts);
        if (!tdmi_tuned_write_settings("cpu", facts, "settings", 1, "a text")) fail("no settings");
        if (tdm_cache_listing_create(&listing) != TDM_OK ||
            tdm_cache_listing_get_item(listing, i, &entry) != TDM_OK)
            fail("not three entries");
        snprintf(entries[i], sizeof entries[i], "%s", entry->file);
        snprintf(path, sizeof path, "%s/%s", folder, entry->file);
        sizes[i] = read_path(kept[i], MOST_FILE);
        tdm_cache_listing_destroy(listing);
    }
    const int which = data[0] / 2 % FILES;
    memcpy(bytes, kept[which], sizes[which]);
    const size_t size_kept = change(data + 1, size - 1, bytes, sizes[which]);
    if (data[0] % 2 && size_kept > CONTENT) {
        uint64_t low, stated = size_kept - CONTENT;
        memcpy(&low, bytes + KEY_LOW, sizeof low);
        memcpy(bytes + CHECKSUM - 8, &stated, sizeof stated);
        const uint64_t checksum = tdmi_hash(low, bytes + CONTENT, size_kept - CONTENT);
        memcpy(bytes + CHECKSUM, &checksum, sizeof checksum);
    }
    snprintf(path, sizeof path, "%s/%s", folder, entries[which]);
    write_path(bytes, size_kept);
    if (tdm_cache_listing_create(&listing) != TDM_OK) fail("no listing");
    for (size_t i = 0; i < tdm_cache_listing_get_count(listing); i++) {
        if (tdm_cache_listing_get_item(listing, i, &entry) != TDM_OK) fail("an entry is not there");
        if (tdm_cache_is_current(entry, &current) != TDM_OK) fail("an entry has no state");
        taken += strcmp(entry->file, entries[which]) == 0 && !entry->fault[0];
    }
    tdm_cache_listing_destroy(listing);
    tdmi_free(tdmi_tuned_read_settings("cpu", facts, "settings", 1));
    keep_records(facts);
}

/* The file of another copy of the library in this process. Whatever it says, this process is one holder. */
static void holders(const uint8_t *data, size_t size) {
    static uint8_t kept[MOST_FILE], bytes[MOST_FILE];
    static size_t size_kept;
    const tdmi_listed_device *devices;
    tdmi_holder *list;
    size_t count;
    (void)begin();
    if (tdmi_registry_get(&devices, &count) != TDM_OK) fail("no list");
    if (!size_kept) {
        snprintf(path, sizeof path, "%s/holders/%d", folder, (int)getpid());
        size_kept = read_path(kept, MOST_FILE);
    }
    snprintf(path, sizeof path, "%s/holders/%d.1", folder, (int)getpid());
    memcpy(bytes, kept, size_kept);
    write_path(bytes, change(data, size, bytes, size_kept));
    for (size_t i = 0; i < 3; i++) {
        const size_t found = tdmi_holders_list(devices, i, &list);
        if (i == 0 && found == 0) fail("this process is not found");
        if (found > 1 || (found == 1 && list[0].pid != (uint64_t)getpid())) fail("other processes");
        tdmi_free(list);
    }
    taken++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct {
        const char *name;
        void (*run)(const uint8_t *data, size_t size);
    } targets[] = {{"safetensors", safetensors},
                   {"names", names},
                   {"environment", environment},
                   {"records", records},
                   {"holders", holders}};
    const char *const name = getenv("FUZZ_TARGET");
    size_t i = 0;
    while (!name || strcmp(targets[i].name, name) != 0)
        if (!name || ++i == sizeof targets / sizeof *targets) fail("FUZZ_TARGET is none of ours");
    if (size > 0 && size < LONGEST) targets[i].run(data, size);
    return 0;
}

#if !defined(TDM_LIBFUZZER)
int main(int argc, char **argv) {
    const long count = begin_random(argc, argv, getenv("FUZZ_TARGET"));
    for (long i = 0; i < count; i++) {
        const size_t size = change_line();
        LLVMFuzzerTestOneInput((const uint8_t *)written, size);
    }
    printf("%ld taken\n", taken);
    return taken > count / 100 ? 0 : 1; /* else the inputs are refused at their first byte */
}
#endif
