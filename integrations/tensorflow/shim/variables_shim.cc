// SPDX-License-Identifier: Apache-2.0
// The variables of one TensorFlow release, as C functions, and other things that only C++ reaches.
//
// TensorFlow declares such functions in tensorflow/c/kernels_experimental.h. The libraries of 2.19
// and later do not export them, and a variable is a C++ object. So this file must be compiled
// against the headers of the TensorFlow that loads it, and of no other; build_variables.py does it,
// and src/variable_open.c opens it. Exceptions of C++ do not occur. Owner: the caller of
// gantry_tf_variables_lock must call gantry_tf_variables_unlock. Threads: thread-safe.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tensorflow/c/kernels.h"
#include "tensorflow/c/tf_status.h"
#include "tensorflow/c/tf_tensor_helper.h"
#include "tensorflow/core/framework/kernel_def.pb.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_def.pb.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/resource_mgr.h"
#include "tensorflow/core/framework/resource_var.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::Var;
using copy_t = void (*)(TF_OpKernelContext *context, TF_Tensor *from, TF_Tensor *to);

// A variable that an op is given: as a resource, or, in graphs of TensorFlow 1, by reference.
struct held_t {
    tensorflow::core::RefCountPtr<Var> resource; // null: by reference
    tensorflow::mutex *mutex;
};

// Variables whose mutexes are held: exclusively to update them, shared to read them.
struct gantry_tf_variables_t {
    std::vector<held_t> variables;
    std::vector<tensorflow::mutex *> order; // by address
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

static bool is_reference(OpKernelContext *context, int input) {
    return tensorflow::IsRefType(context->input_dtype(input));
}

// Finds the variable of an input, and its mutex.
static bool find_variable(OpKernelContext *context, int input, held_t *out, TF_Status *status) {
    if (is_reference(context, input)) {
        out->mutex = context->input_ref_mutex(input);
        return true;
    }
    auto found = tensorflow::LookupResource(
        context, tensorflow::HandleFromInput(context, input), &out->resource);
    if (!is_ok(status, found)) return false;
    out->mutex = out->resource->mu();
    return true;
}

// Locks the variables of the first inputs, in the order of the mutexes' addresses, as TensorFlow's
// own kernels do. Returns NULL after an error. The first reference is the op's output, too.
EXPORT gantry_tf_variables_t *gantry_tf_variables_lock(TF_OpKernelContext *context, int count,
                                                       bool exclusive, TF_Status *status) {
    auto held = std::make_unique<gantry_tf_variables_t>();
    held->exclusive = exclusive;
    for (int i = 0; i < count; ++i) {
        held_t variable;
        if (!find_variable(context_of(context), i, &variable, status)) return nullptr;
        if (std::find(held->order.begin(), held->order.end(), variable.mutex) !=
            held->order.end()) {
            TF_SetStatus(status, TF_INVALID_ARGUMENT,
                         "A variable is given to the op twice; different variables are accepted.");
            return nullptr;
        }
        held->order.push_back(variable.mutex);
        held->variables.push_back(std::move(variable));
    }
    std::sort(held->order.begin(), held->order.end());
    for (tensorflow::mutex *mutex : held->order) exclusive ? mutex->lock() : mutex->lock_shared();
    if (is_reference(context_of(context), 0))
        context_of(context)->forward_ref_input_to_ref_output(0, 0);
    return held.release();
}

// Copies a tensor into memory of its own. The op must take a tensor of its device.
static bool copy_tensor(OpKernelContext *context, const Tensor &from, copy_t copy, Tensor *out,
                        TF_Status *status) {
    absl::Status made;
    auto allocated = context->allocate_temp(from.dtype(), from.shape(), out);
    if (!is_ok(status, allocated)) return false;
    if (from.NumElements() > 0)
        copy(reinterpret_cast<TF_OpKernelContext *>(context),
             tensorflow::TF_TensorFromTensor(from, &made),
             tensorflow::TF_TensorFromTensor(*out, &made));
    return true;
}

// The tensor of a variable by reference. An op that took its value shares the memory, and nothing
// counts that; so an update must begin with memory of its own.
static bool reference_tensor(OpKernelContext *context, int index, copy_t copy, Tensor *out,
                             TF_Status *status) {
    const Tensor former = context->mutable_input(index, true);
    if (!copy_tensor(context, former, copy, out, status)) return false;
    context->replace_ref_input(index, *out, true);
    return true;
}

// The tensor of a variable that is a resource.
static bool resource_tensor(gantry_tf_variables_t *held, OpKernelContext *context, int index,
                            copy_t copy, Tensor *out, TF_Status *status) {
    Var *variable = held->variables[index].resource.get();
    Tensor *tensor = variable->tensor();
    if (!variable->is_initialized || !tensor->IsInitialized()) {
        TF_SetStatus(status, TF_FAILED_PRECONDITION, "The variable is not initialized.");
        return false;
    }
    if (held->exclusive && (variable->copy_on_read_mode.load() || !tensor->RefCountIsOne())) {
        Tensor own;
        if (!copy_tensor(context, *tensor, copy, &own, status)) return false;
        *tensor = own;
    }
    *out = *tensor;
    return true;
}

// The tensor of a locked variable. If it is locked to be updated, nothing else holds the tensor's
// memory, because a tensor that a read gave away is copied first.
EXPORT TF_Tensor *gantry_tf_variables_tensor(gantry_tf_variables_t *held,
                                             TF_OpKernelContext *context, int index, copy_t copy,
                                             TF_Status *status) {
    Tensor tensor;
    const bool is_found =
        held->variables[index].resource
            ? resource_tensor(held, context_of(context), index, copy, &tensor, status)
            : reference_tensor(context_of(context), index, copy, &tensor, status);
    if (!is_found) return nullptr;
    absl::Status made;
    TF_Tensor *made_tensor = tensorflow::TF_TensorFromTensor(tensor, &made);
    return is_ok(status, made) ? made_tensor : nullptr;
}

// Unlocks the variables, and deletes `held`.
EXPORT void gantry_tf_variables_unlock(gantry_tf_variables_t *held) {
    for (tensorflow::mutex *mutex : held->order)
        held->exclusive ? mutex->unlock() : mutex->unlock_shared();
    delete held;
}

// Assigns input 1 to the variable that input 0 refers to, which is the output, too.
EXPORT void gantry_tf_variables_assign(TF_OpKernelContext *of_c, bool validate_shape, copy_t copy,
                                       TF_Status *status) {
    OpKernelContext *context = context_of(of_c);
    const Tensor &value = context->input(1);
    tensorflow::mutex_lock lock(*context->input_ref_mutex(0));
    const tensorflow::TensorShape held = context->mutable_input(0, true).shape();
    if (validate_shape && !held.IsSameSize(value.shape())) {
        const std::string text = "Assign requires shapes of both tensors to match. lhs shape= " +
                                 held.DebugString() + " rhs shape= " + value.shape().DebugString();
        TF_SetStatus(status, TF_INVALID_ARGUMENT, text.c_str());
        return;
    }
    Tensor own;
    if (!copy_tensor(context, value, copy, &own, status)) return;
    context->replace_ref_input(0, own, true);
    context->forward_ref_input_to_ref_output(0, 0);
}

// ---- ops of XLA ----

// A type that no node has.
static const auto NO_TYPE = tensorflow::DT_UINT64_REF;

// A node of an op whose types no kernel names. Returns the first attribute that is a type or a list
// of types; empty: there is none.
static std::string make_node(const std::string &op, tensorflow::NodeDef *out) {
    const tensorflow::OpDef *definition = nullptr;
    std::string first;
    out->set_op(op);
    if (!tensorflow::OpRegistry::Global()->LookUpOpDef(op, &definition).ok()) return "";
    for (const auto &attribute : definition->attr()) {
        if (attribute.type() != "type" && attribute.type() != "list(type)") continue;
        if (first.empty()) first = attribute.name();
        (*out->mutable_attr())[attribute.name()].set_type(NO_TYPE);
    }
    return first;
}

// TensorFlow has kernels of XLA's ops (XlaCallModule, XlaDot) for every device of type GPU. They
// request a compiler from XLA, which has none for a plug-in's devices. A constraint that no node
// meets withdraws each of them, so that TensorFlow places such ops on the CPU, where they work. It
// must be called while TensorFlow loads its plug-ins, when no thread looks for kernels. Returns how
// many were withdrawn.
EXPORT int gantry_tf_withdraw_xla(const char *device_type) {
    int count = 0;
    const tensorflow::KernelList all = tensorflow::GetAllRegisteredKernels();
    for (const tensorflow::KernelDef &kernel : all.kernel()) {
        if (kernel.device_type() != device_type || kernel.op().rfind("Xla", 0) != 0) continue;
        const tensorflow::KernelDef *found = nullptr;
        std::string class_name;
        tensorflow::NodeDef node;
        const std::string attribute = make_node(kernel.op(), &node);
        if (attribute.empty() || kernel.constraint_size() != 0 ||
            !tensorflow::FindKernelDef(tensorflow::DeviceType(device_type), node, &found,
                                       &class_name)
                 .ok() ||
            class_name != "XlaCompileOnDemandOp")
            continue;
        auto *constraint = const_cast<tensorflow::KernelDef *>(found)->add_constraint();
        constraint->set_name(attribute);
        constraint->mutable_allowed_values()->mutable_list()->add_type(NO_TYPE);
        ++count;
    }
    return count;
}
