/* SPDX-License-Identifier: Apache-2.0 */
/* Op definitions: inputs, attributes, and the function that infers types and shapes of the results.
 *
 * A definition knows no device and runs nothing. Definitions follow TensorFlow's ops of the highest
 * version. Owner: constant data. Threads: thread-safe. */
#ifndef GANTRY_OP_OP_DEF_H
#define GANTRY_OP_OP_DEF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gantry/backend_abi.h>
#include <gantry/op.h>
#include <gantry/types.h>

#include "base/failure.h"

/* Limits that let a call live on the stack. Each tensor of a list (inputs of AddN and Concat,
 * outputs of Split) counts. */
#define GANTRY__MAX_INPUTS GANTRY_MAX_OP_INPUTS
#define GANTRY__MAX_OUTPUTS GANTRY_MAX_OP_OUTPUTS
#define GANTRY__MAX_ATTRS 12

/* Element type of an input or output that is no type attribute's: a fixed one. */
#define GANTRY__TYPE_FIXED(dtype) ((int8_t)(-(int)(dtype)))
/* A list whose tensors may each have another type: infer must check the inputs and set the
 * outputs. */
#define GANTRY__TYPE_EACH INT8_MIN

enum {
    GANTRY__ARG_HOST = 1 << 0, /* small, and needed on the host: shapes, axes, seeds */
    /* An input that takes all remaining tensors of the call, at most one per op; or an op's only
     * output, with as many tensors as its counting attribute says. */
    GANTRY__ARG_LIST = 1 << 1,
    /* an input that may be left out, like all inputs after it; not in an op with a list */
    GANTRY__ARG_OPTIONAL = 1 << 2
};

/* Rows hold their names, because each pointer in a table costs 24 bytes of relocations, and time
 * when the library is loaded. */
typedef struct gantry__op_arg_t {
    char name[20];
    int8_t type; /* the place of a type attribute, GANTRY__TYPE_FIXED or GANTRY__TYPE_EACH */
    uint8_t flags;
} gantry__op_arg_t;

/* The default of INTS is the empty list. */
typedef struct gantry__op_attr_t {
    char name[26];
    bool required; /* no default; a type attribute that inputs determine is not required */
    /* INT: the number of tensors of the op's list output. INTS: as many tensors as numbers */
    bool counts_outputs;
    int8_t kind; /* GANTRY_ATTR_... of backend_abi.h */
    int16_t i;   /* default of BOOL, INT, TYPE */
    union {
        uint64_t dtype_mask; /* TYPE: the accepted types */
        double f;            /* default of FLOAT */
        const char *s;       /* default of STRING */
    };
} gantry__op_attr_t;

typedef struct gantry__op_def_t gantry__op_def_t;

/* One call under inference. Inputs are flat: a list input's tensors take its place. The caller owns
 * the arrays, which must have room for all inputs, and for all outputs that the op may have. */
typedef struct gantry__infer_t {
    const gantry__op_def_t *op;
    uint32_t input_count;
    uint32_t output_count; /* output tensors of the op; set before infer runs */
    const gantry_shape_t **shapes;
    gantry_dtype_t *dtypes;
    /* in definition order, complete: types resolved, defaults filled */
    gantry_attr_t attrs[GANTRY__MAX_ATTRS];
    uint32_t given; /* bit i: the caller gave attribute i */
    /* The elements of a GANTRY__ARG_HOST input, packed; NULL, with the last message set, if they
     * cannot be read. */
    const void *(*host_value)(void *caller, uint32_t input);
    void *caller;
    gantry_shape_t *out_shapes;
    gantry_dtype_t *out_dtypes; /* filled from the definition before infer runs */
    /* The position of the first element of output 0 in input 0, if output 0 is a contiguous part of
     * input 0; -1 before infer runs, and for all other ops. */
    int64_t piece_first;
    /* The value of output 0, 0 or 1, if output 0 is one bool whatever the inputs hold; -1 before
     * infer runs, and for all other ops. */
    int32_t known_bool;
    /* A bit for each input whose elements are not all known in a trace. 0 elsewhere, where no shape
     * has an open size. */
    uint64_t symbolic;
    /* Reads one element of such an input of int32 or int64, by its position; false: it is not
     * known. NULL: none is known. It is used only if symbolic is not 0. */
    bool (*known_number)(void *caller, uint32_t input, int64_t position, int64_t *out);
    /* in a trace: an input has an open size, or infer requested numbers that are not known */
    bool is_open;
} gantry__infer_t;

typedef gantry_status_t (*gantry__infer_fn)(gantry__infer_t *call);

enum {
    /* the result is input 0's memory with another shape, or (Bitcast) type: no kernel is needed */
    GANTRY__OP_ALIAS = 1 << 0,
    GANTRY__OP_SEQUENCED = 1 << 1, /* not run by the eager path (Const): only listed */
    GANTRY__OP_VARIABLE = 1 << 2,  /* touches a variable */
    /* infer may leave dimensions of results at -1: the kernel makes these results when it knows
     * them */
    GANTRY__OP_DATA_SHAPE = 1 << 3,
    /* has no kernels: a function of src/compose runs other ops (composed.def) */
    GANTRY__OP_COMPOSED = 1 << 4,
    /* composed; its function reads host inputs: with symbolic ones, a function that is traced
     * records the op itself, not its parts */
    GANTRY__OP_READS_HOST = 1 << 5,
    /* composed; placed like an op with a kernel on every device, computed by the core, and its
     * results stay in host memory (Shape) */
    GANTRY__OP_ON_HOST = 1 << 6,
    /* a part that composed ops run only where it has a kernel; elsewhere other parts of theirs do
     * the same */
    GANTRY__OP_OPTIONAL = 1 << 7
};

struct gantry__op_def_t {
    char name[40];
    uint16_t flags;
    uint16_t id;         /* position in the table */
    uint8_t input_count; /* of definitions in inputs */
    uint8_t output_count;
    uint8_t attr_count;
    const gantry__op_arg_t *inputs; /* and then outputs: gantry__op_outputs */
    const gantry__op_attr_t *attrs; /* type attributes first */
    gantry__infer_fn infer;
};

static inline const gantry__op_arg_t *gantry__op_outputs(const gantry__op_def_t *op) {
    return op->inputs + op->input_count;
}

/* Every op has a constant: GANTRY__OP_ID_Add for "Add". The build sorts the names of all rows
 * (cmake/gantry_op_list.cmake), so ids follow the alphabet. Names that begin with '_' come last:
 * ops of the core's own, which gantry_op_count leaves out. */
typedef enum gantry__op_id_t {
#define GANTRY__OP_NAME(name) GANTRY__OP_ID_##name,
#include "op/op_list.inc"
#undef GANTRY__OP_NAME
    GANTRY__OP_COUNT
} gantry__op_id_t;

/* The definition of an op; NULL for an id that is not below GANTRY__OP_COUNT. */
const gantry__op_def_t *gantry__op_get(gantry__op_id_t id);
/* Finds an op by name, TensorFlow's alias (AddV2, ConcatV2, SelectV2, GatherV2, BatchMatMulV2,
 * RealDiv, ...) or suffixed name; NULL when unknown. */
const gantry__op_def_t *gantry__op_find(const char *name);

/* The version of the op's meaning, as versions.def has it: 1 or more. */
uint32_t gantry__op_version(const gantry__op_def_t *op);

/* Fills call->attrs from the given attributes (possibly fewer, in any order), resolves type
 * attributes from call->dtypes, checks counts, kinds and types, sets call->output_count and
 * out_dtypes, then runs infer. The caller sets call->op, input_count, host_value, caller, symbolic,
 * is_open, the arrays, and the contents of shapes and dtypes. InvalidArgument names op, input or
 * attribute, its value and what is accepted.
 *
 * In a trace, sizes of inputs may be open, and elements of host inputs not known. A size of a
 * result is then what the op's rule proves for every call that succeeds, else -1. Unimplemented if
 * the rank of a result is not known.
 *
 * shapes NULL: the attributes are checked, without arrays; then call->attrs and given are set. */
gantry_status_t gantry__op_infer(gantry__infer_t *call, const gantry_attr_value_t *attrs,
                                 size_t attr_count);

/* Sets call->output_count by the attributes, which gantry__op_infer must have filled in. */
gantry_status_t gantry__op_count_outputs(gantry__infer_t *call);

/* A size of the shape is not known: -1. */
bool gantry__shape_is_open(const gantry_shape_t *shape);

/* The ids of the ops that a composed op may run; none if the core makes its results itself, or if
 * it is not composed. */
const uint16_t *gantry__op_parts(const gantry__op_def_t *op, uint32_t *out_count);
/* The position of the first of them in the list of all parts: an end, then the parts of each op of
 * composed.def, each with an end. */
uint32_t gantry__op_first_part(const gantry__op_def_t *op);

/* The definition that flat input i of a call with input_count inputs belongs to; NULL if the op has
 * no such input. */
const gantry__op_arg_t *gantry__op_input_arg(const gantry__op_def_t *op, uint32_t input_count,
                                             uint32_t i);

#endif
