// SPDX-License-Identifier: Apache-2.0
// The variables of one TensorFlow release, as C functions.
//
// TensorFlow declares such functions in tensorflow/c/kernels_experimental.h. The libraries of 2.19,
// 2.20 and 2.21 do not export them, and a variable is a C++ object. So this file is compiled
// against the headers of the TensorFlow that loads it, and of no other: build_variables.py does it.
// src/variable_access.c opens it. Exceptions of C++ do not occur. Thread-safe.
#include <algorithm>
#include <string>
#include <vector>

#include "tensorflow/c/kernels.h"
#include "tensorflow/c/tf_status.h"
#include "tensorflow/c/tf_tensor_helper.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/resource_mgr.h"
#include "tensorflow/core/framework/resource_var.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::Var;
using copy_t = void (*)(TF_OpKernelContext *context, TF_Tensor *from, TF_Tensor *to);

// Variables whose mutexes are held: exclusively to update them, shared to read them.
struct gantry_tf_variables_t {
    std::vector<tensorflow::core::RefCountPtr<Var>> variables;
    std::vector<Var *> order; // of their mutexes' addresses
    bool exclusive;
};

static OpKernelContext *context_of(TF_OpKernelContext *context) {
    return reinterpret_cast<OpKernelContext *>(context);
}

template <typename Status> static bool is_ok(TF_Status *out, const Status &status) {
    TF_SetStatus(out, static_cast<TF_Code>(status.code()), std::string(status.message()).c_str());
    return status.ok();
}

// The TensorFlow for which this file was compiled.
EXPORT const char *gantry_tf_variables_version() { return GANTRY_TF_VERSION; }

// Locks the variables of the first inputs, in the order of the mutexes' addresses, as TensorFlow's
// own kernels do. NULL after an error.
EXPORT gantry_tf_variables_t *gantry_tf_variables_lock(TF_OpKernelContext *context, int count,
                                                       bool exclusive, TF_Status *status) {
    auto *held = new gantry_tf_variables_t{{}, {}, exclusive};
    for (int i = 0; i < count; ++i) {
        tensorflow::core::RefCountPtr<Var> variable;
        auto found = tensorflow::LookupResource(
            context_of(context), tensorflow::HandleFromInput(context_of(context), i), &variable);
        if (!is_ok(status, found)) {
            delete held;
            return nullptr;
        }
        if (std::find(held->order.begin(), held->order.end(), variable.get()) != held->order.end()) {
            TF_SetStatus(status, TF_INVALID_ARGUMENT,
                         "A variable is given to the op twice; different variables are accepted.");
            delete held;
            return nullptr;
        }
        held->order.push_back(variable.get());
        held->variables.push_back(std::move(variable));
    }
    std::sort(held->order.begin(), held->order.end(),
              [](Var *a, Var *b) { return a->mu() < b->mu(); });
    for (Var *variable : held->order)
        exclusive ? variable->mu()->lock() : variable->mu()->lock_shared();
    return held;
}

// The tensor of a locked variable. If it is locked to be updated, nobody else holds the tensor's
// memory: a tensor that a read gave away is copied first.
EXPORT TF_Tensor *gantry_tf_variables_tensor(gantry_tf_variables_t *held,
                                             TF_OpKernelContext *context, int index, copy_t copy,
                                             TF_Status *status) {
    Var *variable = held->variables[index].get();
    Tensor *tensor = variable->tensor();
    if (!variable->is_initialized || !tensor->IsInitialized()) {
        TF_SetStatus(status, TF_FAILED_PRECONDITION, "The variable is not initialized.");
        return nullptr;
    }
    absl::Status made;
    if (held->exclusive && (variable->copy_on_read_mode.load() || !tensor->RefCountIsOne())) {
        Tensor own;
        auto allocated =
            context_of(context)->allocate_temp(tensor->dtype(), tensor->shape(), &own);
        if (!is_ok(status, allocated)) return nullptr;
        if (tensor->NumElements() > 0)
            copy(context, tensorflow::TF_TensorFromTensor(*tensor, &made),
                 tensorflow::TF_TensorFromTensor(own, &made));
        *tensor = own;
    }
    TF_Tensor *made_tensor = tensorflow::TF_TensorFromTensor(*tensor, &made);
    return is_ok(status, made) ? made_tensor : nullptr;
}

// Unlocks the variables.
EXPORT void gantry_tf_variables_unlock(gantry_tf_variables_t *held) {
    for (Var *variable : held->order)
        held->exclusive ? variable->mu()->unlock() : variable->mu()->unlock_shared();
    delete held;
}
