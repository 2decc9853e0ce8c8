/* SPDX-License-Identifier: Apache-2.0 */
/* A layer inside. */
#ifndef GANTRY_TRAIN_LAYER_STATE_H
#define GANTRY_TRAIN_LAYER_STATE_H

#include <gantry_train/layer.h>

/* A weight, before it becomes a variable. */
typedef struct gantry__weight_t {
    char *name; /* "kernel" */
    gantry_shape_t shape;
    gantry_initializer_t initializer;
    bool has_seed; /* else the model gives one */
    bool is_trained;
} gantry__weight_t;

struct gantry_layer_t {
    gantry_layer_kind_t kind;
    void *user;
    char *name; /* NULL until the model gives one */
    bool is_built;
    gantry__weight_t *weights;
    size_t weight_count, weight_capacity;
    size_t first_variable; /* of the model's variables */
};

/* For constructors of layers: a layer whose user is `bytes` of zeroed memory, which is freed with
 * it. NULL after a failure. */
gantry_layer_t *gantry__layer_make(const gantry_layer_kind_t *kind, size_t bytes, const char *name);
/* For the field `release` of such a layer's kind. */
void gantry__layer_free_user(void *user);
/* A copy of an initialiser; of kind `otherwise` if given is NULL. False: it is refused. */
bool gantry__layer_initializer(const gantry_initializer_t *given, gantry_init_t otherwise,
                               gantry_initializer_t *out);
/* Refuses an input count or rank: "layer Dense: ...". */
gantry_status_t gantry__layer_check_rank(const char *kind, const gantry_shape_t *inputs,
                                         size_t input_count, int32_t least, int32_t most);

#endif
