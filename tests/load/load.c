/* SPDX-License-Identifier: Apache-2.0 */
/* Promise (load.many.*): Many threads on several logical devices keep within the limits of memory
 * and compute right results.
 * Promise (load.many.tight): Threads that take each other's device memory retry an allocation that
 * fails, and succeed.
 *
 * Runs many threads at once on several devices. They allocate, free, copy and compute with shared
 * tensors and variables, under a limit.
 *
 *   load [--seconds N] [--threads N] [--limit MIB] [--tight 0|1] [--split 0|1] [--backends LIST]
 *   [--seed N]
 *
 * Each thread runs rounds of random kinds in scopes of its own and checks every result. A watcher
 * constantly checks that the held memory (pool and staging) stays within the limit. With --tight 1
 * the limit is so small that memory runs out. Only then may a round end with ResourceExhausted; the
 * thread then releases the round's memory and retries. --split 1 (the default) halves every device
 * that can be split. At the end the counters must have counted every addition, and no memory may be
 * held.
 *
 * Prints the finished work. Exit code: 0, or 1 after a failure. A longer run: load --seconds 300,
 * and the same with --tight 1. */
#define _GNU_SOURCE /* measure.h */
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include <gantry/gantry.h>

#include "counting_heap.h"
#include "measure.h"

#define MOST_THREADS 64
#define MOST_DEVICES 16
#define SHARED 4096      /* elements of a shared tensor */
#define KEPT 4           /* tensors a thread keeps from round to round */
#define RETRIES 20000    /* attempts per round, a millisecond apart */
#define LEFT_BYTES 65536 /* the device's own error slots */

typedef struct options_t {
    double seconds;
    long threads, limit_mib, seed;
    bool tight, split;
    const char *backends;
} options_t;

typedef struct world_t {
    const options_t *options;
    gantry_runtime_t *runtime;
    const char *devices[MOST_DEVICES];
    size_t device_count;
    gantry_tensor_t *shared[MOST_DEVICES];     /* all elements are the device's number + 1 */
    gantry_variable_t *counters[MOST_DEVICES]; /* float64 scalars */
    gantry_variable_t *uniform[MOST_DEVICES];  /* vectors whose elements are all equal */
    atomic_uint_fast64_t additions[MOST_DEVICES];
    atomic_bool stop;
    atomic_uint_fast64_t rounds, bytes, exhausted, checks;
    uint64_t peak_bytes[MOST_DEVICES], limit_bytes[MOST_DEVICES]; /* the watcher's */
    pthread_mutex_t lock;
    int failures; /* under lock */
} world_t;

typedef struct worker_t {
    world_t *world;
    uint64_t random;
    size_t largest; /* elements of one tensor */
    float *values, *got;
    struct {
        gantry_tensor_t *tensor;
        float value;
    } kept[KEPT];
} worker_t;

static void complain(world_t *world, const char *what, const char *detail) {
    (void)pthread_mutex_lock(&world->lock);
    if (world->failures++ < 20) printf("FAIL: %s: %s\n", what, detail);
    (void)pthread_mutex_unlock(&world->lock);
    atomic_store(&world->stop, true);
}

/* xorshift64* */
static uint64_t draw(worker_t *self, uint64_t below) {
    self->random ^= self->random >> 12;
    self->random ^= self->random << 25;
    self->random ^= self->random >> 27;
    return (self->random * UINT64_C(2685821657736338717) >> 20) % below;
}

static const char *draw_device(worker_t *self) {
    return self->world->devices[draw(self, self->world->device_count)];
}

static float draw_value(worker_t *self) { return (float)draw(self, 1000); }

/* Small sizes are frequent. */
static size_t draw_size(worker_t *self) {
    size_t bound = self->largest;
    for (uint64_t i = draw(self, 4); i > 0 && bound > 64; --i) bound /= 8;
    return 1 + (size_t)draw(self, bound);
}

/* ---- making and checking ---- */

static const gantry_tensor_t *make_uniform(worker_t *self, gantry_scope_t *scope, size_t count,
                                           float value) {
    for (size_t i = 0; i < count; ++i) self->values[i] = value;
    (void)atomic_fetch_add(&self->world->bytes, count * sizeof(float));
    return gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE((int64_t)count), self->values,
                           count * sizeof(float));
}

static bool is_equal(float a, float b) { return !(a < b) && !(a > b); }

/* Checks that every element is value. Returns the failure of the read, or Internal for a wrong
 * element. */
static gantry_status_t expect_uniform(worker_t *self, const gantry_tensor_t *tensor, float value) {
    if (!tensor) return GANTRY_UNKNOWN; /* its scope tells why */
    size_t bytes = gantry_tensor_bytes(tensor), count = bytes / sizeof(float);
    gantry_status_t status = gantry_tensor_read(tensor, self->got, bytes);
    for (size_t i = 0; i < count && status == GANTRY_OK; ++i) {
        if (is_equal(self->got[i], value)) continue;
        char text[160];
        (void)snprintf(text, sizeof text, "element %zu of %zu on %s is %g, not %g", i, count,
                       gantry_logical_device_name(gantry_tensor_device(tensor)),
                       (double)self->got[i], (double)value);
        complain(self->world, "wrong result", text);
        status = GANTRY_INTERNAL;
    }
    (void)atomic_fetch_add(&self->world->checks, count);
    return status;
}

/* ---- kinds of rounds: each works in the scope and returns the first failure of a read ---- */

static gantry_status_t compute_chain(worker_t *self, gantry_scope_t *scope) {
    size_t count = draw_size(self);
    float a = draw_value(self), b = draw_value(self);
    const gantry_tensor_t *x = make_uniform(self, scope, count, a),
                          *y = make_uniform(self, scope, count, b);
    const gantry_tensor_t *sum = gantry_add(scope, x, y), *twice = gantry_add(scope, sum, sum);
    gantry_tensor_drop(scope, draw(self, 2) ? x : sum); /* early, with work in flight */
    return expect_uniform(
        self, gantry_sub(scope, gantry_mul(scope, twice, gantry_scalar_f32(scope, 3)), y),
        6 * (a + b) - b);
}

static gantry_status_t copy_around(worker_t *self, gantry_scope_t *scope) {
    float value = draw_value(self);
    const gantry_tensor_t *at = make_uniform(self, scope, draw_size(self), value);
    gantry_scope_t *inner[3] = {NULL, NULL, NULL};
    gantry_status_t status = GANTRY_OK;
    size_t made = 0;
    for (; made < 3 && at; ++made) {
        inner[made] = gantry_scope_begin_in(scope, draw_device(self));
        if (!inner[made]) {
            status = GANTRY_RESOURCE_EXHAUSTED;
            break;
        }
        at = gantry_identity(inner[made], at);
        if (draw(self, 2)) at = gantry_neg(inner[made], gantry_neg(inner[made], at));
        if (gantry_scope_status(inner[made]) != GANTRY_OK)
            status = gantry_scope_status(inner[made]);
    }
    if (status == GANTRY_OK && at) status = expect_uniform(self, at, value);
    for (size_t i = 0; i < made; ++i) {
        gantry_status_t ended = gantry_scope_end(inner[i]);
        if (status == GANTRY_OK) status = ended;
    }
    return status;
}

static gantry_status_t read_shared(worker_t *self, gantry_scope_t *scope) {
    size_t i = (size_t)draw(self, self->world->device_count),
           j = (size_t)draw(self, self->world->device_count);
    const gantry_tensor_t *sum = gantry_add(scope, self->world->shared[i], self->world->shared[j]);
    return expect_uniform(self, sum, (float)(i + j + 2));
}

static gantry_status_t count_together(worker_t *self, gantry_scope_t *scope) {
    size_t i = (size_t)draw(self, self->world->device_count);
    const double one = 1;
    const gantry_tensor_t *step =
        gantry_constant(scope, GANTRY_FLOAT64, GANTRY_SCALAR, &one, sizeof one);
    gantry_status_t status =
        step ? gantry_variable_assign_add(scope, self->world->counters[i], step) : GANTRY_UNKNOWN;
    if (status == GANTRY_OK) (void)atomic_fetch_add(&self->world->additions[i], 1);
    return status;
}

/* A read returns one thread's whole value, never parts of two. */
static gantry_status_t swap_values(worker_t *self, gantry_scope_t *scope) {
    gantry_variable_t *variable = self->world->uniform[draw(self, self->world->device_count)];
    if (draw(self, 2))
        return gantry_variable_assign(scope, variable,
                                      make_uniform(self, scope, SHARED, draw_value(self)));
    const gantry_tensor_t *value = gantry_variable_read(scope, variable);
    float first = 0;
    const int64_t begin = 0, size = 1;
    const gantry_tensor_t *head = gantry_slice(scope, value, &begin, &size);
    gantry_status_t status = head ? gantry_tensor_read(head, &first, sizeof first) : GANTRY_UNKNOWN;
    return status == GANTRY_OK ? expect_uniform(self, value, first) : status;
}

static gantry_status_t multiply(worker_t *self, gantry_scope_t *scope) {
    size_t side = 8 + (size_t)draw(self, 56);
    if (side * side > self->largest) side = 8;
    float value = (float)draw(self, 16);
    const gantry_tensor_t *flat = make_uniform(self, scope, side * side, value);
    const gantry_tensor_t *x =
        gantry_reshape(scope, flat, GANTRY_SHAPE((int64_t)side, (int64_t)side));
    return expect_uniform(self, gantry_matmul(scope, x, x, NULL), (float)side * value * value);
}

static gantry_status_t allocate_and_drop(worker_t *self, gantry_scope_t *scope) {
    enum { HELD = 12 };
    const gantry_tensor_t *held[HELD] = {NULL};
    float values[HELD];
    for (int i = 0; i < 3 * HELD; ++i) {
        size_t at = (size_t)draw(self, HELD);
        gantry_tensor_drop(scope, held[at]);
        values[at] = draw_value(self);
        held[at] = make_uniform(self, scope, draw_size(self), values[at]);
        if (!held[at]) return GANTRY_UNKNOWN;
    }
    gantry_status_t status = GANTRY_OK;
    for (int i = 0; i < HELD && status == GANTRY_OK; ++i) {
        if (held[i]) status = expect_uniform(self, held[i], values[i]);
    }
    return status;
}

/* Keeps a tensor beyond its scope and checks it rounds later. */
static gantry_status_t keep_for_later(worker_t *self, gantry_scope_t *scope) {
    size_t at = (size_t)draw(self, KEPT);
    gantry_status_t status = GANTRY_OK;
    if (self->kept[at].tensor)
        status = expect_uniform(self, self->kept[at].tensor, self->kept[at].value);
    if (status != GANTRY_OK) return status;
    gantry_tensor_release(self->kept[at].tensor);
    self->kept[at].value = draw_value(self);
    self->kept[at].tensor =
        gantry_tensor_retain(make_uniform(self, scope, draw_size(self), self->kept[at].value));
    return GANTRY_OK;
}

static void let_go(worker_t *self) {
    for (size_t i = 0; i < KEPT; ++i) {
        gantry_tensor_release(self->kept[i].tensor);
        self->kept[i].tensor = NULL;
    }
}

typedef gantry_status_t (*round_fn)(worker_t *self, gantry_scope_t *scope);

static const round_fn rounds[] = {compute_chain, copy_around, read_shared,       count_together,
                                  swap_values,   multiply,    allocate_and_drop, keep_for_later};

/* The round's outcome: the scope's error takes precedence over the read's error. */
static gantry_status_t try_round(worker_t *self, round_fn round, char *out_message,
                                 size_t message_bytes) {
    gantry_scope_t *scope = gantry_scope_begin(self->world->runtime, draw_device(self));
    if (!scope) {
        (void)snprintf(out_message, message_bytes, "no scope: %s", gantry_last_message());
        return GANTRY_UNKNOWN;
    }
    gantry_status_t status = round(self, scope);
    (void)snprintf(out_message, message_bytes, "%s", gantry_last_message());
    gantry_status_t ended = gantry_scope_end(scope);
    if (ended == GANTRY_OK) return status;
    (void)snprintf(out_message, message_bytes, "%s", gantry_last_message());
    return ended;
}

static void *work(void *user) {
    worker_t *self = user;
    world_t *world = self->world;
    char message[1024];
    while (!atomic_load(&world->stop)) {
        round_fn round = rounds[draw(self, sizeof rounds / sizeof rounds[0])];
        gantry_status_t status = try_round(self, round, message, sizeof message);
        for (int i = 0; status == GANTRY_RESOURCE_EXHAUSTED && world->options->tight && i < RETRIES;
             ++i) {
            (void)atomic_fetch_add(&world->exhausted, 1);
            let_go(self);
            if (i > 2) measure_sleep_ms(1);
            status = try_round(self, round, message, sizeof message);
        }
        if (status != GANTRY_OK) complain(world, gantry_status_name(status), message);
        (void)atomic_fetch_add(&world->rounds, 1);
    }
    let_go(self);
    return NULL;
}

/* ---- the watcher ---- */

static bool check_limit(world_t *world, size_t i) {
    gantry_memory_info_t info = {.struct_size = sizeof info};
    char text[256];
    if (gantry_get_memory_info(world->runtime, world->devices[i], &info) != GANTRY_OK) {
        complain(world, "no memory info", gantry_last_message());
        return false;
    }
    uint64_t held = info.pool_bytes + info.staging_bytes;
    if (held > world->peak_bytes[i]) world->peak_bytes[i] = held;
    world->limit_bytes[i] = info.limit_bytes;
    if (held <= info.limit_bytes && info.peak_pool_bytes <= info.limit_bytes &&
        info.current_bytes <= info.pool_bytes)
        return true;
    (void)snprintf(text, sizeof text,
                   "%s: in use %" PRIu64 ", pool %" PRIu64 " (peak %" PRIu64 "), staging %" PRIu64
                   ", limit %" PRIu64,
                   world->devices[i], info.current_bytes, info.pool_bytes, info.peak_pool_bytes,
                   info.staging_bytes, info.limit_bytes);
    complain(world, "the books do not hold", text);
    return false;
}

static void *watch(void *user) {
    world_t *world = user;
    static uint64_t questions;
    while (!atomic_load(&world->stop)) {
        for (size_t i = 0; i < world->device_count; ++i) questions += check_limit(world, i);
        measure_sleep_ms(1);
    }
    return &questions;
}

/* ---- begin and end ---- */

static void split_devices(world_t *world) {
    const gantry_physical_device_t *devices[MOST_DEVICES];
    size_t count = 0;
    uint64_t half = ((uint64_t)world->options->limit_mib << 20) / 2;
    const gantry_logical_device_config_t parts[2] = {{.memory_limit_bytes = half},
                                                     {.memory_limit_bytes = half}};
    if (gantry_list_physical_devices(world->runtime, NULL, MOST_DEVICES, devices, &count) !=
        GANTRY_OK)
        return;
    for (size_t i = 0; i < count && i < MOST_DEVICES; ++i) {
        gantry_device_details_t details = {.struct_size = sizeof details};
        if (gantry_get_device_details(world->runtime, devices[i], &details) != GANTRY_OK ||
            !details.visible)
            continue;
        if (gantry_set_logical_device_configuration(world->runtime, devices[i], parts, 2) ==
            GANTRY_OK) {
            printf("%s is split in two parts of %" PRIu64 " bytes\n", details.name, half);
        } else {
            printf("%s goes unsplit: %s\n", details.name, gantry_last_message());
        }
    }
}

static bool make_shared(world_t *world) {
    static float values[SHARED];
    const double zero = 0;
    for (size_t i = 0; i < world->device_count; ++i) {
        gantry_scope_t *scope = gantry_scope_begin(world->runtime, world->devices[i]);
        if (!scope) return false;
        for (size_t k = 0; k < SHARED; ++k) values[k] = (float)(i + 1);
        const gantry_tensor_t *shared =
            gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(SHARED), values, sizeof values);
        world->shared[i] = gantry_tensor_retain(shared);
        world->uniform[i] = gantry_variable_create(scope, shared, "uniform");
        world->counters[i] = gantry_variable_create(
            scope, gantry_constant(scope, GANTRY_FLOAT64, GANTRY_SCALAR, &zero, sizeof zero),
            "counter");
        if (gantry_scope_end(scope) != GANTRY_OK) return false;
    }
    return true;
}

/* Checks that every listed backend has a device, because the load would otherwise silently leave
 * the backend out. */
static bool has_backends(world_t *world, const char *list) {
    bool has_all = true;
    for (const char *at = list; at && *at;) {
        size_t length = strcspn(at, ",");
        bool has = false;
        char name[64];
        (void)snprintf(name, sizeof name, "%.*s", (int)length, at);
        for (size_t i = 0; i < gantry_backend_status_count(world->runtime); ++i) {
            gantry_backend_status_t status = {.struct_size = sizeof status};
            if (gantry_backend_status(world->runtime, i, &status) != GANTRY_OK) continue;
            has = has || (strcmp(status.name, name) == 0 && status.device_count > 0);
        }
        if (!has) complain(world, "no device of this backend is here", name);
        has_all = has_all && has;
        at += length + (at[length] == ',');
    }
    return has_all;
}

static bool open_world(world_t *world) {
    const options_t *options = world->options;
    const gantry_runtime_options_t settings = {
        .struct_size = sizeof settings,
        .reallocate = count_reallocate,
        .backends = options->backends,
        .opencl_cpu_as_gpu = GANTRY_ON,
        .soft_placement = GANTRY_OFF,
        .memory_limit_bytes = (uint64_t)options->limit_mib << 20};
    const gantry_logical_device_t *devices[MOST_DEVICES];
    if (gantry_runtime_create(&settings, &world->runtime) != GANTRY_OK) return false;
    if (!has_backends(world, options->backends)) return false;
    if (options->split) split_devices(world);
    if (gantry_list_logical_devices(world->runtime, NULL, MOST_DEVICES, devices,
                                    &world->device_count) != GANTRY_OK)
        return false;
    if (world->device_count > MOST_DEVICES) world->device_count = MOST_DEVICES;
    for (size_t i = 0; i < world->device_count; ++i)
        world->devices[i] = gantry_logical_device_name(devices[i]);
    return make_shared(world);
}

static void check_counters(world_t *world) {
    for (size_t i = 0; i < world->device_count; ++i) {
        gantry_scope_t *scope = gantry_scope_begin(world->runtime, NULL);
        const gantry_tensor_t *value = gantry_variable_read(scope, world->counters[i]);
        double counted = -1;
        uint64_t expected = atomic_load(&world->additions[i]);
        char text[128];
        if (!value || gantry_tensor_read(value, &counted, sizeof counted) != GANTRY_OK)
            complain(world, "no count", gantry_last_message());
        (void)snprintf(text, sizeof text, "%s: %.0f counted, %" PRIu64 " added", world->devices[i],
                       counted, expected);
        if ((uint64_t)counted != expected) complain(world, "additions were lost", text);
        (void)gantry_scope_end(scope);
    }
}

static void close_world(world_t *world) {
    for (size_t i = 0; i < world->device_count; ++i) {
        gantry_tensor_release(world->shared[i]);
        gantry_variable_release(world->counters[i]);
        gantry_variable_release(world->uniform[i]);
    }
    for (size_t i = 0; i < world->device_count; ++i) {
        gantry_memory_info_t info = {.struct_size = sizeof info};
        (void)gantry_get_memory_info(world->runtime, world->devices[i], &info);
        printf("%s: %" PRIu64 " additions, at most %.2f of %.2f MiB held, %" PRIu64
               " allocations, %" PRIu64 " bytes in use at the end\n",
               world->devices[i], (uint64_t)atomic_load(&world->additions[i]),
               (double)world->peak_bytes[i] / 1048576, (double)world->limit_bytes[i] / 1048576,
               info.allocation_count, info.current_bytes);
        if (info.current_bytes > LEFT_BYTES)
            complain(world, "memory stays in use", world->devices[i]);
    }
    gantry_runtime_release(world->runtime);
    if (atomic_load(&heap_blocks) != 0)
        complain(world, "host memory was not freed", "see the runtime's heap");
}

static void run(world_t *world) {
    static worker_t workers[MOST_THREADS];
    pthread_t threads[MOST_THREADS], watcher;
    const options_t *options = world->options;
    size_t largest =
               ((size_t)options->limit_mib << 20) / sizeof(float) / (options->tight ? 8 : 256),
           started = 0;
    if (largest < SHARED) largest = SHARED;
    bool is_watched = pthread_create(&watcher, NULL, watch, world) == 0;
    for (; started < (size_t)options->threads; ++started) {
        worker_t *self = &workers[started];
        *self = (worker_t){.world = world,
                           .random = (uint64_t)options->seed * 1000003 + started * 7919 + 1,
                           .largest = largest};
        self->values = malloc(largest * sizeof(float));
        self->got = malloc(largest * sizeof(float));
        if (!self->values || !self->got || pthread_create(&threads[started], NULL, work, self) != 0)
            break;
    }
    double end = measure_seconds() + options->seconds;
    while (measure_seconds() < end && !atomic_load(&world->stop)) measure_sleep_ms(20);
    atomic_store(&world->stop, true);
    for (size_t i = 0; i < started; ++i) {
        (void)pthread_join(threads[i], NULL);
        free(workers[i].values);
        free(workers[i].got);
    }
    void *questions = NULL;
    if (is_watched) (void)pthread_join(watcher, &questions);
    if (!is_watched || started < (size_t)options->threads)
        complain(world, "threads", "not all could be started");
    printf("%.1f s, %zu threads, %zu devices, seed %ld: %" PRIu64 " rounds, %" PRIu64
           " elements checked, %.1f MiB uploaded, %" PRIu64
           " times out of memory, limit checked %" PRIu64 " times\n",
           options->seconds, started, world->device_count, options->seed,
           (uint64_t)atomic_load(&world->rounds), (uint64_t)atomic_load(&world->checks),
           (double)atomic_load(&world->bytes) / 1048576, (uint64_t)atomic_load(&world->exhausted),
           questions ? *(const uint64_t *)questions : 0);
}

static bool read_options(int argc, char **argv, options_t *out) {
    *out = (options_t){.seconds = 5, .threads = 8, .seed = 1, .split = true};
    for (int i = 1; i < argc; i += 2) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!value) return false;
        if (strcmp(name, "--seconds") == 0) {
            out->seconds = strtod(value, NULL);
        } else if (strcmp(name, "--threads") == 0) {
            out->threads = strtol(value, NULL, 10);
        } else if (strcmp(name, "--limit") == 0) {
            out->limit_mib = strtol(value, NULL, 10);
        } else if (strcmp(name, "--seed") == 0) {
            out->seed = strtol(value, NULL, 10);
        } else if (strcmp(name, "--tight") == 0) {
            out->tight = strcmp(value, "1") == 0;
        } else if (strcmp(name, "--split") == 0) {
            out->split = strcmp(value, "1") == 0;
        } else if (strcmp(name, "--backends") == 0) {
            out->backends = value;
        } else {
            return false;
        }
    }
    if (out->limit_mib == 0) out->limit_mib = out->tight ? 4 : 64;
    return out->threads > 0 && out->threads <= MOST_THREADS && out->limit_mib > 0;
}

int main(int argc, char **argv) {
    static world_t world;
    options_t options;
    (void)setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    if (!read_options(argc, argv, &options)) {
        printf(
            "usage: load [--seconds N] [--threads N] [--limit MIB] [--tight 0|1] [--split 0|1] [--backends LIST] [--seed N]\n");
        return 2;
    }
    world.options = &options;
    (void)pthread_mutex_init(&world.lock, NULL);
    if (open_world(&world)) {
        run(&world);
        check_counters(&world);
    } else {
        complain(&world, "the world cannot be made", gantry_last_message());
    }
    if (world.runtime) close_world(&world);
    printf("%d failures\n", world.failures);
    return world.failures ? 1 : 0;
}
