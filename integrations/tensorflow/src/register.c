/* SPDX-License-Identifier: Apache-2.0 */
/* TensorFlow takes a kernel's description as a serialized KernelDef: one registration for all of
 * its types. The calls of its C API that add one type each would need one registration for every
 * combination of types, thousands of them whenever TensorFlow is imported. */
#include "register.h"

#include <string.h>

#include "log.h"

/* A protocol buffer that is being written. The texts are names of ops and arguments, so all of them
 * fit. */
typedef struct proto_t {
    unsigned char bytes[1024];
    size_t count;
} proto_t;

static void put_byte(proto_t *proto, uint64_t byte) {
    if (proto->count < sizeof proto->bytes) proto->bytes[proto->count++] = (unsigned char)byte;
}

static void register_put_number(proto_t *proto, uint64_t number) {
    for (; number > 127; number >>= 7) put_byte(proto, (number & 127) | 128);
    put_byte(proto, number);
}

static void put_field(proto_t *proto, uint32_t field, const void *data, size_t bytes) {
    register_put_number(proto, field << 3 | 2);
    register_put_number(proto, bytes);
    for (size_t i = 0; i < bytes; ++i) put_byte(proto, ((const unsigned char *)data)[i]);
}

static void register_put_text(proto_t *proto, uint32_t field, const char *text) {
    put_field(proto, field, text, strlen(text));
}

/* Writes an AttrConstraint: name = 1, allowed_values = 2, an AttrValue: list = 1: type = 6. */
static void put_types(proto_t *proto, const register_types_t *types) {
    proto_t numbers = {.count = 0}, list = {.count = 0}, value = {.count = 0};
    proto_t constraint = {.count = 0};
    for (uint32_t i = 0; i < 64; ++i) {
        if (types->types >> i & 1) register_put_number(&numbers, i);
    }
    put_field(&list, 6, numbers.bytes, numbers.count);
    put_field(&value, 1, list.bytes, list.count);
    register_put_text(&constraint, 1, types->attr);
    put_field(&constraint, 2, value.bytes, value.count);
    put_field(proto, 3, constraint.bytes, constraint.count);
}

/* Writes a KernelDef: op = 1, device_type = 2, constraint = 3, host_memory_arg = 4, priority =
 * 6. */
static void put_kernel(proto_t *proto, const register_kernel_t *kernel) {
    register_put_text(proto, 1, kernel->op);
    register_put_text(proto, 2, REGISTER_DEVICE_TYPE);
    for (size_t i = 0; i < REGISTER_TYPES && kernel->types[i].attr; ++i) {
        put_types(proto, &kernel->types[i]);
    }
    for (size_t i = 0; i < REGISTER_HOST_ARGS && kernel->host_args[i]; ++i) {
        register_put_text(proto, 4, kernel->host_args[i]);
    }
    if (kernel->priority) {
        register_put_number(proto, 6 << 3);
        register_put_number(proto, kernel->priority);
    }
}

/* Replaces a kernel's functions before it is registered. */
static void (*wrap_kernel)(register_kernel_t *kernel);

void register_kernel(const register_kernel_t *wanted) {
    register_kernel_t own = *wanted;
    const register_kernel_t *kernel = &own;
    if (wrap_kernel) wrap_kernel(&own);
    proto_t proto = {.count = 0};
    put_kernel(&proto, kernel);
    put_byte(&proto, 0); /* the call takes a text that ends with 0 */
    TF_Status *status = TF_NewStatus();
    TF_KernelBuilder *builder = TF_NewKernelBuilder(
        kernel->op, REGISTER_DEVICE_TYPE, kernel->create, kernel->compute, kernel->destroy);
    TF_RegisterKernelBuilderWithKernelDef((const char *)proto.bytes, kernel->op, builder, status);
    if (TF_GetCode(status) != TF_OK) {
        log_line(GANTRY_LEVEL_WARNING,
                 "TensorFlow refused the kernel of %s, which will run on "
                 "the CPU: %s",
                 kernel->op, TF_Message(status));
    }
    TF_DeleteStatus(status);
}

void register_all(void (*wrap)(register_kernel_t *kernel)) {
    wrap_kernel = wrap;
#define KERNEL_SET(name) name##_register();
#include "kernel_sets.def"
#undef KERNEL_SET
}
