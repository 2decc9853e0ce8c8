/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the functions for TensorFlow's variables in this process, and other things that only C++
 * reaches. Owner: the functions and texts live as long as the process. Threads: thread-safe. */
#ifndef GANTRY_TENSORFLOW_VARIABLE_OPEN_H
#define GANTRY_TENSORFLOW_VARIABLE_OPEN_H

#include "tf_kernels.h"

/* Copies between tensors of a device. The function must delete both tensors. */
typedef void (*variable_copy_t)(TF_OpKernelContext *context, TF_Tensor *from, TF_Tensor *to);

/* The functions, which never change. */
typedef struct variable_functions_t {
    /* Locks the variables of the first inputs, which must differ. Returns NULL after an error,
     * which TensorFlow or the status has. */
    void *(*lock)(TF_OpKernelContext *context, int count, bool is_update, TF_Status *status);
    /* The tensor of a locked variable. In an update nothing else has the tensor's memory. NULL as
     * above. */
    TF_Tensor *(*tensor)(void *lock, TF_OpKernelContext *context, int index, variable_copy_t copy,
                         TF_Status *status);
    void (*unlock)(void *lock);
    /* Only the variables file has the rest; NULL without it. Assigns input 1 to the variable to
     * which input 0 refers, as graphs of TensorFlow 1 do. */
    void (*assign)(TF_OpKernelContext *context, bool validate_shape, variable_copy_t copy,
                   TF_Status *status);
    /* Withdraws TensorFlow's kernels of XLA's ops for a device type; returns how many.
     * Init-only. */
    int (*withdraw_xla)(const char *device_type);
} variable_functions_t;

/* The functions; NULL: this process has none. The first call looks for them. */
const variable_functions_t *variable_open(void);
/* Why there are none, and the remedy. */
const char *variable_missing_text(void);

#endif
