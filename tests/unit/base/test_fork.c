/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A child of fork cannot use its parent's objects and changes none of them; its own
 * runtime works, and the parent continues.
 * Promise: In a child of a child of fork, the objects of the first process are refused as in a
 * child.
 *
 * A child answers with its exit code and never returns into the test. An alarm ends a child that
 * hangs. */
#define _DEFAULT_SOURCE

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/fault.h"
#include "device/staging.h"
#include "fork_child.h"
#include "runtime_fixture.h"
#include "test.h"

#define FORKS 50

typedef struct world_t {
    runtime_fixture_t f;
    gantry_scope_t *scope, *inner;
    const gantry_tensor_t *x, *on_gpu;
    gantry_tensor_t *kept;
    gantry_variable_t *variable;
} world_t;

static void run_child(void (*body)(world_t *world), world_t *world) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)alarm(HANG_SECONDS);
        body(world);
        _exit(0);
    }
    fork_child_expect_success(child);
}

static void make_world(world_t *world) {
    runtime_fixture_open(&world->f, 1);
    world->scope = runtime_fixture_scope(&world->f, "CPU:0");
    world->inner = gantry_scope_begin_in(world->scope, "GPU:0");
    world->x = F32(world->scope, 1, 2, 3);
    world->on_gpu = F32(world->inner, 4, 5);
    world->variable = gantry_variable_create(world->scope, world->x, "v");
    world->kept = gantry_tensor_retain(gantry_add(world->scope, world->x, world->x));
    assert_int_equal(gantry_scope_status(world->scope), GANTRY_OK);
    assert_int_equal(gantry_scope_status(world->inner), GANTRY_OK);
}

static void expect_world_works(world_t *world) {
    EXPECT_F32(gantry_add(world->scope, world->x, world->kept), 3, 6, 9);
    EXPECT_F32(gantry_add(world->inner, world->on_gpu, world->on_gpu), 8, 10);
    assert_int_equal(gantry_variable_assign(world->scope, world->variable, world->kept), GANTRY_OK);
    EXPECT_F32(gantry_variable_read(world->scope, world->variable), 2, 4, 6);
}

static void end_world(world_t *world) {
    gantry_variable_release(world->variable);
    gantry_tensor_release(world->kept);
    expect_ended_well(world->inner);
    expect_ended_well(world->scope);
    runtime_fixture_close(&world->f);
}

/* ---- refusals ---- */

static void refused_here(world_t *world) {
    char text[160];
    (void)snprintf(text, sizeof text,
                   "the runtime was created in process %ld; a child of fork must create its own",
                   (long)getppid());
#define REFUSED(expression) \
    CHECK((expression) == GANTRY_FAILED_PRECONDITION && strcmp(gantry_last_message(), text) == 0)
    gantry_runtime_t *runtime = world->f.runtime;
    float values[3];
    size_t count = 1;
    const gantry_tensor_t *output;
    const gantry_physical_device_t *physical;
    gantry_memory_info_t info = {.struct_size = sizeof info};
    gantry_program_stats_t stats = {.struct_size = sizeof stats};
    char line[64];
    REFUSED(gantry_runtime_initialize(runtime));
    REFUSED(gantry_runtime_synchronize(runtime));
    REFUSED(gantry_set_soft_device_placement(runtime, false));
    REFUSED(gantry_list_physical_devices(runtime, NULL, 1, &physical, &count));
    REFUSED(gantry_get_memory_info(runtime, "CPU:0", &info));
    REFUSED(gantry_get_program_stats(runtime, &stats));
    REFUSED(gantry_tensor_read(world->x, values, sizeof values));
    REFUSED(gantry_tensor_wait(world->on_gpu));
    REFUSED(gantry_tensor_format(world->x, NULL, line, sizeof line, NULL));
    REFUSED(gantry_variable_assign(world->scope, world->variable, world->x));
    count = 1;
    REFUSED(gantry_op_call(world->scope, "Neg", &world->x, 1, NULL, 0, &output, &count));
    REFUSED(gantry_scope_status(world->scope));
    REFUSED(gantry_device_begin(world->scope, "GPU:0"));
    REFUSED(gantry_device_end(world->scope));
    CHECK(strcmp(gantry_scope_message(world->scope), text) == 0);
#define NOTHING(expression) CHECK((expression) == NULL && strcmp(gantry_last_message(), text) == 0)
    NOTHING(gantry_scope_begin(runtime, NULL));
    NOTHING(gantry_scope_begin_in(world->scope, NULL));
    NOTHING(gantry_add(world->scope, world->x, world->x));
    NOTHING(gantry_scalar_f32(world->scope, 1));
    NOTHING(gantry_ones(world->scope, GANTRY_FLOAT32, GANTRY_SHAPE(2)));
    NOTHING(gantry_variable_read(world->scope, world->variable));
    NOTHING(gantry_variable_create(world->scope, world->x, "w"));
    NOTHING(gantry_load_npy(world->scope, "none.npy"));
    NOTHING(gantry_scope_keep(world->scope, world->x));
    gantry_scope_clear(world->scope);
    NOTHING(gantry_add(world->scope, world->x, world->x));
}

TEST(everything_of_the_parent_is_refused_in_a_child) {
    world_t world;
    make_world(&world);
    run_child(refused_here, &world);
    expect_world_works(&world);
    end_world(&world);
}

/* No thread of the child will ever unlock heap, books and streams: a call that locks one hangs. */
static void let_go_here(world_t *world) {
    long blocks = world->f.heap.inner.live_blocks;
    refused_here(world);
    gantry_tensor_drop(world->scope, world->x);
    gantry_tensor_release(world->kept);
    gantry_variable_release(world->variable);
    CHECK(gantry_scope_end(world->inner) == GANTRY_FAILED_PRECONDITION);
    CHECK(gantry_scope_end(world->scope) == GANTRY_FAILED_PRECONDITION);
    gantry_runtime_release(world->f.runtime);
    gantry_runtime_release(world->f.runtime);
    CHECK(world->f.heap.inner.live_blocks == blocks);
}

static void set_lock(gantry__mutex_t *lock, bool taken) {
    if (taken) {
        gantry__mutex_lock(lock);
    } else {
        gantry__mutex_unlock(lock);
    }
}

/* Every lock that another thread might hold at the moment of the fork. */
static void set_locks(world_t *world, bool taken) {
    gantry_runtime_t *runtime = world->f.runtime;
    for (size_t i = 0; i < runtime->devices.logical_count; ++i) {
        gantry_logical_device_t *device = runtime->devices.logical[i];
        if (!atomic_load(&device->is_open)) continue;
        set_lock(&device->allocator.lock, taken);
        set_lock(&device->faults->lock, taken);
        set_lock(&device->staging->lock, taken);
        for (uint32_t k = 0; k < GANTRY__STREAMS; ++k) set_lock(&device->streams[k].lock, taken);
    }
    set_lock(&runtime->devices.lock, taken);
    set_lock(&runtime->plans.lock, taken);
    set_lock(&runtime->lock, taken);
    set_lock(&world->f.heap.lock, taken);
}

TEST(letting_go_in_a_child_touches_nothing) {
    world_t world;
    make_world(&world);
    set_locks(&world, true);
    run_child(let_go_here, &world);
    set_locks(&world, false);
    expect_world_works(&world);
    end_world(&world);
}

static void refused_in_a_grandchild(world_t *world) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) _exit(gantry_scope_begin(world->f.runtime, NULL) ? 1 : 0);
    int state = 0;
    CHECK(waitpid(child, &state, 0) == child && WIFEXITED(state) && WEXITSTATUS(state) == 0);
}

TEST(grandchild_is_a_child_too) {
    world_t world;
    make_world(&world);
    run_child(refused_in_a_grandchild, &world);
    end_world(&world);
}

/* ---- a runtime of its own ---- */

static void compute_here(world_t *world) {
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .backends = "cpu",
                                              .kernel_cache = "",
                                              .cpu_threads = CHILD_THREADS};
    enum { SIDE = 192 };
    static float ones[SIDE * SIDE], got[SIDE * SIDE];
    gantry_runtime_t *runtime;
    (void)world;
    CHECK(gantry_runtime_create(&options, &runtime) == GANTRY_OK);
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    CHECK(scope != NULL);
    for (size_t i = 0; i < SIDE * SIDE; ++i) ones[i] = 1;
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(SIDE, SIDE), ones, sizeof ones);
    const gantry_tensor_t *product = gantry_matmul(scope, x, x, NULL);
    CHECK(product && gantry_tensor_read(product, got, sizeof got) == GANTRY_OK);
    for (size_t i = 0; i < SIDE * SIDE; ++i) CHECK((int)got[i] == SIDE);
    CHECK(gantry_scope_end(scope) == GANTRY_OK);
    gantry_runtime_release(runtime);
}

TEST(child_computes_with_a_runtime_of_its_own) {
    world_t world;
    make_world(&world);
    for (int i = 0; i < 2; ++i) {
        if (IS_SANITIZED) wait_until_threads_sleep();
        run_child(compute_here, &world);
    }
    expect_world_works(&world);
    end_world(&world);
}

/* ---- a fork during work ---- */

typedef struct worker_t {
    gantry_runtime_t *runtime;
    const char *device;
    atomic_bool *stop;
    uint64_t rounds;
    const char *failure;
} worker_t;

/* Small ops, and products that use the pool. */
static void *keep_computing(void *user) {
    worker_t *self = user;
    enum { SIDE = 96 };
    static const float seven = 7;
    float *got = malloc(SIDE * SIDE * sizeof *got);
    while (!atomic_load(self->stop) && !self->failure) {
        gantry_scope_t *scope = gantry_scope_begin(self->runtime, self->device);
        const gantry_tensor_t *x = gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(SIDE, SIDE));
        const gantry_tensor_t *product = gantry_matmul(scope, x, x, NULL);
        const gantry_tensor_t *sum =
            gantry_add(scope, product,
                       gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SCALAR, &seven, sizeof seven));
        if (!sum || gantry_tensor_read(sum, got, SIDE * SIDE * sizeof *got) != GANTRY_OK ||
            (int)got[SIDE] != SIDE + 7)
            self->failure = "wrong or no result in the parent";
        if (gantry_scope_end(scope) != GANTRY_OK) self->failure = "the scope failed";
        ++self->rounds;
    }
    free(got);
    return NULL;
}

static void refused_and_compute_here(world_t *world) {
    CHECK(gantry_scope_begin(world->f.runtime, NULL) == NULL);
    gantry_runtime_release(world->f.runtime);
    /* threads that are gone have locked the sanitizers' heaps */
    if (!IS_SANITIZED) compute_here(world);
}

TEST(forking_in_the_midst_of_ops_hangs_nobody) {
    world_t world;
    /* oneDNN has a lock that a child would find held for ever. Gantry cannot guard that lock. */
    assert_int_equal(setenv("GANTRY_CPU_MATMUL", "own", 1), 0);
    make_world(&world);
    atomic_bool stop = false;
    compute_here(
        /* a library is used for the first time; ThreadSanitizer's pthread_once does not survive a
         * fork during that */
        &world);
    static const char *const devices[] = {"CPU:0", "GPU:0", "CPU:0"};
    worker_t workers[3];
    pthread_t threads[3];
    for (size_t i = 0; i < 3; ++i) {
        workers[i] = (worker_t){world.f.runtime, devices[i], &stop, 0, NULL};
        assert_int_equal(pthread_create(&threads[i], NULL, keep_computing, &workers[i]), 0);
    }
    for (int i = 0; i < FORKS; ++i) run_child(refused_and_compute_here, &world);
    atomic_store(&stop, true);
    uint64_t rounds = 0;
    for (size_t i = 0; i < 3; ++i) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        if (workers[i].failure) fail_msg("%s: %s", devices[i], workers[i].failure);
        assert_true(workers[i].rounds > 0);
        rounds += workers[i].rounds;
    }
    print_message(
        "%d forks, %llu rounds of work beside them%s\n", FORKS, (unsigned long long)rounds,
        IS_SANITIZED
            ? "; no runtime of its own in the child: the sanitizer's heap does not survive a fork in the midst of it"
            : "");
    expect_world_works(&world);
    end_world(&world);
}

/* ---- the guard alone ---- */

static gantry__fork_guard_t guard;

static void asked_here(world_t *world) {
    (void)world;
    CHECK(gantry__fork_guard_holds(&guard)); /* no call has asked yet */
    CHECK(!gantry__fork_guard_ask(&guard));
    CHECK(!gantry__fork_guard_holds(&guard));
    CHECK(!gantry__fork_guard_ask(&guard));
}

static void wiped_here(world_t *world) {
    (void)world;
    CHECK(!gantry__fork_guard_holds(&guard));
    CHECK(!gantry__fork_guard_ask(&guard));
}

TEST(guard_asks_for_the_process_where_the_kernel_wipes_nothing) {
    assert_int_equal(gantry__fork_guard_init(&guard, "thing"), GANTRY_OK);
    assert_true(gantry__fork_guard_holds(&guard) && gantry__fork_guard_ask(&guard));
    if (guard.wipes) run_child(wiped_here, NULL);
#if defined(MADV_KEEPONFORK)
    if (guard.wipes)
        assert_int_equal(madvise((void *)(uintptr_t)guard.mark, guard.page_bytes, MADV_KEEPONFORK),
                         0);
    guard.wipes = false;
#endif
    if (!guard.wipes) run_child(asked_here, NULL);
    assert_true(gantry__fork_guard_holds(&guard) && gantry__fork_guard_ask(&guard));
    char text[160];
    (void)snprintf(text, sizeof text, "the thing was created in process %ld; ", (long)getpid());
    expect_failure(gantry__fork_guard_fail(&guard), GANTRY_FAILED_PRECONDITION, text);
    gantry__fork_guard_deinit(&guard);
    gantry__fork_guard_deinit(&guard);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
