/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The options of the program's commands: help, refusals, and the pages and scripts that are made
 * from the same tables. */
#ifdef TEST_PROGRAM
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "command.h"

TestSuite(options, .init = random_start);

static void shell(const char *command, int status, const char *words) {
    const char *changes[] = {ICD_NONE, CACHE, "T=" TEST_PROGRAM, "TANDEM_BACKEND=cpu", NULL};
    gives_with(changes, command, status, words);
}

static const char *const commands[] = {
    "",           "devices",      "doctor",      "bench",       "bench compare", "cache",
    "cache list", "cache verify", "cache prune", "cache clear", "cache warm"};
enum { COMMANDS = sizeof commands / sizeof *commands };

/* Every command prints its options on stdout, in either spelling, in lines that fit a terminal. */
Test(options, help) {
    static const char *const words[] = {"--help", "-h"};
    for (int c = 0; c < COMMANDS; c++) {
        for (int w = 0; w < 2; w++) {
            char usage[64];
            snprintf(usage, sizeof usage, "usage: tdm%s%s ", commands[c][0] ? " " : "",
                     commands[c]);
            shell(formatted("$T %s %s 2>/dev/null", commands[c], words[w]), 0, "--help|options:");
            CHECK(strncmp(r.output, usage, strlen(usage)) == 0, "%s", r.output);
            for (const char *line = r.output; *line; line += strcspn(line, "\n") + 1)
                CHECK(strcspn(line, "\n") <= 80, "longer than 80: %s", line);
            shell(formatted("$T %s %s 2>&1 >/dev/null", commands[c], words[w]), 0, NULL);
            CHECK(!r.output[0], "on stderr: %s", r.output);
        }
    }
    shell("$T help", 0, NULL);
    shell("test \"$($T help)\" = \"$($T --help)\"", 0, NULL);
    shell("test \"$($T help cache list)\" = \"$($T cache list --help)\"", 0, NULL);
    shell("$T help cache lst", 2, "unknown command 'lst'|'list'");
    /* also of what another program measures */
    shell("test \"$($T bench --help)\" = \"$($T bench --profile machines --help)\"", 0, NULL);
    shell("test \"$($T bench --help)\" = \"$($T bench -h --profile=machines)\"", 0, NULL);
    shell("$T bench --help", 0, "--ranks 1,2,4");
    shell("$T --help", 0, "'tdm help COMMAND'");
    /* the options before it are read, and those after it are not */
    shell("$T doctor --json --help --nonsense", 0, "usage: tdm doctor");
}

/* Nothing that is not in the table is taken, also no abbreviation. */
Test(options, refusals) {
    static const struct {
        const char *arguments, *words;
    } wrong[] = {{"--versoin", "tdm: |--versoin|--version|'tdm --help'"},
                 {"devces", "devces|'devices'"},
                 {"devices --jso", "unknown option '--jso'|'--json'|tdm devices --help"},
                 {"devices --jsin=3", "--jsin|'--json'"},
                 {"devices -json", "'-json'|'--json'"},
                 {"devices -x", "unknown option '-x'"},
                 {"devices --json=/nonexistent/f", "--json /nonexistent/f cannot be written"},
                 {"devices --watch --help=yes", "unknown option '--help=yes'"},
                 {"devices --timeout", "--timeout wants a value: SECONDS"},
                 {"devices --timeout=", "--timeout wants a value: SECONDS"},
                 {"devices --", ""},
                 {"doctor cpu", "unexpected argument 'cpu'"},
                 {"doctor -- --json", "'--json'"},
                 {"cache lst", "unknown command 'lst'|'list'|tdm cache --help"},
                 {"cache --json", "unknown option '--json'"},
                 {"cache list --dry-run", "tdm cache list|--dry-run"},
                 {"cache prune --dryrun", "--dryrun|'--dry-run'|tdm cache prune --help"},
                 {"cache prune --max-size=1T", "--max-size 1T|tdm cache prune --help"},
                 {"cache warm --dtype f32,f31", "--dtype|'f31'|'f32'"},
                 {"cache warm --dtype f32,", "--dtype|''"},
                 {"cache warm --dtipe=f32", "'--dtype'"},
                 {"bench quick", "unknown command 'quick'"},
                 {"bench comprae", "'compare'"},
                 {"bench --op=norm_l3", "--op|'norm_l3'|'norm_l"},
                 {"bench --profile fast", "--profile|'fast'"},
                 {"bench --device", "--device wants a value: NAME"},
                 {"devices --json -", "--json - names no file|./-"},
                 {"bench --report=-", "--report - names no file|./-"},
                 {"bench --json-lines -", "--json-lines - names no file|./-"},
                 {"bench --json=/tmp/f --report=/tmp/f", "--json and --report|same file, /tmp/f"},
                 {"bench --seed=-1", "--seed '-1'"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        shell(formatted("$T %s", wrong[i].arguments),
              strcmp(wrong[i].arguments, "devices --") == 0 ? 0 : 2, wrong[i].words);
    }
}

/* Values stand after '=' or in the next word. */
Test(options, values) {
    static const char *const equal[][2] = {
        {"bench --list --op=fill --dtype=f64 --profile=full",
         "bench --list --op fill --dtype f64 --profile full"},
        /* but for the time in which a kernel was ready */
        {"doctor --timeout=7.5 --json --quick | sed 's/in [0-9.]* s and/and/'",
         "doctor --timeout 7.5 --json --quick | sed 's/in [0-9.]* s and/and/'"},
        {"cache prune --older-than=3 --max-size=5G --dry-run",
         "cache prune --dry-run --max-size 5G --older-than 3"},
        {"cache warm --dtype=f16 cpu | cut -c1-20", "cache warm -- cpu | cut -c1-20"}};
    for (size_t i = 0; i < sizeof equal / sizeof *equal; i++) {
        shell(formatted(
                  "a=$($T %s); s=$?; b=$($T %s); test $? = $s -a \"$a\" = \"$b\" -a -n \"$a\" || "
                  "{ echo \"$a\"; echo \"$b\"; false; }",
                  equal[i][0], equal[i][1]),
              0, NULL);
    }
    /* an option whose value may be left out */
    shell("timeout -s INT 2 $T devices --watch=0.2 --json; timeout -s INT 2 $T devices --watch 0.2 "
          "--json; timeout -s INT 2 $T devices --json --watch; true",
          0, NULL);
    const int documents = times("\"device_counts\"");
    CHECK(documents >= 5, "%d documents", documents);
}

/* The pages have every option and no fault that groff warns of. */
Test(options, manual) {
    static const char *const pages[] = {"tdm", "devices", "doctor", "cache", "bench"};
    for (int i = 0; i < 5; i++) {
        shell(formatted("$T .man %s | groff -man -ww -Tascii 2>&1 >/dev/null", pages[i]), 0, NULL);
        CHECK(!r.output[0], "groff warns: %s", r.output);
        /* every option of the help is in the page */
        shell(formatted(
                  "TMP=$(mktemp); "
                  "$T .man %s >$TMP; for o in $($T %s --help | grep -oE '^  --[a-z-]+'); do grep "
                  "-qF -- "
                  "\"$(printf %%s $o | sed 's/-/\\\\-/g')\" $TMP || echo $o; done; rm -f $TMP",
                  pages[i], i > 0 ? pages[i] : ""),
              0, NULL);
        CHECK(!r.output[0], "not in the page: %s", r.output);
    }
    shell("$T .man cache", 0,
          ".TH TDM\\-CACHE 1|.SS tdm cache prune|max\\-size|SEE ALSO|tandem (7)");
    shell("$T .man nothing", 2, NULL);
    shell("$T --help", 0, NULL);
    CHECK(!strstr(r.output, ".man") && !strstr(r.output, ".complete"), "%s", r.output);
}

/* --json means the same in every command: a document instead of the text, or, with a FILE, there besides. */
Test(options, json) {
    static const char *const with_json[] = {"devices", "doctor --quick", "cache list",
                                            "cache verify", "bench --op empty --shape 1"};
    for (int i = 0; i < 5; i++) {
        shell(formatted(
                  "F=$(mktemp -d); $T %s --json 2>/dev/null >$F/printed; $T %s --json $F/whole "
                  "2>/dev/null >$F/text; ls $F | paste -sd ' '; test -s $F/text && ! python3 -m "
                  "json.tool $F/text >/dev/null 2>&1 && python3 -c 'import json, sys; a, b = "
                  "(json.load(open(f)) for f in sys.argv[1:]); assert a.keys() == b.keys()' "
                  "$F/printed $F/whole; s=$?; rm -r $F; exit $s",
                  with_json[i], with_json[i]),
              0, NULL);
        CHECK(strcmp(r.output, "printed text whole\n") == 0, "%s", r.output);
    }
    /* a failure leaves the former file whole */
    shell("F=$(mktemp -d); echo old >$F/f; (trap '' XFSZ; ulimit -f 0; $T cache list --json $F/f "
          "2>&1 | cat); cat $F/*; rm -r $F",
          0, "cannot be written: File too large|\nold\n");
}

#define SCRIPTS TEST_SOURCE "/tools/completions/"

/* The words that a shell offers after these; the last is being written. */
static void completes_in(const char *script, const char *words, const char *wanted) {
    shell(formatted(script, words), 0, NULL);
    r.output[strcspn(r.output, "\n")] = '\0';
    CHECK(strcmp(r.output, wanted) == 0, "'%s', not '%s'", r.output, wanted);
}

static void completes(const char *words, const char *wanted) {
    completes_in("bash -c '. " SCRIPTS "tdm; COMP_WORDS=($T %s); COMP_CWORD=$((${#COMP_WORDS[@]} - "
                 "1)); compopt() { :; }; _tdm; echo \"${COMPREPLY[*]}\"'",
                 words, wanted);
}

Test(options, completion) {
    completes("d", "devices doctor");
    completes("--v", "--version");
    completes("cache \"\"", "list verify prune clear warm --help");
    completes("cache prune --o", "--older-than");
    completes("cache list --json --h", "--help");
    completes("devices --w", "--watch");
    completes("doctor --q", "--quick");
    completes("devices --query name,usage.memory_u", "name,usage.memory_used");
    completes("devices --query = he", "help");
    completes("bench --prof", "--profile");
    completes("bench --profile \"\"", "quick full lesson rows gpu sentences machines");
    completes("bench --profile = l", "lesson");
    completes("bench --profile =", "quick full lesson rows gpu sentences machines");
    completes("bench --op softm", "softmax");
    completes("bench --dtype f32,b", "f32,bf16");
    completes("bench --seed \"\"", "");
    completes("cache warm --dtype = f64,f1", "f64,f16");
    completes("bench --device c", "cpu:0");
    completes("bench --device cpu :", "0");
    completes("tune --device = cpu : 0", "0");
    completes("bench --device cuda : 0,c", "0,cpu:0");
    completes("cache warm c", "cpu:0");
    completes("bench --report " SCRIPTS "_", SCRIPTS "_tdm");
    completes("bench compare " SCRIPTS "_", SCRIPTS "_tdm");
    completes("doctor --json = " SCRIPTS "_", SCRIPTS "_tdm");
    completes("devices --watch --f", "--format");
}

#if TEST_HAS_ZSH
Test(options, completion_of_zsh) {
    static const char script[] =
        "zsh -fc 'words=($T %s); CURRENT=${#words}; compset() { }; _files() { echo files }; "
        "compadd() { echo ${(P)@[-1]} }; . " SCRIPTS "_tdm'";
    completes_in(script, "cache \"\"", "list verify prune clear warm --help");
    completes_in(script, "bench --dtype=f32,b", "--dtype=f32,bf16");
    completes_in(script, "bench --device cpu:", "cpu:0");
    completes_in(script, "kernel check \"\"", "files");
}
#endif

#if TEST_HAS_FISH
Test(options, completion_of_fish) {
    static const char script[] = "PATH=${T%%/*}:$PATH fish --no-config -c 'source " SCRIPTS
                                 "tdm.fish; complete -C \"tdm %s\"' | sort | paste -sd ' '";
    completes_in(script, "d", "devices doctor");
    completes_in(script, "bench --dtype f32,b", "f32,bf16");
    completes_in(script, "bench --device=c", "--device=cpu:0");
    completes_in(script, "bench compare " SCRIPTS "_", SCRIPTS "_tdm");
}
#endif

/* The scripts too say how they are used, on stdout, and do nothing else. */
Test(options, scripts) {
    shell("cd '" TEST_SOURCE
          "' && for s in scripts/*.sh scripts/systems/run.sh; do for h in --help -h; do "
          "$s $h 2>/dev/null | grep -q \"Usage: $s\" && $s $h >/dev/null || echo $s $h; done; done",
          0, NULL);
    CHECK(!r.output[0], "says nothing: %s", r.output);
}
#endif
