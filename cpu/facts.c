/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The processor, as the machine reports it. */
#include <stdio.h>
#include <string.h>

#include "cpu_backend.h"
#include "platform/machine.h"

tdm_status tdmi_cpu_info(size_t index, tdmi_device_facts *facts) {
    tdm_device_info *out = &facts->info;
    (void)index;
    tdmi_machine_processor(out->name, sizeof out->name, out->vendor, sizeof out->vendor);
    snprintf(out->api_version, sizeof out->api_version, "Tandem %s, %s kernels", tdm_version(),
             tdmi_cpu_isa());
    out->type = TDM_DEVICE_CPU;
    out->compute_units = tdmi_worker_count();
    tdmi_machine_memory(&out->memory_total, &out->memory_free);
    out->max_allocation = out->memory_total < PTRDIFF_MAX ? out->memory_total : PTRDIFF_MAX;
    out->max_group_size = 1;
    out->has_f64 = true;
    out->has_f16 = false;
    out->unified_memory = true;
    facts->host_memory = true;
    facts->streaming_stores = true;
    facts->synchronous = true;
    facts->row_loops = true;
    facts->min_lanes = facts->max_lanes = 1;
    /* A few pieces per core, so that a core that is held up does not hold up the rest. */
    facts->max_groups = (uint32_t)tdmi_worker_count() * 4;
    facts->min_group_bytes = TDMI_HOST_GROUP_BYTES;
    facts->cache_bytes = tdmi_machine_cache();
    facts->alignment = 4096;
    return TDM_OK;
}
