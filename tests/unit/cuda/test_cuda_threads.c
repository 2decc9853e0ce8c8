/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: While one thread waits for a kernel of a card, other threads submit work to that card
 * and read results that are ready.
 * Promise: The callback of a started call comes after the card has ended its kernels, while the
 * call's thread sleeps in the driver.
 *
 * The stand-in for NVIDIA's driver holds the kernel. A copy of pageable memory returns when all
 * earlier work is done, so the library may hold no lock around it. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "cuda_machine.h"
#include "test.h"

#define LARGE 65536 /* elements: more than a staging block */
/* longer than any machine needs; a blocked thread would wait for ever */
#define MOST_WAIT_MS 100000

/* The work of one thread on a machine, and whether it is done. */
typedef struct worker_t {
    machine_t *machine;
    const gantry_tensor_t *input;
    void (*work)(struct worker_t *worker);
    atomic_bool is_done;
    gantry_status_t status;
    pthread_t thread;
    float numbers[LARGE];
} worker_t;

static void *run_worker(void *self) {
    worker_t *worker = self;
    worker->work(worker);
    atomic_store(&worker->is_done, true);
    return NULL;
}

static void start(worker_t *worker, machine_t *m, const gantry_tensor_t *input,
                  void (*work)(worker_t *worker)) {
    worker->machine = m;
    worker->input = input;
    worker->work = work;
    worker->status = GANTRY_UNKNOWN;
    atomic_init(&worker->is_done, false);
    EXPECT(pthread_create(&worker->thread, NULL, run_worker, worker) == 0, "no thread");
}

static void sleep_ms(long ms) {
    const struct timespec pause = {.tv_nsec = ms * 1000000};
    (void)nanosleep(&pause, NULL);
}

/* ---- calls that wait ---- */

static void read_sum(worker_t *worker) {
    gantry_scope_t *scope = gantry_scope_begin(worker->machine->runtime, "GPU:0");
    const gantry_tensor_t *sum = gantry_add(scope, worker->input, worker->input);
    worker->status = gantry_tensor_read(sum, worker->numbers, sizeof worker->numbers);
    (void)gantry_scope_end(scope);
}

/* The result's shape depends on data, so the op itself waits. */
static void find_places(worker_t *worker) {
    gantry_scope_t *scope = gantry_scope_begin(worker->machine->runtime, "GPU:0");
    const gantry_tensor_t *places =
        gantry_where(scope, gantry_cast(scope, worker->input, GANTRY_BOOL));
    worker->status = places ? GANTRY_OK : gantry_scope_status(scope);
    (void)gantry_scope_end(scope);
}

/* The kernel may find a bad index, so the result is ready only after the slot was read. */
static void gather(worker_t *worker) {
    gantry_scope_t *scope = gantry_scope_begin(worker->machine->runtime, "GPU:0");
    const gantry_tensor_t *places = gantry_cast(scope, worker->input, GANTRY_INT32);
    const gantry_tensor_t *found = gantry_gather(scope, worker->input, places, 0);
    worker->status = gantry_tensor_read(found, worker->numbers, sizeof worker->numbers);
    (void)gantry_scope_end(scope);
}

/* The target's memory is still in use by a held kernel. */
static void upload(worker_t *worker) {
    gantry_scope_t *scope = gantry_scope_begin(worker->machine->runtime, "GPU:0");
    (void)gantry_add(scope, worker->input, worker->input);
    (void)gantry_scope_end(scope);
    scope = gantry_scope_begin(worker->machine->runtime, "GPU:0");
    const gantry_tensor_t *x = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(LARGE),
                                               worker->numbers, sizeof worker->numbers);
    worker->status = x ? GANTRY_OK : gantry_scope_status(scope);
    (void)gantry_scope_end(scope);
}

/* ---- calls that must not wait ---- */

/* Work for each stream: an upload through staging, a kernel, and a read of a ready tensor. */
static void submit(worker_t *worker) {
    static const float few[4] = {1, 2, 3, 4};
    gantry_scope_t *scope = gantry_scope_begin(worker->machine->runtime, "GPU:0");
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(4), few, sizeof few);
    const gantry_tensor_t *sum = gantry_add(scope, x, x);
    worker->status =
        sum ? gantry_tensor_read(worker->input, worker->numbers, sizeof worker->numbers)
            : gantry_scope_status(scope);
    atomic_store(&worker->is_done, true);
    (void)gantry_scope_end(scope);
}

/* ---- one machine ---- */

static worker_t waiting, going_on;

/* Waits until the thread is in one of the three driver calls that may wait. */
static void await_wait(uint64_t before) {
    const stand_in_control_t *stand_in = control();
    for (long ms = 0; ms < MOST_WAIT_MS; ms += 5) {
        if (stand_in->calls("cuEventSynchronize") + stand_in->calls("cuStreamSynchronize") +
                stand_in->calls("cuMemcpyDtoHAsync_v2") >
            before)
            break;
        sleep_ms(5);
    }
    sleep_ms(100);
}

static uint64_t waits_so_far(void) {
    const stand_in_control_t *stand_in = control();
    return stand_in->calls("cuEventSynchronize") + stand_in->calls("cuStreamSynchronize") +
           stand_in->calls("cuMemcpyDtoHAsync_v2");
}

/* Compiles all programs and allocates memory and pinned blocks while no kernel is held. */
static void warm_up(machine_t *m, const gantry_tensor_t *x, void (*work)(worker_t *worker)) {
    start(&waiting, m, x, work);
    (void)pthread_join(waiting.thread, NULL);
    start(&going_on, m, x, submit);
    (void)pthread_join(going_on.thread, NULL);
    EXPECT(waiting.status == GANTRY_OK && going_on.status == GANTRY_OK, "%d %d",
           (int)waiting.status, (int)going_on.status);
}

static void others_go_on_beside(machine_t *m, void (*work)(worker_t *worker)) {
    static const float zeros[LARGE];
    machine_open(m);
    gantry_scope_t *scope = gantry_scope_begin(m->runtime, "GPU:0");
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(LARGE), zeros, sizeof zeros);
    warm_up(m, x, work);
    control()->hold(1);
    uint64_t before = waits_so_far();
    start(&waiting, m, x, work);
    await_wait(before);
    start(&going_on, m, x, submit);
    for (long ms = 0; ms < MOST_WAIT_MS && !atomic_load(&going_on.is_done); ms += 5) sleep_ms(5);
    bool goes_on = atomic_load(&going_on.is_done);
    bool waits = !atomic_load(&waiting.is_done);
    control()->hold(0);
    (void)pthread_join(waiting.thread, NULL);
    (void)pthread_join(going_on.thread, NULL);
    EXPECT(waits, "nothing waited: the kernel was not held");
    EXPECT(goes_on, "the other thread stood still while a kernel was held");
    EXPECT(waiting.status == GANTRY_OK && going_on.status == GANTRY_OK, "%d %d",
           (int)waiting.status, (int)going_on.status);
    EXPECT(gantry_scope_end(scope) == GANTRY_OK, "%s", gantry_last_message());
}

/* ---- started calls ---- */

enum { STARTS = 24, COUNT = 4 };

/* Enough kernels in a row for a graph of the device. */
static void chain(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                  const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = inputs[0];
    for (int i = 0; i < 6; ++i) outputs[0] = gantry_add(scope, outputs[0], inputs[0]);
}

static void count_end(gantry_call_t *call, void *count) {
    (void)call;
    atomic_fetch_add((atomic_int *)count, 1);
}

static gantry_call_t *start_chain(gantry_scope_t *scope, gantry_function_t *function, float value,
                                  atomic_int *count) {
    const float x[COUNT] = {value, value, value, value};
    const gantry_start_options_t options = {sizeof options, count_end, count};
    const gantry_tensor_t *in =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(COUNT), x, sizeof x);
    gantry_call_t *call = NULL;
    EXPECT(gantry_function_start(scope, function, &in, 1, &options, &call) == GANTRY_OK, "%s",
           gantry_last_message());
    return call;
}

static void expect_chain(gantry_scope_t *scope, gantry_call_t *call, float value) {
    float got[COUNT] = {0};
    const gantry_tensor_t *out = NULL;
    EXPECT(gantry_call_wait(call, scope, &out, 1) == GANTRY_OK &&
               gantry_tensor_read(out, got, sizeof got) == GANTRY_OK,
           "%s", gantry_last_message());
    EXPECT(got[0] > 6.5f * value && got[0] < 7.5f * value, "%g", (double)got[0]);
    gantry_call_release(call);
}

static void ends_after_the_kernel(machine_t *m) {
    const gantry_input_spec_t input = {"x", GANTRY_FLOAT32, GANTRY_SHAPE(COUNT)};
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .passes_off = GANTRY_PASS_ALL};
    gantry_function_t *function = NULL;
    gantry_call_t *calls[STARTS];
    atomic_int count = 0;
    machine_open(m);
    gantry_scope_t *scope = gantry_scope_begin(m->runtime, "GPU:0");
    EXPECT(gantry_function_trace(m->runtime, "chain", chain, NULL, &input, 1, 1, &options,
                                 &function) == GANTRY_OK,
           "%s", gantry_last_message());
    for (int i = 0; i < STARTS; ++i) calls[i] = start_chain(scope, function, (float)i + 1, &count);
    for (int i = 0; i < STARTS; ++i) expect_chain(scope, calls[i], (float)i + 1);
    EXPECT(count == STARTS, "%d callbacks", (int)count);
    control()->hold(1);
    const uint64_t before = waits_so_far();
    calls[0] = start_chain(scope, function, 5, &count);
    await_wait(before); /* the thread of the call sleeps in the driver */
    bool is_done = true;
    EXPECT(gantry_call_is_done(calls[0], &is_done) == GANTRY_OK && !is_done && count == STARTS,
           "a call has ended whose kernel is held");
    control()->hold(0);
    expect_chain(scope, calls[0], 5);
    EXPECT(count == STARTS + 1, "%d callbacks", (int)count);
    EXPECT(gantry_scope_end(scope) == GANTRY_OK, "%s", gantry_last_message());
    gantry_function_release(function);
}

TEST(started_call_ends_after_its_kernel) { on_machine("devices=1", ends_after_the_kernel); }

/* ---- reads, sizes, slots and uploads ---- */

static void reads_a_sum(machine_t *m) { others_go_on_beside(m, read_sum); }
static void finds_places(machine_t *m) { others_go_on_beside(m, find_places); }
static void gathers(machine_t *m) { others_go_on_beside(m, gather); }
static void uploads(machine_t *m) { others_go_on_beside(m, upload); }

TEST(read_that_waits_leaves_others_the_streams) { on_machine("devices=1", reads_a_sum); }

TEST(op_that_reads_its_own_size_leaves_others_the_streams) {
    on_machine("devices=1", finds_places);
}

TEST(read_of_an_error_slot_leaves_others_the_streams) { on_machine("devices=1", gathers); }

TEST(large_upload_into_used_memory_leaves_others_the_streams) { on_machine("devices=1", uploads); }

int main(void) {
    (void)setenv("POCL_DEVICES", "pthread", 1);
    (void)unsetenv("CUDA_VISIBLE_DEVICES");
    return test_main_with(set_up, NULL, NULL, NULL);
}
