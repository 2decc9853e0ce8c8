/* SPDX-License-Identifier: Apache-2.0 */
/* A layer as the training library sees it: its kind, its options, its weights before and after they
 * become variables, and what its constructor and a model may do with it.
 *
 * Owner: references are counted; the program has one until a model takes it over, and each further
 * model has one of its own. The last gantry__layer_unref ends the layer, with its user and its
 * variables. Threads: externally synchronised, together with all models that have the layer. */
#ifndef GANTRY_TRAIN_LAYER_STATE_H
#define GANTRY_TRAIN_LAYER_STATE_H

#include <gantry_train/layer.h>

#include "train/layer/regularizer.h"

/* A weight, before it becomes a variable. */
typedef struct gantry__weight_t {
    char *name; /* "kernel" */
    gantry_shape_t shape;
    gantry_initializer_t initializer;
    bool has_seed;     /* else the model gives one */
    bool is_trainable; /* of a layer that is trained */
    gantry_regularizer_t regularizer;
    gantry_constraint_t constraint;
    uint8_t seeds_before; /* that Keras chooses between the weight before and this one */
    /* Makes its first values; NULL: gantry_initialize does. */
    const gantry_tensor_t *(*make)(gantry_scope_t *scope, const gantry_initializer_t *initializer,
                                   gantry_dtype_t dtype, const gantry_shape_t *shape);
} gantry__weight_t;

/* The regularizer and the constraint that the program set for the weights of a name. */
typedef struct gantry__weight_rule_t {
    char *weight;
    gantry_regularizer_t regularizer;
    gantry_constraint_t constraint;
} gantry__weight_rule_t;

/* What a layer keeps from batch to batch. */
typedef struct gantry__layer_states_t {
    size_t count;
    int64_t width;                 /* they are [batch, width] each */
    gantry_variable_t **variables; /* NULL until the layer's model is built */
} gantry__layer_states_t;

/* What a layer gets of the model that calls it. The model fills it in for each call. */
typedef struct gantry__layer_run_t {
    gantry_dtype_t dtype;
    gantry_variable_t *const *states; /* of the layer; NULL: none, or its model is being built */
    gantry_observer_t observer;       /* checks the numbers of ops; without observe: none */
    gantry_generator_t *(*generator)(const gantry_layer_call_t *call);
} gantry__layer_run_t;

/* A layer, and its weights. What a layer is in one model (its name there, whether it is frozen) is
 * in gantry__member_t. */
struct gantry_layer_t {
    size_t references;
    bool is_taken;                /* a model took the program's reference over */
    gantry_layer_t *next_refused; /* of a model that could not take it, but has the reference */
    gantry_layer_kind_t kind;
    void *user;
    char *name;            /* NULL until the first model gives one */
    bool has_own_name;     /* the program's */
    bool is_built_in;      /* no function of the program computes its output */
    gantry_layer_t *inner; /* that it wraps, with the reference; NULL: none */
    bool is_built;
    bool is_frozen; /* gantry_layer_set_trainable; models take it over */
    gantry__weight_t *weights;
    size_t weight_count, weight_capacity;
    gantry__weight_rule_t *rules;
    size_t rule_count, rule_capacity;
    gantry_regularizer_t activity; /* of its outputs */
    gantry_variable_t **variables; /* by weight, then by replica; NULL until a model made them */
    size_t replica_count;          /* of variables */
    bool takes_indices;            /* numbers below the first dimension of its first weight */
    uint8_t seeds_after;           /* that Keras chooses for the layer after its initialisers' */
    struct {
        uint8_t repeats_first; /* to this many values, it takes the first one twice; 0: never */
        bool ends_masks;       /* later layers do not get its inputs' masks */
    } applied;
    gantry__layer_states_t states;
    gantry_runtime_t *runtime; /* of variables and states; NULL until a model is built */
};

/* Calls the layer's kind, which must not end the call's scope. */
const gantry_tensor_t *gantry__layer_call(const gantry_layer_t *layer,
                                          const gantry_layer_call_t *call);
/* Returns the states that the layer of a call keeps; NULL if it keeps none, or while its model is
 * being built. */
gantry_variable_t *const *gantry__layer_states(const gantry_layer_call_t *call);
/* Fills in an observer that checks the numbers of ops for the step that calls the layer; returns
 * NULL if the step checks none. */
gantry_observer_t *gantry__layer_observer(const gantry_layer_call_t *call, gantry_observer_t *out);
/* Gives a reference back; the last one ends the layer. NULL does no harm. */
void gantry__layer_unref(gantry_layer_t *layer);
/* Takes back what build added, so that the layer is built anew. The layer must not have
 * variables. */
void gantry__layer_forget(gantry_layer_t *layer);
/* Releases the variables, which no built model may still have. */
void gantry__layer_release_variables(gantry_layer_t *layer);
/* Releases the states. */
void gantry__layer_release_states(gantry_layer_t *layer);

/* ---- regularizers and constraints: weight_rules.c ---- */

/* For constructors: gives a weight of the layer a regularizer and a constraint, each of which may
 * be NULL, and returns the layer. After a failure it has released the layer and returns NULL. */
gantry_layer_t *gantry__layer_with_rules(gantry_layer_t *layer, const char *weight,
                                         const gantry_regularizer_t *regularizer,
                                         const gantry_constraint_t *constraint);
/* Gives a weight that is being added the rules that the program set for its name. */
gantry_status_t gantry__layer_rule_weight(const gantry_layer_t *layer, gantry__weight_t *weight,
                                          const char *name);
/* Refuses rules for names that the layer, which must be built, does not have. */
gantry_status_t gantry__layer_check_rules(const gantry_layer_t *layer);
/* Gives a layer the rules of another one's weights, under `prefix` and their names. */
gantry_status_t gantry__layer_copy_rules(gantry_layer_t *layer, const gantry_layer_t *from,
                                         const char *prefix);
void gantry__layer_release_rules(gantry_layer_t *layer);

/* For constructors of layers: makes a layer whose user is `bytes` of zeroed memory, which is freed
 * with it, because the kind's `release` must be gantry__layer_free_user. It returns NULL after a
 * failure. */
gantry_layer_t *gantry__layer_make(const gantry_layer_kind_t *kind, size_t bytes, const char *name);
/* Frees such a user: the field `release` of the layer's kind. */
void gantry__layer_free_user(void *user);
/* The kind of such a layer; further fields may follow. */
#define GANTRY__LAYER_KIND(class_name, build_, ...)                                      \
    {                                                                                    \
        .struct_size = sizeof(gantry_layer_kind_t), .name = class_name, .build = build_, \
        .release = gantry__layer_free_user, .call = __VA_ARGS__                          \
    }
/* Copies an initialiser, or makes one of kind `otherwise` if given is NULL. It returns false if the
 * initialiser is refused. */
bool gantry__layer_initializer(const gantry_initializer_t *given, gantry_init_t otherwise,
                               gantry_initializer_t *out);
/* Returns whether the initialiser of a weight draws numbers and has no seed. */
bool gantry__layer_takes_seed(const gantry__weight_t *weight);
/* Refuses an activation that does not exist. */
bool gantry__layer_check_activation(const char *kind, gantry_activation_t activation);
/* Refuses an option that this kind of layer has no use for, unless it is 0 or has no effect. */
bool gantry__layer_check_unused(const char *kind, const char *option, int64_t given,
                                int64_t no_effect);
/* The number of outputs of a call. */
size_t gantry__layer_outputs(const gantry_layer_t *layer);
/* Returns, in training, x with elements set to 0 at this rate and the others scaled to the same
 * mean. It must be the only function of its file, dropout.c, because tests replace it at link
 * time. */
const gantry_tensor_t *gantry__layer_dropout(const gantry_layer_call_t *call,
                                             const gantry_tensor_t *x, double rate);
/* Refuses inputs that are not one tensor of `least` to `most` dimensions: "layer Dense: ...". */
gantry_status_t gantry__layer_check_rank(const char *kind, const gantry_shape_t *inputs,
                                         size_t input_count, int32_t least, int32_t most);
/* The `build` of layers that take one input of any shape. */
gantry_status_t gantry__layer_build_any(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                        size_t input_count, void *user);
/* Returns whether all inputs of a call are floats; otherwise the scope fails: "layer Dot: ...". */
bool gantry__layer_has_floats(const gantry_layer_call_t *call, const char *kind);
/* Returns the type of the model that calls, which is a float. */
gantry_dtype_t gantry__layer_dtype(const gantry_layer_call_t *call);
/* Sets *size to *size * times + more. It returns false, with a text, if that is more than 2**63 -
 * 1. */
bool gantry__layer_grow(const char *kind, int64_t times, int64_t more, int64_t *size);
/* Refuses a window that reaches beyond a sample. spread must have (size - 1) * dilation + 1 for
 * each of the `rank` dimensions of the window, which follow the batch. */
gantry_status_t gantry__layer_check_window(const char *kind, const gantry_shape_t *input,
                                           int32_t rank, const int64_t *spread);

#endif
