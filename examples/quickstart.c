/* The README's example: y = gelu(a · b + bias) on the default device. */
#include <stdio.h>

#include <tandem/tandem.h>

#define CHECK(call)                                                                                \
    if ((call) != TDM_OK) return fprintf(stderr, "%s\n", tdm_last_error()), 1

int main(void) {
    const float a[2][3] = {{1, 2, 3}, {4, 5, 6}}, b[3][2] = {{1, 0}, {0, 1}, {1, 1}};
    const float bias[2] = {-4, -5};
    float y[2][2];
    tdm_device *device;
    tdm_queue *queue;
    tdm_buffer *buffer[4];
    CHECK(tdm_device_open(NULL, &device)); /* or "cpu", "opencl:0", "cuda:0" */
    CHECK(tdm_queue_create(device, 0, &queue));
    const size_t size[4] = {sizeof a, sizeof b, sizeof bias, sizeof y};
    for (int i = 0; i < 4; i++)
        CHECK(tdm_buffer_create(device, size[i], &buffer[i]));
    CHECK(tdm_buffer_write(queue, buffer[0], 0, a, sizeof a));
    CHECK(tdm_buffer_write(queue, buffer[1], 0, b, sizeof b));
    CHECK(tdm_buffer_write(queue, buffer[2], 0, bias, sizeof bias));
    const tdm_tensor ta = tdm_tensor_2d(buffer[0], TDM_F32, 2, 3);
    const tdm_tensor tb = tdm_tensor_2d(buffer[1], TDM_F32, 3, 2);
    const tdm_tensor tbias = tdm_tensor_1d(buffer[2], TDM_F32, 2);
    const tdm_tensor ty = tdm_tensor_2d(buffer[3], TDM_F32, 2, 2);
    tdm_matmul_options options = TDM_MATMUL_DEFAULTS;
    options.bias = &tbias;
    options.activation = TDM_ACTIVATION_GELU;
    CHECK(tdm_matmul(queue, &options, &ta, &tb, &ty));
    CHECK(tdm_buffer_read(queue, buffer[3], 0, y, sizeof y));
    printf("%s: %.4f %.4f / %.4f %.4f\n", tdm_device_get_info(device)->name, (double)y[0][0],
           (double)y[0][1], (double)y[1][0], (double)y[1][1]);
    for (int i = 0; i < 4; i++)
        tdm_buffer_release(buffer[i]);
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    return 0;
}
