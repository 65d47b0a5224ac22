/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The diagnostics: everything is looked for and queried. */
#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "base/findings.h"
#include "base/threads.h"
#include "devices/registry.h"
#include "machine/disk_cache.h"
#include "machine/monitor.h"
#include "platform/process.h"

static tdmi_once once = TDMI_ONCE_INIT;

static void diagnose_variable(const char *name, const char *text) {
    const tdmi_env *env;
    const bool refused = tdmi_env_get(&env) != TDM_OK;
    /* the message of a refused environment begins with the name of the first variable */
    const bool bad = refused && strncmp(tdm_last_error(), name, strlen(name)) == 0;
    static const char *const ignored[] = {
        [TDMI_ENV_CONFIGURED] = "ignored: the program has called tdm_configure",
        [TDMI_ENV_PRIVILEGED] = "ignored: this program has more rights than its caller",
        [TDMI_ENV_FOREIGN] = "ignored: not a variable of Tandem"};
    const tdmi_env_use use = tdmi_env_use_of(name);
    if (refused && !bad) text = "not checked, as another variable is refused";
    if (use != TDMI_ENV_USED) text = ignored[use];
    tdmi_diagnose(TDM_DIAGNOSTIC_VARIABLE, !bad, name, bad ? tdm_last_error() : text,
                  bad ? "correct or unset it" : "");
}

static void diagnose_selection(void) {
    size_t index, count;
    const tdmi_listed_device *devices;
    if (tdmi_registry_get(&devices, &count) != TDM_OK ||
        tdmi_registry_find(NULL, &index) != TDM_OK) {
        tdmi_diagnose(TDM_DIAGNOSTIC_SELECTION, false, "default device", tdm_last_error(),
                      "correct TANDEM_DEVICE or TANDEM_BACKEND, or install what is missing above");
        return;
    }
    char detail[160];
    snprintf(detail, sizeof detail, "%s, %s", devices[index].facts.info.id,
             tdmi_registry_why(&devices[index].facts.info));
    tdmi_diagnose(TDM_DIAGNOSTIC_SELECTION, true, "default device", detail, "");
}

static void diagnose_all(void) {
    tdmi_attempt_begin();
    tdmi_environment_visit("TANDEM_", diagnose_variable);
    tdmi_cache_diagnose();
    const tdmi_listed_device *devices;
    size_t count;
    if (tdmi_registry_get(&devices, &count) != TDM_OK)
        tdmi_diagnose(TDM_DIAGNOSTIC_DEVICE, false, "device list", tdm_last_error(), "");
    const tdmi_env *env = tdmi_env_values();
    for (size_t i = 0; i < env->backend_count; i++)
        tdmi_registry_backend(i)->diagnose();
    for (const tdmi_monitor *const *monitor = tdmi_monitors; *monitor; monitor++)
        (*monitor)->diagnose();
    diagnose_selection();
    (void)tdmi_attempt_end(TDM_OK); /* a missing part is no failure */
}

tdm_status tdm_get_diagnostic_count(size_t *count) {
    TDMI_UNCANCELLED();
    TDMI_NOT_FORKED();
    TDMI_NOT_NULL(__func__, count);
    tdmi_once_run(&once, diagnose_all);
    (void)tdmi_findings(count);
    return TDM_OK;
}

tdm_status tdm_get_diagnostic(size_t index, const tdm_diagnostic **item) {
    TDMI_UNCANCELLED();
    TDMI_NOT_FORKED();
    TDMI_RESULT(__func__, item);
    tdmi_once_run(&once, diagnose_all);
    size_t count;
    const tdm_diagnostic *items = tdmi_findings(&count);
    if (index >= count)
        return tdmi_fail(TDM_ERROR_OUT_OF_RANGE,
                         "tdm_get_diagnostic: index is %zu, but there are %zu items", index, count);
    *item = &items[index];
    return TDM_OK;
}
