/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Ops, one C function each. Definitions are TensorFlow's, of the op's highest version; broadcasting
 * is NumPy's.
 *
 * Every function returns a tensor that the scope owns, or NULL after an error that the scope keeps:
 * InvalidArgument for a wrong shape or type, and for NULL where an input, a non-empty array or a
 * place for a result is required; Unimplemented when no device has a kernel; ResourceExhausted when
 * memory runs out. In a failed scope the functions do nothing.
 *
 * Options may be NULL, and a field that is 0 or NULL has its default. Their struct_size must be
 * their sizeof, or 0, which means the fields of version 0.1 (docs/api_conventions.md). docs/ops.md
 * lists the types that each op takes.
 *
 * The sign and the payload of a NaN are no part of a result: they may differ between devices, and
 * between a function and its ops. docs/numerics.md says which results have equal bits.
 *
 * Threads: a scope belongs to one thread. Threads with scopes of their own may call ops at the same
 * time, also with the same inputs. */
#ifndef GANTRY_OPS_H
#define GANTRY_OPS_H

#include <gantry/ops_attention.h>
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
