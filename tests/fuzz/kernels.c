/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the texts of a kernel over rows, or as the text, the file's name and the entry of a kernel in the
 * dialect, with parameters and arguments of which one may be wrong: all is refused in words, or made a kernel that
 * takes its arguments on cpu. Those over rows run; nothing in the dialect is compiled. Built with libFuzzer by
 * scripts/fuzz.sh; without it main makes texts of the language's own words, at random.
 *
 *     fuzz_kernels [TEXTS [SEED]] */

#include <tandem/tandem.h>

#include "texts.h"

enum { ROWS = 3, COLS = 7, TEXTS_OF_A_DEVICE = 2000, PARTS = 4, MOST = 8 };
enum {
    IS_SOURCE,
    COMBINE,
    DTYPES,
    TWIST = DTYPES + MOST,
    PLACE,
    HEAD
}; /* bytes before the texts */

/* Faults: of a parameter, then of an argument. */
enum twist {
    NAME_WILD,
    NAME_NULL,
    NAME_TWICE,
    NAME_OWN,
    KIND_WILD,
    DTYPE_WILD,
    ONE_LESS,
    SIZE_WILD,
    GIVEN_WILD,
    GIVEN_NULL,
    GIVEN_TWICE,
    NO_TENSOR,
    FOREIGN_TENSOR,
    FOREIGN_QUEUE,
    BROKEN_TENSOR,
    GIVEN_LESS,
    SAME_TENSOR
};

static const char *const names[] = {"x", "b", "z", "s", "k", "y"};
enum { X, B, Z, S, K, Y, NAMES };

/* Of each the one that the kernels are of, and another. */
static tdm_device *devices[2];
static tdm_queue *queues[2];
static int texts;
static long ran;

typedef struct input {
    const uint8_t *head;
    const char *parts[PARTS]; /* any name, then the texts; NULL: there is none */
    tdm_parameter parameters[MOST];
    tdm_argument arguments[MOST];
    tdm_tensor tensors[MOST];
    size_t count;
} input;

static void fail(const char *what, const input *in) {
    fprintf(stderr, "fuzz_kernels: %s: %s\n", what, tdm_last_error());
    for (int i = 0; in && i < PARTS; i++)
        fprintf(stderr, "%d: %s\n", i, in->parts[i] ? in->parts[i] : "(none)");
    abort();
}

/* A kernel's programs live as long as its device. */
static void open_devices(void) {
    static const char *const ids[] = {"cpu:0", "cpu:1"};
    if (devices[0] && texts++ < TEXTS_OF_A_DEVICE) return;
    if (!devices[0] && tdm_configure("TANDEM_CPU_DEVICES", "2") != TDM_OK) fail("no setting", NULL);
    texts = 0;
    for (int i = 0; i < 2; i++) {
        tdm_queue_destroy(queues[i]);
        tdm_device_release(devices[i]);
        if (tdm_device_open(ids[i], &devices[i]) != TDM_OK ||
            tdm_queue_create(devices[i], 0, &queues[i]) != TDM_OK)
            fail("cpu was not opened", NULL);
    }
}

static int twist_of(const input *in) { return in->head[TWIST] % 64; /* most inputs have none */ }

static bool is_named(const input *in, const char *name) {
    for (int i = 1; i < PARTS; i++)
        if (in->parts[i] && is_used(in->parts[i], name)) return true;
    return false;
}

/* Those that the texts name, and the output. */
static void find_parameters(input *in) {
    for (int i = 0; i < NAMES; i++) {
        if (i != Y && !is_named(in, names[i])) continue;
        const uint8_t byte = in->head[DTYPES + i];
        const bool is_output = i == Y && in->head[IS_SOURCE] % 2;
        in->parameters[in->count++] =
            (tdm_parameter){names[i],
                            i == S      ? TDM_PARAMETER_NUMBER
                            : i == K    ? TDM_PARAMETER_INTEGER
                            : is_output ? TDM_PARAMETER_OUTPUT
                                        : TDM_PARAMETER_TENSOR,
                            byte % 4 ? TDM_ANY_DTYPE : byte / 4 % TDM_DTYPE_COUNT};
    }
}

static void twist_parameter(input *in, tdm_row_kernel *rows) {
    static const char *const own[] = {"r", "n",      "index", "pi", "args",
                                      "T", "KERNEL", "",      "9",  "i32"};
    const uint8_t place = in->head[PLACE];
    tdm_parameter *parameter = &in->parameters[place % in->count];
    switch (twist_of(in)) {
    case NAME_WILD:
        parameter->name = in->parts[0];
        break;
    case NAME_NULL:
        parameter->name = NULL;
        break;
    case NAME_TWICE:
        parameter->name = in->parameters[place / 8 % in->count].name;
        break;
    case NAME_OWN:
        parameter->name = own[place / 8 % (sizeof own / sizeof *own)];
        break;
    case KIND_WILD:
        parameter->kind = (tdm_parameter_kind)(place / 8 % (TDM_PARAMETER_KIND_COUNT + 2));
        break;
    case DTYPE_WILD:
        parameter->dtype = place / 8 - 4;
        break;
    case ONE_LESS:
        in->count--;
        break;
    case SIZE_WILD:
        rows->size = place % sizeof *rows;
        break;
    default:
        break;
    }
}

static void make_arguments(input *in) {
    for (size_t i = 0; i < in->count; i++) {
        const tdm_parameter *parameter = &in->parameters[i];
        const uint8_t byte = in->head[DTYPES + i];
        const bool is_row = parameter->name && parameter->name[0] == 'b';
        const bool is_result = parameter->name == names[Y] && !in->parts[PARTS - 1];
        const int64_t shape[2] = {is_row ? 1 : ROWS, is_result ? 1 : COLS};
        in->arguments[i] = (tdm_argument){parameter->name, NULL, 0.75, -3};
        if (parameter->kind == TDM_PARAMETER_NUMBER || parameter->kind == TDM_PARAMETER_INTEGER)
            continue;
        const int dtype = parameter->dtype != TDM_ANY_DTYPE ? parameter->dtype
                          : in->head[IS_SOURCE] % 2         ? TDM_F32
                                                            : byte / 4 % TDM_DTYPE_COUNT;
        const bool foreign = twist_of(in) == FOREIGN_TENSOR && i == in->head[PLACE] % in->count;
        if (tdm_zeros(queues[foreign], (tdm_dtype)dtype, 2, shape, &in->tensors[i]) != TDM_OK)
            fail("no memory", in);
        in->arguments[i].tensor = &in->tensors[i];
    }
}

/* `broken` takes the place of a tensor. */
static void twist_argument(input *in, tdm_tensor *broken) {
    const uint8_t place = in->head[PLACE];
    tdm_argument *argument = &in->arguments[place % in->count];
    switch (twist_of(in)) {
    case GIVEN_WILD:
        argument->name = in->parts[0];
        break;
    case GIVEN_NULL:
        argument->name = NULL;
        break;
    case GIVEN_TWICE:
        argument->name = in->arguments[place / 8 % in->count].name;
        break;
    case NO_TENSOR:
        argument->tensor = NULL;
        break;
    case GIVEN_LESS:
        in->count--;
        break;
    case SAME_TENSOR:
        if (argument->tensor) argument->tensor = in->arguments[place / 8 % in->count].tensor;
        break;
    case BROKEN_TENSOR: {
        if (!argument->tensor) break;
        int64_t values[] = {-1, 0, 2, 8, INT64_MAX, INT64_MIN, INT64_MAX / 2, 1};
        const int64_t value = values[place / 8 % 8];
        *broken = *argument->tensor;
        const uint8_t which = in->head[COMBINE] / 4 % 7;
        if (which < 2) broken->shape[which] = value;
        if (which == 2 || which == 3) broken->strides[which - 2] = value;
        if (which == 4) broken->offset = value;
        if (which == 5) broken->ndim = (int)(value % 64);
        if (which == 6) broken->dtype = (tdm_dtype)(value % 64 + 32);
        argument->tensor = broken;
        break;
    }
    default:
        break;
    }
}

static void give(input *in, tdm_kernel *kernel) {
    const bool is_source = in->head[IS_SOURCE] % 2;
    const int twist = twist_of(in);
    const size_t made = in->count;
    tdm_tensor broken;
    bool is_cached;
    make_arguments(in);
    twist_argument(in, &broken);
    tdm_queue *queue = queues[twist == FOREIGN_QUEUE];
    const tdm_status status =
        is_source ? tdm_kernel_is_cached(queue, kernel, in->arguments, in->count, &is_cached)
                  : tdm_kernel_run(queue, kernel, in->arguments, in->count);
    const bool foreign = twist == FOREIGN_TENSOR && in->tensors[in->head[PLACE] % made].buffer;
    if (status != TDM_OK && !tdm_last_error()[0]) fail("refused without a word", in);
    if (status == TDM_OK &&
        (foreign || twist == FOREIGN_QUEUE || twist == GIVEN_LESS || twist == GIVEN_NULL))
        fail("a wrong argument was taken", in);
    if (tdm_queue_finish(queue) != TDM_OK) fail("it did not run", in);
    ran += status == TDM_OK;
    for (size_t i = 0; i < made; i++)
        tdm_tensor_release(&in->tensors[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static char text[LONGEST];
    static input in;
    if (size < HEAD || size - HEAD >= LONGEST) return 0;
    in = (input){.head = data};
    memcpy(text, data + HEAD, size - HEAD);
    text[size - HEAD] = 0;
    size_t at = 0;
    for (int i = 0; i < PARTS && at <= size - HEAD; i++) { /* a byte of 0 ends each */
        in.parts[i] = text + at;
        at += strlen(text + at) + 1;
    }
    open_devices();
    find_parameters(&in);
    tdm_kernel *kernel;
    tdm_row_kernel rows = TDM_ROW_KERNEL_DEFAULTS;
    rows.map = in.parts[1];
    rows.combine =
        (tdm_combine)(in.head[COMBINE] % 16 ? in.head[COMBINE] % 4 : in.head[COMBINE] / 16);
    rows.finish = in.parts[2] && in.parts[2][0] ? in.parts[2] : NULL;
    rows.apply = in.parts[3];
    twist_parameter(&in, &rows);
    const tdm_status status =
        in.head[IS_SOURCE] % 2
            ? tdm_kernel_source(devices[0], in.parts[3], in.parts[1], in.parts[2], in.parameters,
                                in.count, &kernel)
            : tdm_kernel_rows(devices[0], &rows, in.parameters, in.count, &kernel);
    if (status == TDM_OK && in.count > 0)
        give(&in, kernel);
    else if (kernel || !tdm_last_error()[0])
        fail("refused without a word, or with a kernel", &in);
    tdm_kernel_release(kernel);
    return 0;
}

#if !defined(TDM_LIBFUZZER)
static void add_texts_of_rows(void) {
    static const char *const finishes[] = {
        "", "", "r", "r / n", "sqrt(r / n)", "r * s", "t = r; t + k", "-r + "};
    static const char *const applies[] = {"x / r", "x - r", "exp(x - r)", "t = x * r; t / n",
                                          "r + "};
    add_value(1 + (int)random_below(4));
    written[length++] = 0;
    const char *finish = ADD_ONE_OF(finishes);
    if (strstr(finish, "+ ")) add("s");
    if (random_below(2)) return;
    written[length++] = 0;
    ADD_ONE_OF(applies);
    add(random_below(2) ? " + b" : " * x");
}

static void add_texts_of_source(void) {
    add("own.cl");
    written[length++] = 0;
    add(random_below(8) ? "own" : "other");
    written[length++] = 0;
    add("KERNEL(own)\n{\n    FOR_ROWS(row, ROWS)\n    {\n        STORE(ROW(y, row), 0, ");
    add_value(2);
    add(");\n    }\n}\n");
}

int main(int argc, char **argv) {
    const long count = begin_random(argc, argv, "kernels");
    for (long i = 0; i < count; i++) {
        static const char *const wild[] = {"x",  "y",     "a b",  "",
                                           "_1", "while", "\xff", "a_long_name_that_is_none"};
        static char bytes[LONGEST];
        for (int k = 0; k < HEAD; k++)
            bytes[k] = (char)random_below(256);
        length = 0;
        ADD_ONE_OF(wild);
        written[length++] = 0;
        if (bytes[IS_SOURCE] & 1)
            add_texts_of_source();
        else
            add_texts_of_rows();
        if (random_below(4) == 0) written[random_below((uint32_t)length)] = (char)random_below(256);
        memcpy(bytes + HEAD, written, length);
        LLVMFuzzerTestOneInput((const uint8_t *)bytes, HEAD + length);
    }
    for (int i = 0; i < 2; i++) {
        tdm_queue_destroy(queues[i]);
        tdm_device_release(devices[i]);
    }
    printf("%ld ran\n", ran);
    return ran > count / 20 ? 0 : 1; /* else the texts try the parser alone */
}
#endif
