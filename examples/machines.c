/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* One network over several processes: rank 0 reads the weights and the images, all ranks get them, each classifies
 * its part of the images on its own device, and the results come together on every rank.
 *
 *     mpicc -std=c11 machines.c $(pkg-config --cflags --libs tandem-mpi) -o machines
 *     mpirun -n 4 ./machines */
#include <stdio.h>
#include <stdlib.h>

#include <tandem/mpi.h>
#include <tandem/tandem.h>

enum { IMAGES = 360, PIXELS = 64, HIDDEN1 = 128, HIDDEN2 = 64, CLASSES = 10, WEIGHTS = 9 };
enum { RIGHT = 351 }; /* as many as float64 classifies rightly */

#ifndef DIGITS_DATA_DIR
#define DIGITS_DATA_DIR "digits"
#endif

static const struct {
    const char *name;
    int ndim;
    int64_t shape[2];
} weights[WEIGHTS] = {
    {"fc1.weight", 2, {HIDDEN1, PIXELS}},
    {"fc1.bias", 1, {HIDDEN1}},
    {"norm1.weight", 1, {HIDDEN1}},
    {"norm1.bias", 1, {HIDDEN1}},
    {"fc2.weight", 2, {HIDDEN2, HIDDEN1}},
    {"fc2.bias", 1, {HIDDEN2}},
    {"norm2.weight", 1, {HIDDEN2}},
    {"fc3.weight", 2, {CLASSES, HIDDEN2}},
    {"fc3.bias", 1, {CLASSES}},
};
enum { FC1_W, FC1_B, NORM1_W, NORM1_B, FC2_W, FC2_B, NORM2_W, FC3_W, FC3_B };

/* One rank's error ends its process; the others' calls then fail, and name it. */
static void check(tdm_status status) {
    if (status == TDM_OK) return;
    fprintf(stderr, "machines: %s\n", tdm_last_error());
    exit(1);
}

/* A tensor that rank 0 reads from a file and all ranks get. */
static tdm_tensor from_file(tdm_comm *comm, tdm_queue *queue, const tdm_state_dict *file,
                            const char *name, tdm_dtype dtype, int ndim, const int64_t *shape) {
    tdm_tensor own, tensor;
    check(tdm_empty(queue, dtype, ndim, shape, &tensor));
    if (file) {
        check(tdm_state_dict_get(file, name, &own));
        check(tdm_cast(queue, &own, &tensor));
    }
    check(tdm_comm_broadcast(comm, queue, 0, &tensor));
    return tensor;
}

/* y = activation(x · weightᵀ + bias) */
static tdm_tensor linear(tdm_queue *queue, const tdm_tensor *x, const tdm_tensor *weight,
                         const tdm_tensor *bias, tdm_activation activation) {
    tdm_tensor y;
    check(tdm_empty(queue, TDM_F32, TDM_SHAPE(x->shape[0], weight->shape[0]), &y));
    check(tdm_linear(queue, x, weight, bias, activation, &y));
    return y;
}

/* The digit that each image shows: [images], i64. */
static tdm_tensor classify(tdm_queue *queue, const tdm_tensor *w, const tdm_tensor *images) {
    tdm_tensor digits, hidden1 = linear(queue, images, &w[FC1_W], &w[FC1_B], TDM_ACTIVATION_GELU);
    check(tdm_layer_norm(queue, &hidden1, &w[NORM1_W], &w[NORM1_B], 1e-5, &hidden1));
    tdm_tensor hidden2 = linear(queue, &hidden1, &w[FC2_W], &w[FC2_B], TDM_ACTIVATION_RELU);
    check(tdm_rms_norm(queue, &hidden2, &w[NORM2_W], 1e-6, NULL, NULL, &hidden2));
    tdm_tensor logits = linear(queue, &hidden2, &w[FC3_W], &w[FC3_B], TDM_ACTIVATION_NONE);
    check(tdm_empty(queue, TDM_I64, TDM_SHAPE(images->shape[0]), &digits));
    check(tdm_argmax(queue, &logits, 1, &digits));
    tdm_tensor_release(&hidden1);
    tdm_tensor_release(&hidden2);
    tdm_tensor_release(&logits);
    return digits;
}

static int run(tdm_comm *comm, tdm_queue *queue) {
    const int rank = tdm_comm_get_rank(comm), size = tdm_comm_get_size(comm);
    tdm_state_dict *model = NULL, *test = NULL;
    if (rank == 0) {
        check(tdm_load(queue, DIGITS_DATA_DIR "/model.safetensors", NULL, &model));
        check(tdm_load(queue, DIGITS_DATA_DIR "/test.safetensors", NULL, &test));
    }
    tdm_tensor w[WEIGHTS], part;
    for (int i = 0; i < WEIGHTS; i++)
        w[i] = from_file(comm, queue, model, weights[i].name, TDM_F32, weights[i].ndim,
                         weights[i].shape);
    tdm_tensor images = from_file(comm, queue, test, "images", TDM_F32, TDM_SHAPE(IMAGES, PIXELS));
    tdm_tensor labels = from_file(comm, queue, test, "labels", TDM_I64, TDM_SHAPE(IMAGES));

    /* Each rank's part of the images: the first ones get one more where they cannot be shared evenly. */
    int64_t *parts = malloc((size_t)size * sizeof *parts), first = 0;
    if (!parts) return 1;
    for (int i = 0; i < size; i++) {
        parts[i] = IMAGES / size + (i < IMAGES % size);
        first += i < rank ? parts[i] : 0;
    }
    check(tdm_tensor_slice(&images, 0, first, parts[rank], 1, &part));
    tdm_tensor own = classify(queue, w, &part), all;
    check(tdm_empty(queue, TDM_I64, TDM_SHAPE(IMAGES), &all));
    check(tdm_comm_all_gather(comm, queue, &own, parts, &all));

    static int64_t shown[IMAGES], read[IMAGES];
    int right = 0;
    check(tdm_to_host(queue, &labels, shown));
    check(tdm_to_host(queue, &all, read));
    for (int i = 0; i < IMAGES; i++)
        right += shown[i] == read[i];
    if (rank == 0) printf("ranks: %d, images read rightly: %d of %d\n", size, right, IMAGES);

    /* The mean of what each rank classified, as a training step has it of gradients: the same bits on all ranks. */
    tdm_tensor mean;
    check(tdm_full(queue, (double)parts[rank], TDM_F32, TDM_SHAPE(1), &mean));
    check(tdm_comm_all_reduce(comm, queue, TDM_COMM_MEAN, &mean, &mean));
    float images_each;
    check(tdm_to_host(queue, &mean, &images_each));
    if (rank == 0) printf("images for each rank: %g\n", (double)images_each);
    printf("rank %d worked on %s\n", rank, tdm_device_get_info(tdm_comm_get_device(comm))->id);

    tdm_tensor *tensors[] = {&images, &labels, &own, &all, &mean};
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
        tdm_tensor_release(tensors[i]);
    for (int i = 0; i < WEIGHTS; i++)
        tdm_tensor_release(&w[i]);
    tdm_state_dict_destroy(model);
    tdm_state_dict_destroy(test);
    free(parts);
    return right == RIGHT ? 0 : 1;
}

int main(int argc, char **argv) {
    tdm_device *device;
    tdm_queue *queue;
    tdm_comm *comm;
    MPI_Init(&argc, &argv);
    check(tdm_device_open(NULL, &device)); /* TANDEM_DEVICE may be another for each rank */
    check(tdm_queue_create(device, 0, &queue));
    check(tdm_comm_from_mpi(MPI_COMM_WORLD, device, &comm));
    check(tdm_comm_set_timeout(comm, 60));
    const int wrong = run(comm, queue);
    tdm_comm_destroy(comm);
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    MPI_Finalize();
    return wrong;
}
