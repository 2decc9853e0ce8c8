/* SPDX-License-Identifier: Apache-2.0 */
/* Promise (load.lifecycle.cpu): Runtimes that are created, used and released again and again on the
 * CPU return all memory, threads and files.
 * Promise (load.lifecycle.opencl): Runtimes that are created, used and released again and again on
 * PoCL return what a plain OpenCL program returns.
 * Promise (load.lifecycle.cuda): Runtimes that are created, used and released again and again on
 * the stand-in for NVIDIA's driver return every object that it counts.
 * Promise (load.lifecycle*.together): Several runtimes of one process work at once on the same
 * devices.
 *
 * Makes, uses and releases runtimes many times. The process must not hold more afterwards than
 * after the first ten.
 *
 *   lifecycle [--device cpu|opencl|cuda] [--cycles N] [--together THREADS] [--objects LIBRARY]
 *             [--tolerance BYTES]
 *
 *   cpu         memory must not grow by more than the tolerance for each cycle; threads, open files
 *               and mappings stay
 *   opencl      the same, less the growth of a plain OpenCL program that does the same work in this
 *               process; with --objects LIBRARY (this folder's counting library) every context,
 *               queue, buffer, program, kernel and event is released
 *   cuda        on the stand-in for NVIDIA's driver; with --objects LIBRARY (the stand-in's
 *               libcuda) objects of each kind are released, and none only by the end of its
 *               context. PoCL's own growth is not judged
 *   --together  this many threads each make two runtimes with their own settings at the same time,
 *               and use them in turns
 *
 * Prints the measured values. Exit code: 0, 1 after a failure, 77 when the device is missing. */
#define _GNU_SOURCE /* mallinfo2, malloc_trim */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <gantry/gantry.h>

#include "../stand_ins/cuda/stand_in_control.h"
#include "count_objects.h"
#include "counting_heap.h"
#include "measure.h"
#include "raw_opencl.h"

#define WARM_UP 10
#define WINDOWS 3
#define SAMPLES 50
#define SIDE 64
#define SKIP 77

typedef enum device_t { CPU, OPENCL, CUDA, DEVICES } device_t;

static const char *const device_words[] = {"cpu", "opencl", "cuda"};
static const char *const device_names[] = {"CPU:0", "opencl:0", "cuda:0"};
static const char *const device_backends[] = {"cpu", "cpu,opencl", "cpu,cuda"};

typedef struct options_t {
    device_t device;
    long cycles, together;
    const char *objects;
    double tolerance_bytes;
} options_t;

static int failures;

#define EXPECT(condition, ...)            \
    do {                                  \
        if (!(condition)) {               \
            ++failures;                   \
            printf("FAIL: " __VA_ARGS__); \
            printf("\n");                 \
        }                                 \
    } while (0)

/* ---- one runtime's life ---- */

/* Uploads data, runs products (which use the pool), sums and a variable, and checks the results. */
static bool use_runtime(gantry_runtime_t *runtime, const char *device) {
    static const float nothing[SIDE * SIDE];
    float got[SIDE * SIDE], total = 0;
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    if (!scope) return false;
    const gantry_tensor_t *zeros =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(SIDE, SIDE), nothing, sizeof nothing);
    const gantry_tensor_t *one = gantry_add(scope, zeros, gantry_scalar_f32(scope, 1));
    const gantry_tensor_t *product = gantry_matmul(scope, one, one, NULL);
    const gantry_tensor_t *sum = gantry_sum(scope, product, NULL);
    gantry_variable_t *variable = gantry_variable_create(scope, product, "v");
    if (variable) (void)gantry_variable_assign_add(scope, variable, product);
    const gantry_tensor_t *value = variable ? gantry_variable_read(scope, variable) : NULL;
    bool good = value && sum && gantry_tensor_read(value, got, sizeof got) == GANTRY_OK &&
                gantry_tensor_read(sum, &total, sizeof total) == GANTRY_OK &&
                (long)total == (long)SIDE * SIDE * SIDE;
    for (int i = 0; i < SIDE * SIDE && good; ++i) good = (int)got[i] == 2 * SIDE;
    if (!good)
        printf("FAIL: on %s: %s\n", device,
               *gantry_scope_message(scope) ? gantry_scope_message(scope) : "wrong results");
    gantry_variable_release(variable);
    return gantry_scope_end(scope) == GANTRY_OK && good;
}

static gantry_runtime_options_t plain_options(const char *backends, const char *const *extra) {
    return (gantry_runtime_options_t){.struct_size = sizeof(gantry_runtime_options_t),
                                      .reallocate = count_reallocate,
                                      .backends = backends,
                                      .cpu_threads = 2,
                                      .extra = extra};
}

static bool live_once(const options_t *options, raw_work_t *out_work) {
    char library[1024];
    const char *extra[] = {NULL, NULL};
    if (options->objects) {
        (void)snprintf(library, sizeof library, "GANTRY_%s_LIBRARY=%s",
                       options->device == CUDA ? "CUDA" : "OPENCL", options->objects);
        extra[0] = library;
    }
    gantry_runtime_options_t settings = plain_options(device_backends[options->device], extra);
    /* a missing device must not count as one that costs nothing */
    settings.soft_placement = GANTRY_OFF;
    gantry_runtime_t *runtime;
    if (gantry_runtime_create(&settings, &runtime) != GANTRY_OK) {
        printf("FAIL: no runtime: %s\n", gantry_last_message());
        return false;
    }
    bool good = use_runtime(runtime, device_names[options->device]);
    gantry_program_stats_t stats = {.struct_size = sizeof stats};
    if (gantry_get_program_stats(runtime, &stats) == GANTRY_OK)
        *out_work =
            (raw_work_t){(unsigned)(stats.built + stats.loaded), (unsigned)stats.launches, 4};
    gantry_runtime_release(runtime);
    return good;
}

/* ---- many of them ---- */

typedef struct growth_t {
    measure_t before, after;
    double resident_per_cycle, heap_per_cycle, seconds;
} growth_t;

typedef bool (*cycle_fn)(const options_t *options, raw_work_t *work);

/* A joined thread may stay in the process table for a moment. */
static measure_t measure_settled(long threads) {
    measure_t now = measure_now();
    for (int i = 0; i < 100 && threads > 0 && now.threads > threads; ++i) {
        measure_sleep_ms(10);
        now = measure_now();
    }
    return now;
}

static bool repeat(const options_t *options, cycle_fn cycle, raw_work_t *work, growth_t *out) {
    measure_slope_t resident = {0}, heap = {0};
    for (int i = 0; i < WARM_UP; ++i) {
        if (!cycle(options, work)) return false;
    }
    measure_sleep_ms(50);
    out->before = measure_now();
    double start = measure_seconds();
    long step = options->cycles / SAMPLES > 0 ? options->cycles / SAMPLES : 1;
    for (long i = 1; i <= options->cycles; ++i) {
        if (!cycle(options, work)) return false;
        if (i % step != 0) continue;
        measure_t now = measure_now();
        measure_slope_add(&resident, (double)i, now.resident_bytes);
        measure_slope_add(&heap, (double)i, now.heap_bytes);
    }
    out->seconds = measure_seconds() - start;
    out->after = measure_settled(out->before.threads);
    out->resident_per_cycle = measure_slope_get(&resident);
    out->heap_per_cycle = measure_slope_get(&heap);
    return true;
}

static void print_growth(const char *what, const options_t *options, const growth_t *growth) {
    printf(
        "%s: %ld cycles in %.2f s (%.3f ms each); resident %.1f -> %.1f MiB, slope %.1f bytes per cycle; C heap slope %.1f bytes per cycle; threads %ld -> %ld, files %ld -> %ld, mappings %ld -> %ld\n",
        what, options->cycles, growth->seconds, growth->seconds * 1e3 / (double)options->cycles,
        growth->before.resident_bytes / 1048576, growth->after.resident_bytes / 1048576,
        growth->resident_per_cycle, growth->heap_per_cycle, growth->before.threads,
        growth->after.threads, growth->before.files, growth->after.files, growth->before.mappings,
        growth->after.mappings);
}

/* Growth without the driver's growth. When the driver's memory shrank, Gantry's memory need not
 * shrink. */
static double beyond(double growth, double base) { return base > 0 ? growth - base : growth; }

static bool exceeds(const options_t *options, const growth_t *growth, const growth_t *base) {
    return beyond(growth->resident_per_cycle, base->resident_per_cycle) >
               options->tolerance_bytes ||
           beyond(growth->heap_per_cycle, base->heap_per_cycle) > options->tolerance_bytes;
}

/* A heap takes memory in steps of 128 KiB or more, and one window of cycles may contain such a
 * step. A leak grows in every window. */
static bool repeat_until_steady(const options_t *options, cycle_fn cycle, raw_work_t *work,
                                const growth_t *base, growth_t *out) {
    for (int window = 0; window < WINDOWS; ++window) {
        if (!repeat(options, cycle, work, out)) return false;
        if (!exceeds(options, out, base)) break;
    }
    return true;
}

/* base: the growth of the driver alone. */
static void judge(const options_t *options, const growth_t *growth, const growth_t *base) {
    double extra = beyond(growth->resident_per_cycle, base->resident_per_cycle);
    double heap_extra = beyond(growth->heap_per_cycle, base->heap_per_cycle);
    long mappings = growth->after.mappings - growth->before.mappings -
                    (base->after.mappings - base->before.mappings);
    printf("ours less the driver's: resident %.1f, C heap %.1f bytes per cycle; tolerance %.0f%s\n",
           extra, heap_extra, options->tolerance_bytes,
           MEASURE_SANITIZED         ? " (not judged: a sanitizer keeps memory of its own)"
           : options->device == CUDA ? " (not judged: PoCL behind the stand-in grows)"
                                     : "");
    EXPECT(growth->after.threads <= growth->before.threads, "threads stay behind");
    EXPECT(growth->after.files <= growth->before.files, "files stay open");
    EXPECT(atomic_load(&heap_blocks) == 0 && atomic_load(&heap_bytes) == 0,
           "%ld blocks of host memory, %ld bytes, stay behind", atomic_load(&heap_blocks),
           atomic_load(&heap_bytes));
    if (MEASURE_SANITIZED || options->device == CUDA) return;
    EXPECT(mappings <= 8, "%ld mappings stay behind", mappings);
    EXPECT(extra <= options->tolerance_bytes, "resident memory grows");
    EXPECT(heap_extra <= options->tolerance_bytes, "the C heap grows");
}

static void judge_stand_in(const options_t *options) {
    void *library = dlopen(options->objects, RTLD_NOW),
         *symbol = library ? dlsym(library, "stand_in_control") : NULL;
    char text[256] = "";
    stand_in_control_fn find;
    EXPECT(symbol, "%s is not the stand-in's libcuda", options->objects);
    if (!symbol) return;
    memcpy(&find, &symbol, sizeof find);
    for (int kind = 0; kind < STAND_IN_KINDS; ++kind) {
        long live = find()->live(kind), abandoned = find()->abandoned(kind);
        EXPECT(live == 0 && abandoned == 0,
               "kind %d: %ld stay behind, %ld ended with their context", kind, live, abandoned);
    }
    EXPECT(find()->complaints(text, sizeof text) == 0, "no driver would have survived this: %s",
           text);
    printf("%llu calls of the stand-in; objects left: none of %d kinds%s\n",
           (unsigned long long)find()->calls(NULL), STAND_IN_KINDS,
           failures ? " but those named above" : "");
}

static void judge_objects(const options_t *options) {
    static const char *const names[] = {"contexts", "queues",  "buffers",
                                        "programs", "kernels", "events"};
    void *library = dlopen(options->objects, RTLD_NOW),
         *symbol = library ? dlsym(library, COUNT_OBJECTS_SYMBOL) : NULL;
    EXPECT(symbol, "%s has no %s", options->objects, COUNT_OBJECTS_SYMBOL);
    if (!symbol) return;
    count_objects_live_fn live;
    memcpy(&live, &symbol, sizeof live);
    for (int kind = 0; kind < COUNT_KINDS; ++kind) {
        long count = live((count_kind_t)kind);
        EXPECT(count == 0, "%ld %s of the driver stay behind", count, names[kind]);
    }
    printf("driver objects left: none of %d kinds%s\n", COUNT_KINDS,
           failures ? " but those named above" : "");
}

#ifdef LIFECYCLE_RAW
static bool raw_cycle(const options_t *options, raw_work_t *work) {
    (void)options;
    return raw_opencl_cycle(work);
}

static bool measure_raw(const options_t *options, raw_work_t *work, growth_t *out) {
    bool good = raw_opencl_open(work) && repeat(options, raw_cycle, work, out);
    raw_opencl_close();
    return good;
}
#else
static bool measure_raw(const options_t *options, raw_work_t *work, growth_t *out) {
    (void)options;
    (void)work;
    (void)out;
    printf("built without OpenCL's loader: nothing to compare with\n");
    return false;
}
#endif

static void run_one_after_another(const options_t *options) {
    growth_t ours = {.seconds = 0}, raw = {.seconds = 0};
    raw_work_t work = {0, 0, 0}, again;
    /* runs one cycle; also fills the cache of program binaries */
    bool good = live_once(options, &work);
    if (good && options->device == OPENCL) {
        if (work.programs > RAW_PROGRAMS) work.programs = RAW_PROGRAMS;
        printf("a cycle has %u programs and %u launches\n", work.programs, work.launches);
        good = measure_raw(options, &work, &raw);
        if (good) print_growth("raw OpenCL", options, &raw);
    }
    good = good && repeat_until_steady(options, live_once, &again, &raw, &ours);
    EXPECT(good, "a cycle failed");
    if (!good) return;
    char what[32];
    (void)snprintf(what, sizeof what, "runtimes on %s", device_names[options->device]);
    print_growth(what, options, &ours);
    judge(options, &ours, &raw);
    if (options->objects) (options->device == CUDA ? judge_stand_in : judge_objects)(options);
}

/* ---- several at once ---- */

typedef struct own_t {
    gantry_runtime_t *runtime;
    bool soft, growth;
    uint64_t limit_bytes;
} own_t;

typedef struct together_t {
    const options_t *options;
    long seed;
    long lives;
    const char *failure;
    char text[256];
} together_t;

static void complain(together_t *self, const char *what) {
    if (self->failure) return;
    self->failure = what;
    (void)snprintf(self->text, sizeof self->text, "%s", gantry_last_message());
}

static bool make_own(together_t *self, long number, own_t *out) {
    *out = (own_t){.soft = number % 2 == 0,
                   .growth = number % 3 != 0,
                   .limit_bytes = (uint64_t)(4 + number % 5 * 4) << 20};
    gantry_runtime_options_t settings = plain_options(device_backends[self->options->device], NULL);
    settings.cpu_threads = 1 + (int32_t)(number % 3);
    settings.soft_placement = out->soft ? GANTRY_ON : GANTRY_OFF;
    settings.memory_growth = out->growth ? GANTRY_ON : GANTRY_OFF;
    settings.memory_limit_bytes = out->limit_bytes;
    settings.opencl_cpu_as_gpu = GANTRY_ON;
    settings.visible_devices = number % 4 == 3 ? "" : NULL; /* no GPU at all */
    if (gantry_runtime_create(&settings, &out->runtime) == GANTRY_OK) return true;
    complain(self, "no runtime");
    return false;
}

/* The runtime must keep its own settings and results. */
static void use_own(together_t *self, long number, const own_t *own) {
    gantry_memory_info_t info = {.struct_size = sizeof info};
    size_t gpus = 0;
    if (gantry_get_soft_device_placement(own->runtime) != own->soft)
        complain(self, "soft placement is another runtime's");
    if (gantry_get_memory_info(own->runtime, "CPU:0", &info) != GANTRY_OK)
        complain(self, "no memory info");
    if (info.limit_bytes != own->limit_bytes) complain(self, "the limit is another runtime's");
    if (info.pool_bytes > info.limit_bytes) complain(self, "the pool is over the limit");
    if (gantry_list_logical_devices(own->runtime, "GPU", 0, NULL, &gpus) != GANTRY_OK)
        complain(self, "no list of devices");
    if (number % 4 == 3 && gpus > 0) complain(self, "a hidden GPU is listed");
    if (!use_runtime(own->runtime, gpus > 0 ? "GPU:0" : "CPU:0")) complain(self, "a wrong result");
    /* no such device: soft placement decides */
    gantry_scope_t *scope = gantry_scope_begin(own->runtime, "GPU:7");
    const gantry_tensor_t *x = gantry_scalar_f32(scope, 1);
    if ((x != NULL) != own->soft) complain(self, "soft placement acts as another runtime's");
    (void)gantry_scope_end(scope);
}

static void *live_together(void *user) {
    together_t *self = user;
    own_t own[2] = {{NULL, false, false, 0}, {NULL, false, false, 0}};
    if (!make_own(self, self->seed, &own[0])) return NULL;
    for (long i = 1; i <= self->options->cycles && !self->failure;
         ++i) { /* one runtime is always a cycle older than the other */
        long number = self->seed + i;
        own_t *newer = &own[i % 2], *older = &own[(i + 1) % 2];
        if (!make_own(self, number, newer)) break;
        use_own(self, number - 1, older);
        use_own(self, number, newer);
        gantry_runtime_release(older->runtime);
        older->runtime = NULL;
        ++self->lives;
    }
    gantry_runtime_release(own[0].runtime);
    gantry_runtime_release(own[1].runtime);
    return NULL;
}

static void run_together(const options_t *options) {
    enum { MOST = 16 };
    pthread_t threads[MOST];
    static together_t selves[MOST];
    long count = options->together < MOST ? options->together : MOST, lives = 0;
    double start = measure_seconds();
    for (long i = 0; i < count; ++i) {
        selves[i] = (together_t){.options = options, .seed = 7 * i};
        if (pthread_create(&threads[i], NULL, live_together, &selves[i]) != 0) count = i;
    }
    for (long i = 0; i < count; ++i) {
        (void)pthread_join(threads[i], NULL);
        lives += selves[i].lives;
        EXPECT(!selves[i].failure, "thread %ld: %s; %s", i, selves[i].failure, selves[i].text);
    }
    EXPECT(atomic_load(&heap_blocks) == 0, "%ld blocks of host memory stay behind",
           atomic_load(&heap_blocks));
    printf(
        "together: %ld threads, %ld runtimes with settings of their own, two at a time each, in %.2f s\n",
        count, lives, measure_seconds() - start);
}

/* ---- main ---- */

static bool read_options(int argc, char **argv, options_t *out) {
    *out = (options_t){.cycles = 5000, .tolerance_bytes = 100};
    for (int i = 1; i < argc; i += 2) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!value) return false;
        if (strcmp(name, "--device") == 0) {
            int k = 0;
            while (k < DEVICES && strcmp(value, device_words[k]) != 0) ++k;
            if (k == DEVICES) return false;
            out->device = (device_t)k;
        } else if (strcmp(name, "--cycles") == 0) {
            out->cycles = strtol(value, NULL, 10);
        } else if (strcmp(name, "--together") == 0) {
            out->together = strtol(value, NULL, 10);
        } else if (strcmp(name, "--objects") == 0) {
            out->objects = value;
        } else if (strcmp(name, "--tolerance") == 0) {
            out->tolerance_bytes = strtod(value, NULL);
        } else {
            return false;
        }
    }
    return out->cycles > 0;
}

static bool has_device(device_t wanted) {
    gantry_runtime_options_t settings = plain_options(device_backends[wanted], NULL);
    gantry_runtime_t *runtime;
    const gantry_logical_device_t *device = NULL;
    if (gantry_runtime_create(&settings, &runtime) != GANTRY_OK) return false;
    bool found = gantry_find_logical_device(runtime, device_names[wanted], &device) == GANTRY_OK;
    gantry_runtime_release(runtime);
    return found;
}

int main(int argc, char **argv) {
    options_t options;
    (void)setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    if (!read_options(argc, argv, &options)) {
        printf(
            "usage: lifecycle [--device cpu|opencl|cuda] [--cycles N] [--together THREADS] [--objects LIBRARY] [--tolerance BYTES]\n");
        return 2;
    }
    if (!has_device(options.device)) {
        printf("skipped: no %s here: %s\n", device_names[options.device], gantry_last_message());
        return SKIP;
    }
    if (options.together > 0) {
        run_together(&options);
    } else {
        run_one_after_another(&options);
    }
    printf("%d failures\n", failures);
    return failures ? 1 : 0;
}
