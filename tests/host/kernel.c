/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* `tdm kernel check`, and the C compiler of kernels on cpu: where there is none, and the files that
 * are kept. */
#ifdef TEST_PROGRAM
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "shell.h"

#define CHECK_KERNEL TEST_PROGRAM " kernel check $D/scale.cl"
#define CHECK_PIPE TEST_PROGRAM " kernel check $D/pipe.cl --entry scale"
#define PARAMETERS " --tensor x --output y --number s"

static void start(void) {
    shell_changes[MORE] = "TANDEM_BACKEND=cpu";
    shell_start("kernel");
    shell("printf 'KERNEL(scale)\\n{\\n    FOR_ROWS(row, ROWS)\\n"
          "        STORE(ROW(y, row), 0, SCALAR(args.s) * LOAD(ROW(x, row), 0));\\n}\\n' "
          ">$D/scale.cl");
}

TestSuite(kernel, .init = start, .fini = shell_stop);

Test(kernel, check) {
    gives(CHECK_KERNEL PARAMETERS " --dtype f32,bf16", 0,
          "cpu     f32  compiles|cpu     bf16 compiles");
    gives(CHECK_KERNEL PARAMETERS " --entry scale", 0, "cpu     f32  compiles");
    gives(CHECK_KERNEL " --tensor x:f64 --output y:f64 --number s", 0, "cpu     f32  compiles");
    gives("OCLGRIND_LOG=$D/mine " CHECK_KERNEL PARAMETERS, 0, "cpu     f32  compiles");
    gives("mkfifo $D/pipe.cl; cat $D/scale.cl >$D/pipe.cl & timeout 20 " CHECK_PIPE PARAMETERS, 0,
          "cpu     f32  compiles");
    gives("sed -i s/args.s/args.z/ $D/scale.cl; " CHECK_KERNEL PARAMETERS, 1,
          "does not compile:|scale.cl:4:|'z'");
}

Test(kernel, refused) {
    gives(CHECK_KERNEL PARAMETERS " --entry other", 1, "is refused|no KERNEL(other)");
    gives(CHECK_KERNEL " --tensor x", 1, "is refused|none of the parameters is an output");
    gives(CHECK_KERNEL " --tensor x:f31", 2, "'f31' is not a dtype");
    gives(CHECK_KERNEL PARAMETERS " --dtype i32", 2, "unknown word 'i32'");
    gives(CHECK_KERNEL, 2, "in the order of KERNEL's, such as --tensor x --output y --number s");
    gives(TEST_PROGRAM " kernel check", 2, "wants one FILE");
    gives(TEST_PROGRAM " kernel", 2, "usage");
    gives(TEST_PROGRAM " kernel chek", 2, "did you mean 'check'");
    gives(TEST_PROGRAM " kernel check $D/none.cl" PARAMETERS, 1, "none.cl: No such file");
}

#if TEST_HAS_OCLGRIND
/* Sums of rows, by a kernel that is edited with sed first. */
static void sums(const char *edit, const char *options, int status, const char *words) {
    static const char text[] =
        "KERNEL(sums)\\n{\\n    GROUP_ARRAY(ACC, scratch);\\n    FOR_ROWS(row, ROWS)\\n    {\\n"
        "        ACC sum = 0;\\n        FOR_LANES(j, 0, COLS)\\n            sum += LOAD(ROW(x, "
        "row), j);\\n"
        "        sum = GROUP_SUM(scratch, sum);\\n"
        "        if (LANE == 0) STORE(ROW(y, 0), row, sum);\\n    }\\n}\\n";
    gives(formatted("printf '%s' >$D/sums.cl; sed -i '%s' $D/sums.cl; TMPDIR=$D " TEST_PROGRAM
                    " kernel check $D/sums.cl --tensor x --output y::6 --run 6x300 %s",
                    text, edit, options),
          status, words);
}

Test(kernel, on_oclgrind) {
    sums("", "--dtype f32,f16", 0, "cpu     f32  compiles|oclgrind f32 runs|oclgrind f16 runs");
    sums("s/0, COLS/0, COLS + 1/", "", 1, "oclgrind f32 is wrong:|Invalid read of size 4");
    sums("s/row, sum/row + 1, sum/", "", 1, "oclgrind f32 is wrong:|Invalid write of size 4");
    sums("s/if (LANE == 0) //; s/row, sum/row, sum + LANE/", "", 1,
         "data race|line 10 (column|sums.cl");
    sums("s/LANE ==/LAME ==/", "", 1, "does not compile");
    CHECK(!contains_words(r.output, "oclgrind"), "what does not compile ran: %s", r.output);
    sums("", "--integer n=2 --number s=0.5", 0, "oclgrind f32 runs");
    gives("find $D -name '*oclgrind*' | wc -l", 0, "0");
}
#endif

Test(kernel, values_for_a_run) {
    gives(CHECK_KERNEL PARAMETERS " --run 64x", 2, "--run: '64x' is not a shape");
    gives(CHECK_KERNEL PARAMETERS " --run x64", 2, "is not a shape");
    gives(CHECK_KERNEL " --tensor x:f32: --run 4", 2, "x:f32:: '' is not a shape");
    gives(CHECK_KERNEL " --tensor x::4x-1 --run 4", 2, "'4x-1' is not a shape");
    gives(CHECK_KERNEL " --number s=", 2, "s=: '' is not a number");
    gives(CHECK_KERNEL " --integer n=1.5", 2, "n=1.5: '1.5' is not an integer");
    gives(CHECK_KERNEL " --integer n=1e300", 2, "is not an integer");
}

/* No compiler in PATH, whose relative entries do not count. */
Test(kernel, no_compiler) {
    gives("mkdir $D/bin; cp $D/scale.cl $D/bin/cc; chmod +x $D/bin/cc; cd $D; "
          "PATH=bin::$D/none " CHECK_KERNEL PARAMETERS,
          1, "cpu     f32  not checked|a C compiler|install gcc or clang");
}

/* Compiled kernels are kept, under the compiler's identity: another one compiles again. */
Test(kernel, kept) {
    static const char compiler[] =
        "mkdir -p $D/bin; printf '#!/bin/sh\\necho run >>$D/runs\\nexec /usr/bin/cc \"$@\"\\n' "
        ">$D/bin/cc; chmod +x $D/bin/cc; ";
    gives(
        formatted(
            "%sfor i in 1 2 3; do PATH=$D/bin:$PATH %s >/dev/null || exit 1; done; wc -l <$D/runs",
            compiler, CHECK_KERNEL PARAMETERS),
        0, "1");
    gives(formatted("echo '# newer' >>$D/bin/cc; PATH=$D/bin:$PATH %s >/dev/null; wc -l <$D/runs",
                    CHECK_KERNEL PARAMETERS),
          0, "2");
    gives("ls $D/cache", 0, ".bin");
    CHECK(!contains_words(r.output, "tandem-"), "a folder of the compiler's was left: %s",
          r.output);
}
#endif
