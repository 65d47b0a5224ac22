/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A user kernel, from an expression: the prices of European options after Black and Scholes (1973), calls and
 * puts in one pass over memory, on whatever device there is.
 *
 *     cc -std=c11 black_scholes.c $(pkg-config --cflags --libs tandem) -lm -o black_scholes */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <tandem/tandem.h>

enum { COUNT = 1 << 20 };

static const double rate = 0.02, volatility = 0.3;

/* Φ(x), the normal distribution, is erfc(-x / √2) / 2. */
static const char text[] =
    "root = volatility * sqrt(years)\n"
    "d1 = (log(price / strike) + (rate + volatility * volatility / 2) * years) / root\n"
    "d2 = d1 - root\n"
    "today = strike * exp(-rate * years)  // the strike's present value\n"
    "half = 0.70710678118654752\n"
    "call = (price * erfc(-d1 * half) - today * erfc(-d2 * half)) / 2\n"
    "put = (today * erfc(d2 * half) - price * erfc(d1 * half)) / 2";

static void check(tdm_status status) {
    if (status == TDM_OK) return;
    fprintf(stderr, "black_scholes: %s\n", tdm_last_error());
    exit(1);
}

/* The same in the C library's double precision. */
static double exact_call(double price, double strike, double years) {
    const double root = volatility * sqrt(years);
    const double d1 = (log(price / strike) + (rate + volatility * volatility / 2) * years) / root;
    const double today = strike * exp(-rate * years);
    return (price * erfc(-d1 / sqrt(2)) - today * erfc(-(d1 - root) / sqrt(2))) / 2;
}

/* The largest difference, in parts of the price. */
static double largest_error(tdm_queue *queue, const tdm_tensor tensors[5]) {
    float *host[5];
    double worst = 0;
    for (int i = 0; i < 5; i++) {
        host[i] = malloc(COUNT * sizeof *host[i]);
        if (!host[i]) exit(1);
        check(tdm_to_host(queue, &tensors[i], host[i]));
    }
    for (int i = 0; i < COUNT; i++) {
        const double price = host[0][i], strike = host[1][i], years = host[2][i];
        const double call = exact_call(price, strike, years);
        /* a call less a put is worth what the stock is, less the strike */
        const double put = call - price + strike * exp(-rate * years);
        const double error = fmax(fabs(host[3][i] - call), fabs(host[4][i] - put)) / price;
        if (!(error <= worst)) worst = error; /* NaN, too */
    }
    for (int i = 0; i < 5; i++)
        free(host[i]);
    return worst;
}

int main(void) {
    static const char *const names[] = {"price", "strike", "years", "call", "put"};
    tdm_device *device;
    tdm_queue *queue;
    tdm_kernel *kernel;
    tdm_tensor tensors[5];
    tdm_generator generator = {.seed = 42};
    check(tdm_device_open(NULL, &device));
    check(tdm_queue_create(device, 0, &queue));
    for (int i = 0; i < 5; i++)
        check(tdm_zeros(queue, TDM_F32, TDM_SHAPE(COUNT), &tensors[i]));
    check(tdm_fill_uniform(queue, &generator, 10, 100, &tensors[0]));
    check(tdm_fill_uniform(queue, &generator, 10, 100, &tensors[1]));
    check(tdm_fill_uniform(queue, &generator, 0.1, 5, &tensors[2]));

    const tdm_parameter parameters[] = {
        TDM_TENSOR("price"),      TDM_TENSOR("strike"), TDM_TENSOR("years"), TDM_NUMBER("rate"),
        TDM_NUMBER("volatility"), TDM_TENSOR("call"),   TDM_TENSOR("put")};
    check(tdm_kernel_elementwise(device, text, parameters, 7, &kernel));
    const tdm_argument arguments[] = {
        TDM_WITH_TENSOR(names[0], &tensors[0]),   TDM_WITH_TENSOR(names[1], &tensors[1]),
        TDM_WITH_TENSOR(names[2], &tensors[2]),   TDM_WITH_TENSOR(names[3], &tensors[3]),
        TDM_WITH_TENSOR(names[4], &tensors[4]),   TDM_WITH_NUMBER("rate", rate),
        TDM_WITH_NUMBER("volatility", volatility)};
    check(tdm_kernel_run(queue, kernel, arguments, 7));
    const double error = largest_error(queue, tensors);
    printf("%d options on %s: right within %.0e of the price: %s\n", COUNT,
           tdm_device_get_info(device)->id, 2e-6, error < 2e-6 ? "yes" : "no");

    /* Errors in a text are reported before anything runs, in the same way on every device. */
    tdm_kernel *wrong;
    if (tdm_kernel_elementwise(device, "call = pirce - strike", parameters, 7, &wrong) != TDM_OK)
        printf("%s\n", tdm_last_error());

    tdm_kernel_release(kernel);
    for (int i = 0; i < 5; i++)
        tdm_tensor_release(&tensors[i]);
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    return error < 2e-6 ? 0 : 1;
}
