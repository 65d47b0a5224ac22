/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* `tdm cache` and tdm_cache_…: the folder of compiled kernels, listed, verified and tidied. */
#ifdef TEST_ICD_SIM
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tandem/tandem.h>

#include "shell.h"

/* Two kernels: with the BLAS's product and with ours. */
#define WORK TEST_PROBE " work opencl:0; TANDEM_BLAS=builtin " TEST_PROBE " work opencl:0"

/* $D/cache has the files of a few operations on PoCL. */
static void start(void) {
    shell_changes[DRIVERS] = ICD_POCL;
    shell_start("cache");
    shell(WORK);
    if (!contains_words(r.output, "TDM_OK")) cr_assert_fail("no kernels: %s", r.output);
}

TestSuite(cache, .init = start, .fini = shell_stop);

static void tdm(const char *arguments, int status, const char *words) {
    gives(formatted(TEST_PROGRAM " cache %s", arguments), status, words);
}

static int count_kernels(void) {
    static run_result all;
    const char *changes[] = {folder, NULL};
    run_shell(changes, "ls $D/cache | grep -c '\\.bin'", 30, &all);
    return atoi(all.output);
}

/* The JSON of list; the caller gives it back. */
static json_t *list(void) {
    json_error_t error;
    tdm("list --json", 0, NULL);
    json_t *root = json_loads(r.output, JSON_REJECT_DUPLICATES, &error);
    CHECK(root, "no JSON: %s in %s", error.text, r.output);
    return root;
}

/* Every kernel is listed, with its device, driver, size and age, the oldest first. */
Test(cache, list) {
    int count = count_kernels();
    if (count < 2) cr_assert_fail("%d kernels", count);
    shell("touch -d '3 days ago' $(ls $D/cache/*.bin | tail -1)");
    json_t *root = list(), *entry = NULL;
    json_t *entries = json_object_get(root, "entries");
    CHECK(json_array_size(entries) == (size_t)count, "%zu of %d", json_array_size(entries), count);
    size_t i = 0;
    json_int_t before = 0;
    json_array_foreach(entries, i, entry) {
        static const char *const texts[] = {"file", "version", "kernel", "options", "device"};
        for (int t = 0; t < 5; t++)
            CHECK(json_string_length(json_object_get(entry, texts[t])) > 0, "entry %zu: no %s", i,
                  texts[t]);
        CHECK(contains_words(json_string_value(json_object_get(entry, "device")), "opencl|pocl"),
              "%s", r.output);
        CHECK(json_is_null(json_object_get(entry, "fault")), "%s", r.output);
        CHECK(json_integer_value(json_object_get(entry, "size")) > 1000, "%s", r.output);
        json_int_t age = json_integer_value(json_object_get(entry, "age"));
        CHECK(i == 0 ? age >= 3 * 86400 && age < 3 * 86400 + 3600 : age <= before, "entry %zu: %d",
              i, (int)age);
        before = age;
    }
    json_decref(root);
    tdm("list", 0, "SIZE|AGE|KERNEL|DEVICE|3 days|opencl|; 0 will not be used");
    /* to a terminal, in lines that fit it */
    shell("OCL_ICD_VENDORS=" TEST_ICD_NONE " script -qec 'stty cols 60; " TEST_PROGRAM
          " cache list' /dev/null >$D/lines; "
          "! grep -E '.{62}' $D/lines && grep -q '\\.\\.\\.' $D/lines");
    CHECK(r.exit_status == 0, "%s", r.output);
    /* no folder is an empty one */
    snprintf(cache, sizeof cache, "TANDEM_CACHE_DIR=%s/none", folder + 2);
    tdm("list", 0, "0 entries");
    tdm("verify", 0, NULL);
    tdm("clear", 0, NULL);
    shell("test ! -e $D/none");
    CHECK(r.exit_status == 0, "a folder was made");
}

/* The command names files that will not be used, whatever is wrong with them; it neither waits nor removes. */
Test(cache, verify) {
    static const struct {
        const char *damage, *fault;
    } cases[] = {{"echo rubbish > $F", "is corrupt"},
                 {": > $F", "is corrupt"},
                 {"truncate -s -1 $F", "is corrupt"},
                 {"printf x | dd of=$F bs=1 seek=3000 conv=notrunc 2>/dev/null", "is corrupt"},
                 {"mv $F $D/cache/0123456789abcdef0123456789abcdef.bin", "is corrupt"},
                 {"rm $F; mkfifo $F", "is not a regular file"},
                 {"mv $F $D/other; ln -s $D/other $F", "is not a regular file"},
                 {"chmod 666 $F", "may be written by others"},
                 {"touch -d yesterday $F.abcdef", "was never finished"}};
    tdm("verify", 0, "0 will not be used");
    shell("cp -a $D/cache $D/good");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        shell(
            formatted("rm -rf $D/cache; cp -a $D/good $D/cache; F=$(ls $D/cache/*.bin | head -1); "
                      "%s",
                      cases[i].damage));
        int count = count_kernels();
        tdm("verify", 1, NULL);
        CHECK(contains_words(r.output, cases[i].fault) &&
                  contains_words(r.output, ".bin|; 1 will not be used"),
              "%s: %s", cases[i].damage, r.output);
        tdm("verify --json", 1, cases[i].fault);
        CHECK(count_kernels() == count, "%s: removed", cases[i].damage);
        tdm("list", 0, NULL);
        /* and the first thing to go */
        tdm("prune", 0, "1 of");
        tdm("verify", 0, NULL);
    }
    /* a folder that others may write is not believed, nor touched */
    shell("chmod 777 $D/cache");
    tdm("verify", 1, "others may not write");
    tdm("clear", 1, NULL);
    CHECK(count_kernels() > 0, "removed");
}

/* The folder of a C compiler goes as well where its process was killed, after an hour; with other files it is none. */
Test(cache, folder_of_a_killed_compiler) {
    shell("printf '#!/bin/sh\nkill -9 $PPID\n' >$D/cc; chmod +x $D/cc; printf 'KERNEL(k)\n{\n}\n' "
          ">$D/k.cl; "
          "TANDEM_BACKEND=cpu TANDEM_CPU_COMPILER=$D/cc " TEST_PROGRAM
          " kernel check $D/k.cl --tensor x --output y; cd $D/cache; ls -d tandem-*/kernel.c");
    SAYS("SIGKILL|/kernel.c\n");
    tdm("verify", 0, NULL);
    shell("cd $D/cache; mkdir tandem-master; touch tandem-master/log tandem-master/notes; "
          "touch -d yesterday tandem-*");
    const int count = count_kernels();
    tdm("verify", 1, "tandem-| was never finished|; 1 will not be used");
    tdm("prune", 0, NULL);
    CHECK(contains_words(r.output, "1 of") && count_kernels() == count, "%s", r.output);
    REFUSED(tdm_cache_remove("tandem-master"), TDM_ERROR_INVALID_ARGUMENT, "32 hexadecimal digits");
    tdm("clear", 0, NULL);
    shell("cd $D/cache; ls -d tandem-*; ls tandem-master");
    CHECK(strcmp(r.output, "tandem-master\nlog\nnotes\n") == 0, "%s", r.output);
}

/* Removes files that no listed device would use, old files, and the oldest ones above the limit. */
Test(cache, prune) {
    int count = count_kernels();
    tdm("prune", 0, NULL);
    CHECK(contains_words(r.output, "0 of") && count_kernels() == count, "%s", r.output);
    shell("touch -d '40 days ago' $(ls $D/cache/*.bin | head -1); cp -a $D/cache $D/good");
    tdm("prune --older-than 30 --dry-run", 0, NULL);
    CHECK(contains_words(r.output, "1 of|would be removed|40 days") && count_kernels() == count,
          "%s", r.output);
    tdm("prune --older-than 41", 0, NULL);
    CHECK(count_kernels() == count, "%s", r.output);
    tdm("prune --older-than 30", 0, NULL);
    CHECK(count_kernels() == count - 1, "%s", r.output);
    /* down to a size: the oldest goes, the newest stays */
    shell("rm -rf $D/cache; cp -a $D/good $D/cache; N=$(ls $D/cache/*.bin | tail -1); "
          "touch -d '1 day ago' $D/cache/*.bin; touch $N; stat -c %s $N; echo $N");
    char newest[512];
    long size = 0;
    if (!(sscanf(r.output, "%ld %500s", &size, newest) == 2)) cr_assert_fail("%s", r.output);
    tdm(formatted("prune --max-size %ld", size), 0, NULL);
    CHECK(count_kernels() == 1 && access(newest, F_OK) == 0, "%d left: %s", count_kernels(),
          r.output);
    /* entries of backends that TANDEM_BACKEND hides stay */
    shell("rm -rf $D/cache; cp -a $D/good $D/cache; TANDEM_BACKEND=cpu " TEST_PROGRAM
          " cache prune --dry-run");
    CHECK(strncmp(r.output, "0 of ", 5) == 0, "%s", r.output);
    /* another driver: its kernels are of no use to this one */
    shell("rm -rf $D/cache; cp -a $D/good $D/cache; " TEST_PROGRAM
          " cache list >/dev/null; OCL_ICD_VENDORS=" TEST_ICD_NONE " " TEST_PROGRAM
          " cache prune --dry-run | tail -1");
    SAYS(formatted("%d of %d entries would be removed", count, count));
    tdm("clear", 0, NULL);
    CHECK(count_kernels() == 0, "%s", r.output);
    shell("ls -A $D/cache | grep -v '^holders$'");
    CHECK(!r.output[0], "left: %s", r.output);
    /* and all is compiled again */
    shell(WORK);
    CHECK(contains_words(r.output, "TDM_OK") && count_kernels() == count, "%s", r.output);
}

/* It shows how far it is, and begins nothing after the time; Ctrl-C says what is ready. It fails if nothing is kept. */
Test(cache, warm) {
    tdm("warm opencl:0 --budget 0.001", 0, "0 of 1|kernels are ready, after|left for lack of time");
    shell("env --default-signal=INT " TEST_PROGRAM " cache warm opencl:0 >$D/out 2>&1 & p=$!; "
          "for i in $(seq 500); do grep -q '2/' $D/out && break; sleep 0.05; done; kill -INT $p; "
          "wait $p; echo status $?; cat $D/out");
    SAYS("status 130|\n[1/1|kernels of opencl:0\n|tdm cache warm: "
         "stopped: | of 1|kernels of opencl:0 are ready");
    snprintf(cache, sizeof cache, "TANDEM_CACHE_DIR=/proc/x");
    tdm("warm opencl:0 --budget 5", 1,
        "kernels are ready|tdm cache warm: nothing could be kept in the "
        "cache directory: 'tdm doctor' says why");
}

/* Files that are not ours stay, and arguments are strict. */
Test(cache, arguments) {
    static const struct {
        const char *arguments, *words;
    } wrong[] = {{"", "usage"},
                 {"lst", "lst|list"},
                 {"list --dry-run", "--dry-run"},
                 {"list kernels", "kernels"},
                 {"clear --json", "--json"},
                 {"prune --json", "--json"},
                 {"prune --older-than", "--older-than|days"},
                 {"prune --older-than -1", "--older-than|-1|days"},
                 {"prune --older-than 1e3", "1e3|days"},
                 {"prune --older-than 99999999", "days"},
                 {"prune --max-size", "--max-size|bytes"},
                 {"prune --max-size 1T", "1T|bytes"},
                 {"prune --max-size 1MB", "1MB|bytes"},
                 {"prune --max-size -1", "-1|bytes"},
                 {"prune --max-size 99999999999G", "bytes"},
                 {"prune --max-sise 1", "--max-sise|--max-size"}};
    shell("touch $D/cache/notes.txt $D/cache/0123.bin "
          "$D/cache/0123456789abcdef0123456789abcdef.binary");
    int count = count_kernels();
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        tdm(wrong[i].arguments, 2, wrong[i].words);
    CHECK(count_kernels() == count, "something was removed");
    tdm("--help", 0, NULL);
    tdm("prune --help", 0, "--older-than|--max-size|verify");
    tdm("clear", 0, NULL);
    shell("ls $D/cache/notes.txt $D/cache/0123.bin $D/cache/*.binary");
    CHECK(r.exit_status == 0, "a file that is no kernel was removed: %s", r.output);
}

/* The functions, called by a program. */
Test(cache, functions) {
    tdm_cache_listing *listing = (void *)&r;
    const tdm_cache_entry *none = (void *)&r;
    bool current;
    setenv("TANDEM_CACHE_DIR", formatted(TEST_SCRATCH "/no-kernels-%d", (int)getpid()), 1);
    setenv("TANDEM_BACKEND", "cpu", 1);
    REFUSED(tdm_cache_listing_create(NULL), TDM_ERROR_INVALID_ARGUMENT, "listing|NULL");
    OK(tdm_cache_listing_create(&listing));
    CHECK(tdm_cache_listing_get_count(listing) == 0, "%zu entries",
          tdm_cache_listing_get_count(listing));
    REFUSED(tdm_cache_listing_get_item(listing, 0, NULL), TDM_ERROR_INVALID_ARGUMENT, "entry|NULL");
    REFUSED(tdm_cache_listing_get_item(NULL, 0, &none), TDM_ERROR_INVALID_ARGUMENT, "listing|NULL");
    REFUSED(tdm_cache_listing_get_item(listing, 0, &none), TDM_ERROR_OUT_OF_RANGE, "0|entries");
    CHECK(!none, "set on failure");
    tdm_cache_listing_destroy(listing);
    tdm_cache_listing_destroy(NULL);
    static const char *const names[] = {"../0123456789abcdef0123456789abcdef.bin",
                                        "",
                                        "holders",
                                        "0123456789abcdef0123456789abcdef.bin/x",
                                        "0123456789ABCDEF0123456789abcdef.bin",
                                        "0123456789abcdef0123456789abcdef.bin./../../x"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        REFUSED(tdm_cache_remove(names[i]), TDM_ERROR_INVALID_ARGUMENT, "32 hexadecimal digits");
    REFUSED(tdm_cache_remove(NULL), TDM_ERROR_INVALID_ARGUMENT, "NULL");
    OK(tdm_cache_remove("0123456789abcdef0123456789abcdef.bin"));
    tdm_cache_entry entry = {.version = "0.1.0", .backend = "cpu", .device = "another"};
    REFUSED(tdm_cache_is_current(NULL, &current), TDM_ERROR_INVALID_ARGUMENT, "entry|NULL");
    REFUSED(tdm_cache_is_current(&entry, NULL), TDM_ERROR_INVALID_ARGUMENT, "current|NULL");
    current = true;
    OK(tdm_cache_is_current(&entry, &current));
    CHECK(!current, "no device has this key");
}

#endif
