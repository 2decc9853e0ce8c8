/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A runtime computes over a program's own cl_context and queue: kernels of the program and
 * ops of Gantry follow each other on one queue, without a copy and without a wait of the host.
 * Promise: Events order work of a program's other queues before and after a tensor, and memory that
 * an event holds is not written before it.
 * Promise: release is called once, and not before the last use of the memory has ended on the
 * device.
 * Promise: A cl_mem that was not given as writable keeps its bytes through ops, donation, functions
 * and variables; a writable one takes a donated result in place.
 * Promise: Adopted memory counts as foreign and not against limits.
 * Promise: Threads share one adopted queue, and a timeline leaves it in place. */
#define _XOPEN_SOURCE 700
#include <pthread.h>
#include <unistd.h>

#include "opencl_program.h"

static float values[PROGRAM_ITEMS];

static void expect_values(float first, float step) {
    for (int i = 0; i < PROGRAM_ITEMS; ++i) {
        if (values[i] != first + step * (float)i)
            fail_msg("item %d is %g, not %g", i, (double)values[i],
                     (double)(first + step * (float)i));
    }
}

static void read_tensor(const gantry_tensor_t *tensor) {
    if (gantry_tensor_read(tensor, values, sizeof values) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
}

static gantry_device_memory_t memory_of(const gantry_tensor_t *tensor) {
    gantry_device_memory_t memory = {.struct_size = sizeof memory};
    if (gantry_tensor_get_device_memory(tensor, &memory) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return memory;
}

static gantry_memory_info_t info_of(const opencl_program_t *p) {
    gantry_memory_info_t info = {.struct_size = sizeof info};
    assert_int_equal(gantry_get_memory_info(p->runtime, "GPU:0", &info), GANTRY_OK);
    return info;
}

static void restart_scope(opencl_program_t *p) {
    program_expect_scope_ok(p);
    assert_int_equal(gantry_scope_end(p->scope), GANTRY_OK);
    p->scope = gantry_scope_begin(p->runtime, "/GPU:0");
}

/* x + x, then a product with ones on the diagonal of 32 x 32, then x + x */
static const gantry_tensor_t *chain(opencl_program_t *p, const gantry_tensor_t *x) {
    const gantry_tensor_t *sum = gantry_add(p->scope, x, x);
    const gantry_tensor_t *rows = gantry_reshape(p->scope, sum, GANTRY_SHAPE(32, 32));
    const gantry_tensor_t *turned = gantry_transpose(p->scope, rows, NULL);
    const gantry_tensor_t *back = gantry_transpose(p->scope, turned, NULL);
    const gantry_tensor_t *flat = gantry_reshape(p->scope, back, GANTRY_SHAPE(PROGRAM_ITEMS));
    const gantry_tensor_t *result = gantry_add(p->scope, flat, flat);
    if (!result) fail_msg("%s", gantry_scope_message(p->scope));
    return result;
}

/* fill -> chain -> twice: 8 * (first + i) */
static void run_chain(opencl_program_t *p, cl_mem from, cl_mem to, float first) {
    program_fill(p, from, first);
    program_twice(p, chain(p, program_adopt(p, from, false)), to);
}

TEST(chain_between_two_kernels_needs_no_wait) {
    opencl_program_t p;
    program_open(&p);
    cl_mem from = program_buffer(&p, CL_MEM_READ_WRITE, PROGRAM_BYTES, NULL),
           to = program_buffer(&p, CL_MEM_READ_WRITE, PROGRAM_BYTES, NULL);
    run_chain(&p, from, to, 1); /* takes memory and builds programs */
    restart_scope(&p);
    assert_int_equal(gantry_runtime_synchronize(p.runtime), GANTRY_OK);
    assert_int_equal(p.released, 1);
    program_watch_reset();
    cl_event gate = program_shut_gate(&p); /* a wait for the queue would never end */
    run_chain(&p, from, to, 3);
    restart_scope(&p);
    assert_int_equal(program_watch.waits, 0);
    assert_int_equal(program_watch.transfers, 0);
    assert_int_equal(p.released, 1); /* work uses the memory */
    program_open_gate(gate);
    program_read(&p, to, values);
    expect_values(24, 8);
    assert_int_equal(gantry_runtime_synchronize(p.runtime), GANTRY_OK);
    assert_int_equal(p.released, 2);
    assert_int_equal(program_memory_references(from), 1);
    CL_OK(cl.clReleaseMemObject(from));
    CL_OK(cl.clReleaseMemObject(to));
    program_end(&p);
}

TEST(natives_are_those_of_the_program) {
    opencl_program_t p;
    program_open(&p);
    gantry_native_t native = {.struct_size = sizeof native};
    assert_int_equal(gantry_device_get_native(p.gpu, &native), GANTRY_OK);
    assert_true(native.is_adopted);
    assert_string_equal(native.backend, "opencl");
    assert_ptr_equal(native.context, p.context);
    assert_ptr_equal(native.device, p.devices[0]);
    assert_ptr_equal(native.queue, p.queue);
    const gantry_logical_device_t *other;
    assert_int_equal(gantry_find_logical_device(p.runtime, "GPU:1", &other), GANTRY_OK);
    assert_int_equal(gantry_device_get_native(other, &native), GANTRY_OK);
    assert_false(native.is_adopted);
    assert_ptr_not_equal(native.context, p.context);
    assert_ptr_equal(native.device, p.devices[1]);
    assert_int_equal(gantry_find_logical_device(p.runtime, "CPU:0", &other), GANTRY_OK);
    assert_int_equal(gantry_device_get_native(other, &native), GANTRY_FAILED_PRECONDITION);
    assert_non_null(strstr(gantry_last_message(), "the backend cpu"));
    program_end(&p);
}

/* ---- events ---- */

TEST(events_order_another_queue) {
    opencl_program_t p;
    cl_int error;
    program_open(&p);
    cl_mem from = program_buffer(&p, CL_MEM_READ_WRITE, PROGRAM_BYTES, NULL),
           to = program_buffer(&p, CL_MEM_READ_WRITE, PROGRAM_BYTES, NULL);
    cl_command_queue adopted = p.queue,
                     own = cl.clCreateCommandQueue(p.context, p.devices[0], 0, &error);
    CL_OK(error);
    cl_event gate, ready = NULL, computed = NULL, used = NULL;
    p.queue = own;
    gate = program_shut_gate(&p);
    program_fill(&p, from, 1);
    CL_OK(cl.clEnqueueMarkerWithWaitList(own, 0, NULL, &ready)); /* not flushed */
    const gantry_from_device_memory_options_t options = {.struct_size = sizeof options,
                                                         .ready_event = ready,
                                                         .release = program_count_release,
                                                         .user = &p};
    const gantry_tensor_t *x = gantry_tensor_from_device_memory(
        p.scope, p.gpu, GANTRY_FLOAT32, GANTRY_SHAPE(PROGRAM_ITEMS), from, 0, &options);
    CL_OK(cl.clReleaseEvent(ready)); /* Gantry has its own reference */
    const gantry_tensor_t *sum = gantry_add(p.scope, x, x);
    assert_int_equal(gantry_tensor_get_event(sum, (void **)&computed), GANTRY_OK);
    CL_OK(cl.clEnqueueBarrierWithWaitList(own, 1, &computed, NULL));
    CL_OK(cl.clReleaseEvent(computed));
    program_twice(&p, sum, to);
    CL_OK(cl.clEnqueueMarkerWithWaitList(own, 0, NULL, &used));
    assert_int_equal(gantry_tensor_use_until(sum, used), GANTRY_OK);
    CL_OK(cl.clReleaseEvent(used));
    program_open_gate(gate);
    CL_OK(cl.clFlush(own));
    program_read(&p, to, values);
    expect_values(4, 4);
    p.queue = adopted;
    CL_OK(cl.clReleaseCommandQueue(own));
    program_close_runtime(&p);
    assert_int_equal(p.released, 1);
    CL_OK(cl.clReleaseMemObject(from));
    CL_OK(cl.clReleaseMemObject(to));
    program_end(&p);
}

TEST(held_memory_is_not_written) {
    opencl_program_t p;
    cl_int error;
    program_open(&p);
    cl_event until = cl.clCreateUserEvent(p.context, &error);
    CL_OK(error);
    const gantry_tensor_t *ones =
        gantry_fill(p.scope, GANTRY_SHAPE(PROGRAM_ITEMS), gantry_scalar_f32(p.scope, 1));
    gantry_tensor_t *x = gantry_tensor_retain(gantry_add(p.scope, ones, ones));
    const gantry_device_memory_t first = memory_of(x);
    assert_int_equal(gantry_tensor_use_until(x, until), GANTRY_OK);
    restart_scope(&p); /* x's memory is the only one of its size that comes free below */
    const uint64_t in_use = info_of(&p).current_bytes;
    gantry_tensor_release(x);
    assert_int_equal(info_of(&p).current_bytes, in_use); /* kept */
    for (int i = 0; i < 4; ++i) {
        const gantry_tensor_t *y =
            gantry_fill(p.scope, GANTRY_SHAPE(PROGRAM_ITEMS), gantry_scalar_f32(p.scope, (float)i));
        const gantry_device_memory_t at = memory_of(y);
        assert_false(at.memory == first.memory && at.offset_bytes == first.offset_bytes);
    }
    CL_OK(cl.clSetUserEventStatus(until, CL_COMPLETE));
    CL_OK(cl.clReleaseEvent(until));
    assert_int_equal(gantry_runtime_synchronize(p.runtime), GANTRY_OK);
    restart_scope(&p);
    assert_true(info_of(&p).current_bytes < in_use);
    program_end(&p);
}

/* A tensor that lives on, and is read by the program again and again. */
TEST(holds_of_completed_events_do_not_pile_up) {
    opencl_program_t p;
    program_open(&p);
    const gantry_tensor_t *x =
        gantry_fill(p.scope, GANTRY_SHAPE(PROGRAM_ITEMS), gantry_scalar_f32(p.scope, 1));
    const long live = program_watch.live(FAULTS_LAYER_EVENT);
    for (int i = 0; i < 100; ++i) {
        cl_event used = NULL;
        CL_OK(cl.clEnqueueMarkerWithWaitList(p.queue, 0, NULL, &used));
        assert_int_equal(gantry_tensor_use_until(x, used), GANTRY_OK);
        CL_OK(cl.clReleaseEvent(used));
        CL_OK(cl.clFinish(p.queue));
    }
    assert_in_range(program_watch.live(FAULTS_LAYER_EVENT), live, live + 4);
    program_end(&p);
}

/* ---- memory that may not be written ---- */

static void update_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                        const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const gantry_tensor_t *sum = gantry_add(scope, inputs[0], inputs[0]);
    outputs[0] = gantry_mul(scope, sum, gantry_scalar_f32(scope, 0.5f));
    outputs[1] = gantry_neg(scope, inputs[0]);
}

static void call_function(opencl_program_t *p, const gantry_tensor_t *x) {
    const gantry_input_spec_t spec = {"x", GANTRY_FLOAT32, GANTRY_SHAPE(PROGRAM_ITEMS)};
    gantry_function_t *function;
    const gantry_tensor_t *outputs[2];
    if (gantry_function_trace(p->runtime, "update", update_body, NULL, &spec, 1, 2, NULL,
                              &function) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    for (int i = 0; i < 3; ++i) {
        if (gantry_function_call(p->scope, function, &x, 1, outputs, 2) != GANTRY_OK)
            fail_msg("%s", gantry_scope_message(p->scope));
        read_tensor(outputs[0]);
        expect_values(1, 1);
        read_tensor(outputs[1]);
        expect_values(-1, -1);
    }
    gantry_function_release(function);
}

static void update_variable(opencl_program_t *p, const gantry_tensor_t *x) {
    gantry_variable_t *variable = gantry_variable_create(p->scope, x, "v");
    assert_non_null(variable);
    assert_int_equal(gantry_variable_assign(p->scope, variable, x), GANTRY_OK);
    assert_int_equal(gantry_variable_assign_add(p->scope, variable, x), GANTRY_OK);
    read_tensor(gantry_variable_read(p->scope, variable));
    expect_values(2, 2);
    assert_int_equal(gantry_variable_assign(p->scope, variable, x), GANTRY_OK);
    const gantry_tensor_t *const inputs[] = {gantry_scalar_f32(p->scope, 0.5f), x};
    assert_int_equal(gantry_variable_update(p->scope, "ResourceApplyGradientDescent", &variable, 1,
                                            inputs, 2, NULL, 0),
                     GANTRY_OK);
    read_tensor(gantry_variable_read(p->scope, variable));
    expect_values(0.5f, 0.5f);
    gantry_variable_release(variable);
}

static void expect_bytes_are_kept(cl_mem_flags flags) {
    static _Alignas(64) float host[PROGRAM_ITEMS], got[PROGRAM_ITEMS];
    opencl_program_t p;
    program_open(&p);
    for (int i = 0; i < PROGRAM_ITEMS; ++i) host[i] = (float)(1 + i);
    cl_mem from = program_buffer(&p, flags, PROGRAM_BYTES, host);
    const gantry_tensor_t *x = program_adopt(&p, from, false);
    read_tensor(x);
    expect_values(1, 1);
    call_function(&p, x);
    update_variable(&p, x);
    const gantry_tensor_t *negated = gantry_neg(p.scope, gantry_tensor_donate(p.scope, x));
    assert_ptr_not_equal(memory_of(negated).memory, from);
    read_tensor(negated);
    expect_values(-1, -1);
    program_read(&p, from, got);
    assert_memory_equal(got, host, PROGRAM_BYTES);
    program_close_runtime(&p);
    assert_int_equal(p.released, 1);
    assert_int_equal(program_memory_references(from), 1);
    CL_OK(cl.clReleaseMemObject(from));
    program_end(&p);
}

TEST(memory_that_is_not_writable_keeps_its_bytes) {
    expect_bytes_are_kept(CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR);
}

TEST(read_only_buffer_is_read) { expect_bytes_are_kept(CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR); }

TEST(buffer_over_host_memory_is_read) {
    expect_bytes_are_kept(CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR);
}

TEST(writable_memory_takes_a_result) {
    opencl_program_t p;
    program_open(&p);
    cl_mem from = program_buffer(&p, CL_MEM_READ_WRITE, PROGRAM_BYTES, NULL);
    program_fill(&p, from, 1);
    const gantry_tensor_t *x = program_adopt(&p, from, true);
    const gantry_tensor_t *negated = gantry_neg(p.scope, gantry_tensor_donate(p.scope, x));
    assert_ptr_equal(memory_of(negated).memory, from);
    program_read(&p, from, values);
    expect_values(-1, -1);
    program_close_runtime(&p);
    assert_int_equal(p.released, 1);
    CL_OK(cl.clReleaseMemObject(from));
    program_end(&p);
}

/* ---- parts of memory ---- */

TEST(offsets_sub_buffers_and_views_name_the_same_bytes) {
    opencl_program_t p;
    cl_int error;
    program_open(&p);
    cl_mem all = program_buffer(&p, CL_MEM_READ_WRITE, 2 * PROGRAM_BYTES, NULL),
           to = program_buffer(&p, CL_MEM_READ_WRITE, PROGRAM_BYTES, NULL);
    const cl_buffer_region half = {PROGRAM_BYTES, PROGRAM_BYTES};
    cl_mem part =
        cl.clCreateSubBuffer(all, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &half, &error);
    CL_OK(error);
    program_fill(&p, all, 0);
    program_fill(&p, part, 100);
    const gantry_tensor_t *x = gantry_tensor_from_device_memory(p.scope, p.gpu, GANTRY_FLOAT32,
                                                                GANTRY_SHAPE(8), part, 12, NULL);
    const gantry_device_memory_t memory = memory_of(x);
    assert_ptr_equal(memory.memory, part);
    assert_int_equal(memory.offset_bytes, 12);
    assert_int_equal(memory.size_bytes, 32);
    assert_ptr_equal(memory.device, p.gpu);
    float got[8];
    assert_int_equal(gantry_tensor_read(gantry_neg(p.scope, x), got, sizeof got), GANTRY_OK);
    for (int i = 0; i < 8; ++i) assert_float_equal(got[i], (float)(-103 - i), 0);
    const gantry_tensor_t *view =
        gantry_tensor_view(p.scope, x, 8, GANTRY_FLOAT32, GANTRY_SHAPE(2));
    assert_int_equal(memory_of(view).offset_bytes, 20);
    const gantry_tensor_t *whole = gantry_tensor_from_device_memory(
        p.scope, p.gpu, GANTRY_FLOAT32, GANTRY_SHAPE(PROGRAM_ITEMS), all, PROGRAM_BYTES, NULL);
    program_twice(&p, whole, to);
    program_read(&p, to, values);
    expect_values(200, 2);
    program_close_runtime(&p);
    CL_OK(cl.clReleaseMemObject(part));
    CL_OK(cl.clReleaseMemObject(all));
    CL_OK(cl.clReleaseMemObject(to));
    program_end(&p);
}

TEST(tensor_goes_to_other_devices) {
    opencl_program_t p;
    program_open(&p);
    cl_mem from = program_buffer(&p, CL_MEM_READ_WRITE, PROGRAM_BYTES, NULL);
    cl_event gate = program_shut_gate(&p);
    program_fill(&p, from, 1);
    const gantry_tensor_t *x = program_adopt(&p, from, false);
    program_open_gate(gate);
    static const char *const devices[] = {"/CPU:0", "/GPU:1"};
    for (int i = 0; i < 2; ++i) {
        gantry_scope_t *scope = gantry_scope_begin(p.runtime, devices[i]);
        read_tensor(gantry_neg(scope, x));
        expect_values(-1, -1);
        assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    }
    program_close_runtime(&p);
    CL_OK(cl.clReleaseMemObject(from));
    program_end(&p);
}

/* ---- reports, limits and parts of a card ---- */

static void expect_in_reports(const opencl_program_t *p, const char *text, const char *json) {
    static char report[1 << 16];
    assert_int_equal(gantry_get_memory_report(p->runtime, "GPU:0", GANTRY_REPORT_TEXT, report,
                                              sizeof report, NULL),
                     GANTRY_OK);
    if (!strstr(report, text)) fail_msg("%s", report);
    assert_int_equal(gantry_get_memory_report(p->runtime, "GPU:0", GANTRY_REPORT_JSON, report,
                                              sizeof report, NULL),
                     GANTRY_OK);
    if (!strstr(report, json)) fail_msg("%s", report);
}

TEST(memory_counts_as_foreign_and_not_against_limits) {
    opencl_program_t p;
    program_begin(&p);
    const gantry_adopted_context_t adopted = program_adopted(&p);
    const gantry_adopted_context_t *const list[] = {&adopted};
    gantry_runtime_options_t options = program_options(&p, list, 1);
    options.memory_limit_bytes = 1 << 20;
    program_open_with(&p, &options);
    cl_mem large = program_buffer(&p, CL_MEM_READ_WRITE, 4 << 20, NULL);
    const gantry_tensor_t *x = gantry_tensor_from_device_memory(
        p.scope, p.gpu, GANTRY_FLOAT32, GANTRY_SHAPE(1 << 20), large, 0, NULL);
    gantry_memory_info_t info = info_of(&p);
    assert_int_equal(info.foreign_bytes, 4 << 20);
    assert_int_equal(info.current_bytes, 0);
    assert_int_equal(info.limit_bytes, 1 << 20);
    expect_in_reports(&p, "; the program's own: 4194304\n", "\"foreign_bytes\":4194304");
    assert_non_null(gantry_sum(p.scope, x, NULL));
    assert_null(gantry_neg(p.scope, x)); /* Gantry's own memory is limited */
    assert_int_equal(gantry_scope_status(p.scope), GANTRY_RESOURCE_EXHAUSTED);
    (void)gantry_scope_end(p.scope);
    p.scope = NULL;
    assert_int_equal(gantry_runtime_synchronize(p.runtime), GANTRY_OK);
    assert_int_equal(info_of(&p).foreign_bytes, 0);
    program_close_runtime(&p);
    CL_OK(cl.clReleaseMemObject(large));
    program_end(&p);
}

TEST(first_part_of_a_card_has_the_queue) {
    opencl_program_t p;
    program_open_as(&p, "GPU:0=16M,16M");
    gantry_native_t native = {.struct_size = sizeof native};
    const gantry_logical_device_t *second;
    assert_int_equal(gantry_find_logical_device(p.runtime, "GPU:1", &second), GANTRY_OK);
    assert_int_equal(gantry_device_get_native(second, &native), GANTRY_OK);
    assert_ptr_equal(native.context, p.context);
    assert_ptr_not_equal(native.queue, p.queue);
    assert_int_equal(gantry_device_get_native(p.gpu, &native), GANTRY_OK);
    assert_ptr_equal(native.queue, p.queue);
    cl_mem from = program_buffer(&p, CL_MEM_READ_WRITE, PROGRAM_BYTES, NULL);
    program_fill(&p, from, 1);
    const gantry_tensor_t *x = program_adopt(&p, from, false);
    gantry_scope_t *scope = gantry_scope_begin(p.runtime, "/GPU:1");
    read_tensor(gantry_neg(scope, x)); /* a copy in the same context */
    expect_values(-1, -1);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    program_close_runtime(&p);
    CL_OK(cl.clReleaseMemObject(from));
    program_end(&p);
}

/* The copy is in a queue of the other part. */
TEST(queue_comes_after_other_queues_once_memory_was_given_back) {
    opencl_program_t p;
    program_open_as(&p, "GPU:0=16M,16M");
    cl_mem from = program_buffer(&p, CL_MEM_READ_WRITE, PROGRAM_BYTES, NULL);
    gantry_scope_t *scope = gantry_scope_begin(p.runtime, "/GPU:1");
    read_tensor(gantry_neg(scope, gantry_fill(scope, GANTRY_SHAPE(PROGRAM_ITEMS),
                                              gantry_scalar_f32(scope, 1)))); /* takes memory */
    for (int i = 0; i < 20; ++i) {
        cl_event gate = program_shut_gate(&p);
        program_fill(&p, from, 1);
        const gantry_tensor_t *x = program_adopt(&p, from, false), *negated = gantry_neg(scope, x);
        gantry_tensor_drop(p.scope, x);
        program_fill(&p, from, 1000);
        program_open_gate(gate);
        read_tensor(negated);
        expect_values(-1, -1);
    }
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    program_close_runtime(&p);
    assert_int_equal(p.released, 20);
    CL_OK(cl.clReleaseMemObject(from));
    program_end(&p);
}

TEST(context_without_a_queue_gets_one_of_gantrys_own) {
    opencl_program_t p;
    program_begin(&p);
    gantry_adopted_context_t adopted = program_adopted(&p);
    adopted.queue = NULL;
    adopted.device = NULL; /* the context has one device */
    const gantry_adopted_context_t *const list[] = {&adopted};
    const gantry_runtime_options_t options = program_options(&p, list, 1);
    program_open_with(&p, &options);
    gantry_native_t native = {.struct_size = sizeof native};
    assert_int_equal(gantry_device_get_native(p.gpu, &native), GANTRY_OK);
    assert_ptr_equal(native.context, p.context);
    assert_ptr_not_equal(native.queue, p.queue);
    cl_mem from = program_buffer(&p, CL_MEM_READ_WRITE, PROGRAM_BYTES, NULL);
    program_fill(&p, from, 1);
    CL_OK(cl.clFinish(p.queue));
    read_tensor(gantry_neg(p.scope, program_adopt(&p, from, false)));
    expect_values(-1, -1);
    program_close_runtime(&p);
    assert_int_equal(p.released, 1);
    CL_OK(cl.clReleaseMemObject(from));
    program_end(&p);
}

TEST(timeline_of_an_adopted_queue_is_written) {
    opencl_program_t p;
    char path[] = "/tmp/gantry_interop_XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    program_open(&p);
    cl_mem from = program_buffer(&p, CL_MEM_READ_WRITE, PROGRAM_BYTES, NULL),
           to = program_buffer(&p, CL_MEM_READ_WRITE, PROGRAM_BYTES, NULL);
    assert_int_equal(gantry_trace_start(p.runtime, path), GANTRY_OK);
    run_chain(&p, from, to, 1);
    restart_scope(&p);
    assert_int_equal(gantry_trace_stop(p.runtime), GANTRY_OK);
    run_chain(&p, from, to, 3);
    program_read(&p, to, values);
    expect_values(24, 8);
    gantry_native_t native = {.struct_size = sizeof native};
    assert_int_equal(gantry_device_get_native(p.gpu, &native), GANTRY_OK);
    assert_ptr_equal(native.queue, p.queue); /* none with times took its place */
    program_close_runtime(&p);
    assert_true(lseek(file, 0, SEEK_END) > 0);
    (void)close(file);
    (void)unlink(path);
    CL_OK(cl.clReleaseMemObject(from));
    CL_OK(cl.clReleaseMemObject(to));
    program_end(&p);
}

/* ---- threads ---- */

enum { THREADS = 4, ROUNDS = 50 };

static void *share_in_thread(void *argument) {
    opencl_program_t *p = argument;
    static const float first = 1;
    float got[PROGRAM_ITEMS];
    cl_int error;
    cl_mem memory = cl.clCreateBuffer(p->context, CL_MEM_READ_WRITE, PROGRAM_BYTES, NULL, &error);
    for (int i = 0; i < ROUNDS && error == CL_SUCCESS; ++i) {
        gantry_scope_t *scope = gantry_scope_begin(p->runtime, "/GPU:0");
        const gantry_from_device_memory_options_t options = {
            .struct_size = sizeof options, .release = program_count_release, .user = p};
        error = cl.clEnqueueFillBuffer(p->queue, memory, &first, sizeof first, 0, PROGRAM_BYTES, 0,
                                       NULL, NULL);
        const gantry_tensor_t *x = gantry_tensor_from_device_memory(
            scope, p->gpu, GANTRY_FLOAT32, GANTRY_SHAPE(PROGRAM_ITEMS), memory, 0, &options);
        const gantry_tensor_t *sum = gantry_add(scope, x, x);
        if (gantry_tensor_read(sum, got, sizeof got) != GANTRY_OK || got[PROGRAM_ITEMS - 1] != 2.0f)
            error = 1;
        (void)gantry_scope_end(scope);
    }
    (void)cl.clReleaseMemObject(memory);
    return error == CL_SUCCESS ? NULL : argument;
}

TEST(threads_share_one_queue) {
    opencl_program_t p;
    pthread_t threads[THREADS];
    program_open(&p);
    for (int i = 0; i < THREADS; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, share_in_thread, &p), 0);
    for (int i = 0; i < THREADS; ++i) {
        void *failed = &p;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    program_close_runtime(&p);
    assert_int_equal(p.released, THREADS * ROUNDS);
    program_end(&p);
}

TEST(two_runtimes_share_a_context) {
    opencl_program_t p, other;
    program_open(&p);
    const gantry_adopted_context_t adopted = program_adopted(&p);
    const gantry_adopted_context_t *const list[] = {&adopted};
    other = p;
    locked_heap_init(&other.heap, -1);
    const gantry_runtime_options_t options = program_options(&other, list, 1);
    program_open_with(&other, &options);
    cl_mem from = program_buffer(&p, CL_MEM_READ_WRITE, PROGRAM_BYTES, NULL);
    program_fill(&p, from, 1);
    const gantry_tensor_t *negated = gantry_neg(p.scope, program_adopt(&p, from, false));
    const gantry_device_memory_t at = memory_of(negated);
    const gantry_tensor_t *again = gantry_tensor_from_device_memory(
        other.scope, other.gpu, GANTRY_FLOAT32, GANTRY_SHAPE(PROGRAM_ITEMS), at.memory,
        at.offset_bytes, NULL);
    read_tensor(gantry_neg(other.scope, again));
    expect_values(1, 1);
    program_close_runtime(&other);
    locked_heap_deinit(&other.heap);
    program_close_runtime(&p);
    CL_OK(cl.clReleaseMemObject(from));
    program_end(&p);
}

int main(void) { return test_main(); }
