/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The layers of the code and the surface of the library, read from the sources and the binary. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tandem/device.h>

#include "command.h"

TestSuite(layers, .init = random_start);

#define AND_NAME(NAME, name, value) " " name
#define BACKENDS TDM_BACKEND_LIST(AND_NAME)

/* The command prints what breaks a rule, so it must print nothing. $backends are the folders of all
 * backends, $any_backend an expression for one of them. */
static void nothing(const char *rule, const char *command) {
    run_shell(NULL,
              formatted("cd '%s' && backends='" BACKENDS
                        "' && any_backend=\"($(echo $backends | tr ' ' '|'))\" "
                        "&& { %s; } ; true",
                        TEST_SOURCE, command),
              60, &r);
    check_case("%s", rule);
    CHECK(r.exit_status == 0 && !r.output[0], "broken by:\n%s", r.output);
}

/* "file header" for every include of these files, and there must be some; the header keeps its <> or "". */
#define INCLUDES(files)                                                                            \
    "grep -oE '^ *# *include *[<\"][^>\"]*[>\"]' -H " files                                        \
    " 2>/dev/null | sed -E 's/^([^:]*):[^<\"]*/\\1 /' "                                            \
    "| awk '{ print } END { if (!NR) print \"no file was read\" >\"/dev/stderr\" }'"

Test(layers, licence) {
    nothing(
        "every source file says its licence",
        "find CMakeLists.txt bench cmake comm $backends docs examples kernels lib mpi operations "
        "reference scripts "
        "tests tools -type f "
        "-regextype posix-extended -regex "
        "'.*(\\.(c|h|cl|cmake|css|in|map|py|sh|supp)|CMakeLists.txt)' "
        "-exec grep -L 'SPDX-License-Identifier: Apache-2.0' {} +");
}

/* Downward only: tools, bench, examples -> public header -> lib/ops -> lib -> lib/backend.h <-
 * backends. lib/ never includes a vendor's header. */
Test(layers, includes) {
    nothing("lib/ includes no vendor's header",
            INCLUDES("-r lib") " | grep -iE ' [<\"](CL/|clblast|cblas|cuda|cublas|nvrtc|nvml)'");
    nothing("lib/ includes no backend",
            INCLUDES("-r lib") " | grep -E \"\\\"(\\.\\./)*$any_backend/\"");
    nothing(
        "a backend includes backend.h, its own headers and the kernels', nothing of the core",
        "for b in $backends; do " INCLUDES(
            "$b/*.[ch]") " | grep '\"$' | while read -r f h; do "
                         "n=$(echo $h | tr -d '\"'); case $n in "
                         "backend.h|base/env.h|base/fail.h|base/hash.h|base/log.h|"
                         "host/compiler.h|host/host.h|machine/host_memory.h|machine/loader.h|"
                         "machine/monitor.h|platform/*.h|system_names.h|kernels_table.h) ;; "
                         "*) [ -f $b/$n ] || [ -f kernels/$n ] || echo $f $h ;; esac; done; done");
    nothing("a backend includes no other backend's vendor header",
            "for b in $backends; do case $b in opencl) vendors='cuda|cublas|nvrtc' ;; "
            "cuda) vendors='CL/|clblast' ;; *) vendors='CL/|clblast|cuda|cublas|nvrtc' ;; "
            "esac; " INCLUDES("$b/*.[ch]") " | grep -iE \"<($vendors)\"; done");
    nothing(
        "tools, bench and examples include of the library only <tandem/...>",
        INCLUDES(
            "-r tools bench examples") " | grep -E ' "
                                       "\"(\\.\\./)*(lib/|comm/|mpi/"
                                       "|backend\\.h|core\\.h|registry\\.h|launch\\.h|check\\.h)'");
    nothing(
        "the public headers include only each other and the standard library",
        INCLUDES("lib/include/tandem/*.h comm/include/tandem/*.h") " | grep -vE "
                                                                   "'<(tandem/"
                                                                   "[a-z_]+|std(bool|def|int|io))"
                                                                   "\\.h>|<initializer_list>'");
    nothing("lib/ops never asks which backend it runs on",
            "grep -niE \"TDM_$any_backend\\b|->id\\b|backend *==|info\\.backend\" lib/ops/*.c");
    nothing("a kernel never asks which language it is in",
            "grep -nE '__OPENCL|__CUDA|__CUDACC|_RTC__|__GNUC__|__STDC' kernels/*.cl");
    nothing("no list of backends in #ifdef",
            "grep -nE '#.*if.*(HAVE|WITH|ENABLE)_(CUDA|OPENCL)' -r "
            "lib $backends tools bench examples");
    nothing("the library never prints, aborts or exits",
            "grep -nwE 'printf|fprintf|puts|perror|abort|exit|_exit|assert\\(0\\)' lib/*.c "
            "lib/*/*.c comm/*.c "
            "$(printf '%s/*.c ' $backends) | grep -vE '^[^:]*:[0-9]+: "
            "*(/?\\*|//)|snprintf|format\\(printf'");
}

/* The rooms of a folder: these files include in quotes nothing but headers of `allowed`, a regular
 * expression. */
static void includes_only(const char *files, const char *allowed) {
    nothing(formatted("%s include only %s", files, allowed),
            formatted(INCLUDES("%s") " | grep '\"$' | grep -vE ' \"(%s)\\.h\"'", files, allowed));
}

/* None of the object files that a file lists need each other in a circle. */
static void no_circle(const char *list) {
    nothing(
        "files in a circle",
        formatted(
            "LC_ALL=C xargs nm -A <'%s' | awk '{ file = $1; sub(/:.*/, \"\", "
            "file); if ($2 == \"U\") uses[file \" \" $3]; else if ($2 ~ /^[A-Z]$/) from[$3] = "
            "file } END { "
            "for (key in uses) { split(key, part, \" \"); if (part[2] in from && from[part[2]] != "
            "part[1]) print part[1], from[part[2]] } }' | tsort 2>&1 >/dev/null",
            list));
}

/* The folders below lib/ itself, the path of a call, know nothing of it. */
Test(layers, rooms) {
    includes_only("lib/platform/*.h lib/platform/*/*.[ch]",
                  "platform/[a-z_]+|(\\.\\./linux/)?system_[a-z]+|posix|quota|win|interrupts");
    includes_only("lib/base/*.[ch]", "(platform|base)/[a-z_]+|system_names|backend");
    includes_only("lib/machine/*.[ch]", "(platform|base|machine)/[a-z_]+|system_names|backend");
    includes_only("lib/host/*.[ch]",
                  "(platform|base|machine|host)/[a-z_]+|system_names|backend|kernel_list");
    includes_only("lib/devices/*.[ch]", "(platform|base|machine|host|devices)/[a-z_]+|backend");
    nothing(
        "lib/ itself includes nothing of the rooms above it",
        INCLUDES("lib/*.[ch]") " | grep -E '\"(\\.\\./|user_kernels/|ops/|tensors/|model/|tune/)'");
    nothing(
        "comm/ includes of the library only <tandem/...> and the platform layer",
        INCLUDES("comm/*.[ch]") " | while read -r f h; do case $h in "
                                "\\\"platform/*|\\\"system_names.h\\\") ;; \\\"*) "
                                "[ -f comm/$(echo $h | tr -d '\"') ] || echo $f $h ;; esac; done");
    nothing("mpi/ includes of the library only <tandem/...>",
            INCLUDES("mpi/*.[ch]") " | grep '\"'");
    no_circle(TEST_OBJECTS);
    no_circle(TEST_COMM_OBJECTS);
}

/* One room knows the operating system. Functions of POSIX are for the compiler to find, as the rest is compiled without
 * the C library's extensions; those listed here are C's own, which systems do not do alike. Of the benchmark, two files
 * that fork, and what is for MPI, are POSIX's. */
#define ONE_SYSTEM "^(lib/(platform|include)|bench/(posix|machines))/"
Test(layers, platform) {
#define ELSEWHERE(options, pattern)                                                                \
    "grep -rn" options " '" pattern                                                                \
    "' lib $backends comm mpi tools bench --include='*.[ch]' | grep -vE '" ONE_SYSTEM "'"
    nothing("a system's header outside lib/platform",
            INCLUDES("-r lib $backends comm mpi tools bench") " | grep -E ' <' | grep -vE "
                                                              "'" ONE_SYSTEM
                                                              "|/include/tandem/' | grep -vE "
                                                              "' "
                                                              "<((tandem|CL)/"
                                                              "[a-z_]+|assert|complex|ctype|errno|"
                                                              "fenv|float|inttypes|"
                                                              "limits|locale|"
                                                              "math|setjmp|std[a-z]+|string|time|"
                                                              "wchar|cpuid|immintrin|"
                                                              "clblast_c|jansson|mpi|mpi-ext|bench|"
                                                              "report/[a-z]+)"
                                                              "\\.h>|<initializer_list>'");
    nothing(
        "a system's macro outside lib/platform",
        ELSEWHERE("E",
                  "__linux__|__unix|_WIN(32|64)|__APPLE__|__FreeBSD__|__ANDROID__|__MINGW|_MSC_VER|"
                  "__GLIBC__|_(GNU|DEFAULT|BSD|DARWIN_C)_SOURCE|_POSIX_|_XOPEN_"));
    nothing("the environment, which is no array on all systems, outside lib/platform",
            ELSEWHERE("w", "environ"));
    nothing("a system's folder outside lib/platform",
            ELSEWHERE("E", "\"/(dev|etc|proc|sys|tmp|usr|opt|System|Library)/"));
    nothing(
        "what only lib/platform does alike on all systems",
        ELSEWHERE(
            "E",
            "\\b(getenv|fopen|freopen|tmpfile|remove|rename|system|setlocale|aligned_alloc|"
            "timespec_get|strtod|strtof|atof) *\\(") " | grep -vE '^[^:]*:[0-9]+: *(/?\\*|//)'");
}

/* The calls between rooms, seen in the objects: no room calls one above it, and the longest row of files of lib/ that
 * call each other is below 20. */
Test(layers, floors) {
    run_shell(NULL,
              "LC_ALL=C xargs nm -A <'" TEST_OBJECTS "' | awk -v MOST=20 -f '" TEST_SOURCE
              "/tests/host/floors.awk'",
              60, &r);
    CHECK(r.exit_status == 0, "%s", r.output);
    fputs(r.output, stderr);
}

/* bench/README.md draws it. The vendors' declarations are the cuda backend's. */
#define HEADERS(room) room "/[a-z_]+"
Test(layers, bench_rooms) {
    includes_only("bench/machine/*.[ch]", HEADERS("(machine|platform)"));
    includes_only("bench/rows/*.[ch]", HEADERS("(rows|machine)"));
    includes_only("bench/posix/*.c bench/windows/*.c",
                  HEADERS("(baselines|rows|machine|reference)"));
    includes_only(
        "bench/baselines/*.[ch]",
        HEADERS("(baselines|rows|machine|platform|reference)") "|system_names|\\.\\./\\.\\./cuda/"
                                                               "declarations");
    includes_only(
        "bench/cases/*.[ch]",
        HEADERS("(cases|baselines|rows|machine|platform|operations|reference|examples/sentences)"));
    includes_only("bench/report/*.[ch]", HEADERS("(report|rows|platform)"));
#ifdef TEST_BENCH_OBJECTS
    no_circle(TEST_BENCH_OBJECTS);
#endif
}

/* The reference, which judges the library, has nothing of it but the names of the public headers and the errors that
 * they promise. */
Test(layers, reference) {
    includes_only("reference/*.[ch]", HEADERS("reference") "|kernels/function_errors");
    includes_only("operations/*.[ch]", HEADERS("(operations|reference)"));
    nothing("reference/ calls the library",
            "xargs nm -A <'" TEST_REFERENCE_OBJECTS "' | grep ' U tdm_'");
    no_circle(TEST_REFERENCE_OBJECTS);
}

/* One subject has one file name, so that two backends can be read side by side. */
Test(layers, backends) {
    nothing("a backend lacks a file that all have",
            "for b in $backends; do for f in backend.c device.c discover.c facts.c memory.c "
            "program.c queue.c ${b}_backend.h; do [ -f $b/$f ] || echo $b/$f; done; done");
    nothing("of what opens a vendor's library a backend has all four files or none",
            "for b in $backends; do n=$(ls $b/api.c $b/api.h $b/error.c $b/load.c 2>/dev/null | wc "
            "-l); "
            "[ $n = 0 ] || [ $n = 4 ] || echo $b; done");
}

/* A call that locks, opens a library or calls a driver cannot be cancelled halfway. Functions that
 * only look at their arguments need no such protection. */
Test(layers, cancellation) {
    nothing(
        "a public function does not begin with TDMI_UNCANCELLED",
        "awk '/^[a-z]/ && !/^static|;$/ && match($0, /(^|[ *])tdm_[a-z0-9_]+\\(/) "
        "{ name = substr($0, RSTART + 1, RLENGTH - 2); head = 1 } "
        "head && /\\{$/ { head = 0; getline; if ($0 !~ /TDMI_UNCANCELLED/) print FILENAME, name } "
        "head && /[;}]$/ { head = 0 }' lib/*.c lib/*/*.c comm/*.c | "
        "grep -vE '^lib/(base/dtype|tensor|view|base/status|model/safetensors_none).c ' | "
        "grep -vE '_(name|init|retain|freeze|transfer_query|file_find|get_[a-z_]+)$' | "
        "grep -vE 'tdm_state_dict_(create|get|set_metadata)$'");
}

/* One manner of asking for a null pointer. */
Test(layers, null_pointers) {
    nothing("a pointer is compared with NULL: the house writes p and !p",
            "grep -rnE '[!=]= *NULL|NULL *[!=]=' --include='*.[ch]' lib comm $backends operations "
            "reference "
            "bench tools tests "
            "examples "
            "| grep -vE '^tests/host/layers.c|m_kernelInvocation'");
}

/* Sizes: files under 500 lines, so that a file has one subject. */
Test(layers, file_sizes) {
    nothing(
        "a file of more than 500 lines",
        "find lib comm mpi $backends kernels operations reference bench tools examples tests -name "
        "'*.[chl]*' -type f | "
        "LC_ALL=C xargs wc -l | awk '$1 > 500 && $2 != \"total\"'");
}

/* Only tdm_ symbols, with a version; a SONAME; nothing of a vendor linked. */
#define CHECK_SYMBOLS(library, headers)                                                            \
    do {                                                                                           \
        nothing("symbols that do not begin with tdm_",                                             \
                "nm -D --defined-only '" library "' | awk '{print $3}' | grep -v '^tdm_' | "       \
                "grep -vE '^TANDEM_[0-9]|^(__(asan|ubsan|tsan|lsan)|_ITM|_init|_fini)'");          \
        nothing("symbols without a version",                                                       \
                "nm -D --defined-only --with-symbol-versions '" library                            \
                "' | grep ' tdm_' | grep -v '@@TANDEM_'");                                         \
        nothing("undefined symbols of a vendor",                                                   \
                "nm -D --undefined-only '" library                                                 \
                "' | grep -E ' (cl[A-Z]|CLBlast|cu[A-Z]|cuda|cublas|nvrtc|cblas_|dnnl_|nvml|"      \
                "nccl|MPI)'");                                                                     \
        nothing("vendors' libraries linked",                                                       \
                "ldd '" library                                                                    \
                "' | grep -iE 'OpenCL|clblast|cuda|cublas|nvrtc|openblas|cblas|dnnl'");            \
        nothing("every function of the headers is exported",                                       \
                "nm -D --defined-only '" library "' | awk '{print $3}' | sed 's/@.*//' | "         \
                "sort -u > " TEST_SCRATCH "/exported; cat " headers " | tr '\\n' ' ' | "           \
                "grep -oE 'TDM_API [^;]*;' | grep -oE 'tdm_[a-z0-9_]+\\(' | tr -d '(' | "          \
                "sort -u | comm -23 - " TEST_SCRATCH "/exported");                                 \
        run_shell(NULL, "readelf -d '" library "' | grep SONAME", 30, &r);                         \
        CHECK(contains_words(r.output, ".so."), "no SONAME: %s", r.output);                        \
        run_shell(NULL, "nm -D --defined-only '" library "' | grep -c ' tdm_'", 30, &r);           \
        CHECK(atoi(r.output) >= 30, "only %s symbols were found: the test is blind", r.output);    \
    } while (0)
Test(layers, symbols) {
    CHECK_SYMBOLS(TEST_LIBRARY, "lib/include/tandem/*.h");
    CHECK_SYMBOLS(TEST_COMM_LIBRARY, "comm/include/tandem/*.h");
}
