/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* `tdm devices --query` and its formats, and colours. */
#ifdef TEST_PROGRAM
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <report/csv.h>

#include "command.h"

TestSuite(devices, .init = random_start);

static void shell(const char *command, int status, const char *words) {
    const char *changes[] = {
        ICD_POCL, CACHE, "T=" TEST_PROGRAM, "TANDEM_CPU_DEVICES=2", "NO_COLOR", "TERM=xterm", NULL};
    gives_with(changes, command, status, words);
}

/* A line for each device, with the names of the JSON, in which a dot may stand for '_'. */
Test(devices, query) {
    shell("$T devices --query id,memory.free,usage.memory.used,pci --format=csv", 0, NULL);
    CHECK(strncmp(r.output, "id,memory_free,usage.memory_used,pci\n", 37) == 0, "%s", r.output);
    SAYS("\ncpu:0,|\ncpu:1,");
    shell("$T devices --query=index,backend --format csv | grep cpu", 0, NULL);
    CHECK(strcmp(r.output, "0,cpu\n1,cpu\n") == 0, "%s", r.output);
    shell("$T devices --query backend,compute_units,index | grep -E 'backend|cpu'", 0, NULL);
    CHECK(strncmp(r.output, "backend  compute_units  index\ncpu  ", 35) == 0, "%s", r.output);
    shell("$T devices --query id --format jsonl | tail -1", 0, NULL);
    CHECK(strcmp(r.output, "{\"id\": \"cpu:1\"}\n") == 0, "%s", r.output);
    /* the same in all formats, and nothing of a device is left out */
    shell("D=$(mktemp -d); for f in csv json jsonl; do $T devices --format $f --query "
          "$($T devices --query help | grep -v -e ^usage -e ^time -e memory_free | paste -sd,) "
          ">$D/$f || exit; done; $T devices --json >$D/all; python3 -c '\n"
          "import csv, json, sys\n"
          "d = sys.argv[1]\n"
          "rows = list(csv.DictReader(open(d + \"/csv\", newline=\"\")))\n"
          "lines = [json.loads(line) for line in open(d + \"/jsonl\")]\n"
          "document = json.load(open(d + \"/json\"))\n"
          "devices = json.load(open(d + \"/all\"))[\"devices\"]\n"
          "for device in devices: del device[\"usage\"], device[\"memory_free\"]\n"
          "text = lambda v: \"\" if v is None else str(v).lower() if isinstance(v, bool) else "
          "str(v)\n"
          "assert lines == document == devices and len(devices) > 1, (lines, devices)\n"
          "assert rows == [{k: text(v) for k, v in l.items()} for l in lines], rows\n"
          "' $D; s=$?; rm -rf $D; exit $s",
          0, NULL);
    shell("$T devices --query help | grep -c .", 0, NULL);
    CHECK(atoi(r.output) >= 28, "%s", r.output);
    shell("$T devices --query help", 0, "usage.utilization|usage.processes|same_as");
}

Test(devices, query_refused) {
    static const char *const wrong[][2] = {
        {"nam", "--query|'nam'|'name'"}, {"name,", "--query|''"},
        {"name,usage", "'usage'"},       {"name,usage.utilisation", "'usage.utilization'"},
        {"name,help", "'help'"},         {"\"\"", "--query wants a value"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        shell(formatted("$T devices --query %s", wrong[i][0]), 2, wrong[i][1]);
    shell("$T devices --format yaml", 2, "--format|'yaml'");
}

/* Watched csv has one head; a device that cannot be had fails the command as it does the table. */
Test(devices, query_watched) {
    shell("TANDEM_BACKEND=cpu timeout --preserve-status -s INT 2 $T devices --watch=.2 --query "
          "id,usage.memory_used "
          "--format csv",
          0, NULL);
    const int heads = times("time,id,usage.memory_used\n");
    int lines = 0;
    for (const char *at = r.output; (at = strstr(at, ",cpu:0,")); at++) {
        /* "2026-11-27T20:25:00+0000" */
        int year = 0, second = -1;
        CHECK(sscanf(at - 24, "%4d-%*2d-%*2dT%*2d:%*2d:%2d", &year, &second) == 2 &&
                  at[-25] == '\n' && year > 2000 && second >= 0,
              "no time: %s", r.output);
        lines++;
    }
    CHECK(heads == 1 && lines >= 2, "%s", r.output);
    shell("TANDEM_BACKEND=cpu timeout --preserve-status -s INT 2 $T devices --watch .2 --query id "
          "--format json",
          0, NULL);
    CHECK(strchr(r.output, '\n') && strncmp(r.output, "[{\"id\":", 7) == 0, "%s", r.output);
    shell("TANDEM_DEVICE=cuda:99 $T devices --query id --format csv", 1, "cuda:99|cpu:1");
}

#ifdef TEST_OPENCL_SIM
/* AMD's drivers report where a card is and how much of its memory is free in queries that others lack. */
Test(devices, of_amd) {
    shell("TANDEM_LIBRARY_PATH=" TEST_OPENCL_SIM " TANDEM_BACKEND=opencl "
          "TDM_OPENCL_SIM='devices=2 pci0=0:0a:00.1 pci_by0=amd pci1=0:0b:00.0' "
          "$T devices --query pci,memory_free --format csv",
          0, NULL);
    CHECK(strcmp(r.output, "pci,memory_free\n0000:0a:00.1,6442450944\n0000:0b:00.0,\n") == 0, "%s",
          r.output);
}
#endif

/* Quotes, commas and line ends, as RFC 4180 has them. */
Test(devices, csv_quoting) {
    static const char *const texts[][2] = {{"plain text", "plain text"},
                                           {"", ""},
                                           {"a,b", "\"a,b\""},
                                           {"say \"yes\"", "\"say \"\"yes\"\"\""},
                                           {"two\nlines", "\"two\nlines\""},
                                           {"\r", "\"\r\""}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char *out = NULL;
        size_t size;
        FILE *stream = open_memstream(&out, &size);
        csv_print_text(stream, texts[i][0]);
        fclose(stream);
        CHECK(strcmp(out, texts[i][1]) == 0, "%s: %s", texts[i][0], out);
        free(out);
    }
}

/* Colours are for terminals, whose owner has not forbidden them. */
Test(devices, colours) {
    static const char doctor[] =
        "python3 -c 'import pty, sys; sys.exit(pty.spawn([\"'$T'\", \"doctor\"]) "
        ">> 8)'";
    static const char *const plain[] = {"NO_COLOR=1", "TERM=dumb"};
    shell(formatted("TANDEM_BACKEND=cpu %s", doctor), 0, "\033[32m[ok]\033[0m cpu:0");
    for (int i = 0; i < 2; i++) {
        shell(formatted("%s TANDEM_BACKEND=cpu %s", plain[i], doctor), 0, NULL);
        CHECK(!strchr(r.output, '\033') && strstr(r.output, "[ok] cpu:0"), "%s", r.output);
    }
    shell("TANDEM_BACKEND=cpu $T doctor", 0, NULL);
    CHECK(!strchr(r.output, '\033'), "%s", r.output);
}
#endif
