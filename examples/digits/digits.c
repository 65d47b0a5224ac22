/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A real network on real data: classifies handwritten digits on each device and compares the logits
 * with float64 ones. See README.md for the network and the files.
 *
 *     cc -std=c11 -D_POSIX_C_SOURCE=200809L digits.c $(pkg-config --cflags --libs tandem) -lm -o digits */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <tandem/tandem.h>

enum { PIXELS = 64, HIDDEN1 = 128, HIDDEN2 = 64, CLASSES = 10 };

/* The results of a right implementation on this data. */
enum { EXPECTED_IMAGES = 360, EXPECTED_RIGHT = 351 };
static const double max_logit_error = 1e-4;

#ifndef DIGITS_DATA_DIR
#define DIGITS_DATA_DIR "."
#endif

/* The images and what is known of them, in host memory. */
typedef struct data {
    const char *model; /* path of the weights */
    int64_t count;     /* images */
    float *images;     /* [count * PIXELS] */
    int64_t *labels;   /* [count] */
    double *logits;    /* [count * CLASSES], the float64 reference */
    int *predictions;  /* [count], of the reference */
} data;

/* The network on one device. */
typedef struct network {
    tdm_queue *queue;
    tdm_state_dict *model; /* owns the weights, whose shapes every operation checks */
    tdm_tensor norm1_weight, norm1_bias, norm2_weight;
    tdm_tensor images, hidden1, hidden2, logits;
} network;

/* How a device did. */
typedef struct result {
    int64_t right, same;
    double largest_error, images_per_second;
} result;

#define TRY(expression)                                                                            \
    do {                                                                                           \
        tdm_status try_status = (expression);                                                      \
        if (try_status != TDM_OK) return try_status;                                               \
    } while (0)

static double seconds_now(void) {
    struct timespec now;
    (void)timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int largest_index(int64_t count, const double *values) {
    int best = 0;
    for (int i = 1; i < count; i++)
        if (values[i] > values[best]) best = i;
    return best;
}

/* The tensor of that name, which must have this dtype and shape; -1 allows any extent. Says what is
 * wrong. */
static bool expect(const tdm_state_dict *dict, const char *path, const char *name, tdm_dtype dtype,
                   int ndim, const int64_t *shape, tdm_tensor *tensor) {
    if (tdm_state_dict_get(dict, name, tensor) != TDM_OK) {
        fprintf(stderr, "digits: %s: %s\n", path, tdm_last_error());
        return false;
    }
    bool fits = tensor->dtype == dtype && tensor->ndim == ndim;
    for (int i = 0; fits && i < ndim; i++)
        fits = shape[i] < 0 || tensor->shape[i] == shape[i];
    if (!fits) fprintf(stderr, "digits: %s: wrong dtype or shape of '%s'\n", path, name);
    return fits;
}

/* The elements of a tensor in host memory, which the caller frees. */
static void *download(tdm_queue *queue, const tdm_tensor *tensor) {
    size_t size = tdm_buffer_get_size(tensor->buffer);
    void *values = malloc(size);
    if (values && tdm_buffer_read(queue, tensor->buffer, 0, values, size) == TDM_OK) return values;
    fprintf(stderr, "digits: %s\n", values ? tdm_last_error() : "out of memory");
    free(values);
    return NULL;
}

static bool read_test(data *d, tdm_queue *queue, const tdm_state_dict *dict, const char *path) {
    tdm_tensor images, labels, logits;
    if (!expect(dict, path, "images", TDM_F32, 2, (int64_t[]){-1, PIXELS}, &images)) return false;
    const int64_t n = d->count = images.shape[0];
    if (n == 0) {
        fprintf(stderr, "digits: %s: there are no images\n", path);
        return false;
    }
    if (!expect(dict, path, "labels", TDM_I64, 1, &n, &labels) ||
        !expect(dict, path, "logits_f64", TDM_F64, 2, (int64_t[]){n, CLASSES}, &logits))
        return false;
    d->images = download(queue, &images);
    d->labels = download(queue, &labels);
    d->logits = download(queue, &logits);
    d->predictions = malloc((size_t)n * sizeof *d->predictions);
    if (!d->images || !d->labels || !d->logits || !d->predictions) return false;
    for (int64_t i = 0; i < n; i++)
        d->predictions[i] = largest_index(CLASSES, d->logits + i * CLASSES);
    return true;
}

/* By way of the default device: files are read onto devices. */
static bool load_test(data *d, const char *path) {
    tdm_device *device = NULL;
    tdm_queue *queue = NULL;
    tdm_state_dict *dict = NULL;
    tdm_status status = tdm_device_open(NULL, &device);
    if (status == TDM_OK) status = tdm_queue_create(device, 0, &queue);
    if (status == TDM_OK) status = tdm_load(queue, path, NULL, &dict);
    if (status != TDM_OK) fprintf(stderr, "digits: %s\n", tdm_last_error());
    bool good = status == TDM_OK && read_test(d, queue, dict, path);
    tdm_state_dict_destroy(dict);
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    return good;
}

static void unload(data *d) {
    free(d->images);
    free(d->labels);
    free(d->logits);
    free(d->predictions);
}

static tdm_status network_init(network *net, tdm_device *device, const data *d) {
    TRY(tdm_queue_create(device, 0, &net->queue));
    TRY(tdm_load(net->queue, d->model, NULL, &net->model));
    for (size_t i = 0; i < tdm_state_dict_get_count(net->model); i++) {
        const char *name;
        tdm_tensor weight;
        TRY(tdm_state_dict_get_item(net->model, i, &name, &weight));
        tdm_buffer_freeze(weight.buffer);
    }
    TRY(tdm_state_dict_get(net->model, "norm1.weight", &net->norm1_weight));
    TRY(tdm_state_dict_get(net->model, "norm1.bias", &net->norm1_bias));
    TRY(tdm_state_dict_get(net->model, "norm2.weight", &net->norm2_weight));
    TRY(tdm_empty(net->queue, TDM_F32, TDM_SHAPE(d->count, PIXELS), &net->images));
    TRY(tdm_empty(net->queue, TDM_F32, TDM_SHAPE(d->count, HIDDEN1), &net->hidden1));
    TRY(tdm_empty(net->queue, TDM_F32, TDM_SHAPE(d->count, HIDDEN2), &net->hidden2));
    return tdm_empty(net->queue, TDM_F32, TDM_SHAPE(d->count, CLASSES), &net->logits);
}

static void network_deinit(network *net) {
    tdm_tensor_release(&net->images);
    tdm_tensor_release(&net->hidden1);
    tdm_tensor_release(&net->hidden2);
    tdm_tensor_release(&net->logits);
    tdm_state_dict_destroy(net->model);
    tdm_queue_destroy(net->queue);
}

static tdm_status forward(network *net, const data *d, float *logits) {
    tdm_queue *queue = net->queue;
    TRY(tdm_buffer_write_async(queue, net->images.buffer, 0, d->images,
                               (size_t)d->count * PIXELS * sizeof *d->images));
    TRY(tdm_linear_apply(queue, net->model, "fc1.", &net->images, TDM_ACTIVATION_GELU,
                         &net->hidden1));
    TRY(tdm_layer_norm(queue, &net->hidden1, &net->norm1_weight, &net->norm1_bias, 1e-5,
                       &net->hidden1));
    TRY(tdm_linear_apply(queue, net->model, "fc2.", &net->hidden1, TDM_ACTIVATION_RELU,
                         &net->hidden2));
    TRY(tdm_rms_norm(queue, &net->hidden2, &net->norm2_weight, 1e-6, NULL, NULL, &net->hidden2));
    TRY(tdm_linear_apply(queue, net->model, "fc3.", &net->hidden2, TDM_ACTIVATION_NONE,
                         &net->logits));
    return tdm_to_host(queue, &net->logits, logits);
}

static void judge(const data *d, const float *logits, result *r) {
    *r = (result){0};
    for (int64_t i = 0; i < d->count; i++) {
        double row[CLASSES];
        for (int j = 0; j < CLASSES; j++) {
            row[j] = (double)logits[i * CLASSES + j];
            double error = fabs(row[j] - d->logits[i * CLASSES + j]);
            if (isnan(error)) error = INFINITY;
            if (error > r->largest_error) r->largest_error = error;
        }
        int predicted = largest_index(CLASSES, row);
        r->right += predicted == d->labels[i];
        r->same += predicted == d->predictions[i];
    }
}

static int compare_doubles(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

enum { MAX_PASSES = 101 };

/* The median of passes that take about 0.2 s in all; images in and logits out are included. */
static tdm_status measure(network *net, const data *d, float *logits, double *images_per_second) {
    double seconds[MAX_PASSES];
    int passes = 0;
    for (double end = seconds_now() + 0.2;
         passes < MAX_PASSES && (passes < 5 || seconds_now() < end); passes++) {
        double start = seconds_now();
        TRY(forward(net, d, logits));
        seconds[passes] = seconds_now() - start;
    }
    qsort(seconds, (size_t)passes, sizeof *seconds, compare_doubles);
    *images_per_second = (double)d->count / seconds[passes / 2];
    return TDM_OK;
}

static tdm_status run_on(tdm_device *device, const data *d, float *logits, result *r) {
    network net = {0};
    double images_per_second = 0.0;
    tdm_status status = network_init(&net, device, d);
    if (status == TDM_OK) status = forward(&net, d, logits);
    if (status == TDM_OK) status = measure(&net, d, logits, &images_per_second);
    if (status == TDM_OK) judge(d, logits, r);
    r->images_per_second = images_per_second;
    network_deinit(&net);
    return status;
}

static bool run_device(const char *name, const data *d) {
    float *logits = calloc((size_t)d->count * CLASSES, sizeof *logits);
    tdm_device *device = NULL;
    result r = {0};
    tdm_status status = logits ? tdm_device_open(name, &device) : TDM_ERROR_OUT_OF_MEMORY;
    if (status == TDM_OK) status = run_on(device, d, logits, &r);
    free(logits);
    if (status != TDM_OK) {
        fprintf(stderr, "digits: %s: %s\n", name, tdm_last_error());
        tdm_device_release(device);
        return false;
    }
    bool good = r.right == EXPECTED_RIGHT && d->count == EXPECTED_IMAGES && r.same == d->count &&
                r.largest_error <= max_logit_error;
    printf("%-10s %4lld of %lld right  %4lld as the reference  largest error %.1e  "
           "%9.0f images/s  %s\n",
           tdm_device_get_info(device)->id, (long long)r.right, (long long)d->count,
           (long long)r.same, r.largest_error, r.images_per_second, good ? "ok" : "WRONG");
    tdm_device_release(device);
    return good;
}

static bool run_listed(const data *d) {
    size_t count;
    if (tdm_get_device_count(&count) != TDM_OK) {
        fprintf(stderr, "digits: %s\n", tdm_last_error());
        return false;
    }
    bool good = true;
    for (size_t i = 0; i < count; i++) {
        const tdm_device_info *info;
        if (tdm_get_listed_device(i, &info) != TDM_OK || !run_device(info->id, d)) good = false;
    }
    return good;
}

static bool run_named(const data *d, char *names) {
    bool good = true;
    for (char *name = strtok(names, ","); name; name = strtok(NULL, ","))
        good = run_device(name, d) && good;
    return good;
}

static const char usage[] =
    "usage: digits [MODEL TEST] [--device NAME,...]\n"
    "\n"
    "Classifies the images of TEST with the network MODEL on each device (default: all that are\n"
    "listed) and compares with the float64 logits in TEST. Exit status: 0 all as expected, 1 not,\n"
    "2 wrong arguments.\n";

static const char *default_path(const char *name, char *path, size_t size) {
    snprintf(path, size, "%s", name);
    if (access(path, R_OK) != 0) snprintf(path, size, "%s/%s", DIGITS_DATA_DIR, name);
    return path;
}

int main(int argc, char **argv) {
    const char *files[2] = {NULL, NULL};
    char *devices = NULL;
    int file_count = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            fputs(usage, stdout);
            return 0;
        }
        if (strcmp(argv[i], "--device") == 0 && i + 1 < argc)
            devices = argv[++i];
        else if (strncmp(argv[i], "--device=", 9) == 0)
            devices = argv[i] + 9;
        else if (argv[i][0] != '-' && file_count < 2)
            files[file_count++] = argv[i];
        else {
            fprintf(stderr, "digits: unexpected argument '%s'\n%s", argv[i], usage);
            return 2;
        }
    }
    if (file_count == 1 || (devices && !*devices)) {
        fprintf(stderr, "digits: %s\n%s",
                file_count == 1 ? "MODEL and TEST go together" : "--device names no device", usage);
        return 2;
    }
    char paths[2][1024];
    if (file_count == 0) {
        files[0] = default_path("model.safetensors", paths[0], sizeof paths[0]);
        files[1] = default_path("test.safetensors", paths[1], sizeof paths[1]);
    }
    data d = {0};
    d.model = files[0];
    bool good = load_test(&d, files[1]) && (devices ? run_named(&d, devices) : run_listed(&d));
    unload(&d);
    return good ? 0 : 1;
}
