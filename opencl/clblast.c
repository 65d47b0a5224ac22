/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* CLBlast itself, opened at run time. */
#include "clblast.h"

tdmi_clblast_functions tdmi_clblast;

#define SYMBOL(name) {#name, (void (**)(void)) & tdmi_clblast.name, false},
static const tdmi_symbol symbols[] = {TDMI_CLBLAST_FUNCTIONS(SYMBOL)};
enum { COUNT = sizeof symbols / sizeof *symbols };

static const char *const names[] = {"libclblast.so.1", NULL};

static tdmi_library library = {
    .title = "CLBlast",
    .names = names,
    .advice = "install CLBlast (Debian, Ubuntu: libclblast1)",
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void tdmi_clblast_enter(void) { pthread_mutex_lock(&lock); }

void tdmi_clblast_leave(void) { pthread_mutex_unlock(&lock); }

tdm_status tdmi_clblast_open(void) { return tdmi_library_open(&library, symbols, COUNT); }

const tdmi_library *tdmi_clblast_library(void) { return &library; }

void tdmi_clblast_diagnose(void) { tdmi_library_diagnose(&library, symbols, COUNT); }
