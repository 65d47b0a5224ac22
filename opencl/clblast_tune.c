/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* CLBlast's parameters for a device: those in use, and the search for better ones. */
#include <math.h>
#include <string.h>

#include "clblast.h"

/* By dtype. */
const char *const tdmi_clblast_setting_names[] = {"CLBlast f32", "CLBlast f64", NULL};
enum { DTYPES = 2 };

/* CLBlast keeps parameters by device for as long as the process lives, and so does this. */
typedef struct in_use {
    cl_device_id id;
    bool configured[DTYPES];
    tdmi_clblast_settings settings[DTYPES];
    bool refused[DTYPES]; /* parameters that are in force give wrong results, or none */
    bool searching;
    uint64_t searcher;
    struct in_use *next;
} in_use;

/* The lock guards the list and what it holds, except the settings of a device during its search. */
static in_use *devices;
static tdmi_mutex lock = TDMI_MUTEX_INIT;

static in_use *look_up(const tdmi_bdevice *device) {
    in_use *found = devices;
    while (found && found->id != device->entry->id)
        found = found->next;
    return found;
}

static in_use *find(const tdmi_bdevice *device) {
    in_use *found = look_up(device);
    if (found) return found;
    found = tdmi_calloc(1, sizeof *found);
    if (!found) return NULL;
    found->id = device->entry->id;
    found->next = devices;
    devices = found;
    return found;
}

bool tdmi_clblast_usable(const tdmi_bdevice *device, tdm_dtype dtype) {
    TDMI_LOCKED(&lock);
    const in_use *found = look_up(device);
    const bool usable = !found || (!found->refused[dtype == TDM_F64] &&
                                   (!found->searching || found->searcher == tdmi_thread_id()));
    return usable;
}

bool tdmi_clblast_refuse(const tdmi_bdevice *device, tdm_dtype dtype) {
    TDMI_LOCKED(&lock);
    in_use *found = find(device);
    if (!found || found->searching || found->refused[dtype == TDM_F64]) return false;
    found->refused[dtype == TDM_F64] = true;
    return true;
}

static tdm_dtype dtype_of(int index) { return index ? TDM_F64 : TDM_F32; }

static tdmi_clblast_limits limits_of(const tdmi_bdevice *device, int index) {
    const tdmi_cl_entry *entry = device->entry;
    return (tdmi_clblast_limits){.group = entry->facts.info.max_group_size,
                                 .local_memory = (size_t)entry->local_memory,
                                 .element = tdm_dtype_size(dtype_of(index)),
                                 .cpu = tdmi_cl_is_cpu(device)};
}

/* Has the kernels of a dtype made with these from now on; false when CLBlast refuses them. */
static bool set(const tdmi_bdevice *device, int index, const tdmi_clblast_parameters *parameters) {
    tdmi_clblast_parameters p = *parameters;
    tdmi_clblast_enter();
    const CLBlastStatusCode code = tdmi_clblast.CLBlastOverrideParameters(
        device->entry->id, p.kernel, index ? CLBlastPrecisionDouble : CLBlastPrecisionSingle,
        p.count, p.names, p.values);
    tdmi_clblast_leave();
    return code == CLBlastSuccess;
}

static bool use_choice(const tdmi_bdevice *device, int index, tdmi_clblast_kernel kernel,
                       const int *choice) {
    const tdmi_clblast_parameters parameters = tdmi_clblast_parameters_of(kernel, choice);
    return set(device, index, &parameters);
}

static bool use_threshold(const tdmi_bdevice *device, int index, size_t size) {
    const tdmi_clblast_parameters parameters = tdmi_clblast_threshold(size);
    return set(device, index, &parameters);
}

static void use(tdmi_bdevice *device, int index, const tdmi_clblast_settings *settings) {
    for (int kernel = 0; kernel < TDMI_CLBLAST_KERNELS; kernel++)
        if (settings->found[kernel])
            (void)use_choice(device, index, (tdmi_clblast_kernel)kernel, settings->choice[kernel]);
    if (settings->direct_wins || settings->indirect_wins)
        (void)use_threshold(device, index, tdmi_clblast_size_of(settings));
}

/* CLBlast's own parameters may be of its second kind (GEMMK=1), with tiles of two widths: before 1.6.3 it then computes
 * a part of C and writes beyond it (CLBlast 533, 542). It reports no version, so these devices' are not used: NVIDIA's
 * from Turing to Ada in f64, Turing in f32, Intel's and Apple's GPUs in f32, and Intel's CPUs. */
static bool may_be_wrong(const tdmi_bdevice *device, int index) {
    enum { TURING = 75, LAST_OF_TURING = 79, ADA = 89 };
    const tdm_device_info *info = &device->entry->facts.info;
    const bool intel = strncmp(info->vendor, "Intel", 5) == 0;
    if (tdmi_cl_is_cpu(device)) return intel;
    if (index == 0 && (intel || strncmp(info->vendor, "Apple", 5) == 0)) return true;
    return info->compute_capability >= TURING &&
           info->compute_capability <= (index == 0 ? LAST_OF_TURING : ADA);
}

static bool use_usual(const tdmi_bdevice *device, int index, const tdmi_clblast_limits *limits) {
    const int *usual = tdmi_clblast_usual(limits->cpu);
    return tdmi_clblast_fits(limits, TDMI_CLBLAST_INDIRECT, usual) &&
           use_choice(device, index, TDMI_CLBLAST_INDIRECT, usual);
}

void tdmi_clblast_configure(tdmi_bdevice *device, const char *name, const char *text) {
    const int index = strcmp(name, tdmi_clblast_setting_names[1]) == 0;
    const tdmi_clblast_limits limits = limits_of(device, index);
    tdmi_clblast_settings settings;
    TDMI_LOCKED(&lock);
    in_use *found = find(device);
    if (found && !found->configured[index]) {
        found->configured[index] = true;
        if (text && tdmi_clblast_read(text, &limits, &settings)) {
            use(device, index, &settings);
            found->settings[index] = settings;
        }
        if (!found->settings[index].found[TDMI_CLBLAST_INDIRECT] && may_be_wrong(device, index))
            found->refused[index] = !use_usual(device, index, &limits);
    }
}

/* --- the search --------------------------------------------------------------------------------- */

typedef struct attempt {
    tdmi_bdevice *device;
    int index;
    const tdmi_trial *trial;
    tdmi_clblast_settings *settings;
    double before; /* seconds with the parameters that the kernel had; below 0 when it was wrong */
    double best;   /* with those that were tried */
    int choice[TDMI_CLBLAST_CHOICES];
} attempt;

static double time_choice(void *context, tdmi_clblast_kernel kernel, const int *choice) {
    const attempt *a = context;
    if (!use_choice(a->device, a->index, kernel, choice)) return -1.0;
    return a->trial->seconds(a->trial->context);
}

static bool is_time_up(void *context) {
    const attempt *a = context;
    return a->trial->time_is_up(a->trial->context);
}

static void keep(const attempt *a) {
    char text[TDMI_CLBLAST_TEXT];
    tdmi_clblast_write(a->settings, text);
    a->trial->keep(a->trial->context, tdmi_clblast_setting_names[a->index], text);
}

static void remember(void *context, tdmi_clblast_kernel kernel, const int *choice, double seconds) {
    attempt *a = context;
    a->best = seconds;
    memcpy(a->choice, choice, sizeof a->choice);
    if (a->before >= 0.0) {
        /* kept settings are faster at a second look, too */
        const double again = seconds < a->before ? a->trial->seconds(a->trial->context) : -1.0;
        if (again < 0.0 || again >= a->before) return;
    }
    a->settings->found[kernel] = true;
    memcpy(a->settings->choice[kernel], choice, sizeof a->settings->choice[kernel]);
    keep(a);
}

/* How long the product takes with one of the kernels, as it is. */
static double time_kernel(const attempt *a, tdmi_clblast_kernel kernel) {
    const size_t always = 0, never = 1 << 20;
    if (!use_threshold(a->device, a->index, kernel == TDMI_CLBLAST_DIRECT ? never : always))
        return -1.0;
    return a->trial->seconds(a->trial->context);
}

/* Looks for better parameters of the kernel; how long the product takes with the best, those that it had
 * included, below 0 when no result is right with any that were tried. CLBlast does not tell which it had, so the
 * best of what was tried stays in force until the process ends, also where that is slower. */
static double improve(attempt *a, tdmi_clblast_kernel kernel) {
    const tdmi_clblast_search way = {time_choice, is_time_up, remember, a,
                                     limits_of(a->device, a->index)};
    const int *first = a->settings->found[kernel] ? a->settings->choice[kernel] : NULL;
    a->before = time_kernel(a, kernel);
    const double again = a->before < 0.0 ? -1.0 : a->trial->seconds(a->trial->context);
    if (again >= 0.0 && again < a->before) a->before = again;
    if (is_time_up(a)) return a->before;
    a->best = -1.0;
    a->settings->searched[kernel] = tdmi_clblast_find(&way, kernel, first);
    if (a->best < 0.0 || !use_choice(a->device, a->index, kernel, a->choice)) return -1.0;
    if (a->settings->searched[kernel]) keep(a);
    return a->before >= 0.0 && a->before < a->best ? a->before : a->best;
}

/* Which kernel was the faster one for a product of this size, where that is no matter of noise. */
static void note(const attempt *a, int size, double direct, double indirect) {
    enum { LEAST = 48 };
    tdmi_clblast_settings *s = a->settings;
    const bool known = size <= s->direct_wins || (s->indirect_wins && size >= s->indirect_wins);
    const double larger = direct > indirect ? direct : indirect, apart = fabs(direct - indirect);
    if (direct < 0.0 || indirect < 0.0 || known || size < LEAST || apart < 0.1 * larger) return;
    if (direct < indirect)
        s->direct_wins = size;
    else
        s->indirect_wins = size;
    keep(a);
}

/* Keeps again what was kept before. */
static void give_up(const attempt *a, const tdmi_clblast_settings *before) {
    *a->settings = *before;
    keep(a);
    use(a->device, a->index, before);
}

/* False when parameters are in force that give wrong results or none. Settings that are right alone need not be
 * together: with Oclgrind 21.10 the local memory of one kernel counts for the other, too. */
static bool search(attempt *a, const tdmi_gemm *gemm) {
    enum { LARGE = 400 };
    const int size = (int)cbrt((double)gemm->m * (double)gemm->n * (double)gemm->k);
    const tdmi_clblast_kernel kernel = size < LARGE ? TDMI_CLBLAST_DIRECT : TDMI_CLBLAST_INDIRECT;
    const tdmi_clblast_settings *s = a->settings, before = *s;
    const bool between = size > s->direct_wins && (!s->indirect_wins || size < s->indirect_wins);
    if ((s->searched[kernel] && !between) || is_time_up(a)) return true;
    double seconds[TDMI_CLBLAST_KERNELS];
    const tdmi_clblast_kernel other = (tdmi_clblast_kernel)!kernel;
    seconds[other] = time_kernel(a, other);
    seconds[kernel] = s->searched[kernel] ? time_kernel(a, kernel) : improve(a, kernel);
    note(a, size, seconds[TDMI_CLBLAST_DIRECT], seconds[TDMI_CLBLAST_INDIRECT]);
    (void)use_threshold(a->device, a->index, tdmi_clblast_size_of(s));
    const bool right = seconds[kernel] >= 0.0 && a->trial->seconds(a->trial->context) >= 0.0;
    if (!right) give_up(a, &before);
    return right;
}

void tdmi_clblast_tune(tdmi_bdevice *device, const tdmi_gemm *gemm, const tdmi_trial *trial) {
    const int index = gemm->dtype == TDM_F64;
    if (gemm->batch > 1) return; /* these have other kernels, with the same parameters */
    tdmi_mutex_lock(&lock);
    in_use *found = find(device);
    const bool mine = found && !found->searching && !found->refused[index];
    if (mine) {
        found->configured[index] = true;
        found->searching = true;
        found->searcher = tdmi_thread_id();
    }
    tdmi_mutex_unlock(&lock);
    if (!mine) return;
    attempt a = {
        .device = device, .index = index, .trial = trial, .settings = &found->settings[index]};
    const bool right = search(&a, gemm);
    tdmi_mutex_lock(&lock);
    if (!right) found->refused[index] = true;
    found->searching = false;
    tdmi_mutex_unlock(&lock);
}
