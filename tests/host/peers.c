/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* `tdm bench --peers`: rows in the libraries that a Python has. */
#ifdef TEST_PROGRAM
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "paths.h"
#include "support/check.h"
#include "support/folder.h"
#include "support/run.h"

TestSuite(peers, .init = folder_start, .fini = folder_remove);

#define PEERS                                                                                      \
    TEST_SOURCE "/bench/baselines/peers_encoder.py " TEST_SOURCE "/bench/baselines/peers.py"

static run_result r;

static void bench(const char *arguments, int status) {
    char command[2048];
    const char *changes[] = {ICD_NONE, CACHE, NULL};
    snprintf(command, sizeof command, TEST_PROGRAM " bench --device cpu %s", arguments);
    check_case("%s", command);
    run_shell(changes, command, 120, &r);
    CHECK(r.exit_status == status, "exit status %d, not %d: %s", r.exit_status, status, r.output);
}

/* A Python whose script runs the shell command `answer` for a request to the library $4. */
static const char *make_python(const char *answer) {
    char script[512];
    const int length = snprintf(script, sizeof script,
                                "#!/bin/sh\nif [ $3 = list ]; then echo numpy 1; echo torch 2; "
                                "exit 0; fi\necho started $4 >>%s\n"
                                "while read -r line; do echo $4 $line >>%s\n%s\ndone\n",
                                folder_path("calls"), folder_path("calls"), answer);
    file_write(folder_path("python"), script, (size_t)length);
    CHECK(chmod(folder_path("python"), 0755) == 0, "chmod");
    return folder_path("python");
}

/* Did the stand-in note this, so often? */
static void noted(const char *words, int times) {
    size_t size;
    int count = 0;
    char *calls = (char *)file_read(folder_path("calls"), &size);
    for (const char *at = calls; at && (at = strstr(at, words)); at++)
        count++;
    CHECK(count == times, "%d times '%s', not %d: %s", count, words, times, calls);
    free(calls);
}

static void bench_with(const char *answer, const char *more) {
    char arguments[1024];
    snprintf(
        arguments, sizeof arguments,
        "--op matmul+transpose_b --dtype f32 --profile full --shape 512x3072x768 --peers %s %s",
        make_python(answer), more);
    bench(arguments, 0);
}

Test(peers, figures) {
    char more[400];
    snprintf(more, sizeof more, "--json %s", folder_path("rows.json"));
    bench_with("case $4 in torch) echo 12.5;; *) echo lacks;; esac", more);
    CHECK(contains_words(r.output, "PyTorch 12.5 s, ratio"), "%s", r.output);
    CHECK(!strstr(r.output, "NumPy"), "%s", r.output);
    json_t *root = json_load_file(folder_path("rows.json"), 0, NULL);
    json_t *row = json_array_get(json_object_get(root, "rows"), 0);
    CHECK(json_real_value(json_object_get(row, "pytorch_seconds_median")) == 12.5, "%s", r.output);
    CHECK(!json_object_get(row, "numpy_seconds_median"), "of a library that lacks the product");
    json_decref(root);
    noted("torch cpu:0 - f32 matmul 1 512 3072 768 1 ", 1);
}

/* The requests for other work than products. Sentences that are not padded are said to be, as the libraries pad
 * them. */
Test(peers, of_other_work) {
    static const struct {
        const char *arguments, *request;
    } cases[] = {
        {"--profile full --op feed_forward --dtype f32", "f32 feed_forward 1 128 384 1536 1 "},
        {"--profile rows --op softmax --dtype f16 --shape 64x768", "f16 softmax 1 64 768 0 0 "},
        {"--profile sentences --op encoder+ragged --dtype f32", "f32 encoder+ragged 1 32 32 0 0 "}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char arguments[1024], request[80];
        snprintf(arguments, sizeof arguments, "%s --peers %s", cases[i].arguments,
                 make_python("case $4 in torch) echo 12.5;; *) echo lacks;; esac"));
        snprintf(request, sizeof request, "torch cpu:0 - %s", cases[i].request);
        bench(arguments, 0);
        CHECK(contains_words(r.output, "PyTorch 12.5 s, ratio|0 not verified"), "%s", r.output);
        noted(request, 1);
    }
}

Test(peers, in_csv_and_on_the_page) {
    char more[400];
    snprintf(more, sizeof more, "--format csv --report %s", folder_path("page.html"));
    bench_with("echo 0.25", more);
    CHECK(contains_words(r.output,
                         ",note,numpy_seconds_median,onnxruntime_seconds_median|,true,,0.25,,"),
          "%s", r.output);
    size_t size;
    char *page = (char *)file_read(folder_path("page.html"), &size);
    CHECK(page && strstr(page, ">NumPy</th>") && !strstr(page, ">ONNX Runtime</th>"), "columns");
    free(page);
}

/* One process of each library has all rows, and another one those after it has ended. */
Test(peers, of_many_rows) {
    char arguments[1024];
    const char *python = make_python("[ -f $0.end ] && rm $0.end && exit 1; echo 0.25");
    snprintf(arguments, sizeof arguments, "--profile rows --op softmax --shape 64x768 --peers %s",
             python);
    bench(arguments, 0);
    noted("softmax", 8);
    noted("started torch", 1);
    noted("started numpy", 1);
    file_write(folder_path("python.end"), "", 0);
    bench(arguments, 0);
    CHECK(contains_words(r.output, "python failed|4 rows, 0 not verified"), "%s", r.output);
    noted("softmax", 16);
    noted("started", 2 + 3);
}

/* --pytorch has PyTorch alone, also for the norms of many products. */
Test(peers, of_pytorch_alone) {
    char arguments[1024];
    snprintf(arguments, sizeof arguments,
             "--profile lesson --op matmul+norm_l2_kept --shape '1000*100x100x100' --pytorch %s",
             make_python("echo 12.5"));
    bench(arguments, 0);
    CHECK(contains_words(r.output, "PyTorch 12.5 s, ratio"), "%s", r.output);
    noted("torch cpu:0 - f32 matmul+norm_l2_kept 1000 100 100 100 0 ", 1);
    noted("numpy", 0);
}

/* peers.py itself, with a PyTorch that only records its calls: work of a card is done there and timed by its
 * events, 5 ms between two; other work by the wall clock, on cores. */
Test(peers, of_the_card) {
    static const char torch[] =
        "import atexit, sys\n"
        "from unittest.mock import MagicMock\n"
        "torch = sys.modules[__name__] = MagicMock(__version__='2')\n"
        "torch.cuda.Event.return_value.elapsed_time.return_value = 5.0\n"
        "atexit.register(lambda: print(torch.cuda.set_device.call_args_list,\n"
        "                              {c.kwargs.get('device') for c in "
        "torch.rand.call_args_list},\n"
        "                              file=sys.stderr))\n";
    char command[1024];
    const char *changes[] = {NULL};
    file_write(folder_path("torch.py"), torch, sizeof torch - 1);
    snprintf(
        command, sizeof command,
        "cd %s && printf '%%s\\n' 'opencl:0 cuda:3 f32 add 1 64 64 0 0 2' "
        "'cuda:3 cuda:3 bf16 matmul 1 64 64 64 1 2' 'cuda:3 cuda:3 f32 concat 1 64 64 0 0 2' | "
        "PYTHONPATH=. python3 -c \"$(cat " PEERS ")\" serve torch 1",
        folder_path("."));
    check_case("%s", command);
    run_shell(changes, command, 60, &r);
    CHECK(r.exit_status == 0 && strstr(r.output, "0.00125\n0.00125\nlacks\n"), "%s", r.output);
    CHECK(contains_words(r.output, "call('cuda:3')|{'cuda:3'}"), "%s", r.output);
    snprintf(command, sizeof command,
             "cd %s && echo 'cpu:0 - f32 add 1 64 64 0 0 2' | PYTHONPATH=. python3 -c "
             "\"$(cat " PEERS ")\" serve torch 1",
             folder_path("."));
    run_shell(changes, command, 60, &r);
    CHECK(r.exit_status == 0 && contains_words(r.output, "[] {'cpu'}"), "%s", r.output);
}

/* With as many sets of arrays as the benchmark has: a stand-in counts the results of products, and random arrays. */
Test(peers, in_turn) {
    static const char module[] =
        "import atexit, sys\n"
        "from unittest.mock import MagicMock\n"
        "m = sys.modules[__name__] = MagicMock()\n"
        "m.matmul.side_effect = lambda *_, out=None: out or object()\n"
        "atexit.register(lambda: print(len({id(c.kwargs['out']) for c in m.matmul.call_args_list\n"
        "                                   if 'out' in c.kwargs}),\n"
        "                              len(m.rand.call_args_list), 'arrays', file=sys.stderr))\n";
    static const char *const cases[][3] = {{"numpy", "matmul 1 64 64 64 0 3", "3 0 arrays"},
                                           {"numpy", "matmul 1 64 64 64 1 1", "1 0 arrays"},
                                           {"torch", "feed_forward 1 8 8 8 1 3", "0 21 arrays"}};
    const char *changes[] = {NULL};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char command[1024], file[16];
        snprintf(file, sizeof file, "%s.py", cases[i][0]);
        file_write(folder_path(file), module, sizeof module - 1);
        snprintf(command, sizeof command,
                 "cd %s && echo 'cpu:0 - f32 %s' | PYTHONPATH=. python3 -c \"$(cat " PEERS
                 ")\" serve %s 1",
                 folder_path("."), cases[i][1], cases[i][0]);
        check_case("%s", command);
        run_shell(changes, command, 60, &r);
        CHECK(r.exit_status == 0 && strstr(r.output, cases[i][2]), "%s", r.output);
    }
}

/* The row is the same as without the peer. */
Test(peers, that_fail) {
    bench_with("echo 'no <memory>' >&2; exit 1", "");
    CHECK(contains_words(r.output, "no PyTorch: |no <memory>|0 not verified"), "%s", r.output);
    bench_with("echo failed OSError: it is lost", "");
    CHECK(contains_words(r.output, "no PyTorch: |OSError: it is lost|0 not verified"), "%s",
          r.output);
    bench_with("echo soon", "");
    CHECK(contains_words(r.output, "did not answer with a time"), "%s", r.output);
    bench("--op matmul --peers /nonexistent/python3", 2);
    CHECK(contains_words(r.output, "--peers|/nonexistent/python3"), "%s", r.output);
    bench("--op matmul --peers true", 2);
    CHECK(contains_words(r.output, "true has none of PyTorch, NumPy"), "%s", r.output);
}
#endif
