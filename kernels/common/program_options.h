/* SPDX-License-Identifier: Apache-2.0 */
/* Build options of a program: definitions of numbers and types, such as -DGANTRY_SERIAL=1
 * -DGANTRY_T=f32. Every launch makes them in order to find its kernel, so this code writes digits
 * itself, because snprintf takes as long as the search.
 *
 * Owner: a plain value of the caller. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_PROGRAM_OPTIONS_H
#define GANTRY_KERNELS_PROGRAM_OPTIONS_H

#include "kernels/common/launch.h"

typedef struct {
    char text[128]; /* zero-terminated */
    uint32_t length;
} gantry__k_options_t;

/* Adds -DGANTRY_name=value. A definition for which there is no room is omitted; a program whose
 * text needs it then does not build. */
void gantry__k_define_text(gantry__k_options_t *options, const char *name, const char *value,
                           size_t value_length);
void gantry__k_define(gantry__k_options_t *options, const char *name, uint32_t value);
/* Defines an element type by its short name (types.cl); letter must be "T", "S" or "I". */
void gantry__k_define_type(gantry__k_options_t *options, const char *letter, int32_t dtype);
/* The options that all programs have: whether work-items are loops or lanes. */
gantry__k_options_t gantry__k_options(const gantry_op_call_t *call);
/* The same with an element type. */
gantry__k_options_t gantry__k_options_of_type(const gantry_op_call_t *call, int32_t type);
/* The options of a program that depends on the element size `bytes`. index_dtype 0: the program has
 * no index type. */
gantry__k_options_t gantry__k_size_options(const gantry_op_call_t *call, uint32_t bytes,
                                           int32_t index_dtype);

#endif
