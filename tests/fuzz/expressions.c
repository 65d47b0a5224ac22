/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the text of an expression: they are refused with the place of the error, or made a kernel that runs on
 * cpu. Built with libFuzzer by scripts/fuzz.sh; without it main makes texts of the language's own words, at random.
 *
 *     fuzz_expressions [TEXTS [SEED]] */

#include <tandem/tandem.h>

#include "texts.h"

enum { ROWS = 3, COLS = 7, TENSORS = 4, SCALARS = 2, TEXTS_OF_A_DEVICE = 2000 };

static const char *const names[TENSORS + SCALARS] = {"x", "b", "y", "z", "s", "k"};

static tdm_device *device;
static tdm_queue *queue;
static int texts;
static long ran;

static void fail(const char *what, const char *text) {
    fprintf(stderr, "fuzz_expressions: %s: %s\nof the text:\n%s\n", what, tdm_last_error(), text);
    abort();
}

static bool is_placed(tdm_status status) {
    return status == TDM_ERROR_COMPILE && strstr(tdm_last_error(), ": line ") &&
           strstr(tdm_last_error(), ", column ");
}

/* A kernel's programs live as long as its device. */
static void open_device(void) {
    if (device && texts++ < TEXTS_OF_A_DEVICE) return;
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    texts = 0;
    if (tdm_device_open("cpu", &device) != TDM_OK || tdm_queue_create(device, 0, &queue) != TDM_OK)
        fail("cpu was not opened", "");
}

/* x is a matrix, b one row, the others may be either, by a bit of the input; of a dtype that a byte says. */
static tdm_tensor tensor_of(int number, uint8_t byte, int dtype) {
    const bool is_row = number == 1 || (number > 0 && byte & 0x40);
    const int64_t shape[2] = {is_row ? 1 : ROWS, COLS};
    tdm_tensor tensor;
    if (tdm_zeros(queue, (tdm_dtype)dtype, 2, shape, &tensor) != TDM_OK)
        fail("no memory", names[number]);
    return tensor;
}

static void run(tdm_kernel *kernel, const uint8_t bytes[TENSORS], const tdm_parameter *parameters,
                size_t count, const char *text) {
    tdm_argument arguments[TENSORS + SCALARS] = {{0}};
    tdm_tensor tensors[TENSORS];
    int made = 0;
    for (size_t i = 0; i < count; i++) {
        arguments[i] = (tdm_argument){parameters[i].name, NULL, 0.75, -3};
        if (parameters[i].kind != TDM_PARAMETER_TENSOR) continue;
        int number = 0;
        while (names[number] != parameters[i].name)
            number++;
        const int dtype = parameters[i].dtype == TDM_ANY_DTYPE
                              ? bytes[number] / 14 % TDM_DTYPE_COUNT
                              : parameters[i].dtype;
        tensors[made] = tensor_of(number, bytes[number], dtype);
        arguments[i].tensor = &tensors[made++];
    }
    const tdm_status status = tdm_kernel_run(queue, kernel, arguments, count);
    if (status != TDM_OK && status != TDM_ERROR_INVALID_SHAPE && !is_placed(status))
        fail("refused without a place", text);
    if (tdm_queue_finish(queue) != TDM_OK) fail("it did not run", text);
    ran += status == TDM_OK;
    while (made > 0)
        tdm_tensor_release(&tensors[--made]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t bytes[TENSORS] = {0};
    static char text[LONGEST];
    tdm_parameter parameters[TENSORS + SCALARS];
    size_t count = 0;
    if (size < TENSORS || size - TENSORS >= LONGEST) return 0;
    memcpy(bytes, data, TENSORS);
    memcpy(text, data + TENSORS, size - TENSORS);
    text[size - TENSORS] = 0;
    open_device();
    for (int i = 0; i < TENSORS + SCALARS; i++) {
        if (!is_used(text, names[i])) continue;
        parameters[count].name = names[i];
        parameters[count].kind = i < TENSORS    ? TDM_PARAMETER_TENSOR
                                 : i == TENSORS ? TDM_PARAMETER_NUMBER
                                                : TDM_PARAMETER_INTEGER;
        const int dtype = i < TENSORS ? bytes[i] % (TDM_DTYPE_COUNT + 1) : TDM_DTYPE_COUNT;
        parameters[count++].dtype = dtype == TDM_DTYPE_COUNT ? TDM_ANY_DTYPE : dtype;
    }
    tdm_kernel *kernel;
    const tdm_status status = tdm_kernel_elementwise(device, text, parameters, count, &kernel);
    if (status == TDM_OK)
        run(kernel, bytes, parameters, count, text);
    else if (kernel ||
             (!is_placed(status) && (count > 0 || !strstr(tdm_last_error(), "no parameters"))))
        fail("refused without a place, or with a kernel", text);
    tdm_kernel_release(kernel);
    return 0;
}

#if !defined(TDM_LIBFUZZER)
/* A few statements, right but for types mostly, in half of which something is then changed. */
static void make_text(void) {
    static const char *const targets[] = {"y", "z", "t", "x"};
    static const char *const others[] = {"(", ")",  ",", "=", ";", "\n", "//", "\xff", ".", "y",
                                         "?", "::", "0", "e", "_", "+",  "1e", "0x",   "$", " "};
    length = 0;
    for (uint32_t i = 1 + random_below(3); i > 0; i--) {
        ADD_ONE_OF(targets);
        add(" = ");
        add_value(1 + (int)random_below(6));
        add(random_below(2) ? "; " : "\n");
    }
    if (random_below(2)) return;
    for (uint32_t i = random_below(4); i > 0; i--) {
        const char *other = others[random_below(sizeof others / sizeof *others)];
        written[random_below((uint32_t)length)] = other[0];
    }
}

int main(int argc, char **argv) {
    const long count = begin_random(argc, argv, "expressions");
    for (long i = 0; i < count; i++) {
        if (random_below(5) == 0) {
            const size_t size = change_line();
            LLVMFuzzerTestOneInput((const uint8_t *)written, size);
            continue;
        }
        static char input[LONGEST];
        for (int k = 0; k < TENSORS; k++)
            input[k] = (char)random_below(256);
        make_text();
        memcpy(input + TENSORS, written, length);
        LLVMFuzzerTestOneInput((const uint8_t *)input, TENSORS + length);
    }
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    printf("%ld ran\n", ran);
    return ran > count / 100 ? 0 : 1; /* else the texts try the parser alone */
}
#endif
