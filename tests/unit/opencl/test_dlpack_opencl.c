/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A cl_mem comes in and goes out by DLPack, with its offset and the number of its GPU,
 * without a copy and in the order of the streams that the options name, and the host does not wait.
 * Promise: Device memory of other strides becomes a copy on the device, of every element type.
 * Promise: The deleter of device memory is called once, after the last use has ended, and memory
 * that a consumer's queue uses is kept until that work has ended.
 * Promise: When an allocation or a call of OpenCL fails, each struct is the caller's or is deleted
 * once, and nothing leaks.
 * Promise: DLPack's structs of another device, context, size or stream are refused with the value
 * and what is accepted, and stay the caller's. */
#define _XOPEN_SOURCE 700
#include "opencl_program.h"

#include "api/dlpack_abi.h"

typedef struct DLManagedTensorVersioned versioned_t;
typedef struct DLPackExchangeAPI table_t;

static float values[PROGRAM_ITEMS];

/* A cl_mem as a producer gives it. */
typedef struct producer_t {
    versioned_t managed;
    int64_t shape[GANTRY_MAX_RANK], strides[GANTRY_MAX_RANK];
    int deleted;
} producer_t;

static void count_deleted(versioned_t *self) { ++((producer_t *)self->manager_ctx)->deleted; }

/* shape [32, 32] of float, row-major */
static void produce(producer_t *d, cl_mem memory) {
    *d = (producer_t){.shape = {32, 32}, .strides = {32, 1}};
    d->managed.version.major = 1;
    d->managed.manager_ctx = d;
    d->managed.deleter = count_deleted;
    d->managed.dl_tensor = (gantry__dl_tensor_t){.data = memory,
                                                 .device_type = GANTRY__DL_OPENCL,
                                                 .ndim = 2,
                                                 .dtype = {2, 32, 1},
                                                 .shape = d->shape,
                                                 .strides = d->strides};
}

static const gantry_from_dlpack_options_t in_place = {.struct_size = sizeof in_place,
                                                      .requires_no_copy = true};

static const gantry_tensor_t *take(opencl_program_t *p, producer_t *d,
                                   const gantry_from_dlpack_options_t *options) {
    const gantry_tensor_t *x = gantry_tensor_from_dlpack(p->scope, &d->managed, options);
    if (!x) fail_msg("%s", gantry_scope_message(p->scope));
    return x;
}

static versioned_t *give(const gantry_tensor_t *tensor, void *stream) {
    const gantry_to_dlpack_options_t options = {.struct_size = sizeof options, .stream = stream};
    versioned_t *managed;
    if (gantry_tensor_to_dlpack(tensor, &options, &managed) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return managed;
}

static void expect_refused(opencl_program_t *p, const char *text) {
    assert_int_equal(gantry_scope_status(p->scope), GANTRY_INVALID_ARGUMENT);
    if (!strstr(gantry_scope_message(p->scope), text))
        fail_msg("message: %s", gantry_scope_message(p->scope));
    gantry_scope_clear(p->scope);
}

static void expect_values(float first, float step) {
    for (int i = 0; i < PROGRAM_ITEMS; ++i)
        assert_float_equal(values[i], first + step * (float)i, 0);
}

static const gantry_tensor_t *make_sum(const opencl_program_t *p) {
    const gantry_tensor_t *one = gantry_scalar_f32(p->scope, 1);
    return gantry_add(p->scope, gantry_fill(p->scope, GANTRY_SHAPE(32, 32), one), one);
}

/* ---- in and out ---- */

TEST(memory_comes_in_and_goes_out_in_place) {
    opencl_program_t p;
    producer_t d;
    program_open(&p);
    cl_mem from = program_buffer(&p, CL_MEM_READ_WRITE, 2 * PROGRAM_BYTES, NULL);
    program_fill(&p, from, 1);
    produce(&d, from);
    d.managed.dl_tensor.byte_offset = 64;
    d.shape[0] = 16;
    const gantry_tensor_t *x = take(&p, &d, &in_place);
    gantry_device_memory_t at = {.struct_size = sizeof at};
    assert_int_equal(gantry_tensor_get_device_memory(x, &at), GANTRY_OK);
    assert_ptr_equal(at.memory, from);
    assert_int_equal(at.offset_bytes, 64);
    versioned_t *managed =
        give(gantry_tensor_view(p.scope, x, 128, GANTRY_FLOAT32, GANTRY_SHAPE(3, 2)), NULL);
    assert_ptr_equal(managed->dl_tensor.data, from);
    assert_int_equal(managed->dl_tensor.byte_offset, 64 + 128);
    assert_int_equal(managed->dl_tensor.device_type, GANTRY__DL_OPENCL);
    assert_int_equal(managed->dl_tensor.device_id, 0);
    assert_true(managed->flags == GANTRY__DL_READ_ONLY);
    const gantry_tensor_t *again = gantry_tensor_from_dlpack(p.scope, managed, &in_place);
    float got[6];
    assert_int_equal(gantry_tensor_read(again, got, sizeof got), GANTRY_OK);
    for (int i = 0; i < 6; ++i) assert_float_equal(got[i], (float)(1 + 16 + 32 + i), 0);
    assert_int_equal(d.deleted, 0);
    program_close_runtime(&p);
    assert_int_equal(d.deleted, 1);
    assert_int_equal(program_memory_references(from), 1);
    CL_OK(cl.clReleaseMemObject(from));
    program_end(&p);
}

/* A queue of the producer and one of the consumer, each another one than Gantry's: fill, x + x,
 * twice, without a wait. */
static void exchange_by_queues(opencl_program_t *p, cl_mem from, cl_mem to, float first,
                               long *out_waits) {
    producer_t *d = calloc(1, sizeof *d);
    cl_int error;
    cl_command_queue adopted = p->queue;
    cl_command_queue own = cl.clCreateCommandQueue(p->context, p->devices[0], 0, &error);
    CL_OK(error);
    p->queue = own;
    program_watch_reset();
    cl_event gate = program_shut_gate(p);
    program_fill(p, from, first);
    produce(d, from);
    const gantry_from_dlpack_options_t options = {
        .struct_size = sizeof options, .requires_no_copy = true, .stream = own};
    const gantry_tensor_t *x = take(p, d, &options);
    const gantry_tensor_t *sum = gantry_add(p->scope, x, x);
    versioned_t *managed = give(sum, own);
    cl_mem memory = managed->dl_tensor.data;
    const cl_ulong offset = managed->dl_tensor.byte_offset;
    CL_OK(cl.clSetKernelArg(p->twice, 0, sizeof memory, &memory));
    CL_OK(cl.clSetKernelArg(p->twice, 1, sizeof offset, &offset));
    CL_OK(cl.clSetKernelArg(p->twice, 2, sizeof to, &to));
    program_launch(p, p->twice);
    managed->deleter(managed); /* before its work has ended */
    gantry_tensor_drop(p->scope, sum);
    gantry_tensor_drop(p->scope, x);
    /* takes the sum's memory, if it was not kept */
    const gantry_tensor_t *other =
        gantry_fill(p->scope, GANTRY_SHAPE(32, 32), gantry_scalar_f32(p->scope, -5));
    gantry_device_memory_t at = {.struct_size = sizeof at};
    assert_int_equal(gantry_tensor_get_device_memory(other, &at), GANTRY_OK);
    assert_false(at.memory == memory && at.offset_bytes == offset);
    *out_waits = program_watch.waits + program_watch.transfers;
    assert_int_equal(d->deleted, 0);
    program_open_gate(gate);
    CL_OK(cl.clFlush(own));
    program_read(p, to, values);
    expect_values(4 * first, 4);
    assert_int_equal(gantry_runtime_synchronize(p->runtime), GANTRY_OK);
    assert_int_equal(d->deleted, 1);
    p->queue = adopted;
    CL_OK(cl.clReleaseCommandQueue(own));
    free(d);
}

static void exchange_with(bool adopts_queue) {
    opencl_program_t p;
    program_begin(&p);
    gantry_adopted_context_t adopted = program_adopted(&p);
    const gantry_adopted_context_t *const list[] = {&adopted};
    const gantry_runtime_options_t options = program_options(&p, list, 1);
    if (!adopts_queue) adopted.queue = NULL;
    program_open_with(&p, &options);
    cl_mem from = program_buffer(&p, CL_MEM_READ_WRITE, PROGRAM_BYTES, NULL),
           to = program_buffer(&p, CL_MEM_READ_WRITE, PROGRAM_BYTES, NULL);
    long waits;
    exchange_by_queues(&p, from, to, 1, &waits); /* takes memory and builds programs */
    exchange_by_queues(&p, from, to, 3, &waits);
    assert_int_equal(waits, 0);
    program_close_runtime(&p);
    CL_OK(cl.clReleaseMemObject(from));
    CL_OK(cl.clReleaseMemObject(to));
    program_end(&p);
}

TEST(queues_of_others_are_in_order_without_a_wait) {
    exchange_with(true);
    exchange_with(false);
}

static int give_managed(void *object, versioned_t **out) {
    *out = object;
    return 0;
}
static int take_managed(versioned_t *managed, void **out_object) {
    *out_object = managed;
    return 0;
}
static struct {
    void *stream;
    int32_t type, id;
    int code;
} table_answer;
static int name_stream(int32_t type, int32_t id, void **out_stream) {
    table_answer.type = type, table_answer.id = id;
    *out_stream = table_answer.stream;
    return table_answer.code;
}

TEST(tables_name_the_stream) {
    const table_t table = {.header = {.version = {1, 3}},
                           .managed_tensor_from_py_object_no_sync = give_managed,
                           .managed_tensor_to_py_object_no_sync = take_managed,
                           .current_work_stream = name_stream};
    opencl_program_t p;
    producer_t d;
    void *object = NULL;
    cl_int error;
    program_open(&p);
    cl_mem from = program_buffer(&p, CL_MEM_READ_WRITE, PROGRAM_BYTES, NULL);
    cl_command_queue adopted = p.queue,
                     own = cl.clCreateCommandQueue(p.context, p.devices[0], 0, &error);
    CL_OK(error);
    p.queue = own;
    (void)make_sum(&p); /* builds programs */
    program_watch_reset();
    table_answer.stream = own;
    table_answer.code = 0;
    cl_event gate = program_shut_gate(&p);
    program_fill(&p, from, 2);
    produce(&d, from);
    const gantry_tensor_t *x = gantry_tensor_from_exchange(p.scope, &table, &d.managed, NULL);
    program_expect_scope_ok(&p);
    assert_int_equal(table_answer.type, GANTRY__DL_OPENCL);
    assert_int_equal(gantry_tensor_to_exchange(gantry_add(p.scope, x, x), &table, NULL, &object),
                     GANTRY_OK);
    assert_int_equal(program_watch.waits, 0);
    program_open_gate(gate);
    versioned_t *managed = object;
    CL_OK(cl.clEnqueueReadBuffer(own, managed->dl_tensor.data, CL_TRUE,
                                 managed->dl_tensor.byte_offset, PROGRAM_BYTES, values, 0, NULL,
                                 NULL));
    expect_values(4, 2);
    managed->deleter(managed);
    table_answer.code = -1;
    produce(&d, from);
    assert_null(gantry_tensor_from_exchange(p.scope, &table, &d.managed, NULL));
    expect_refused(&p, "current_work_stream returned -1");
    assert_int_equal(d.deleted, 1);
    assert_int_equal(gantry_tensor_to_exchange(make_sum(&p), &table, NULL, &object),
                     GANTRY_INVALID_ARGUMENT);
    p.queue = adopted;
    program_close_runtime(&p);
    CL_OK(cl.clReleaseCommandQueue(own));
    CL_OK(cl.clReleaseMemObject(from));
    program_end(&p);
}

/* ---- strides ---- */

static void expect_strided(opencl_program_t *p, cl_mem from, const unsigned char *bytes, int code,
                           int size) {
    /* [2, 3, 1, 4] in [8, 8], transposed and reversed; the stride of 1 leads nowhere */
    unsigned char wanted[24 * 16], got[24 * 16], *next = wanted;
    producer_t d;
    produce(&d, from);
    d.managed.dl_tensor.ndim = 4;
    d.managed.dl_tensor.dtype.code = (uint8_t)code;
    d.managed.dl_tensor.dtype.bits = (uint8_t)(8 * size);
    d.managed.dl_tensor.byte_offset = (uint64_t)(40 * size);
    d.shape[0] = 2, d.shape[1] = 3, d.shape[2] = 1, d.shape[3] = 4;
    d.strides[0] = 1, d.strides[1] = -8, d.strides[2] = INT64_MIN, d.strides[3] = 2;
    for (int64_t i = 0; i < 24; ++i, next += size)
        memcpy(next, bytes + (40 + i / 12 - i / 4 % 3 * 8 + i % 4 * 2) * size, (size_t)size);
    assert_null(gantry_tensor_from_dlpack(p->scope, &d.managed, &in_place));
    assert_int_equal(gantry_scope_status(p->scope), GANTRY_FAILED_PRECONDITION);
    gantry_scope_clear(p->scope);
    assert_int_equal(d.deleted, 0);
    const gantry_tensor_t *x = take(p, &d, NULL);
    assert_ptr_equal(gantry_tensor_device(x), p->gpu);
    assert_true(gantry_shape_equal(gantry_tensor_shape(x), &GANTRY_SHAPE(2, 3, 1, 4)));
    if (gantry_tensor_read(x, got, 24 * (size_t)size) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    assert_memory_equal(got, wanted, 24 * (size_t)size);
    assert_int_equal(gantry_runtime_synchronize(p->runtime), GANTRY_OK);
    assert_int_equal(d.deleted, 1);
}

TEST(other_strides_are_gathered_on_the_device) {
    static const struct {
        int code, size;
    } types[] = {{6, 1}, {1, 1}, {0, 1}, {12, 1}, {10, 1}, {0, 2}, {1, 2}, {2, 2}, {4, 2},
                 {0, 4}, {1, 4}, {2, 4}, {5, 8},  {2, 8},  {0, 8}, {1, 8}, {5, 16}};
    unsigned char bytes[64 * 16];
    opencl_program_t p;
    program_open(&p);
    cl_mem from = program_buffer(&p, CL_MEM_READ_WRITE, sizeof bytes, NULL);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; ++i) {
        for (size_t k = 0; k < sizeof bytes; ++k)
            bytes[k] = (unsigned char)(types[i].code == 6 ? k % 3 == 1 : k * 37 + k / 256 + 11);
        CL_OK(
            cl.clEnqueueWriteBuffer(p.queue, from, CL_TRUE, 0, sizeof bytes, bytes, 0, NULL, NULL));
        expect_strided(&p, from, bytes, types[i].code, types[i].size);
    }
    program_close_runtime(&p);
    assert_int_equal(program_memory_references(from), 1);
    CL_OK(cl.clReleaseMemObject(from));
    program_end(&p);
}

TEST(tensors_without_elements_are_made_on_the_device) {
    opencl_program_t p;
    producer_t d;
    program_open(&p);
    produce(&d, NULL);
    d.shape[1] = 0;
    const gantry_tensor_t *x = take(&p, &d, NULL);
    assert_int_equal(d.deleted, 1);
    assert_ptr_equal(gantry_tensor_device(x), p.gpu);
    versioned_t *managed = give(x, NULL);
    assert_null(managed->dl_tensor.data);
    assert_int_equal(managed->dl_tensor.device_type, GANTRY__DL_OPENCL);
    managed->deleter(managed);
    program_end(&p);
}

/* ---- any step fails ---- */

/* Takes in place and strided, computes, and gives with a stream. */
static void exchange(opencl_program_t *p, cl_mem from, cl_command_queue own, bool is_strided) {
    const gantry_from_dlpack_options_t options = {.struct_size = sizeof options, .stream = own};
    const gantry_to_dlpack_options_t to = {.struct_size = sizeof to, .stream = own};
    versioned_t *managed = NULL;
    producer_t d;
    produce(&d, from);
    if (is_strided) d.strides[0] = 1, d.strides[1] = 32;
    const gantry_tensor_t *x = gantry_tensor_from_dlpack(p->scope, &d.managed, &options);
    if (!x) assert_ptr_equal(d.managed.manager_ctx, &d); /* the caller's, as it was */
    const gantry_tensor_t *y = x ? gantry_neg(p->scope, x) : NULL;
    if (y && gantry_tensor_to_dlpack(y, &to, &managed) == GANTRY_OK) managed->deleter(managed);
    (void)gantry_scope_end(p->scope);
    p->scope = NULL;
    (void)gantry_runtime_synchronize(p->runtime);
    assert_int_equal(d.deleted, x ? 1 : 0);
}

static void fail_each(bool is_call, bool is_strided) {
    opencl_program_t p;
    cl_int error;
    program_open(&p);
    cl_mem from = program_buffer(&p, CL_MEM_READ_WRITE, PROGRAM_BYTES, NULL);
    cl_command_queue own = cl.clCreateCommandQueue(p.context, p.devices[0], 0, &error);
    CL_OK(error);
    program_fill(&p, from, 1);
    exchange(&p, from, own, is_strided); /* builds programs */
    fault_t fault = {is_call, 1};
    for (bool was_met = true; was_met; ++fault.at) {
        p.scope = gantry_scope_begin(p.runtime, "/GPU:0");
        begin_fault(&p, fault);
        exchange(&p, from, own, is_strided);
        was_met = end_fault(&p, fault);
        CL_OK(cl.clFinish(own));
        CL_OK(cl.clFinish(p.queue));
        assert_int_equal(program_memory_references(from), 1);
    }
    assert_true(fault.at > 8);
    program_close_runtime(&p);
    CL_OK(cl.clReleaseCommandQueue(own));
    CL_OK(cl.clReleaseMemObject(from));
    program_end(&p);
}

TEST(counts_are_exact_when_an_allocation_fails) {
    fail_each(false, false);
    fail_each(false, true);
}

TEST(counts_are_exact_when_a_call_fails) {
    fail_each(true, false);
    fail_each(true, true);
}

/* ---- what cannot be ---- */

TEST(bad_structs_are_refused_and_stay_the_callers) {
    static const struct {
        const char *field, *text;
    } cases[] = {
        {"id", "device 7 of opencl is none of this runtime's; of this backend it has: "},
        {"cuda", "device 0 of cuda is none of this runtime's; of this backend it has: none"},
        {"type", "DLPack's device type 13, device 0; accepted are kDLCPU (1), kDLCUDA (2)"},
        {"size",
         "4096 bytes at offset 4 are beyond them: an offset and bytes whose sum is at most"},
        {"align", "offset_bytes is 2; a multiple of 4"},
        {"context", "it is of another context"},
        {"before", "124 bytes before and "},
        {"end", "bytes from "},
        {"queue", "cl_command_queue"},
        {"device", "device /device:CPU:0 is of the backend cpu; one of opencl is accepted"},
    };
    opencl_program_t p;
    cl_int error;
    program_open(&p);
    cl_mem from = program_buffer(&p, CL_MEM_READ_WRITE, PROGRAM_BYTES, NULL);
    cl_context other = cl.clCreateContext(NULL, 1, p.devices, NULL, NULL, &error);
    CL_OK(error);
    cl_mem foreign = cl.clCreateBuffer(other, CL_MEM_READ_WRITE, PROGRAM_BYTES, NULL, &error);
    CL_OK(error);
    cl_command_queue queue = cl.clCreateCommandQueue(other, p.devices[0], 0, &error);
    CL_OK(error);
    const gantry_logical_device_t *host;
    assert_int_equal(gantry_find_logical_device(p.runtime, "CPU:0", &host), GANTRY_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        const char *field = cases[i].field;
        gantry_from_dlpack_options_t options = {.struct_size = sizeof options};
        producer_t d;
        produce(&d, from);
        gantry__dl_tensor_t *tensor = &d.managed.dl_tensor;
        if (strcmp(field, "id") == 0) tensor->device_id = 7;
        if (strcmp(field, "cuda") == 0) tensor->device_type = GANTRY__DL_CUDA;
        if (strcmp(field, "type") == 0) tensor->device_type = 13;
        if (strcmp(field, "size") == 0) tensor->byte_offset = 4;
        if (strcmp(field, "align") == 0) tensor->byte_offset = 2, d.shape[0] = 1;
        if (strcmp(field, "context") == 0) tensor->data = foreign;
        if (strcmp(field, "before") == 0) d.strides[1] = -1;
        if (strcmp(field, "end") == 0) tensor->byte_offset = UINT64_MAX - 3;
        if (strcmp(field, "queue") == 0) options.stream = queue;
        if (strcmp(field, "device") == 0) options.device = host;
        assert_null(gantry_tensor_from_dlpack(p.scope, &d.managed, &options));
        expect_refused(&p, cases[i].text);
        assert_int_equal(d.deleted, 0);
        assert_ptr_equal(d.managed.manager_ctx, &d);
        assert_int_equal(program_memory_references(from), 1);
    }
    const gantry_tensor_t *x = make_sum(&p);
    versioned_t *managed;
    const gantry_to_dlpack_options_t to = {.struct_size = sizeof to, .stream = queue};
    assert_int_equal(gantry_tensor_to_dlpack(x, &to, &managed), GANTRY_INVALID_ARGUMENT);
    assert_non_null(strstr(gantry_last_message(), "it is of another context"));
    const gantry_to_dlpack_options_t copy = {
        .struct_size = sizeof copy, .copies = true, .stream = queue};
    assert_int_equal(gantry_tensor_to_dlpack(x, &copy, &managed), GANTRY_INVALID_ARGUMENT);
    assert_non_null(strstr(gantry_last_message(), "for memory of the host; NULL is accepted"));
    CL_OK(cl.clReleaseCommandQueue(queue));
    CL_OK(cl.clReleaseMemObject(foreign));
    CL_OK(cl.clReleaseContext(other));
    program_close_runtime(&p);
    CL_OK(cl.clReleaseMemObject(from));
    program_end(&p);
}

int main(void) { return test_main(); }
