/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: CUDA memory comes in and goes out by DLPack with the driver's number of its card,
 * without a copy, in the order of the streams that the options or a table name, without a wait.
 * Promise: CUDA's legacy default stream is 1, and of NULL and 2 the host waits for the tensor.
 * Promise: DLPack's structs of another card, context or stream are refused and stay the caller's.
 *
 * All on the stand-in for NVIDIA's driver, which counts what is the program's. */
#define _GNU_SOURCE
#include "cuda_door.h"
#include "test.h"

#include "api/dlpack_abi.h"

typedef struct DLManagedTensorVersioned versioned_t;
typedef struct DLPackExchangeAPI table_t;

/* Memory of the program as a producer gives it. */
typedef struct producer_t {
    versioned_t managed;
    int64_t shape[2], strides[2];
    int deleted;
} producer_t;

static void count_deleted(versioned_t *self) { ++((producer_t *)self->manager_ctx)->deleted; }

static void produce(producer_t *p, uint64_t memory) {
    *p = (producer_t){.shape = {WORDS}, .strides = {1}};
    p->managed.version.major = 1;
    p->managed.manager_ctx = p;
    p->managed.deleter = count_deleted;
    p->managed.dl_tensor = (gantry__dl_tensor_t){.data = (void *)(uintptr_t)memory,
                                                 .device_type = GANTRY__DL_CUDA,
                                                 .ndim = 1,
                                                 .dtype = {2, 32, 1},
                                                 .shape = p->shape,
                                                 .strides = p->strides};
}

static const gantry_tensor_t *take(const door_t *d, producer_t *p, void *stream) {
    const gantry_from_dlpack_options_t options = {
        .struct_size = sizeof options, .requires_no_copy = true, .stream = stream};
    const gantry_tensor_t *x = gantry_tensor_from_dlpack(d->scope, &p->managed, &options);
    expect_well(d);
    return x;
}

static versioned_t *give(const gantry_tensor_t *tensor, void *stream) {
    const gantry_to_dlpack_options_t options = {.struct_size = sizeof options, .stream = stream};
    versioned_t *managed = NULL;
    EXPECT(gantry_tensor_to_dlpack(tensor, &options, &managed) == GANTRY_OK, "%s",
           gantry_last_message());
    return managed;
}

/* ---- streams ---- */

/* The program fills and copies on `stream`, Gantry adds on one of its own. */
static void exchange_by(door_t *d, void *stream) {
    producer_t p;
    const uint64_t memory = cuda_caller_make_memory(&d->c, BYTES),
                   out = cuda_caller_make_memory(&d->c, BYTES);
    warm_up(d);
    shut_gate(d, stream);
    EXPECT(cuda_caller_fill(&d->c, stream, memory, TWO, WORDS) == 0, "not filled");
    produce(&p, memory);
    const uint64_t before = waits_and_copies(d);
    const gantry_tensor_t *x = take(d, &p, stream);
    const gantry_tensor_t *sum = gantry_add(d->scope, x, x);
    versioned_t *managed = give(sum, stream);
    EXPECT(waits_and_copies(d) == before, "%llu waits and copies",
           (unsigned long long)(waits_and_copies(d) - before));
    EXPECT(managed->dl_tensor.device_type == GANTRY__DL_CUDA && managed->dl_tensor.device_id == 0 &&
               managed->dl_tensor.byte_offset == 0 && managed->flags == GANTRY__DL_READ_ONLY,
           "another device, offset or flag");
    copy(d, stream, out, (uint64_t)(uintptr_t)managed->dl_tensor.data);
    void *data = managed->dl_tensor.data;
    managed->deleter(managed); /* before its work has ended */
    gantry_tensor_drop(d->scope, sum);
    gantry_tensor_drop(d->scope, x);
    const uint64_t kept = (uint64_t)(uintptr_t)data;
    EXPECT(address_of(make_full(d, -5)) != kept, "memory in use was taken again");
    EXPECT(p.deleted == 0, "deleted before the last use");
    lift_gate(d);
    expect_content(d, stream, out, 4);
    EXPECT(gantry_runtime_synchronize(d->m->runtime) == GANTRY_OK, "%s", gantry_last_message());
    EXPECT(p.deleted == 1, "deleted %d times", p.deleted);
    EXPECT(cuda_caller_free(&d->c, memory) == 0 && cuda_caller_free(&d->c, out) == 0, "gone");
}

static void exchange_by_stream(machine_t *m) {
    door_t d;
    open_door(&d, m);
    void *other = cuda_caller_make_stream(&d.c);
    exchange_by(&d, other);
    exchange_by(&d, d.queue);
    EXPECT(cuda_caller_end_stream(&d.c, other) == 0, "the stream is gone");
    close_door(&d);
}

static void exchange_by_legacy_stream(machine_t *m) {
    door_t d;
    open_door_with(&d, m, NULL);
    exchange_by(&d, CU_STREAM_LEGACY);
    close_door(&d);
}

TEST(streams_of_others_are_in_order_without_a_wait) {
    on_machine("devices=1", exchange_by_stream);
    on_machine("devices=1", exchange_by_legacy_stream);
}

static void waited_for(machine_t *m) {
    door_t d;
    open_door(&d, m);
    void *other = cuda_caller_make_stream(&d.c); /* which waits for nothing */
    for (int i = 0; i < 2; ++i) {
        const gantry_tensor_t *x = make_full(&d, 3);
        versioned_t *managed =
            give(gantry_add(d.scope, x, x), i == 0 ? NULL : CU_STREAM_PER_THREAD);
        expect_content(&d, other, (uint64_t)(uintptr_t)managed->dl_tensor.data, 6);
        managed->deleter(managed);
    }
    EXPECT(cuda_caller_end_stream(&d.c, other) == 0, "the stream is gone");
    close_door(&d);
}

TEST(without_a_stream_the_host_waits) { on_machine("devices=1", waited_for); }

/* ---- tables ---- */

static int give_managed(void *object, versioned_t **out) {
    *out = object;
    return 0;
}
static int take_managed(versioned_t *managed, void **out_object) {
    *out_object = managed;
    return 0;
}
static int name_legacy(int32_t type, int32_t id, void **out_stream) {
    *out_stream = NULL; /* what other libraries call the legacy default stream */
    return type == GANTRY__DL_CUDA && id == 0 ? 0 : -1;
}

static void by_table(machine_t *m) {
    const table_t table = {.header = {.version = {1, 3}},
                           .managed_tensor_from_py_object_no_sync = give_managed,
                           .managed_tensor_to_py_object_no_sync = take_managed,
                           .current_work_stream = name_legacy};
    door_t d;
    producer_t p;
    void *object = NULL;
    open_door_with(&d, m, NULL);
    const uint64_t memory = cuda_caller_make_memory(&d.c, BYTES);
    warm_up(&d);
    shut_gate(&d, CU_STREAM_LEGACY);
    EXPECT(cuda_caller_fill(&d.c, CU_STREAM_LEGACY, memory, THREE, WORDS) == 0, "not filled");
    produce(&p, memory);
    const gantry_tensor_t *x = gantry_tensor_from_exchange(d.scope, &table, &p.managed, NULL);
    const gantry_tensor_t *sum = gantry_add(d.scope, x, x);
    EXPECT(gantry_tensor_to_exchange(sum, &table, NULL, &object) == GANTRY_OK, "%s",
           gantry_last_message());
    lift_gate(&d);
    versioned_t *managed = object;
    expect_content(&d, CU_STREAM_LEGACY, (uint64_t)(uintptr_t)managed->dl_tensor.data, 6);
    managed->deleter(managed);
    gantry_tensor_drop(d.scope, x);
    EXPECT(gantry_runtime_synchronize(m->runtime) == GANTRY_OK, "%s", gantry_last_message());
    EXPECT(p.deleted == 1, "deleted %d times", p.deleted);
    EXPECT(cuda_caller_free(&d.c, memory) == 0, "gone");
    close_door(&d);
}

TEST(tables_name_the_legacy_stream) { on_machine("devices=1", by_table); }

/* ---- strides, cards, what cannot be ---- */

static void strided(machine_t *m) {
    door_t d;
    producer_t p;
    float host[WORDS], got[12];
    open_door(&d, m);
    const uint64_t memory = cuda_caller_make_memory(&d.c, BYTES);
    for (int i = 0; i < WORDS; ++i) host[i] = (float)i;
    EXPECT(cuda_caller_write(&d.c, d.queue, memory, host, sizeof host) == 0, "not written");
    produce(&p, memory + 100 * sizeof(float));
    p.managed.dl_tensor.ndim = 2;
    p.shape[0] = 3, p.shape[1] = 4;
    p.strides[0] = -10, p.strides[1] = 2;
    const gantry_tensor_t *x = gantry_tensor_from_dlpack(d.scope, &p.managed, NULL);
    expect_well(&d);
    EXPECT(gantry_tensor_read(x, got, sizeof got) == GANTRY_OK, "%s", gantry_last_message());
    for (int i = 0; i < 12; ++i)
        EXPECT((int)got[i] == 100 - i / 4 * 10 + i % 4 * 2, "element %d is %g", i, (double)got[i]);
    EXPECT(gantry_runtime_synchronize(m->runtime) == GANTRY_OK, "%s", gantry_last_message());
    EXPECT(p.deleted == 1, "deleted %d times", p.deleted);
    EXPECT(cuda_caller_free(&d.c, memory) == 0, "gone");
    close_door(&d);
}

TEST(other_strides_are_gathered_on_the_card) { on_machine("devices=1", strided); }

static void refused(machine_t *m) {
    static const struct {
        const char *field, *text;
    } cases[] = {
        {"id", "device 5 of cuda is none of this runtime's; of this backend it has: /device:GPU:0"},
        {"opencl", "device 0 of opencl is none of this runtime's; of this backend it has: none"},
        {"managed", "device type 13"},
        {"card", "is memory of another device"},
        {"size", "is too small"},
        {"stream", "is of another context"},
        {"thread", "(CU_STREAM_PER_THREAD) is another stream in each thread"},
    };
    door_t d;
    open_door(&d, m);
    const uint64_t memory = cuda_caller_make_memory(&d.c, BYTES);
    cuda_caller_t other = d.c;
    other.context = cuda_caller_make_context(&other, 1);
    void *stream = cuda_caller_make_stream(&other);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        const char *field = cases[i].field;
        gantry_from_dlpack_options_t options = {.struct_size = sizeof options};
        producer_t p;
        produce(&p, memory);
        gantry__dl_tensor_t *tensor = &p.managed.dl_tensor;
        if (strcmp(field, "id") == 0) tensor->device_id = 5;
        if (strcmp(field, "opencl") == 0) tensor->device_type = GANTRY__DL_OPENCL;
        if (strcmp(field, "managed") == 0) tensor->device_type = 13;
        if (strcmp(field, "card") == 0) tensor->device_id = 1;
        if (strcmp(field, "size") == 0) p.shape[0] = WORDS + 100000;
        if (strcmp(field, "stream") == 0) options.stream = stream;
        if (strcmp(field, "thread") == 0) options.stream = CU_STREAM_PER_THREAD;
        EXPECT(!gantry_tensor_from_dlpack(d.scope, &p.managed, &options), "%s: accepted", field);
        expect_failure(&d, GANTRY_INVALID_ARGUMENT, cases[i].text);
        EXPECT(p.deleted == 0 && p.managed.manager_ctx == &p, "%s: not the caller's", field);
    }
    EXPECT(cuda_caller_end_stream(&other, stream) == 0, "the stream is gone");
    EXPECT(cuda_caller_end_context(&other, other.context) == 0, "the context is gone");
    EXPECT(cuda_caller_free(&d.c, memory) == 0, "gone");
    close_door(&d);
}

TEST(bad_structs_are_refused_and_stay_the_callers) { on_machine("devices=2", refused); }

int main(void) { return test_main_with(set_up, NULL, NULL, NULL); }
