/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "report/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WHY = 256 };

bool bench_file_begin(bench_file *file, const char *path, char *why) {
    struct stat facts;
    if (stat(path, &facts) == 0 && !S_ISREG(facts.st_mode)) {
        snprintf(why, WHY, "it is not a regular file");
        return false;
    }
    int made = -1;
    file->path = path;
    errno = ENAMETOOLONG;
    for (int i = 0; i < 100 && made < 0; i++) {
        if (snprintf(file->temporary, sizeof file->temporary, "%s.%ld-%d.tmp", path, (long)getpid(),
                     i) >= (int)sizeof file->temporary)
            break;
        made = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (made < 0 && errno != EEXIST) break;
    }
    file->stream = made < 0 ? NULL : fdopen(made, "w");
    if (file->stream) return true;
    snprintf(why, WHY, "%s", strerror(errno));
    if (made >= 0) {
        close(made);
        unlink(file->temporary);
    }
    return false;
}

bool bench_file_end(bench_file *file, bool good, char *why) {
    /* a full disk may show only now */
    const bool written = fflush(file->stream) == 0 && !ferror(file->stream);
    int error = errno;
    const bool closed = fclose(file->stream) == 0;
    if (written) error = errno;
    bool kept = written && closed && good;
    if (kept && rename(file->temporary, file->path) != 0) {
        error = errno;
        kept = false;
    }
    if (!kept) {
        unlink(file->temporary);
        snprintf(why, WHY, "%s", strerror(error));
    }
    return kept;
}

bool bench_file_can_be_written(const char *path, char *why) {
    bench_file file;
    if (!bench_file_begin(&file, path, why)) return false;
    fclose(file.stream);
    unlink(file.temporary);
    return true;
}
