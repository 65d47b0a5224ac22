/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/** @file
 * User kernels, compiled for the device's backend: an expression, or a text in the kernel dialect.
 *
 *     const tdm_parameter parameters[] = {TDM_TENSOR("x"), TDM_TENSOR("b"), TDM_NUMBER("s"), TDM_TENSOR("y")};
 *     tdm_kernel *kernel;
 *     tdm_kernel_elementwise(device, "y = gelu(x) * s + where(x > 0, b, 0)", parameters, 4, &kernel);
 *     const tdm_argument arguments[] = {TDM_WITH_TENSOR("x", &x), TDM_WITH_TENSOR("b", &b),
 *                                       TDM_WITH_NUMBER("s", 0.5), TDM_WITH_TENSOR("y", &y)};
 *     tdm_kernel_run(queue, kernel, arguments, 4);
 *
 * tdm_kernel_source takes the text of a whole kernel. docs/expressions.md is the guide to expressions. In short:
 *
 * Statements, one a line or with `;` between them, give a value to a name: that of a tensor is an output, any
 * other is a variable of the expression. Each name is given a value once. `//` begins a comment.
 *
 * Operators are C's, with C's precedence: + - * / % - ~ ! << >> < <= > >= == != & ^ | && || ?:. Functions:
 * where(c, a, b), min, max, clamp(x, low, high), abs, sign, relu, square, floor_divide, remainder, sqrt, rsqrt,
 * reciprocal, hypot, exp, exp2, expm1, log, log2, log10, log1p, logaddexp, pow, sin, cos, tan, asin, acos, atan,
 * atan2, sinh, cosh, tanh, asinh, acosh, atanh, erf, erfc, floor, ceil, round (to nearest even), trunc, fma,
 * copysign, nextafter, gelu, gelu_tanh, silu, sigmoid, isnan, isinf, isfinite, signbit, and a conversion for each
 * type: bool(x), i32, u32, i64, u64, f32, f64. Names of numbers: pi, inf, nan, true, false; `index`, the
 * number of the element of the outputs, counted row-major, `column`, its place in the last dimension, and
 * `row`, index divided by the extent of that; all three i64.
 *
 * Values have a type. f16, bf16 and f32 are read as f32, f64 as f64, integers of up to 16 bits and i32 as
 * i32, u32, i64, u64 and bool as themselves. Of two types that meet: f64 goes before f32, a float before an
 * integer, the wider integer before the narrower one; i32 and u32 meet in i64, and u64 meets no signed
 * integer (TDM_ERROR_COMPILE). Numbers in the text, and the scalar parameters, take the type of what they
 * meet; one with a point that meets an integer makes it a float. That, and what functions make of
 * integers where they take floats, is f64 where the kernel has a tensor of f64, else f32. f64(0.1), f64(s) and
 * i64(1e15) keep the digits of an f64 all the same; a TDM_NUMBER that becomes an integer or a bool, as in i64(s), is
 * rounded to that type of float first, as not all devices have f64. Outputs are converted as tdm_cast does, once; what
 * an output's name means in a later statement is its value before that.
 *
 * Integers wrap; x / 0 and x % 0 are 0 for them; shifts take the low bits of their count. NaN propagates. Error: that
 * of each function is in functions.h; +, - and * of floats are rounded once, where a product that is added to something
 * may be rounded with the sum.
 *
 * Threads: a kernel may be used by any threads at once; each queue by one (queue.h). Reference counts from any
 * thread. */
#ifndef TANDEM_KERNEL_H
#define TANDEM_KERNEL_H

#include <stdbool.h>

#include <tandem/tensor.h>

#if defined(__cplusplus)
extern "C" {
#endif

/** A user kernel. Counted: tdm_kernel_retain and tdm_kernel_release. */
typedef struct tdm_kernel tdm_kernel;

/** The kind of a parameter. */
typedef enum tdm_parameter_kind {
    TDM_PARAMETER_TENSOR, /**< a tensor, which an expression reads, or gives a value, or both; which a kernel
                              of tdm_kernel_source only reads */
    TDM_PARAMETER_NUMBER,  /**< a double */
    TDM_PARAMETER_INTEGER, /**< an int64_t */
    TDM_PARAMETER_OUTPUT, /**< a tensor that a kernel of tdm_kernel_source writes; of no expression */
    TDM_PARAMETER_KIND_COUNT
} tdm_parameter_kind;

/** The dtype of a tensor parameter that may be any: that of its argument, in each call. */
#define TDM_ANY_DTYPE (-1)

#define TDM_KERNEL_MAX_TENSORS 12 /**< the most tensors of an expression; over rows 11 */
/** The most numbers and integers, counted once for each type that they are used as; `n` of a kernel over rows is one of
 * them. */
#define TDM_KERNEL_MAX_SCALARS 12

/** A parameter of a kernel. Its layout is frozen. */
typedef struct tdm_parameter {
    const char
        *name; /**< a letter or _, then letters, digits and _; no name of the language's own */
    tdm_parameter_kind kind; /**< tensor, number, integer or output */
    int dtype;               /**< of a tensor: a tdm_dtype or TDM_ANY_DTYPE; else ignored */
} tdm_parameter;

/** An argument of a call: the parameter of that name is the tensor, or the number, or the integer. Where the
 * member of the parameter's kind is 0 and that of the other scalar is not, the argument is refused. Its layout is
 * frozen. */
typedef struct tdm_argument {
    const char *name;         /**< of the parameter */
    const tdm_tensor *tensor; /**< for a tensor; else NULL */
    double number;            /**< for a number */
    int64_t integer;          /**< for an integer */
} tdm_argument;

/* clang-format off */
/** A tensor of any dtype: const tdm_parameter parameters[] = {TDM_TENSOR("x"), TDM_NUMBER("s")}; */
#define TDM_TENSOR(name) {name, TDM_PARAMETER_TENSOR, TDM_ANY_DTYPE}
/** A tensor of one dtype. */
#define TDM_TENSOR_OF(name, dtype) {name, TDM_PARAMETER_TENSOR, dtype}
/** A tensor of any dtype that a kernel of tdm_kernel_source writes. */
#define TDM_OUTPUT(name) {name, TDM_PARAMETER_OUTPUT, TDM_ANY_DTYPE}
/** The same of one dtype. */
#define TDM_OUTPUT_OF(name, dtype) {name, TDM_PARAMETER_OUTPUT, dtype}
/** A double. */
#define TDM_NUMBER(name) {name, TDM_PARAMETER_NUMBER, TDM_ANY_DTYPE}
/** An int64_t. */
#define TDM_INTEGER(name) {name, TDM_PARAMETER_INTEGER, TDM_ANY_DTYPE}
/** The argument of a tensor: const tdm_argument arguments[] = {TDM_WITH_TENSOR("x", &x)}; */
#define TDM_WITH_TENSOR(name, tensor) {name, tensor, 0.0, 0}
/** The argument of a number. */
#define TDM_WITH_NUMBER(name, number) {name, NULL, number, 0}
/** The argument of an integer. */
#define TDM_WITH_INTEGER(name, integer) {name, NULL, 0.0, integer}
/* clang-format on */

/** Makes a kernel of an expression, for tensors that are broadcast to each other with any strides. The text is
 * read at once: TDM_ERROR_COMPILE names the line and column of what is wrong, alike on every
 * device. For OpenCL and CUDA devices it is compiled when it first runs with tensors of those dtypes, and
 * kept on disk as every kernel is; on cpu by the C compiler of the machine, in a separate process, and
 * without one nothing is compiled. Text and parameters are copied. Every
 * parameter is used in the text; at most 64 KiB of text, which gives values to at most 64 names and has about 500
 * operations. Kernels of the same text and parameters on one device share what was compiled, which lives as long as the
 * device. Takes a reference to the device. *kernel is NULL on failure. */
TDM_API TDM_MUST_USE tdm_status tdm_kernel_elementwise(tdm_device *device, const char *text,
                                                       const tdm_parameter *parameters,
                                                       size_t parameter_count, tdm_kernel **kernel);

/** The operation that combines the elements of a row. */
typedef enum tdm_combine {
    TDM_SUM,
    TDM_PRODUCT,
    TDM_MAX, /**< NaN where an element is NaN */
    TDM_MIN, /**< as TDM_MAX */
    TDM_COMBINE_COUNT
} tdm_combine;

/** A kernel over rows, the last dimension of what is read: three texts and what combines. Each text is a value,
 * which statements that give values to variables may stand before. */
typedef struct tdm_row_kernel {
    size_t size;         /**< sizeof(tdm_row_kernel): see status.h */
    const char *map;     /**< of each element: "x * x" */
    tdm_combine combine; /**< the values of map over the row */
    const char
        *finish; /**< of each row: `r`, what combining gave, `n`, the row's length, and scalars;
                              NULL: "r" */
    const char
        *apply; /**< NULL: each row gives one element, that of finish. Else it gives a row, of
                              tensors, `n`, and `r`, which is what finish gave: "x / r" */
} tdm_row_kernel;

/* clang-format off */
/** tdm_row_kernel rms = TDM_ROW_KERNEL_DEFAULTS; rms.map = "x * x"; rms.finish = "sqrt(r / n)"; */
#define TDM_ROW_KERNEL_DEFAULTS { sizeof(tdm_row_kernel), NULL, TDM_SUM, NULL, NULL }
/** In C the same at once: tdm_row_kernel rms = TDM_ROW_KERNEL(.map = "x * x", .finish = "sqrt(r / n)"); */
#define TDM_ROW_KERNEL(...) { .size = sizeof(tdm_row_kernel), __VA_ARGS__ }
/* clang-format on */

/** The defaults for languages without C's macros: writes the first `size` bytes, which are the struct's size in
 * the caller's language. */
TDM_API void tdm_row_kernel_init(tdm_row_kernel *kernel, size_t size);

/** Makes a kernel that combines the elements of rows: the last dimension of the rows' shape is a row. One tensor is
 * named in no text: the output. Without apply the rows' shape is what all tensors that are read broadcast to, as in
 * NumPy, and the output has that less the last dimension, or with a last dimension of 1, and [1] where there is one row
 * of one dimension; with apply the rows' shape is the output's, and the other tensors are broadcast to it.
 *
 *     const tdm_parameter parameters[] = {TDM_TENSOR("x"), TDM_TENSOR("y")};
 *     const tdm_row_kernel rms = TDM_ROW_KERNEL(.map = "x * x", .combine = TDM_SUM, .finish = "sqrt(r / n)");
 *     tdm_kernel_rows(device, &rms, parameters, 2, &kernel);
 *
 * r has the type of map, for a bool i32; integers wrap. Sums of floats are taken in blocks that are added with
 * compensation, so that their error hardly grows with the row; a row's result has the same bits in every batch. Error,
 * of the values that map has computed: of a sum and a product as tdm_sum and tdm_prod; of the others none. Of
 * no elements the sum is 0, the product 1, the largest -Inf or the least integer, and the smallest Inf or the
 * largest. n is an integer that takes the type of what it meets. No parameter is named r or n. `index`, `row` and
 * `column` are counted in the rows' shape; finish has none of them. A row has fewer than 2^31 elements.
 *
 * All else is as of tdm_kernel_elementwise, but that there are 11 tensors at most, and messages name the text:
 * "map, line 1, column 3". */
TDM_API TDM_MUST_USE tdm_status tdm_kernel_rows(tdm_device *device, const tdm_row_kernel *texts,
                                                const tdm_parameter *parameters,
                                                size_t parameter_count, tdm_kernel **kernel);

/** The version of the kernel dialect, which a text can ask for by this name, too. It grows when something is added;
 * docs/stability.md says what is promised. */
#define TDM_DIALECT_VERSION 1

/** Makes a kernel of a text in the kernel dialect: docs/kernels.md is the guide. The text is one for all
 * backends, is compiled as OpenCL C, as CUDA C++ or, on cpu, as C, and has KERNEL(entry) before the block that is
 * the kernel:
 *
 *     KERNEL(scale)
 *     {
 *         FOR_PIECES(row, begin, end)
 *         {
 *             GLOBAL const T *const xr = ROW(x, row);
 *             GLOBAL T *const yr = ROW(y, row);
 *             FOR_LANES(j, begin, end)
 *             {
 *                 STORE(yr, j, LOAD(xr, j) * SCALAR(args.s));
 *             }
 *         }
 *     }
 *
 * `file` is what messages of compilers call the text, with its lines as they are. A parameter x that is a tensor is a
 * pointer x in the text; args.x.offset, .rows, .cols, .stride and .shape say how it lies. A number s is SCALAR(args.s),
 * an integer n is args.n. The tensors of TDM_ANY_DTYPE are all of one dtype in a call, f32, f64, f16 or bf16, which
 * is T; without such a tensor T is f64 where some tensor is, else f32. The first tensor among the parameters, read or
 * written, is the one whose rows are shared out: ROWS and COLS are its.
 *
 * Compiled when it first runs with that T, or by tdm_kernel_warm: outside every lock, and kept on disk. On cpu that
 * takes a C compiler, cc, gcc or clang in PATH, which is looked for once; without one tdm_kernel_run is
 * TDM_ERROR_UNSUPPORTED. A text that does not compile is TDM_ERROR_COMPILE, with the compiler's first errors, by file
 * and line, in tdm_last_error, and all of its words in tdm_last_compile_log. At least one parameter is an output. At
 * most 64 KiB of text, 10 tensors and 896 bytes of arguments: a tensor takes 80, a number 16, an integer
 * 8, and the launch 32. All texts are copied. Takes a reference to the device. *kernel is NULL on failure. */
TDM_API TDM_MUST_USE tdm_status tdm_kernel_source(tdm_device *device, const char *text,
                                                  const char *file, const char *entry,
                                                  const tdm_parameter *parameters,
                                                  size_t parameter_count, tdm_kernel **kernel);

/** Compiles what tdm_kernel_source would make of this text for a backend, where T is `dtype`, and runs nothing: for its
 * first device or, on TDM_CUDA without one, by NVRTC alone. TDM_ERROR_COMPILE as above; TDM_ERROR_UNAVAILABLE or
 * TDM_ERROR_NOT_FOUND where there is neither device nor compiler. */
TDM_API TDM_MUST_USE tdm_status tdm_kernel_check(tdm_backend backend, tdm_dtype dtype,
                                                 const char *text, const char *file,
                                                 const char *entry, const tdm_parameter *parameters,
                                                 size_t parameter_count);

/** All that the compiler said about the kernel that this thread last failed to compile, on any backend; "" when none
 * failed. Owned by the library, valid until the next such failure of the same thread, or its end. */
TDM_API const char *tdm_last_compile_log(void);

/** Runs the kernel: an argument for each parameter, in any order. All is checked before anything is launched: names,
 * kinds and dtypes, one device, shapes, outputs that are writable and whose elements are distinct. f64 is refused on
 * devices without it (TDM_ERROR_UNSUPPORTED). May be recorded (graph.h).
 *
 * Of an expression: outputs are of one shape, to which what is only read is broadcast as in NumPy (of a kernel over
 * rows, tdm_kernel_rows says which), and overlap nothing but, as exactly the same view, what is read; of a kernel over
 * rows without apply they overlap nothing (TDM_ERROR_OVERLAP). An empty output is a no-op that succeeds.
 *
 * Of tdm_kernel_source: tensors have any shapes, and rows that lie along memory with one stride from each to the
 * next (TDM_ERROR_UNSUPPORTED). Outputs overlap nothing; a kernel may read what it writes. Nothing is launched where
 * all outputs are empty. */
TDM_API TDM_MUST_USE tdm_status tdm_kernel_run(tdm_queue *queue, tdm_kernel *kernel,
                                               const tdm_argument *arguments,
                                               size_t argument_count);

/** Compiles what tdm_kernel_run with these arguments would run, unless that is done already, and runs nothing. Same
 * checks. Other threads may use the device and the kernel meanwhile: a thread waits only where it needs the same
 * program. */
TDM_API TDM_MUST_USE tdm_status tdm_kernel_warm(tdm_queue *queue, tdm_kernel *kernel,
                                                const tdm_argument *arguments,
                                                size_t argument_count);

/** Would tdm_kernel_run with these arguments start without a compiler? True where the kernel was compiled in this
 * process or is kept on disk, and for expressions on cpu where there is no C compiler. Same checks; *is_cached is
 * false on failure. */
TDM_API TDM_MUST_USE tdm_status tdm_kernel_is_cached(tdm_queue *queue, tdm_kernel *kernel,
                                                     const tdm_argument *arguments,
                                                     size_t argument_count, bool *is_cached);

/** One more reference; returns its argument. NULL is allowed. */
TDM_API tdm_kernel *tdm_kernel_retain(tdm_kernel *kernel);

/** One reference less. Work that was queued goes on. NULL is allowed. */
TDM_API void tdm_kernel_release(tdm_kernel *kernel);

#if defined(__cplusplus)
}
#endif
#endif
