/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* CLBlast itself, opened at run time. */
#include "clblast.h"

tdmi_clblast_functions tdmi_clblast;

enum {
#define INDEX(name) INDEX_##name,
    TDMI_CLBLAST_FUNCTIONS(INDEX)
#undef INDEX
        COUNT
};

static void (*addresses[COUNT])(void);

static const tdmi_symbol symbols[COUNT] = {
#define SYMBOL(name) {#name, &addresses[INDEX_##name], false},
    TDMI_CLBLAST_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

static const char *const names[] = {"libclblast.so.1", NULL};

static tdmi_library library = {
    .title = "CLBlast",
    .names = names,
    .advice = "install CLBlast (Debian, Ubuntu: libclblast1)",
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void tdmi_clblast_enter(void) { pthread_mutex_lock(&lock); }

void tdmi_clblast_leave(void) { pthread_mutex_unlock(&lock); }

tdm_status tdmi_clblast_open(void) {
    tdmi_clblast_enter();
    tdm_status status = tdmi_library_open(&library, symbols, COUNT);
    if (status == TDM_OK) {
#define ASSIGN(name) tdmi_clblast.name = (__typeof__(tdmi_clblast.name))addresses[INDEX_##name];
        TDMI_CLBLAST_FUNCTIONS(ASSIGN)
#undef ASSIGN
    }
    tdmi_clblast_leave();
    return status;
}

const tdmi_library *tdmi_clblast_library(void) { return &library; }

void tdmi_clblast_diagnose(void) { tdmi_library_diagnose(&library, symbols, COUNT); }
