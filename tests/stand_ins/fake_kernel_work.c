/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_kernels.h"

#include <string.h>

int64_t gantry__fake_attr(const gantry_op_call_t *op, const char *name) {
    for (uint32_t i = 0; i < op->attr_count; ++i) {
        if (strcmp(op->attrs[i]->name, name) == 0) return op->attrs[i]->i;
    }
    return 0;
}

int64_t gantry__fake_dtype_bytes(int32_t dtype) {
    return dtype == GANTRY_FLOAT64 || dtype == GANTRY_INT64 ? 8 : 4;
}

void gantry__fake_kernel_begin(fake_kernel_work_t *self, const gantry_op_call_t *op,
                               fake_run_fn run, uint32_t operands, const void *params,
                               size_t param_bytes) {
    *self = (fake_kernel_work_t){.op = op};
    gantry__fake_begin(&self->call, FAKE_SLOT_compute);
    /* This does not enter the stream, because compute() is thread-safe and the core holds no lock
     * of the stream here. */
    self->stream =
        gantry__fake_find(&self->call, GANTRY_FAKE_STREAM, gantry__fake_number(op->stream));
    if (self->stream) (void)gantry__fake_check_lost(&self->call, self->stream->device);
    if (self->stream && gantry__fake_number(op->device) != self->stream->device->object.number) {
        gantry__fake_violate(&self->call,
                             "%s: stream and device of the call do not belong together", op->op);
    }
    self->work = self->stream ? gantry__fake_work_create(&self->call, self->stream, op->kernel->op,
                                                         run, operands, param_bytes)
                              : NULL;
    if (self->work) memcpy(self->work->params, params, param_bytes);
}

void gantry__fake_kernel_span(fake_kernel_work_t *self, uint32_t operand, const gantry_span_t *span,
                              uint64_t bytes, bool writes) {
    if (self->work)
        gantry__fake_work_operand(&self->call, self->work, operand, self->stream->device, span,
                                  bytes, writes);
}

static void add_arg(fake_kernel_work_t *self, uint32_t operand, const gantry_arg_t *arg,
                    bool writes) {
    if (arg->in_host_memory) {
        gantry__fake_violate(
            &self->call, "%s: an argument that the kernel wants on the device lies in host memory",
            self->op->op);
        return;
    }
    uint64_t bytes = (uint64_t)arg->element_count * (uint64_t)gantry__fake_dtype_bytes(arg->dtype);
    if (writes && bytes == 0)
        gantry__fake_violate(&self->call, "%s: an output is empty", self->op->op);
    gantry__fake_kernel_span(self, operand, &arg->span, bytes, writes);
}

void gantry__fake_kernel_input(fake_kernel_work_t *self, uint32_t operand, uint32_t index) {
    add_arg(self, operand, self->op->inputs[index], false);
}

void gantry__fake_kernel_output(fake_kernel_work_t *self, uint32_t operand, uint32_t index) {
    add_arg(self, operand, self->op->outputs[index], true);
}

int32_t gantry__fake_kernel_end(fake_kernel_work_t *self) {
    gantry__fake_submit(&self->call, self->stream, self->work);
    return gantry__fake_end(&self->call);
}
