/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* An operation as data: its operands, its call, its reference with a bound of the error, its refusals, and the bytes
 * that it reads. Each has a page here; code that tests, counts or times operations goes through the list of them
 * (list.h): tests/suite/operations*.c, tests/calls, tests/traffic, bench/cases. */
#ifndef OPERATIONS_OPERATION_H
#define OPERATIONS_OPERATION_H

#include <stdbool.h>
#include <stdint.h>

#include <tandem/tandem.h>

enum { OP_OPERANDS = 8 };

/* An operand's shape, by that of the case: [.., rows, cols]. */
typedef enum op_extent {
    OP_ALL,      /* the same */
    OP_COLS,     /* [cols] */
    OP_ROWS,     /* without the last extent; [1] where none is left */
    OP_CHANNELS, /* [the second extent] */
    OP_ONE       /* [1] */
} op_extent;

/* An operand's dtype, by that of the case. */
typedef enum op_dtype {
    OP_SAME,
    OP_WIDE, /* the same; f32 where that is f16 or bf16 */
    OP_BOOL,
    OP_PLACE, /* an index: i32 */
    OP_GIVEN  /* the operation's variant */
} op_dtype;

enum { OP_IN = 1, OP_OUT = 2, OP_OPTIONAL = 4 };

typedef struct op_operand {
    const char *name; /* as messages name it; NULL: there is no such operand */
    int role;         /* OP_IN, OP_OUT or both, perhaps OP_OPTIONAL: NULL is allowed */
    op_extent extent;
    op_dtype dtype;
    double low, high; /* usual values of an input */
    bool whole;       /* these are whole numbers */
    unsigned over;    /* of an output: the inputs that it may be, a bit each */
    unsigned needs;   /* the operands without which it is refused */
} op_operand;

#define OP_BIT(operand) (1u << (operand))

/* The layouts that tensors may have. */
typedef enum op_layout {
    OP_ANY_STRIDES, /* inputs may repeat elements, too */
    OP_ADJACENT,    /* rows of adjacent elements, one common stride from row to row */
    OP_CONTIGUOUS
} op_layout;

/* How much of the inputs a part of a result depends on. */
typedef enum op_unit {
    OP_BY_ELEMENT, /* on the elements of the same place, or column, alone */
    OP_BY_ROW,
    OP_BY_COLUMN,
    OP_WHOLE
} op_unit;

/* Unusual values of inputs that the operation handles as well as any; see tests/support/contents.h. */
enum {
    OP_SQUARES = 1,  /* elements whose squares overflow or vanish */
    OP_MEANS = 2,    /* elements far from 0 and close to each other */
    OP_EXPONENTS = 4 /* elements hundreds apart, and -Inf */
};

typedef struct operation operation;

/* One call of an operation. */
typedef struct op_case {
    const operation *op;
    tdm_dtype dtype;
    int ndim;
    int64_t shape[TDM_MAX_DIMS];
    unsigned given; /* the operands that are not NULL, a bit each */
    double number;
} op_case;

/* Part of a case, dense and row-major, for the reference: rows of `cols` elements, from row `row` of the case;
 * for an operation by element perhaps part of a row. */
typedef struct op_part {
    const op_case *c;
    int64_t row, rows, col, cols; /* col: where part of a row begins */
    const double *x[OP_OPERANDS]; /* inputs as the dtype has them; NULL: not given */
    double *y[OP_OPERANDS];       /* outputs; NULL: not wanted */
    double *bound[OP_OPERANDS];   /* how far each may be off; all 0 at first */
    double *scratch;              /* of `cols` numbers */
} op_part;

struct operation {
    const char *name;     /* as the benchmark has it: "bias_add+gelu" */
    const char *function; /* "tdm_bias_add" */
    int variant;          /* the page's own */
    op_operand operand[OP_OPERANDS];
    unsigned seldom; /* optional operands that usual calls leave out */
    struct {
        const char *name; /* NULL: none */
        double usual;
        bool may_be_negative;
    } number; /* epsilon, alpha */
    op_layout layout;
    op_unit unit;
    int contents;
    bool in_tensor_type;   /* refuses operands of several dtypes, and all that are no floats */
    bool of_nothing_fails; /* an extent of 0 that is reduced is refused */
    bool makes_kernel;     /* the first call makes a kernel of an expression */
    bool takes_f64;        /* on devices without f64 arithmetic, too */
    bool of_matrices;      /* a row's result depends on which row of its matrix it is */
    bool depends_on_batch; /* a row's bits may differ with the rows around it */
    bool is_cold;          /* tdm_device_warm does not compile its kernel */
    /* Of rows: times that inputs of the case's shape are read where a group cannot hold them, which it reads once where
     * it can; numbers that a lane keeps of a chunk; elements read once more for each. 0 reads: not counted, but of
     * operations by element; -1: nor of these. */
    struct {
        int reads, kept, again;
    } long_rows;
    int cost; /* of the reference, per element; 0: 1 */
    tdm_status (*call)(const op_case *c, tdm_queue *queue, tdm_tensor *const *t);
    void (*reference)(const op_part *p);
};

/* The shape of an operand; its number of dimensions. */
int op_shape(const op_case *c, int operand, int64_t *shape);
tdm_dtype op_dtype_of(const op_case *c, int operand);

/* The product of all extents but the last, and the last. */
int64_t op_rows(const op_case *c);
int64_t op_cols(const op_case *c);

/* All operands; those that are needed; and those of a usual call. */
unsigned op_all(const operation *op);
unsigned op_required(const operation *op);
unsigned op_usual(const operation *op);

/* Whether these operands, a bit each, make a call that is not refused. */
bool op_allows(const operation *op, unsigned given);

/* The reference for dense rows, without a residual: inputs and one output by operand. */
void op_refer(const operation *op, tdm_dtype dtype, int64_t rows, int64_t cols, double number,
              const double *const *x, int output, double *y, double *bound);

/* Row r of x + residual, rounded to the dtype, in the scratch, and in the output `sum` where that is wanted; or of x
 * where there is no residual. */
const double *op_sum_row(const op_part *p, int64_t r, int x, int residual, int sum);

#endif
