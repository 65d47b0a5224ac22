/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_HTML_H
#define BENCH_HTML_H

#include <stdio.h>

/* Writes text for HTML, between tags or in an attribute. */
void bench_html_text(FILE *page, const char *text);

#endif
