/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* `tdm tune`, tdm_matmul_tune and TANDEM_TRACE: the next process uses the measurements of this one, as
 * long as the file is whole and the library is the one that was measured. Of rows: ../tuned_rows. */
#ifdef TEST_PROGRAM
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shell.h"

#define TUNE TEST_PROGRAM " tune --device cpu --budget 20 --shapes $D/list"
#define EXPLAIN TEST_PROBE " explain cpu "

static void start(void) { shell_start("tune"); }

TestSuite(tune, .init = start, .fini = shell_stop);

#define MEASURED "which was measured as the fastest for"

/* The product runs, and its place does not come from a measurement. */
static void not_measured(const char *command) {
    gives(command, 0, "TDM_OK");
    CHECK(!contains_words(r.output, "measured"), "%s", r.output);
}

/* With TANDEM_BLAS it is known which library is kept: the one that it names. */
Test(tune, next_process_uses_it) {
    gives("echo f32 96x96x96 >$D/list; TANDEM_BLAS=builtin " TUNE, 0,
          "1 product measured on cpu:0");
    gives("TANDEM_BLAS=builtin " EXPLAIN "f32 96 96 96", 0, "builtin, " MEASURED " f32 96x96x96: ");
    gives("TANDEM_BLAS=builtin " EXPLAIN "f32 100 90 120", 0,
          MEASURED " the nearest product, f32 96x96x96: ");
    /* an extent may be twice as large, or half, but no more */
    gives("TANDEM_BLAS=builtin " EXPLAIN "f32 192 48 96", 0, MEASURED " the nearest product");
    not_measured("TANDEM_BLAS=builtin " EXPLAIN "f32 193 96 96");
    not_measured("TANDEM_BLAS=builtin " EXPLAIN "f32 96 47 96");
    not_measured("TANDEM_BLAS=builtin " EXPLAIN "f32 96 96 193");
    /* another dtype, and a tensor that is no matrix */
    not_measured("TANDEM_BLAS=builtin " EXPLAIN "f64 96 96 96");
    not_measured("TANDEM_BLAS=builtin " EXPLAIN "f32 96 1 96");
    /* a measurement of some names is for those alone */
    not_measured(EXPLAIN "f32 96 96 96");
    gives("TANDEM_BLAS=cblas " EXPLAIN "f32 96 96 96", 0, "because TANDEM_BLAS is \"cblas\"");
    gives(TEST_PROGRAM " cache list", 0, "tuned products");
    gives(TEST_PROGRAM " cache prune", 0, "0 of 1 entry removed");
    gives(TUNE, 0, "1 product measured");
    gives(EXPLAIN "f32 90 100 96", 0, MEASURED " the nearest product, f32 96x96x96: ");
    gives(TEST_PROGRAM " cache clear", 0, "2 of 2 entries removed");
    not_measured(EXPLAIN "f32 96 96 96");
}

/* Where nothing was measured. */
Test(tune, usual_choice) {
    gives("OPENBLAS_CORETYPE=HASWELL " EXPLAIN "f32 4 4 4", 0,
          "openblas, which is usually the fastest for products of this size");
    gives(EXPLAIN "f32 49 49 49", 0, ", the first of the device's libraries that");
    gives(EXPLAIN "f32 400 400 400", 0, ", the first of the device's libraries that");
    gives(EXPLAIN "f64 2 4096 4096", 0,
          "builtin, which is usually the fastest for so few rows or columns");
    gives("TANDEM_BLAS=blis " EXPLAIN "f32 4 4 4", 0, "blis, because TANDEM_BLAS");
    /* held to AVX2, oneDNN is asked, not the processor */
    gives("OPENBLAS_CORETYPE=HASWELL ONEDNN_MAX_CPU_ISA=AVX2 " EXPLAIN "f32 32 1024 1024", 0,
          "openblas, which is usually the fastest for products of this size");
}

Test(tune, more_products_are_added) {
    gives("echo f32 96x96x96 >$D/list; TANDEM_BLAS=builtin " TUNE, 0, "1 product measured");
    gives("echo f64 8*64x64x64 transpose_b bias gelu >$D/list; TANDEM_BLAS=builtin " TUNE, 0,
          "f64 8*64x64x64 transpose_b bias gelu");
    gives("echo f32 96x96x96 >$D/list; TANDEM_BLAS=builtin " TUNE, 0, "1 product measured");
    gives("TANDEM_BLAS=builtin " EXPLAIN "f32 96 96 96", 0, MEASURED);
    gives("ls $D/cache | grep -c bin", 0, "1");
}

/* Every byte of the file matters, and none that is wrong does harm. */
Test(tune, a_corrupted_file_is_ignored) {
    static const char damage[] =
        "F=$(echo $D/cache/*.bin); S=$(stat -c %%s $F); A=$((S * %d / 100)); "
        "B=$(od -An -tu1 -j $A -N 1 $F); printf \"\\\\$(printf %%03o $((B ^ %d)))\" >$D/byte; "
        "dd if=$D/byte of=$F bs=1 seek=$A conv=notrunc 2>$D/dd; cmp -s $F $D/whole || echo damaged";
    shell("echo f32 96x96x96 >$D/list");
    for (int percent = 0; percent < 100; percent += 15) {
        gives(TUNE " && cp $D/cache/*.bin $D/whole", 0, "1 product measured");
        gives(formatted(damage, percent, (int)random_integer(1, 255)), 0, "damaged");
        not_measured(EXPLAIN "f32 96 96 96");
    }
    gives(TUNE " && truncate -s 100 $D/cache/*.bin", 0, "1 product measured");
    not_measured(EXPLAIN "f32 96 96 96");
    gives(TUNE " && chmod 666 $D/cache/*.bin", 0, "1 product measured");
    not_measured(EXPLAIN "f32 96 96 96");
    gives("chmod 777 $D/cache; " TUNE, 1, "nothing could be kept in the cache directory");
}

/* A copy of the CBLAS that the system has, which is then another one, and then gone. */
Test(tune, a_library_that_has_gone_since) {
    static const char copy[] = "echo f32 96x96x96 >$D/list; mkdir $D/lib; L=$(ldconfig -p | sed -n "
                               "'s,.*libopenblas\\.so\\.0.* => ,,p' | head -1); test -e \"$L\" && "
                               "cp -L $L $D/lib/libopenblas.so.0";
    gives(copy, 0, "");
    gives("TANDEM_LIBRARY_PATH=$D/lib TANDEM_BLAS=openblas " TUNE, 0, "1 product measured");
    gives("TANDEM_BLAS=openblas TANDEM_LIBRARY_PATH=$D/lib " EXPLAIN "f32 96 96 96", 0,
          "openblas, " MEASURED);
    not_measured("touch -d 2001-01-01 $D/lib/libopenblas.so.0; TANDEM_BLAS=openblas "
                 "TANDEM_LIBRARY_PATH=$D/lib " EXPLAIN "f32 96 96 96");
    not_measured(
        "rm $D/lib/libopenblas.so.0; TANDEM_BLAS=openblas TANDEM_LIBRARY_PATH=$D/lib " EXPLAIN
        "f32 96 96 96");
}

/* Of two libraries; the first is the usual one, whose slow calls end in the midst of the measurement. */
#define SLOW(calls, milliseconds)                                                                  \
    "SLOW_BLAS='" calls " " milliseconds "' TANDEM_CPU_THREADS=1 TANDEM_BLAS=blis,builtin "        \
    "TANDEM_LIBRARY_PATH=" TEST_SLOW_BLAS " "
#define SLOW_TUNE TEST_PROGRAM " tune --device cpu --shapes $D/list --budget "

/* 23 calls are the first look, in which the builtin kernels are many times as fast. */
Test(tune, a_choice_is_looked_at_twice) {
    gives("echo f32 96x96x96 >$D/list; " SLOW("26", "5") SLOW_TUNE "60 2>/dev/null", 0,
          "f32 96x96x96 |blis|as usual|1 product measured");
    gives(SLOW("0", "0") EXPLAIN "f32 96 96 96", 0, "blis, " MEASURED " f32 96x96x96");
    /* a way that stays slow loses twice */
    gives(SLOW("1000", "5") SLOW_TUNE "60 2>/dev/null", 0, "builtin|times as fast as blis");
}

/* It shows how far it is, begins nothing after the time, and what there was no time to compare stays as it was. */
Test(tune, budget) {
    gives("echo f32 96x96x96 >$D/list; echo f32 95x96x96 >>$D/list; " SLOW("1000", "300") SLOW_TUNE
          "0.3 2>$D/errors; grep -c slow_blas $D/errors; grep product $D/errors; cat $D/errors",
          0, "as usual|1 product measured|1 left for lack of time: --budget|[1/2] f32 96x96x96\n");
    const char *slow = strstr(r.output, "--budget\n");
    const int calls = slow ? atoi(slow + 9) : 0;
    CHECK(calls >= 3 && calls <= 4, "%d slow calls: %s", calls, r.output);
}

/* Ctrl-C says what is kept, which then is. */
Test(tune, interrupted) {
    gives("for i in 96 95 94 93 92 91 90; do echo f32 ${i}x96x96; done >$D/list; " SLOW(
              "1000", "100") "env --default-signal=INT " SLOW_TUNE
                             "60 >$D/out 2>&1 & p=$!; for i in $(seq 500); do grep -q "
                             "'2/7' $D/out && break; sleep 0.05; done; kill -INT $p; wait $p; "
                             "echo status $?; cat $D/out",
          0, "status 130|tdm tune: stopped: 1 of 7 products measured, 1 of them kept");
    gives(SLOW("0", "0") EXPLAIN "f32 96 96 96", 0, MEASURED " f32 96x96x96");
}

Test(tune, a_wrong_library_is_never_chosen) {
    gives("echo f32 96x96x96 >$D/list; TANDEM_LIBRARY_PATH=" TEST_WRONG_BLAS " " TUNE, 0, "1 of ");
    SAYS("ways failed or were wrong");
    CHECK(!contains_words(r.output, "blis"), "chosen: %s", r.output);
    gives("TANDEM_BLAS=blis TANDEM_LIBRARY_PATH=" TEST_WRONG_BLAS " " TUNE, 1,
          "no library gives the result that the builtin kernel gives");
}

Test(tune, trace_of_a_program) {
    gives("TANDEM_TRACE=$D/list " EXPLAIN "f32 40 50 60 && TANDEM_TRACE=$D/list " EXPLAIN
          "f64 7 8 9 && cat $D/list",
          0, "f32 40x50x60\nf64 7x8x9\n");
    gives("grep -c f32 $D/list; " TUNE, 0, "1\n");
    SAYS("2 products measured");
    /* a file that cannot be opened is an error at the start; one that is full later is no failure of the program */
    gives("mkfifo $D/pipe; TANDEM_TRACE=$D/pipe " EXPLAIN "f32 40 50 60; true", 0,
          "TDM_ERROR_ENVIRONMENT|TANDEM_TRACE: nothing can be written to");
    gives("TANDEM_TRACE=$D/no/such/file " EXPLAIN "f32 40 50 60; true", 0,
          "TDM_ERROR_ENVIRONMENT|TANDEM_TRACE: nothing can be written to|/no/such/file: No such");
    gives("TANDEM_TRACE=/dev/full " EXPLAIN "f32 40 50 60", 0, "TDM_OK");
}

Test(tune, lists_that_are_wrong) {
    static const struct {
        const char *line, *words;
    } wrong[] = {
        {"f31 2x2x2", "line 1: it begins with a dtype"},
        {"i32 2x2x2", "line 1: it begins with a dtype"},
        {"f32", "the sizes come second"},
        {"f32 2x2", "the sizes come second"},
        {"f32 2x0x2", "the sizes come second"},
        {"f32 2x-1x2", "the sizes come second"},
        {"f32 2x2x2x2", "the sizes come second"},
        {"f32 9999999999999999999x2x2", "the sizes come second"},
        {"f32 2x2x2 gelo", "after the sizes there may be"},
        {"# nothing", "has no product"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        gives(formatted("echo '%s' >$D/list; " TUNE, wrong[i].line),
              wrong[i].line[0] == '#' ? 1 : 2, wrong[i].words);
    }
    gives("printf 'f32 %0600d' 0 >$D/list; " TUNE, 2, "line 1: it has more than 510 characters");
    gives("rm $D/list; " TUNE, 1, "cannot be read: No such file");
    gives(TEST_PROGRAM " tune --budget 0", 2, "a number of seconds greater than 0");
    gives("echo f32 9000000x9000000x1 >$D/list; " TUNE, 1, "f32 9000000x9000000x1: ");
}

#ifdef TEST_SLOW_CLBLAST
/* CLBlast whose kernels the driver does not build or start is asked once for a dtype, and the builtin kernel computes.
 * Named alone, it is an error that says why, as is a failure after which C may have been written. */
Test(tune, clblast_that_the_driver_refuses) {
#define REFUSING(code, blas)                                                                       \
    "SLOW_CLBLAST_REFUSES=" code " TANDEM_BLAS=" blas " TANDEM_LOG=warn " ICD_POCL                 \
    " TANDEM_LIBRARY_PATH=" TEST_SLOW_CLBLAST " " TEST_PROBE " explain opencl:0 "
    static const char *const refused[] = {
        REFUSING("-54", "clblast,builtin") "f32 20 30 40 2>&1",
        REFUSING("-11", "clblast,builtin") "f64 20 30 40 2>&1",
        REFUSING("-2046", "clblast,builtin") "f32 300 300 300 2>&1"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        gives(refused[i], 0, "TDM_OK|builtin|does not run CLBlast's kernels|slow_clblast: refused");
        const char *first = strstr(r.output, "slow_clblast: refused");
        CHECK(first && !strstr(first + 1, "slow_clblast: refused"), "asked again: %s", r.output);
    }
    gives(REFUSING("-54", "clblast") "f32 20 30 40 2>&1", 0,
          "TDM_ERROR_BACKEND|CLBlast failed with CL_INVALID_WORK_GROUP_SIZE (-54)");
    gives(REFUSING("-5", "clblast,builtin") "f32 20 30 40 2>&1", 0,
          "TDM_ERROR_BACKEND|CLBlast failed with CL_OUT_OF_RESOURCES (-5)");
#undef REFUSING
}

#ifdef TEST_OPENCL_LIMITS
/* On a GPU for which CLBlast's own parameters may be wrong others are set before the first product. */
Test(tune, parameters_of_clblast_that_may_be_wrong) {
#define ON(gpu, dtype)                                                                             \
    gpu " TDM_LIMITS=large SLOW_CLBLAST_REFUSES=-54 TANDEM_BLAS=clblast,builtin " ICD_POCL         \
        " TANDEM_LIBRARY_PATH=" TEST_OPENCL_LIMITS ":" TEST_SLOW_CLBLAST " " TEST_PROBE            \
        " explain opencl:0 " dtype " 20 30 40 2>&1"
    gives(ON("TDM_LIMITS_LIE=markers", "f32"), 0, "slow_clblast: GEMMK 0|slow_clblast: refused");
    gives(ON("TDM_LIMITS_LIE=", "f32"), 0, "slow_clblast: refused");
    CHECK(!strstr(r.output, "GEMMK"), "%s", r.output);
#undef ON
}
#endif
#endif

#if TEST_HAS_OCLGRIND
#define CLBLAST "OCL_ICD_VENDORS=" TEST_ICD_OCLGRIND " TANDEM_BLAS=clblast "
#define LARGE_LOCAL_MEMORY "OCLGRIND_LOCAL_MEM_SIZE=65536 "
#define SLOW_CLBLAST "TANDEM_LIBRARY_PATH=" TEST_SLOW_CLBLAST " " LARGE_LOCAL_MEMORY CLBLAST
#define SEARCH(seconds)                                                                            \
    SLOW_CLBLAST TEST_PROGRAM " tune --device opencl:0 --budget " seconds " --shapes $D/list 2>&1"
#define FOUND "times as fast as clblast before"
#define AS_IT_CAME "slow_clblast: the parameters that it came with"

/* The parameters that are found are kept and used by the next process, whose products are right. On an idle machine
 * the search begins after two seconds; next to other work it may not begin within eight. */
Test(tune, parameters_of_clblast) {
    shell("echo f32 16x16x16 >$D/list");
    shell(SEARCH("8") "; " TEST_PROGRAM " cache list");
    if (!contains_words(r.output, FOUND "|CLBlast f32")) {
        shell(TEST_PROGRAM " cache clear");
        gives(SEARCH("150") "; " TEST_PROGRAM " cache list", 0, FOUND "|CLBlast f32");
    }
    SAYS(AS_IT_CAME);
    gives(SLOW_CLBLAST TEST_PROBE " explain opencl:0 f32 16 16 16 2>&1", 0,
          "clblast, " MEASURED " f32 16x16x16: ");
    CHECK(!contains_words(r.output, AS_IT_CAME), "%s", r.output);
    gives(LARGE_LOCAL_MEMORY CLBLAST TEST_PROBE " explain opencl:0 f32 77 130 61", 0, "TDM_OK");
}

/* Parameters that were fast by accident are not kept: the next process multiplies with those that CLBlast came with. */
Test(tune, parameters_of_clblast_are_looked_at_twice) {
    static const char *const searches[] = {"SLOW_CLBLAST_LUCK=1 " SEARCH("10"),
                                           "SLOW_CLBLAST_LUCK=1 " SEARCH("150")};
    shell("echo f32 16x16x16 >$D/list");
    for (int i = 0; i < 2 && (i == 0 || !strstr(r.output, "slow_clblast: a second look")); i++)
        shell(searches[i]);
    CHECK(strstr(r.output, "slow_clblast: a second look"), "%s", r.output);
    shell(SLOW_CLBLAST TEST_PROBE " explain opencl:0 f32 16 16 16 2>&1");
    SAYS("TDM_OK|" AS_IT_CAME);
}
#endif

#if TEST_HAS_CUDA
#define ROWS                                                                                       \
    "TDM_CUDA_SIM='multiprocessors=2 cache=1048576' TANDEM_LIBRARY_PATH=" TEST_CUDA_SIM            \
    " " TEST_PROGRAM " tune --rows --device cuda:0 "

/* Rows on a GPU: of a file or the usual ones, and what is refused. */
Test(tune, rows) {
    gives("printf 'f32 softmax 12x1000\n\n# no rows\nbf16 rms_norm 3x64' >$D/list; " ROWS
          "--each --shapes $D/list",
          0, "  softmax of f32, 12 x 1000: 64 lanes of 4 vectors, held: ");
    SAYS("f32  softmax        1000 columns  ");
    SAYS("bf16 rms_norm         64 columns  ");
    SAYS("2 operations on rows measured on cuda:0");
    gives(TEST_PROGRAM " cache list", 0, "tuned rows");
    gives(ROWS "--dtype f16 --budget 0.1", 0, "f16  rms_norm       4096 columns  ");
    SAYS("1 operation on rows measured|64 left for lack of time: ");
    gives("chmod 777 $D/cache; " ROWS "--shapes $D/list", 1, "nothing could be kept in the cache");
    gives(TEST_PROGRAM " tune --rows --device cpu", 1, "a row has one lane on cpu:0");
    gives("echo f32 softmax 1000 >$D/list; " ROWS "--shapes $D/list", 2,
          "line 1: it is not a dtype");
    gives("echo f31 softmax 1x1000 >$D/list; " ROWS "--shapes $D/list", 2,
          "line 1: it begins with");
    gives("echo f32 softmin 1x1000 >$D/list; " ROWS "--shapes $D/list", 1, "operation is softmin");
    gives("echo >$D/list; " ROWS "--shapes $D/list", 1, "has no rows");
    gives("rm $D/list; " ROWS "--shapes $D/list", 1, "cannot be read: No such file");
}

/* Of cuBLASLt's algorithms for a product the simulated machine's second is the fastest, by milliseconds. */
Test(tune, algorithms_of_cublaslt) {
    static const char path[] = "TANDEM_BLAS=cublas TANDEM_LIBRARY_PATH=" TEST_CUDA_SIM " ";
    gives(formatted("echo f32 24x40x25 >$D/list; %s" TEST_PROGRAM
                    " tune --device cuda:0 --shapes $D/list",
                    path),
          0, "cublas (algorithm 1)");
    gives(formatted("%s" TEST_PROBE " explain cuda:0 f32 24 40 25", path), 0,
          "cublas with its algorithm 1, " MEASURED " f32 24x40x25");
    /* a card of the same architecture or another driver, which share compiled kernels */
    static const char *const others[] = {"name0=Other", "driver=13010"};
    for (size_t i = 0; i < 2; i++) {
        not_measured(formatted("TDM_CUDA_SIM=%s %s" TEST_PROBE " explain cuda:0 f32 24 40 25",
                               others[i], path));
        gives(
            formatted("TDM_CUDA_SIM=%s %s" TEST_PROGRAM " cache prune --dry-run", others[i], path),
            0, "tuned products|1 of ");
    }
    /* a near product has other algorithms */
    gives(formatted("%s" TEST_PROBE " explain cuda:0 f32 24 40 26", path), 0,
          "cublas, " MEASURED " the nearest product");
}
#endif
#endif
