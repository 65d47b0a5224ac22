/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* CLBlast itself, opened at run time. */
#include "clblast.h"
#include "system_names.h"

tdmi_clblast_functions tdmi_clblast;

#define SYMBOL(name) {#name, (void (**)(void)) & tdmi_clblast.name, false},
static const tdmi_symbol symbols[] = {TDMI_CLBLAST_FUNCTIONS(SYMBOL)};
enum { COUNT = sizeof symbols / sizeof *symbols };

static const char *const names[] = {TDMI_NAMES_CLBLAST, NULL};

static tdmi_library library = {
    .title = "CLBlast",
    .names = names,
    .advice = "install CLBlast (" TDMI_GET_CLBLAST ")",
};

static tdmi_mutex lock = TDMI_MUTEX_INIT;

void tdmi_clblast_enter(void) { tdmi_mutex_lock(&lock); }

void tdmi_clblast_leave(void) { tdmi_mutex_unlock(&lock); }

tdm_status tdmi_clblast_open(void) { return tdmi_library_open(&library, symbols, COUNT); }

const tdmi_library *tdmi_clblast_library(void) { return &library; }

void tdmi_clblast_diagnose(void) { tdmi_library_diagnose(&library, symbols, COUNT); }
