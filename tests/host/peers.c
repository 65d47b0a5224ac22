/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* `tdm bench --peers`: rows in the libraries that a Python has. */
#ifdef TEST_PROGRAM
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"
#include "support/folder.h"

TestSuite(peers, .init = folder_start, .fini = folder_remove);

#define PEERS                                                                                      \
    TEST_SOURCE "/bench/baselines/peers_encoder.py " TEST_SOURCE "/bench/baselines/peers.py"

static void bench(const char *arguments, int status, const char *words) {
    const char *changes[] = {ICD_NONE, CACHE, NULL};
    gives_with(changes, formatted(TEST_PROGRAM " bench --device cpu %s", arguments), status, words);
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

static void bench_with(const char *answer, const char *more, const char *words) {
    bench(
        formatted(
            "--op matmul+transpose_b --dtype f32 --profile full --shape 512x3072x768 --peers %s %s",
            make_python(answer), more),
        0, words);
}

Test(peers, figures) {
    bench_with("case $4 in torch) echo 12.5;; *) echo lacks;; esac",
               formatted("--json %s", folder_path("rows.json")), "PyTorch 12.5 s, ratio");
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
        const char *python = make_python("case $4 in torch) echo 12.5;; *) echo lacks;; esac");
        bench(formatted("%s --peers %s", cases[i].arguments, python), 0,
              "PyTorch 12.5 s, ratio|0 not verified");
        noted(formatted("torch cpu:0 - %s", cases[i].request), 1);
    }
}

Test(peers, in_csv_and_on_the_page) {
    bench_with("echo 0.25", formatted("--format csv --report %s", folder_path("page.html")),
               ",note,numpy_seconds_median,onnxruntime_seconds_median|,true,,0.25,,");
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
    bench(arguments, 0, NULL);
    noted("softmax", 8);
    noted("started torch", 1);
    noted("started numpy", 1);
    file_write(folder_path("python.end"), "", 0);
    bench(arguments, 0, "python failed|4 rows, 0 not verified");
    noted("softmax", 16);
    noted("started", 2 + 3);
}

/* --pytorch has PyTorch alone, also for the norms of many products. */
Test(peers, of_pytorch_alone) {
    bench(formatted(
              "--profile lesson --op matmul+norm_l2_kept --shape '1000*100x100x100' --pytorch %s",
              make_python("echo 12.5")),
          0, "PyTorch 12.5 s, ratio");
    noted("torch cpu:0 - f32 matmul+norm_l2_kept 1000 100 100 100 0 ", 1);
    noted("numpy", 0);
}

/* peers.py itself, with a module that stands for the library's, is sent these requests. */
static void serve(const char *library, const char *module, const char *requests,
                  const char *words) {
    const char *changes[] = {"PYTHONPATH=.", NULL};
    file_write(folder_path(formatted("%s.py", library)), module, strlen(module));
    gives_with(changes,
               formatted("cd %s && printf '%s' | python3 -c \"$(cat " PEERS ")\" serve %s 1",
                         folder_path("."), requests, library),
               0, words);
}

/* With a PyTorch that only records its calls: work of a card is done there and timed by its
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
    serve("torch", torch,
          "opencl:0 cuda:3 f32 add 1 64 64 0 0 2\\n"
          "cuda:3 cuda:3 bf16 matmul 1 64 64 64 1 2\\n"
          "cuda:3 cuda:3 f32 concat 1 64 64 0 0 2\\n",
          "0.00125\n0.00125\nlacks\n|call('cuda:3')|{'cuda:3'}");
    serve("torch", torch, "cpu:0 - f32 add 1 64 64 0 0 2\\n", "[] {'cpu'}");
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
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        serve(cases[i][0], module, formatted("cpu:0 - f32 %s\\n", cases[i][1]), cases[i][2]);
}

/* The row is the same as without the peer. */
Test(peers, that_fail) {
    bench_with("echo 'no <memory>' >&2; exit 1", "", "no PyTorch: |no <memory>|0 not verified");
    bench_with("echo failed OSError: it is lost", "",
               "no PyTorch: |OSError: it is lost|0 not verified");
    bench_with("echo soon", "", "did not answer with a time");
    bench("--op matmul --peers /nonexistent/python3", 2, "--peers|/nonexistent/python3");
    bench("--op matmul --peers true", 2, "true has none of PyTorch, NumPy");
}
#endif
