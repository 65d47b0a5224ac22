/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "report/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "platform/path.h"
#include "platform/process.h"
#include "platform/program.h"

enum { WHY = 256 };

bool bench_file_begin(bench_file *file, const char *path, char *why) {
    tdmi_file_info facts;
    const bool exists = tdmi_file_look_up(TDMI_HERE, path, true, &facts);
    if (exists ? facts.kind != TDMI_FILE_REGULAR
               : tdmi_file_look_up(TDMI_HERE, path, false, &facts)) {
        snprintf(why, WHY, "it is not a regular file");
        return false;
    }
    /* a symbolic link stays, and its file is replaced */
    char *resolved = exists ? tdmi_path_resolve(path) : NULL;
    snprintf(file->path, sizeof file->path, "%s", resolved ? resolved : path);
    free(resolved);
    path = file->path;
    tdmi_file made = TDMI_NO_FILE;
    errno = ENAMETOOLONG;
    for (int i = 0; i < 100 && made == TDMI_NO_FILE; i++) {
        if (snprintf(file->temporary, sizeof file->temporary, "%s.%llu-%d.tmp", path,
                     (unsigned long long)tdmi_process_id(), i) >= (int)sizeof file->temporary)
            break;
        made = tdmi_file_open(TDMI_HERE, file->temporary, TDMI_OPEN_WRITE | TDMI_OPEN_NEW, NULL);
        if (made == TDMI_NO_FILE && errno != EEXIST) break;
    }
    file->stream = made == TDMI_NO_FILE ? NULL : tdmi_stream_of(made);
    if (file->stream) return true;
    snprintf(why, WHY, "%s", strerror(errno));
    if (made != TDMI_NO_FILE) (void)tdmi_file_remove(TDMI_HERE, file->temporary);
    return false;
}

bool bench_file_end(bench_file *file, bool good, char *why) {
    /* a full disk may show only now */
    const bool written = fflush(file->stream) == 0 && !ferror(file->stream);
    int error = errno;
    const bool closed = fclose(file->stream) == 0;
    if (written) error = errno;
    bool kept = written && closed && good;
    if (kept && !tdmi_file_rename(TDMI_HERE, file->temporary, file->path)) {
        error = errno;
        kept = false;
    }
    if (!kept) {
        (void)tdmi_file_remove(TDMI_HERE, file->temporary);
        snprintf(why, WHY, "%s", strerror(error));
    }
    return kept;
}

bool bench_file_can_be_written(const char *path, char *why) {
    bench_file file;
    if (!bench_file_begin(&file, path, why)) return false;
    fclose(file.stream);
    (void)tdmi_file_remove(TDMI_HERE, file.temporary);
    return true;
}
