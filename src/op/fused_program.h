/* SPDX-License-Identifier: Apache-2.0 */
/* The programs of _FusedElementwise, _FusedParts, _FusedRows, _FusedMatMul, _FusedGroupedMatMul and
 * _FusedConvolveImages: elementwise ops that one kernel computes in one pass over memory, with the
 * bits of the ops one by one; of _FusedRows also reductions over the last axis.
 *
 * Attribute `program` has GANTRY__FUSED_WORDS numbers for each instruction:
 *
 *     instruction, element type, operand 0, operand 1, operand 2
 *
 * instruction: a gantry__fused_id_t. element type: that of the operands; of a Select that of t and
 * e, whose condition is bool. An operand >= 0 is an input of the op, -1 - k the result of
 * instruction k, an earlier one. Operands that the instruction does not have are 0. Special forms:
 *
 *     Cast          operand 1 is the type of the result, operand 2 attribute Truncate
 *     LeakyRelu     operand 1 is a tensor of the element type with attribute alpha, a scalar
 *     ReducePrecision   operand 1 is such a scalar with gantry__precision_code of its attributes
 *     Atan2         operands in the op's order: y, x
 *     GeluTanh, ... the op of the row before, by its attributes, as ops/elementwise.def says
 *
 * Attribute `outputs` has the numbers of the instructions whose results are the op's outputs, in
 * this order.
 *
 *     x * exp(x) + b     program = {Exp, FLOAT32, 0, 0, 0,
 *     of float32                    Mul, FLOAT32, 0, -1, 0,
 *                                   Add, FLOAT32, -2, 1, 0}
 *                        outputs = {2}
 *
 * An output may take the memory of an input of its size. Therefore kernels must read all operands
 * of an element before they write its results.
 *
 * The inputs broadcast to one shape, which is that of each output. An instruction computes each
 * element of that shape, even if its operands are smaller: a pass leaves costly functions of
 * smaller tensors outside.
 *
 * _FusedParts runs the program several times, each time on a part that has its own number of
 * elements. Attribute `parts` says how many. The first `shared` inputs of the program have one
 * element and are the same for all parts; the others are listed once for each part:
 *
 *     inputs     shared ones, others of part 0, others of part 1, ...
 *     outputs    those of part 0, of part 1, ...; attribute `outputs` repeats the list
 *
 * An input that is not shared has one element in every part, or as many as the part. An output may
 * take the memory only of an input of its own part.
 *
 * _FusedMatMul has the product of its first two inputs as the program's input 0, and its other
 * inputs as the program's further ones. The result of the last instruction is its output, of the
 * type and the shape of the product. It replaces TensorFlow's _FusedMatMul, whose fused_ops name
 * few programs. A kernel of it has, as `data`, the definition of the kernel that computes the
 * product without a program. _FusedConvolveImages is the same for a convolution, and
 * _FusedGroupedMatMul for products of groups, whose rows have the columns of all groups.
 *
 * _FusedRows has two kinds of results: wide ones with all elements of a row, and narrow ones with
 * one element for each row. A reduction makes a narrow result of a wide operand; its operand 1 is
 * attribute keep_dims. Another result is narrow if all its operands are. Inputs whose last
 * dimension is 1, and scalars, are narrow.
 *
 *     softmax of [R, n]  program = {Max, FLOAT32, 0, 1, 0,       narrow
 *                                   Sub, FLOAT32, 0, -1, 0,
 *                                   Exp, FLOAT32, -2, 0, 0,
 *                                   Sum, FLOAT32, -3, 1, 0,      narrow
 *                                   Div, FLOAT32, -3, -4, 0}
 *                        outputs = {4}
 *
 * The inputs broadcast to [..., n], which is the shape of a wide output; a narrow one has shape
 * [..., 1], or [...] if its reduction does not keep dimensions. Such a result is an output only. n
 * is 2 to GANTRY__FUSED_MOST_ROW.
 *
 * The limits GANTRY__FUSED_MOST_... are constants of ops/fused.def. A kernel of a device that
 * builds programs declines programs beyond the two limits of devices.
 *
 * Constant data, no heap. Thread-safe. */
#ifndef GANTRY_OP_FUSED_PROGRAM_H
#define GANTRY_OP_FUSED_PROGRAM_H

#include "op/op_def.h"

/* Instructions. Rows of ops/elementwise.def that are no op of their own are there, too. */
typedef enum gantry__fused_id_t {
#define GANTRY_ELEMENTWISE(name, function, summary, form, types, result, check, math, expression) \
    GANTRY__FUSED_##name,
#include "ops/elementwise.def"
#undef GANTRY_ELEMENTWISE
#define GANTRY_FUSED_OTHER(name) GANTRY__FUSED_##name,
#include "ops/fused.def"
#undef GANTRY_FUSED_OTHER
    GANTRY__FUSED_COUNT, /* of _FusedElementwise; also: no instruction */
#define GANTRY_FUSED_REDUCTION(name) GANTRY__FUSED_##name,
#include "ops/fused.def"
#undef GANTRY_FUSED_REDUCTION
    GANTRY__FUSED_ROWS_COUNT
} gantry__fused_id_t;

enum {
    GANTRY__FUSED_WORDS = 5,
#define GANTRY_FUSED_LIMIT(name, value) GANTRY__FUSED_MOST_##name = value,
#include "ops/fused.def"
#undef GANTRY_FUSED_LIMIT
};

/* The instruction that computes the op with these attributes, in the definition's order;
 * GANTRY__FUSED_COUNT: there is none. */
gantry__fused_id_t gantry__fused_id(const gantry__op_def_t *op, const gantry_attr_t *attrs);
/* Whether a program may have the instruction for operands of this type. Integer ops that can fail
 * may not: they report the position of a bad element. Functions of float64 that are a driver's own
 * may not either: their bits depend on the kernel around them. */
bool gantry__fused_takes(gantry__fused_id_t id, gantry_dtype_t dtype);
/* The reduction of an op; GANTRY__FUSED_COUNT: it is none that _FusedRows has. */
gantry__fused_id_t gantry__fused_reduction(const gantry__op_def_t *op);
bool gantry__fused_keeps_dims(const gantry__op_def_t *reduction, const gantry_attr_t *attrs);
/* Whether a program of _FusedRows may have the reduction for operands of this type. */
bool gantry__fused_reduces(gantry__fused_id_t id, gantry_dtype_t dtype);
/* Whether it takes several dozen machine instructions: GANTRY__FUSED_MOST_DEVICE_COSTLY. */
bool gantry__fused_is_costly(gantry__fused_id_t id);
/* Operands that are tensors: 1 to 3. */
uint32_t gantry__fused_operands(gantry__fused_id_t id);
/* The type of the result of an instruction, given as its GANTRY__FUSED_WORDS numbers. */
gantry_dtype_t gantry__fused_result(const int64_t *instruction);

#endif
