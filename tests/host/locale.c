/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Programs that set a locale whose numbers have a comma: the library writes a point. */
#ifdef TEST_LOCALES
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "command.h"

TestSuite(locale, .init = random_start);

/* Tensors as text and messages are the same as elsewhere; the program keeps its locale. */
Test(locale, texts_of_the_library) {
    static char plain[sizeof r.output];
    const char *argv[] = {TEST_PROBE, "text", "cpu", NULL};
    const char *here[] = {ICD_NONE, CACHE, "LC_ALL=C", NULL};
    run_program(here, argv, 60, &r);
    CHECK(r.exit_status == 0 &&
              contains_words(r.output, "0.5|1.5000|-1234.2500|1.0000e+10|TDM_OK|epsilon is -1.5"),
          "%s", r.output);
    size_t own = strlen("0.5\n"), length = strlen(r.output);
    CHECK(length > 2 * own, "%s", r.output);
    snprintf(plain, sizeof plain, "%.*s", (int)(length - 2 * own), r.output + own);

    const char *german[] = {ICD_NONE, CACHE, "LOCPATH=" TEST_LOCALES, "LC_ALL=de_DE.UTF-8", NULL};
    run_program(german, argv, 60, &r);
    CHECK(strncmp(r.output, "0,5\n", own) == 0, "not a German program: %s", r.output);
    CHECK(r.exit_status == 0 && strncmp(r.output + own, plain, strlen(plain)) == 0,
          "'%s' is not '%s'", r.output + own, plain);
    CHECK(strcmp(r.output + own + strlen(plain), "0,5\n") == 0, "%s", r.output);
}
#endif
