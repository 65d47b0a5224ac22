/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* `tdm bench` where it is cut short, and where it runs on a GPU. */
#ifdef TEST_PROGRAM
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baselines/baseline.h"
#include "command.h"
#include "support/folder.h"

TestSuite(bench, .init = folder_start, .fini = folder_remove);

/* A command of the shell, where $T is the program and $D the folder of the test. */
static void shell(const char *const *more, const char *command, int status, const char *words) {
    char folder[512];
    const char *changes[16] = {ICD_NONE, CACHE, "T=" TEST_PROGRAM, folder};
    snprintf(folder, sizeof folder, "D=%s", folder_path("."));
    for (int i = 0; more && more[i]; i++)
        changes[4 + i] = more[i];
    gives_with(changes, command, status, words);
}

/* Counts the lines of a file, each of which has to be one object with this key. */
static int count_lines(const char *name, const char *key) {
    size_t size;
    int count = 0;
    char *text = (char *)file_read(folder_path(name), &size);
    CHECK(text, "there is no %s", name);
    for (char *line = text, *end; line && (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
        CHECK(json_is_object(object), "no JSON: %s", line);
        if (json_object_get(object, key)) count++;
        json_decref(object);
    }
    free(text);
    return count;
}

/* Rows are in the file as soon as they are measured. None of these has a baseline in a separate process,
 * whose end would flush its copy of the file's buffer, too. */
Test(bench, that_is_killed) {
    shell(NULL,
          "$T bench --device cpu --op empty,layer_norm --shape 1,8x8 --json $D/all --json-lines "
          "$D/rows >/dev/null 2>&1 & p=$!; for i in $(seq 500); do "
          "[ -s $D/rows ] && break; sleep 0.05; done; kill -TERM $p; wait $p; echo $?",
          0, "143");
    const int rows = count_lines("rows", "op");
    CHECK(rows == 1 || rows == 2, "%d rows of 3", rows);
    CHECK(folder_holds("rows"), "a file that is not whole was left");
}

Test(bench, json_lines) {
    shell(NULL,
          "$T bench --device cpu --op empty --peaks --json-lines $D/rows --json $D/all >/dev/null",
          0, NULL);
    CHECK(count_lines("rows", "op") == 2 && count_lines("rows", "kind") == 8, "rows and peaks");
    shell(NULL, "$T bench --device cpu --op empty --json-lines $D/none/rows", 2,
          "--json-lines|/none/rows");
    shell(NULL, "$T bench --device cpu --op empty --json-lines /dev/full", 1,
          "--json-lines /dev/full");
}

/* The sum accounts for every step that the counter counts. */
Test(bench, counter_and_sum) {
    int last = 0, all = 0, peaks = 0, rows = 0, skipped = 0, others = -1;
    shell(NULL,
          "$T bench --device cpu --peaks --profile lesson --op copy_h2d,two_devices --dtype f32 "
          "--shape 16384,512x512x512 2>&1 | grep -E '^\\[|^[0-9]+ peaks, ' | tail -2",
          0, NULL);
    const int found = sscanf(r.output,
                             "[%d/%d] %*[^\n] %d peaks, %d rows, %*d not verified, %d "
                             "skipped, %d not applicable",
                             &last, &all, &peaks, &rows, &skipped, &others);
    CHECK(found == 6 && peaks + rows + skipped + others == all && skipped > 0 && last <= all, "%s",
          r.output);
}

/* Rows that are left out are no failure, and are counted. */
Test(bench, seconds) {
    shell(NULL, "COLUMNS=200 $T bench --device cpu --op empty --seconds 0.0001 2>&1", 1,
          "0 rows|2 left out for lack of time");
    shell(NULL,
          "COLUMNS=200 TANDEM_CPU_DEVICES=2 $T bench --device cpu:0,cpu:1 --profile full --op "
          "add,sub,mul,scale,axpy,exp,div,fill --dtype f32 --shape 4096,1048576 --seconds 3",
          0, "\ncpu:0 |\ncpu:1 |0 not verified| left out for lack of time");
    shell(NULL, "$T bench --op empty --seconds 0", 2, "--seconds");
}

/* A copy that rows are compared with reads what they read, as often as it fits, not zeros. */
Test(bench, source_of_a_copy) {
    static const char numbers[] = {1, 2, 3};
    bench_request request = {.operands = 2, .bytes = {4, sizeof numbers}, .input = {NULL, numbers}};
    char *source = bench_make_source(&request, 8);
    CHECK(source && memcmp(source, "\1\2\3\1\2\3\1\2", 8) == 0, "not the first input's bytes");
    free(source);
    request.operands = 1;
    source = bench_make_source(&request, 4);
    CHECK(source && memcmp(source, "\0\0\0\0", 4) == 0, "not zeros where there is no input");
    free(source);
}

#ifdef TEST_CUDA_SIM
/* A GPU of the simulated machine. */
static const char *const gpu[] = {"TANDEM_BACKEND=cuda", "TANDEM_LIBRARY_PATH=" TEST_CUDA_SIM,
                                  "TDM_CUDA_SIM=leaks=1 delay=50", "TDM_TEST_SMALL=1", NULL};

/* Each row has a baseline, NVIDIA's own call, which the simulated machine finds no fault with. */
Test(bench, next_to_cuda) {
    shell(gpu,
          "$T bench --device cuda:0 --profile full --dtype f32 --json $D/all --op "
          "empty,layer_norm,graph+nodes,matmul,copy_h2d,copy_d2h,copy_d2d,add --shape "
          "1,8x8,1000,64x64x64,96*128x128x32,1024,4096 --wide",
          0,
          "raw launch |raw launch + synchronise|raw graph + synchronise|"
          "cublas|cudaMemcpyAsync device to device|"
          "cudaMemcpyAsync host to device|cudaMemcpyAsync device to host|"
          " 0 not verified, 0 skipped");
    CHECK(!strstr(r.output, "no baseline") && !strstr(r.output, "cuda_sim:"), "%s", r.output);
    CHECK(strstr(r.output, " MB/s") && !strstr(r.output, " 0.00 GB/s"),
          "little is shown as nothing: %s", r.output);
    json_t *root = json_load_file(folder_path("all"), 0, NULL);
    const json_t *machine = json_object_get(root, "machine");
    const json_t *libraries = json_object_get(machine, "libraries");
    const char *cublas = json_string_value(json_object_get(libraries, "cublas"));
    CHECK(cublas && strcmp(cublas, "13.0") == 0, "cuBLAS: %s", cublas);
    json_decref(root);
}

Test(bench, in_tf32) {
    shell(gpu,
          "TANDEM_MATH=tf32 $T bench --device cuda:0 --op matmul --shape 64x64x64 --dtype f32 "
          "--wide",
          0, "| in TF32|e-02");
}

/* Without a library its rows say so, and have no ratio. */
Test(bench, without_cublas) {
    const char *const changes[] = {"TANDEM_BACKEND=cuda", "TDM_CUDA_SIM=leaks=1 delay=50", NULL};
    shell(changes,
          "mkdir $D/lib && ln -s " TEST_CUDA_SIM "/lib* $D/lib && rm $D/lib/libcublas.so.13 && "
          "TANDEM_LIBRARY_PATH=$D/lib $T bench --device cuda:0 --op matmul,empty --shape "
          "64x64x64,1 --dtype f32 --wide",
          0, "matmul f32 64x64x64: no baseline: |cublas|raw launch");
}

/* A baseline whose call fails takes nothing from Tandem's own figure. */
Test(bench, baseline_that_fails) {
    const char *const changes[] = {"TANDEM_BACKEND=cuda", "TANDEM_LIBRARY_PATH=" TEST_CUDA_SIM,
                                   "TANDEM_BLAS=builtin",
                                   "TDM_CUDA_SIM=fail=cublasGemmEx:1+:13 "
                                   "fail=cublasLtMatmul:1+:13",
                                   NULL};
    shell(changes, "$T bench --device cuda:0 --op matmul --shape 64x64x64 --dtype f32 --format csv",
          0,
          "matmul f32 64x64x64: no baseline: cublasGemmEx: its call "
          "failed|1 rows, 0 not verified|,true,");
    CHECK(!strstr(r.output, ",cublas"), "a baseline is named: %s", r.output);
}

/* Operands that do not fit well into a GPU's cache are in several sets, whatever the size of the processor's cache;
 * PyTorch works on the card, with as many. */
Test(bench, sets_and_the_card) {
    static const char python[] = "#!/bin/sh\n[ $3 = list ] && echo torch 2 && exit 0\n"
                                 "while read -r line; do echo $line >>$0.calls; echo 1; done\n";
    file_write(folder_path("python"), python, sizeof python - 1);
    shell(gpu,
          "chmod +x $D/python && $T bench --device cuda:0 --profile rows --op softmax --dtype f64 "
          "--shape 64x768,2048x768 --peers $D/python >/dev/null && cat $D/python.calls",
          0,
          "cuda:0 cuda:0 f64 softmax 1 64 768 0 0 1\n|"
          "cuda:0 cuda:0 f64 softmax 1 2048 768 0 0 11\n");
}
#endif

/* Rows of 64 to 262144 columns in three dtypes, products, launches and graphs, the most important first. */
Test(bench, profile_of_a_gpu) {
    shell(NULL, "$T bench --profile gpu --list", 0, NULL);
    const char *first = strstr(r.output, "layer_norm ");
    CHECK(first == r.output, "%.80s", r.output);
    static const char *const wanted[] = {"graph+nodes              f32   1000\n",
                                         "layer_norm               bf16  524288x64\n",
                                         "softmax                  f16   128x262144\n",
                                         "matmul                   bf16  8192x8192x8192\n",
                                         "sum                      bf16  43690x768\n",
                                         "add                      f32   668x50257\n"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        CHECK(strstr(r.output, wanted[i]), "there is no %s", wanted[i]);
}

/* An encoder's embeddings are within the bounds of float64, of sentences of one length and of many. */
Test(bench, profile_of_sentences) {
    shell(NULL, "$T bench --profile sentences --list", 0,
          "encoder                  f32   1x16\n|bf16  32x128\n|"
          "encoder+ragged           bf16  32x32\n");
    shell(NULL, "$T bench --device cpu --profile sentences --op encoder --shape 1x16,8x16 --wide",
          0, "16 tokens|128 tokens|4 rows, 0 not verified");
    shell(NULL, "$T bench --device cpu --profile sentences --op encoder+ragged --dtype f32 --wide",
          0, "648 tokens|1 rows, 0 not verified");
}
#endif
