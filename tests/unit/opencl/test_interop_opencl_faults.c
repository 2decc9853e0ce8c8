/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A context, queue, cl_mem or event that cannot be shared is refused with the object, its
 * value and what is accepted.
 * Promise: A read of a cl_mem that the host must not read names its flag, and kernels use it.
 * Promise: References to the program's context, queue, buffers and events are exact, also when any
 * allocation or any OpenCL call fails.
 * Promise: A device over the program's context is not tried by another process, and is the one that
 * "auto" takes.
 * Promise: A lost device and a child of fork leave the program's objects as they were, and what a
 * lost device holds is released once. */
#define _XOPEN_SOURCE 700
#include "fork_child.h"
#include "icd_folder.h"
#include "opencl_program.h"

static void expect_refused(const gantry_runtime_options_t *options, const char *text) {
    gantry_runtime_t *runtime;
    assert_int_equal(gantry_runtime_create(options, &runtime), GANTRY_INVALID_ARGUMENT);
    assert_null(runtime);
    if (!strstr(gantry_last_message(), text)) fail_msg("%s", gantry_last_message());
}

static void expect_context_refused(opencl_program_t *p, const gantry_adopted_context_t *adopted,
                                   const char *text) {
    const gantry_adopted_context_t *const list[] = {adopted};
    const gantry_runtime_options_t options = program_options(p, list, 1);
    expect_refused(&options, text);
    assert_non_null(strstr(gantry_last_message(), "adopted[0]: "));
    assert_int_equal(p->heap.inner.live_blocks, 0);
}

TEST(contexts_that_cannot_be_adopted_are_refused) {
    opencl_program_t p;
    program_begin(&p);
    gantry_adopted_context_t adopted = program_adopted(&p);
    const gantry_adopted_context_t *twice[] = {&adopted, &adopted};
    gantry_runtime_options_t options = program_options(&p, twice, 2);
    expect_refused(&options, "adopted[1]: /physical_device:GPU:0 has a context of the program");
    options = program_options(&p, NULL, 1);
    expect_refused(&options, "adopted is NULL, but adopted_count is 1");
    expect_context_refused(&p, NULL, "it is NULL");
    adopted.struct_size = 4000;
    expect_context_refused(&p, &adopted, "struct_size is 4000");
    adopted = program_adopted(&p);
    adopted.backend = NULL;
    expect_context_refused(&p, &adopted, "backend NULL is no name");
    adopted.backend = "vulkan";
    expect_context_refused(&p, &adopted, "backend vulkan is unknown; of those in use, these share");
    adopted.backend = "cpu";
    expect_context_refused(&p, &adopted,
                           "backend cpu shares none; of those in use, these share "
                           "contexts: opencl");
    adopted = program_adopted(&p);
    adopted.context = NULL;
    expect_context_refused(&p, &adopted, "the cl_context is NULL");
    adopted = program_adopted(&p);
    adopted.device = p.devices[1];
    expect_context_refused(&p, &adopted, "is not of the cl_context");
    options = program_options(&p, twice, 1);
    options.visible_devices = "1";
    adopted = program_adopted(&p);
    expect_refused(&options,
                   "the context's device, /physical_device:GPU:0 (opencl:0), is not "
                   "visible");
    assert_int_equal(program_queue_references(&p), 1);
    program_end(&p);
}

TEST(device_must_be_named_in_a_context_of_two) {
    opencl_program_t p;
    cl_int error;
    program_begin(&p);
    cl_context both = cl.clCreateContext(NULL, 2, p.devices, NULL, NULL, &error);
    CL_OK(error);
    gantry_adopted_context_t adopted = program_adopted(&p);
    adopted.context = both;
    adopted.device = NULL;
    adopted.queue = NULL;
    expect_context_refused(&p, &adopted, "has 2 devices: device must name one of them");
    gantry_adopted_context_t second = adopted;
    adopted.device = p.devices[0];
    second.device = p.devices[1];
    const gantry_adopted_context_t *const list[] = {&adopted, &second};
    const gantry_runtime_options_t options = program_options(&p, list, 2);
    program_open_with(&p, &options); /* one context, two devices */
    gantry_scope_t *scope = gantry_scope_begin(p.runtime, "/GPU:1");
    const gantry_tensor_t *x = gantry_fill(p.scope, GANTRY_SHAPE(64), gantry_scalar_f32(scope, 2));
    float got[64];
    assert_int_equal(gantry_tensor_read(gantry_neg(scope, x), got, sizeof got), GANTRY_OK);
    assert_float_equal(got[63], -2, 0);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    program_close_runtime(&p);
    CL_OK(cl.clReleaseContext(both));
    program_end(&p);
}

TEST(queues_that_cannot_be_adopted_are_refused) {
    opencl_program_t p;
    cl_int error;
    program_begin(&p);
    cl_context both = cl.clCreateContext(NULL, 2, p.devices, NULL, NULL, &error);
    CL_OK(error);
    const struct {
        cl_context context;
        cl_device_id device;
        cl_command_queue_properties properties;
        const char *why;
    } cases[] = {
        {p.context, p.devices[0], CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, ": it is out of order"},
        {both, p.devices[0], 0, ": it is of another context"},
        {both, p.devices[1], 0, ": it is of another device"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        gantry_adopted_context_t adopted = program_adopted(&p);
        if (i == 2) adopted.context = both;
        adopted.queue =
            cl.clCreateCommandQueue(cases[i].context, cases[i].device, cases[i].properties, &error);
        CL_OK(error);
        expect_context_refused(&p, &adopted, cases[i].why);
        assert_non_null(strstr(gantry_last_message(), "; an in-order queue of the cl_context"));
        CL_OK(cl.clReleaseCommandQueue(adopted.queue));
    }
    CL_OK(cl.clReleaseContext(both));
    program_end(&p);
}

TEST(device_that_becomes_invisible_is_refused) {
    opencl_program_t p;
    gantry_runtime_t *runtime;
    const gantry_physical_device_t *second;
    program_begin(&p);
    const gantry_adopted_context_t adopted = program_adopted(&p);
    const gantry_adopted_context_t *const list[] = {&adopted};
    const gantry_runtime_options_t options = program_options(&p, list, 1);
    assert_int_equal(gantry_runtime_create(&options, &runtime), GANTRY_OK);
    assert_int_equal(gantry_find_physical_device(runtime, "GPU:1", &second), GANTRY_OK);
    assert_int_equal(gantry_set_visible_devices(runtime, &second, 1, "GPU"), GANTRY_OK);
    assert_int_equal(gantry_runtime_initialize(runtime), GANTRY_INVALID_ARGUMENT);
    assert_non_null(strstr(gantry_last_message(), "has a context of the program and is not"));
    gantry_runtime_release(runtime);
    program_end(&p);
}

/* Of equal cards, "auto" would take the first. */
TEST(auto_takes_the_card_of_the_context) {
    char setting[96];
    const char *const extra[] = {setting, NULL};
    opencl_program_t p;
    icd_folder_t claims;
    cl_int error;
    program_begin(&p);
    icd_folder_make(&claims);
    (void)snprintf(setting, sizeof setting, "GANTRY_CLAIMS_DIR=%s", claims.path);
    gantry_adopted_context_t adopted = program_adopted(&p);
    adopted.context = cl.clCreateContext(NULL, 1, p.devices + 1, NULL, NULL, &error);
    CL_OK(error);
    adopted.device = p.devices[1];
    adopted.queue = NULL;
    const gantry_adopted_context_t *const list[] = {&adopted};
    gantry_runtime_options_t options = program_options(&p, list, 1);
    options.visible_devices = "auto";
    options.extra = extra;
    program_open_with(&p, &options);
    gantry_native_t native = {.struct_size = sizeof native};
    assert_int_equal(gantry_device_get_native(p.gpu, &native), GANTRY_OK);
    assert_ptr_equal(native.context, adopted.context);
    assert_ptr_equal(native.device, p.devices[1]);
    const gantry_logical_device_t *none;
    assert_int_equal(gantry_find_logical_device(p.runtime, "GPU:1", &none), GANTRY_NOT_FOUND);
    program_close_runtime(&p);
    CL_OK(cl.clReleaseContext(adopted.context));
    icd_folder_remove(&claims);
    program_end(&p);
}

static int files_in(const icd_folder_t *folder) {
    DIR *names = opendir(folder->path);
    int count = 0;
    assert_non_null(names);
    for (const struct dirent *entry; (entry = readdir(names)) != NULL;)
        count += entry->d_name[0] != '.';
    (void)closedir(names);
    return count;
}

/* The process that tries a device leaves a note among the kernels. */
static int notes_after_opening(opencl_program_t *p, bool adopts) {
    const gantry_adopted_context_t adopted = program_adopted(p);
    const gantry_adopted_context_t *const list[] = {&adopted};
    gantry_runtime_options_t options = program_options(p, list, adopts);
    gantry_native_t native = {.struct_size = sizeof native};
    icd_folder_t folder;
    icd_folder_make(&folder);
    options.kernel_cache = folder.path;
    program_open_with(p, &options);
    assert_int_equal(gantry_device_get_native(p->gpu, &native), GANTRY_OK);
    program_close_runtime(p);
    const int count = files_in(&folder);
    icd_folder_remove(&folder);
    return count;
}

TEST(adopted_device_is_tried_by_no_other_process) {
    opencl_program_t p;
    program_begin(&p);
    assert_int_equal(notes_after_opening(&p, true), 0);
    assert_true(notes_after_opening(&p, false) > 0);
    program_end(&p);
}

/* ---- memory and events ---- */

static void expect_failure(opencl_program_t *p, gantry_status_t status, const char *text) {
    if (gantry_scope_status(p->scope) != status || !strstr(gantry_scope_message(p->scope), text))
        fail_msg("%d: %s", (int)gantry_scope_status(p->scope), gantry_scope_message(p->scope));
    (void)gantry_scope_end(p->scope);
    p->scope = gantry_scope_begin(p->runtime, "/GPU:0");
}

static void expect_memory_refused(opencl_program_t *p, cl_mem memory, uint64_t offset_bytes,
                                  bool is_writable, const char *text) {
    const gantry_from_device_memory_options_t options = {.struct_size = sizeof options,
                                                         .is_writable = is_writable,
                                                         .release = program_count_release,
                                                         .user = p};
    assert_null(gantry_tensor_from_device_memory(p->scope, p->gpu, GANTRY_FLOAT32,
                                                 GANTRY_SHAPE(PROGRAM_ITEMS), memory, offset_bytes,
                                                 &options));
    expect_failure(p, GANTRY_INVALID_ARGUMENT, text);
    assert_int_equal(p->released, 0);
    if (memory && !program_watch.fail_name) assert_int_equal(program_memory_references(memory), 1);
}

TEST(memory_that_does_not_suit_is_refused) {
    static _Alignas(64) char host[PROGRAM_BYTES + 64];
    opencl_program_t p;
    cl_int error;
    program_open(&p);
    cl_context other = cl.clCreateContext(NULL, 1, p.devices, NULL, NULL, &error);
    CL_OK(error);
    cl_mem foreign = cl.clCreateBuffer(other, CL_MEM_READ_WRITE, PROGRAM_BYTES, NULL, &error);
    CL_OK(error);
    cl_mem small = program_buffer(&p, CL_MEM_READ_WRITE, PROGRAM_BYTES - 4, NULL),
           good = program_buffer(&p, CL_MEM_READ_WRITE, PROGRAM_BYTES, NULL),
           read_only = program_buffer(&p, CL_MEM_READ_ONLY, PROGRAM_BYTES, NULL),
           write_only = program_buffer(&p, CL_MEM_WRITE_ONLY, PROGRAM_BYTES, NULL),
           crooked = program_buffer(&p, CL_MEM_USE_HOST_PTR, PROGRAM_BYTES, host + 4),
           slanted = program_buffer(&p, CL_MEM_USE_HOST_PTR, PROGRAM_BYTES, host + 16);
    const cl_image_format format = {CL_RGBA, CL_FLOAT};
    const cl_image_desc desc = {
        .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 32, .image_height = 32};
    cl_mem image = cl.clCreateImage(p.context, CL_MEM_READ_WRITE, &format, &desc, NULL, &error);
    CL_OK(error);
    expect_memory_refused(&p, NULL, 0, false, "data is NULL");
    expect_memory_refused(&p, small, 0, false, "has 4092 bytes; 4096 bytes at offset 0 are beyond");
    expect_memory_refused(&p, good, 4, false, "whose sum is at most 4096 are accepted");
    expect_memory_refused(&p, good, UINT64_MAX - 3, false,
                          "4096 bytes at offset 18446744073709551612 are beyond them");
    expect_memory_refused(&p, good, 2, false, "offset_bytes is 2; a multiple of 4 is accepted");
    expect_memory_refused(&p, foreign, 0, false, "it is of another context");
    expect_memory_refused(&p, read_only, 0, true, "it is CL_MEM_READ_ONLY");
    expect_memory_refused(&p, write_only, 0, false, "it is CL_MEM_WRITE_ONLY");
    expect_memory_refused(&p, crooked, 0, false, "no multiple of 16 bytes");
    expect_memory_refused(&p, slanted, 0, true, "not at a multiple of 64");
    expect_memory_refused(&p, image, 0, false, "it is an image; a buffer is accepted");
    program_fail_calls("clGetMemObjectInfo", CL_INVALID_MEM_OBJECT); /* of a released one */
    expect_memory_refused(&p, good, 0, false, "CL_INVALID_MEM_OBJECT");
    program_fail_calls(NULL, CL_SUCCESS);
    program_close_runtime(&p);
    cl_mem all[] = {small, good, read_only, write_only, crooked, slanted, image, foreign};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) CL_OK(cl.clReleaseMemObject(all[i]));
    CL_OK(cl.clReleaseContext(other));
    --p.live[FAULTS_LAYER_BUFFER]; /* the layer counts no image when it is made */
    program_end(&p);
}

/* Kernels use the buffer. */
TEST(read_that_the_programs_buffer_forbids_names_the_flag) {
    static const struct {
        cl_mem_flags flag;
        const char *name;
    } cases[] = {{CL_MEM_HOST_NO_ACCESS, "CL_MEM_HOST_NO_ACCESS"},
                 {CL_MEM_HOST_WRITE_ONLY, "CL_MEM_HOST_WRITE_ONLY"}};
    static float out[PROGRAM_ITEMS];
    for (int i = 0; i < 2; ++i) {
        opencl_program_t p;
        program_open(&p);
        cl_mem memory = program_buffer(&p, CL_MEM_READ_WRITE | cases[i].flag, PROGRAM_BYTES, NULL);
        const gantry_tensor_t *x = gantry_tensor_from_device_memory(
            p.scope, p.gpu, GANTRY_FLOAT32, GANTRY_SHAPE(PROGRAM_ITEMS), memory, 0, NULL);
        assert_non_null(x);
        assert_int_equal(gantry_tensor_read(gantry_neg(p.scope, x), out, sizeof out), GANTRY_OK);
        assert_int_equal(gantry_tensor_read(x, out, sizeof out), GANTRY_FAILED_PRECONDITION);
        assert_non_null(strstr(gantry_last_message(), cases[i].name));
        program_close_runtime(&p);
        CL_OK(cl.clReleaseMemObject(memory));
        program_end(&p);
    }
}

static void tracing_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                         const gantry_tensor_t **outputs, void *user) {
    const opencl_program_t *p = user;
    (void)inputs;
    outputs[0] = gantry_tensor_from_device_memory(scope, p->gpu, GANTRY_FLOAT32, GANTRY_SHAPE(4),
                                                  (void *)p->queue, 0, NULL);
}

TEST(calls_with_bad_arguments_are_refused) {
    opencl_program_t p, other;
    void *event = &p;
    program_open(&p);
    const gantry_tensor_t *x = gantry_scalar_f32(p.scope, 1);
    gantry_device_memory_t memory = {.struct_size = 0};
    gantry_native_t native = {.struct_size = 4000};
    assert_int_equal(gantry_tensor_get_device_memory(x, &memory), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_tensor_get_device_memory(x, NULL), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_tensor_get_device_memory(NULL, &memory), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_device_get_native(p.gpu, &native), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_device_get_native(NULL, &native), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_tensor_get_event(x, NULL), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_tensor_get_event(NULL, &event), GANTRY_INVALID_ARGUMENT);
    assert_null(event);
    assert_int_equal(gantry_tensor_use_until(x, NULL), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_tensor_use_until(NULL, p.queue), GANTRY_INVALID_ARGUMENT);
    gantry_scope_t *host = gantry_scope_begin(p.runtime, "/CPU:0");
    const gantry_tensor_t *y = gantry_scalar_f32(host, 1);
    memory.struct_size = sizeof memory;
    assert_int_equal(gantry_tensor_get_device_memory(y, &memory), GANTRY_FAILED_PRECONDITION);
    assert_non_null(strstr(gantry_last_message(), "the backend cpu of"));
    assert_int_equal(gantry_tensor_get_event(y, &event), GANTRY_FAILED_PRECONDITION);
    assert_int_equal(gantry_scope_end(host), GANTRY_OK);
    assert_null(gantry_tensor_from_device_memory(p.scope, NULL, GANTRY_FLOAT32, GANTRY_SHAPE(4),
                                                 p.queue, 0, NULL));
    expect_failure(&p, GANTRY_INVALID_ARGUMENT, "device is NULL");
    const gantry_adopted_context_t adopted = program_adopted(&p);
    const gantry_adopted_context_t *const list[] = {&adopted};
    other = p;
    const gantry_runtime_options_t options = program_options(&p, list, 1);
    program_open_with(&other, &options);
    assert_null(gantry_tensor_from_device_memory(p.scope, other.gpu, GANTRY_FLOAT32,
                                                 GANTRY_SHAPE(4), p.queue, 0, NULL));
    expect_failure(&p, GANTRY_INVALID_ARGUMENT, "device is of another runtime");
    (void)gantry_scope_end(other.scope);
    gantry_runtime_release(other.runtime);
    gantry_function_t *function;
    assert_int_equal(
        gantry_function_trace(p.runtime, "f", tracing_body, &p, NULL, 0, 1, NULL, &function),
        GANTRY_FAILED_PRECONDITION);
    assert_non_null(strstr(gantry_last_message(), "an input of the function is accepted"));
    program_end(&p);
}

/* Only the bytes of struct_size are read and written. */
TEST(structs_are_read_and_filled_up_to_their_size) {
    struct {
        gantry_native_t native;
        gantry_device_memory_t memory;
    } given;
    opencl_program_t p;
    program_begin(&p);
    gantry_adopted_context_t adopted = program_adopted(&p);
    const gantry_adopted_context_t *const list[] = {&adopted};
    const gantry_runtime_options_t options = program_options(&p, list, 1);
    adopted.struct_size = offsetof(gantry_adopted_context_t, queue); /* there is none */
    program_open_with(&p, &options);
    memset(&given, 0x55, sizeof given);
    given.native.struct_size = offsetof(gantry_native_t, device);
    given.memory.struct_size = offsetof(gantry_device_memory_t, size_bytes);
    assert_int_equal(gantry_device_get_native(p.gpu, &given.native), GANTRY_OK);
    assert_ptr_equal(given.native.context, p.context);
    assert_int_equal((uintptr_t)given.native.device, UINT64_C(0x5555555555555555));
    cl_mem from = program_buffer(&p, CL_MEM_READ_WRITE, PROGRAM_BYTES, NULL);
    const gantry_from_device_memory_options_t few = {
        .struct_size = offsetof(gantry_from_device_memory_options_t, release),
        .release = program_count_release};
    const gantry_tensor_t *x = gantry_tensor_from_device_memory(
        p.scope, p.gpu, GANTRY_FLOAT32, GANTRY_SHAPE(PROGRAM_ITEMS), from, 0, &few);
    assert_int_equal(gantry_tensor_get_device_memory(x, &given.memory), GANTRY_OK);
    assert_ptr_equal(given.memory.memory, from);
    assert_int_equal(given.memory.size_bytes, UINT64_C(0x5555555555555555));
    program_close_runtime(&p);
    assert_int_equal(p.released, 0);
    CL_OK(cl.clReleaseMemObject(from));
    program_end(&p);
}

TEST(events_of_another_context_are_refused) {
    opencl_program_t p;
    cl_int error;
    program_open(&p);
    cl_context other = cl.clCreateContext(NULL, 1, p.devices, NULL, NULL, &error);
    CL_OK(error);
    cl_event event = cl.clCreateUserEvent(other, &error);
    CL_OK(error);
    cl_mem memory = program_buffer(&p, CL_MEM_READ_WRITE, PROGRAM_BYTES, NULL);
    const gantry_from_device_memory_options_t options = {.struct_size = sizeof options,
                                                         .ready_event = event,
                                                         .release = program_count_release,
                                                         .user = &p};
    assert_null(gantry_tensor_from_device_memory(p.scope, p.gpu, GANTRY_FLOAT32,
                                                 GANTRY_SHAPE(PROGRAM_ITEMS), memory, 0, &options));
    expect_failure(&p, GANTRY_INVALID_ARGUMENT, "is of another context; one of the cl_context");
    assert_int_equal(p.released, 0);
    assert_int_equal(program_memory_references(memory), 1);
    const gantry_tensor_t *x = gantry_scalar_f32(p.scope, 1);
    assert_int_equal(gantry_tensor_use_until(x, event), GANTRY_INVALID_ARGUMENT);
    program_close_runtime(&p);
    CL_OK(cl.clSetUserEventStatus(event, CL_COMPLETE));
    CL_OK(cl.clReleaseEvent(event));
    CL_OK(cl.clReleaseMemObject(memory));
    CL_OK(cl.clReleaseContext(other));
    program_end(&p);
}

/* ---- any step fails ---- */

/* Adopts memory, computes, gives out and holds. */
static void share(opencl_program_t *p, cl_mem from, cl_event done) {
    gantry_device_memory_t memory = {.struct_size = sizeof memory};
    const gantry_from_device_memory_options_t options = {.struct_size = sizeof options,
                                                         .ready_event = done,
                                                         .release = program_count_release,
                                                         .user = p};
    void *event = NULL;
    const gantry_tensor_t *x = gantry_tensor_from_device_memory(
        p->scope, p->gpu, GANTRY_FLOAT32, GANTRY_SHAPE(PROGRAM_ITEMS), from, 0, &options);
    const gantry_tensor_t *y = x ? gantry_neg(p->scope, x) : NULL;
    if (y && gantry_tensor_get_device_memory(y, &memory) == GANTRY_OK &&
        gantry_tensor_get_event(y, &event) == GANTRY_OK)
        (void)gantry_tensor_use_until(y, event);
    if (event) CL_OK(cl.clReleaseEvent(event));
    (void)gantry_scope_end(p->scope);
    p->scope = NULL;
    (void)gantry_runtime_synchronize(p->runtime);
    assert_int_equal(p->released, x ? 1 : 0);
    p->released = 0;
}

static void check_clean(opencl_program_t *p, cl_mem from, cl_event done) {
    CL_OK(cl.clFinish(p->queue));
    assert_int_equal(program_event_references(done), 1);
    assert_int_equal(program_memory_references(from), 1);
}

static void fail_each_of_sharing(bool is_call) {
    opencl_program_t p;
    cl_event done = NULL;
    program_open(&p);
    cl_mem from = program_buffer(&p, CL_MEM_READ_WRITE, PROGRAM_BYTES, NULL);
    program_fill(&p, from, 1);
    CL_OK(cl.clEnqueueMarkerWithWaitList(p.queue, 0, NULL, &done));
    share(&p, from, done); /* builds programs */
    fault_t fault = {is_call, 1};
    for (bool was_met = true; was_met; ++fault.at) {
        p.scope = gantry_scope_begin(p.runtime, "/GPU:0");
        begin_fault(&p, fault);
        share(&p, from, done);
        was_met = end_fault(&p, fault);
        check_clean(&p, from, done);
    }
    assert_true(fault.at > 8);
    program_close_runtime(&p);
    CL_OK(cl.clReleaseEvent(done));
    CL_OK(cl.clReleaseMemObject(from));
    program_end(&p);
}

TEST(references_are_exact_when_an_allocation_of_sharing_fails) { fail_each_of_sharing(false); }

TEST(references_are_exact_when_a_call_of_sharing_fails) { fail_each_of_sharing(true); }

/* Each fault while a runtime is made over the context, and its device is opened. */
static void fail_each_of_opening(bool is_call) {
    opencl_program_t p;
    long live[FAULTS_LAYER_KINDS];
    program_begin(&p);
    const gantry_adopted_context_t adopted = program_adopted(&p);
    const gantry_adopted_context_t *const list[] = {&adopted};
    const gantry_runtime_options_t options = program_options(&p, list, 1);
    gantry_native_t native = {.struct_size = sizeof native};
    for (int kind = 0; kind < FAULTS_LAYER_KINDS; ++kind) live[kind] = program_watch.live(kind);
    fault_t fault = {is_call, 1};
    for (bool was_met = true; was_met; ++fault.at) {
        begin_fault(&p, fault);
        if (gantry_runtime_create(&options, &p.runtime) == GANTRY_OK &&
            gantry_find_logical_device(p.runtime, "GPU:0", &p.gpu) == GANTRY_OK)
            (void)gantry_device_get_native(p.gpu, &native);
        was_met = end_fault(&p, fault);
        gantry_runtime_release(p.runtime);
        p.runtime = NULL;
        assert_int_equal(p.heap.inner.live_blocks, 0);
        assert_int_equal(program_queue_references(&p), 1);
        for (int kind = 0; kind < FAULTS_LAYER_KINDS; ++kind)
            assert_int_equal(program_watch.live(kind), live[kind]);
    }
    assert_true(fault.at > 20);
    program_end(&p);
}

TEST(references_are_exact_when_an_allocation_of_opening_fails) { fail_each_of_opening(false); }

TEST(references_are_exact_when_a_call_of_opening_fails) { fail_each_of_opening(true); }

/* ---- ends ---- */

TEST(memory_is_released_after_the_runtimes_release) {
    opencl_program_t p;
    program_open(&p);
    cl_mem from = program_buffer(&p, CL_MEM_READ_WRITE, PROGRAM_BYTES, NULL);
    program_fill(&p, from, 1);
    gantry_tensor_t *x = gantry_tensor_retain(program_adopt(&p, from, false));
    assert_int_equal(gantry_scope_end(p.scope), GANTRY_OK);
    p.scope = NULL;
    gantry_runtime_release(p.runtime);
    assert_int_equal(p.released, 0);
    gantry_tensor_release(x);
    assert_int_equal(p.released, 1);
    assert_int_equal(p.heap.inner.live_blocks, 0);
    p.runtime = NULL;
    assert_int_equal(program_memory_references(from), 1);
    CL_OK(cl.clReleaseMemObject(from));
    program_end(&p);
}

/* ---- loss and fork ---- */

TEST(lost_device_releases_once) {
    opencl_program_t p;
    program_open(&p);
    cl_mem from = program_buffer(&p, CL_MEM_READ_WRITE, PROGRAM_BYTES, NULL);
    const gantry_tensor_t *x = program_adopt(&p, from, false);
    assert_non_null(gantry_neg(p.scope, x));
    program_fail_calls("clEnqueueNDRangeKernel", CL_DEVICE_NOT_AVAILABLE);
    assert_null(gantry_neg(p.scope, x));
    program_fail_calls(NULL, CL_SUCCESS);
    assert_int_equal(gantry_scope_status(p.scope), GANTRY_UNAVAILABLE);
    assert_int_equal(p.released, 0);
    (void)gantry_scope_end(p.scope);
    p.scope = gantry_scope_begin(p.runtime, "/GPU:0");
    assert_null(program_adopt(&p, from, false));
    program_close_runtime(&p);
    assert_int_equal(p.released, 1);
    assert_int_equal(program_memory_references(from), 1);
    CL_OK(cl.clReleaseMemObject(from));
    program_end(&p);
}

TEST(child_of_fork_leaves_all_to_the_program) {
    opencl_program_t p;
    program_open(&p);
    cl_mem from = program_buffer(&p, CL_MEM_READ_WRITE, PROGRAM_BYTES, NULL);
    const gantry_tensor_t *x = program_adopt(&p, from, false);
    assert_int_equal(gantry_runtime_synchronize(p.runtime), GANTRY_OK);
    const pid_t child = fork();
    if (child == 0) {
        void *event = NULL;
        gantry_device_memory_t memory = {.struct_size = sizeof memory};
        gantry_native_t native = {.struct_size = sizeof native};
        (void)alarm(HANG_SECONDS);
        CHECK(!program_adopt(&p, from, false));
        CHECK(gantry_tensor_get_device_memory(x, &memory) == GANTRY_FAILED_PRECONDITION);
        CHECK(gantry_tensor_get_event(x, &event) == GANTRY_FAILED_PRECONDITION);
        CHECK(gantry_tensor_use_until(x, &p) == GANTRY_FAILED_PRECONDITION);
        CHECK(gantry_device_get_native(p.gpu, &native) == GANTRY_FAILED_PRECONDITION);
        (void)gantry_scope_end(p.scope);
        gantry_runtime_release(p.runtime);
        CHECK(p.released == 0);
        _exit(0);
    }
    fork_child_expect_success(child);
    program_close_runtime(&p);
    assert_int_equal(p.released, 1);
    CL_OK(cl.clReleaseMemObject(from));
    program_end(&p);
}

int main(void) { return test_main(); }
