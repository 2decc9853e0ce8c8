/* SPDX-License-Identifier: Apache-2.0 */
/* Ops, one C function each. Definitions are TensorFlow's, of the op's highest version; broadcasting
 * is NumPy's.
 *
 * Every function returns a tensor of the scope, or NULL after an error that the scope keeps:
 * InvalidArgument for shapes and types, and for NULL where an input, an array that is not empty or
 * a place for a result is wanted and NULL has no meaning of its own; Unimplemented where no device
 * has a kernel, ResourceExhausted when memory is out. In a failed scope they do nothing. Options
 * may be NULL; what is 0 or NULL in them is the default. Their struct_size may stay 0, which stands
 * for the fields of version 0.1; else it is their sizeof (docs/api_conventions.md). Which types
 * an op takes is listed in docs/ops.md. */
#ifndef GANTRY_OPS_H
#define GANTRY_OPS_H

#include <gantry/ops_compose.h>
#include <gantry/ops_elementwise.h>
#include <gantry/ops_index.h>
#include <gantry/ops_make.h>
#include <gantry/ops_matrix.h>
#include <gantry/ops_random.h>
#include <gantry/ops_reduce.h>
#include <gantry/ops_shape.h>
#include <gantry/ops_sort.h>
#include <gantry/ops_window.h>

#endif
