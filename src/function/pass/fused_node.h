/* SPDX-License-Identifier: Apache-2.0 */
/* The program of a fused node while a pass writes it, the call that is described to a device's
 * kernels, and the node. fused_node.c (elementwise ops) and fused_product.c (products) share it.
 *
 * Owner: plain values of the pass. Threads: externally synchronised. */
#ifndef GANTRY_FUNCTION_FUSED_NODE_H
#define GANTRY_FUNCTION_FUSED_NODE_H

#include "function/pass/pass_fuse.h"
#include "run/asked_call.h"

enum {
    /* a product's operands take the place of its result */
    GANTRY__FUSED_NODE_INPUTS = GANTRY__FUSED_MOST_INPUTS + 1,
    GANTRY__FUSED_NODE_ATTRS = GANTRY__MAX_ATTRS
};
/* Marks an input that has no value yet, but a number that an attribute has. */
#define GANTRY__FUSED_ALPHA UINT32_MAX

typedef struct gantry__program_t {
    int64_t words[GANTRY__FUSED_MOST_INSTRUCTIONS * GANTRY__FUSED_WORDS];
    /* by member: the instruction that makes its result */
    uint32_t results[GANTRY__FUSED_MOST_INSTRUCTIONS];
    int64_t outputs[GANTRY__FUSED_MOST_OUTPUTS]; /* instructions */
    uint32_t output_members[GANTRY__FUSED_MOST_OUTPUTS];
    uint32_t inputs[GANTRY__FUSED_NODE_INPUTS]; /* values, or GANTRY__FUSED_ALPHA */
    gantry_dtype_t alpha_types[GANTRY__FUSED_NODE_INPUTS];
    double alphas[GANTRY__FUSED_NODE_INPUTS];
    uint32_t instruction_count, input_count, output_count, costly_count;
} gantry__program_t;

/* Writes the members' program. Returns how many of them, from the first on, one may have. */
uint32_t gantry__fused_write(gantry__fusing_t *fusing, gantry__program_t *program,
                             const uint32_t *members, uint32_t count);
/* Fills in what a call of the op takes from the program's inputs. */
void gantry__fused_begin_call(const gantry__fusing_t *fusing, const gantry__program_t *program,
                              gantry__op_id_t op, gantry__asked_call_t *call);
/* The first kernel that takes the inferred call under the wish, if that wish leads to the device;
 * NULL: none does, which is no error. */
gantry_status_t gantry__fused_find_kernel(const gantry__fusing_t *fusing,
                                          gantry__asked_call_t *call, const gantry__wish_t *wish,
                                          const gantry_logical_device_t *device,
                                          const gantry_kernel_def_t **out_kernel);
/* Writes the product's attributes, but for types, that the op has, too. Returns how many. */
size_t gantry__fused_copy_attrs(const gantry__node_t *product, gantry__op_id_t fused,
                                gantry_attr_value_t *attrs);
/* The node's device by its request only; NULL: there is none, which is no error. */
gantry_status_t gantry__fused_find_device(const gantry__fusing_t *fusing,
                                          const gantry__node_t *node,
                                          const gantry_logical_device_t **out_device);
/* Adds the node of the inferred call, which replaces the members. */
gantry_status_t gantry__fused_add(gantry__fusing_t *fusing, gantry__program_t *program,
                                  const gantry__asked_call_t *call, const uint32_t *members,
                                  uint32_t count);

#endif
