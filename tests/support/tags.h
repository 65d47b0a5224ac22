/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Tags on tests, by which an entry of tests/CMakeLists.txt runs a part of the suite:
 *
 *   TestSuite(pool, .init = device_open, .fini = device_close, TAGS("device driver"));
 *   Test(row_kernels, lengths, TAGS("lanes"))
 *
 * With TDM_TEST_TAGS="device rows !texts" a test runs whose tags, with those of its suite, have `device` or `rows` and
 * not `texts`; with "!texts" every test that has not that one. --filter narrows the choice. The tags are in tags.c. */
#ifndef TEST_TAGS_H
#define TEST_TAGS_H

#include <stdbool.h>

#define TAGS(tags) .description = (tags)

/* Whether TDM_TEST_TAGS chooses a test; either may be NULL. Ends the program at a tag that is not in the list. */
bool tags_choose(const char *of_suite, const char *of_test);

#endif
