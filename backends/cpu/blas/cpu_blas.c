/* SPDX-License-Identifier: Apache-2.0 */
/* oneDNN and OpenBLAS must run only on our threads: each thread calls the library for its own
 * stripe of C. Debian's oneDNN uses libgomp, which would add threads of its own. So a thread sets
 * libgomp's number of threads to 1 before the call and restores it after; that setting is per
 * thread. OpenBLAS has one setting for the whole process. It is set to 1, and the threads that
 * OpenBLAS made when it was loaded are ended. If the program loaded OpenBLAS before Gantry, its
 * settings stay. */
#include "kernels/matmul/cpu_blas.h"

#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/os/signals.h"
#include "base/os/thread.h"
#include "base/os/library.h"
#include "cpu/cpu_machine.h"
#include "kernels/common/cpu_simd.h"
#include "cpu/blas/cpu_tuned.h"

typedef int (*dnnl_sgemm_fn)(char transpose_a, char transpose_b, int64_t m, int64_t n, int64_t k,
                             float alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
                             float beta, float *c, int64_t ldc);
typedef void (*cblas_sgemm_fn)(int order, int transpose_a, int transpose_b, int m, int n, int k,
                               float alpha, const float *a, int lda, const float *b, int ldb,
                               float beta, float *c, int ldc);
typedef void (*set_threads_fn)(int count);
typedef int (*get_threads_fn)(void);
typedef int (*shutdown_fn)(void);

enum { CHOICE_AUTO = 0, CHOICE_ONEDNN, CHOICE_OPENBLAS, CHOICE_OWN };

#define CLASSES GANTRY_CPU_PRODUCT_CLASSES
#define SMALL_MULTIPLICATIONS (INT64_C(224) * 224 * 224)
#define MIDDLE_MULTIPLICATIONS (INT64_C(896) * 896 * 896)
#define THIN_SIDE 32
/* Rows of B so many floats apart, or a multiple of it, share sets of the cache; and the rows of A
 * with which oneDNN is slow then. */
#define CLASHING_ELEMENTS 512
#define CLASHING_LEAST 48
#define CLASHING_MOST 256

/* One library. Gantry tries to open it at most once. */
typedef struct {
    bool is_tried;
    bool is_usable;
    char text[128]; /* name and file of the library, or why it cannot be used */
} library_t;

struct gantry__cpu_blas_t {
    const gantry_host_t *host;
    int choice;
    int simd_level;
    gantry_device_info_t info; /* struct_size 0: records are not looked up */
    uint32_t threads;
    gantry__mutex_t lock;
    atomic_bool is_looked_up; /* true: tuned is constant */
    gantry__cpu_tuned_t tuned[CLASSES];
    atomic_bool is_open; /* true: all members below are constant, except `before` */
    int serving[CLASSES];
    library_t libraries[3]; /* by GANTRY_CPU_BLAS_... */
    dnnl_sgemm_fn dnnl_sgemm;
    set_threads_fn set_threads; /* libgomp's, NULL when oneDNN has another runtime */
    get_threads_fn get_threads;
    cblas_sgemm_fn cblas_sgemm;
    char before[640]; /* the description until is_open; "": not written yet */
    char description[640];
};

/* ---- classes ---- */

int gantry__cpu_product_class(int64_t m, int64_t n, int64_t k) {
    int64_t multiplications = m * n * k;
    if (m < THIN_SIDE || n < THIN_SIDE) return GANTRY_CPU_PRODUCT_THIN;
    return multiplications <= SMALL_MULTIPLICATIONS    ? GANTRY_CPU_PRODUCT_SMALL
           : multiplications <= MIDDLE_MULTIPLICATIONS ? GANTRY_CPU_PRODUCT_MIDDLE
                                                       : GANTRY_CPU_PRODUCT_LARGE;
}

/* ---- create ---- */

static int parse_choice(const char *text) {
    static const char *const names[] = {"auto", "onednn", "openblas", "own"};
    for (int i = 0; text && i < 4; ++i)
        if (strcmp(text, names[i]) == 0) return i;
    return -1;
}

int32_t gantry__cpu_blas_create(const gantry_host_t *host, int simd_level,
                                gantry__cpu_blas_t **out_blas) {
    const char *option = host->option(host->self, "GANTRY_CPU_MATMUL");
    gantry__cpu_blas_t *blas = host->reallocate(host->self, NULL, 0, sizeof *blas);
    *out_blas = NULL;
    if (!blas) {
        return host->set_error(host->self, GANTRY_RESOURCE_EXHAUSTED, "errno", 0,
                               "No memory for the CPU backend's matrix products");
    }
    memset(blas, 0, sizeof *blas);
    blas->host = host;
    blas->simd_level = simd_level;
    blas->choice = parse_choice(option);
    if (blas->choice < 0) {
        if (option && option[0] != '\0') {
            char text[160];
            snprintf(
                text, sizeof text,
                "GANTRY_CPU_MATMUL is \"%.40s\"; accepted are auto, onednn, openblas and own: auto is used",
                option);
            host->log(host->self, GANTRY_LEVEL_WARNING, text);
        }
        blas->choice = CHOICE_AUTO;
    }
    for (int i = 0; i < CLASSES; ++i) blas->tuned[i].use = -1;
    atomic_init(&blas->is_looked_up, false);
    atomic_init(&blas->is_open, false);
    if (gantry__mutex_init(&blas->lock) != 0) {
        host->reallocate(host->self, blas, sizeof *blas, 0);
        return host->set_error(host->self, GANTRY_RESOURCE_EXHAUSTED, "errno", 0,
                               "No mutex for the CPU backend's matrix products");
    }
    *out_blas = blas;
    return GANTRY_OK;
}

void gantry__cpu_blas_set_device(gantry__cpu_blas_t *blas, const gantry_device_info_t *info,
                                 uint32_t threads) {
    blas->info = *info;
    blas->threads = threads;
}

void gantry__cpu_blas_release(gantry__cpu_blas_t *blas) {
    if (blas) {
        gantry__mutex_deinit(&blas->lock);
        blas->host->reallocate(blas->host->self, blas, sizeof *blas, 0);
    }
}

/* ---- libraries ---- */

static bool open_onednn(gantry__cpu_blas_t *blas, library_t *out) {
    static const char *const names[] = {"libdnnl.so.3", "libdnnl.so.2", "libdnnl.so"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        void *library = gantry__os_library_open(names[i], 0);
        if (!library) continue;
        if (!gantry__os_library_function(library, "dnnl_sgemm", &blas->dnnl_sgemm)) {
            snprintf(out->text, sizeof out->text, "%s lacks dnnl_sgemm", names[i]);
            return false;
        }
        if (!gantry__os_library_function(library, "omp_set_num_threads", &blas->set_threads) ||
            !gantry__os_library_function(library, "omp_get_max_threads", &blas->get_threads))
            blas->set_threads = NULL;
        snprintf(out->text, sizeof out->text, "oneDNN (%s)", names[i]);
        return true;
    }
    snprintf(out->text, sizeof out->text, "libdnnl.so.3 and libdnnl.so.2 not found");
    return false;
}

/* Ends the library's own threads. Loading an OpenBLAS that has them starts one for each core.
 * blas_thread_shutdown_, which OpenBLAS calls before every fork, ends them; OpenBLAS can start them
 * again if the program requests that. */
static void use_one_thread(void *library) {
    enum { OWN_THREADS = 1 };
    set_threads_fn set_threads;
    get_threads_fn get_parallel;
    shutdown_fn shut_down;
    if (gantry__os_library_function(library, "openblas_set_num_threads", &set_threads))
        set_threads(1);
    if (gantry__os_library_function(library, "openblas_get_parallel", &get_parallel) &&
        gantry__os_library_function(library, "blas_thread_shutdown_", &shut_down) &&
        get_parallel() == OWN_THREADS)
        shut_down();
}

static bool open_openblas(gantry__cpu_blas_t *blas, library_t *out) {
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        void *before = gantry__os_library_open(names[i], GANTRY__OS_LIBRARY_LOADED);
        void *library = gantry__os_library_open(names[i], 0);
        if (!library) continue;
        if (!gantry__os_library_function(library, "cblas_sgemm", &blas->cblas_sgemm)) {
            snprintf(out->text, sizeof out->text, "%s lacks cblas_sgemm", names[i]);
            return false;
        }
        if (!before) use_one_thread(library);
        snprintf(out->text, sizeof out->text, "OpenBLAS (%s)", names[i]);
        return true;
    }
    snprintf(out->text, sizeof out->text, "libopenblas.so.0 not found");
    return false;
}

/* ---- checks before a library is opened ---- */

/* Whether ulimit leaves enough address space. OpenBLAS maps a buffer for each thread, and waits for
 * ever if it gets none; oneDNN ends the process. The machine's free memory does not matter, because
 * they touch only a part of the buffers. */
static bool has_address_space(const gantry__cpu_blas_t *blas, library_t *out) {
    const uint64_t left = gantry__cpu_machine_unused_limit("");
    const uint64_t needed = (256 + 64 * (uint64_t)blas->threads) << 20;
    if (left >= needed) return true;
    snprintf(out->text, sizeof out->text,
             "not opened: ulimit leaves this process %llu MiB of memory, and it may take %llu",
             (unsigned long long)(left >> 20), (unsigned long long)(needed >> 20));
    return false;
}

static void *do_nothing(void *argument) { return argument; }

/* Whether this process can start a thread. OpenBLAS raises SIGINT if it cannot. */
static bool can_start_thread(library_t *out) {
    gantry__thread_t thread;
    int code = gantry__thread_start(&thread, 0, do_nothing, NULL);
    if (code == 0) {
        gantry__thread_join(thread);
        return true;
    }
    snprintf(out->text, sizeof out->text, "not opened: no thread can be made: %s (ulimit -u)",
             strerror(code));
    return false;
}

static bool try_to_open(gantry__cpu_blas_t *blas, int library, library_t *out) {
    if (library == GANTRY_CPU_BLAS_OWN) return true;
    if (!has_address_space(blas, out)) return false;
    if (library == GANTRY_CPU_BLAS_ONEDNN) return open_onednn(blas, out);
    return can_start_thread(out) && open_openblas(blas, out);
}

static bool is_usable(gantry__cpu_blas_t *blas, int library) {
    library_t *wanted = &blas->libraries[library];
    if (!wanted->is_tried) {
        wanted->is_tried = true;
        wanted->is_usable = try_to_open(blas, library, wanted);
    }
    return wanted->is_usable;
}

/* ---- the choice for each class ---- */

static bool is_tuned(const gantry__cpu_tuned_t *tuned) {
    for (int i = 0; i < CLASSES; ++i)
        if (tuned[i].use >= 0) return true;
    return false;
}

/* Reads the records, which are those of a device, so there are none before it is set. It must hold
 * no lock while it calls the host, which may log. */
static void read_records(gantry__cpu_blas_t *blas) {
    if (atomic_load_explicit(&blas->is_looked_up, memory_order_acquire)) return;
    if (blas->info.struct_size == 0) return;
    gantry__cpu_tuned_t tuned[CLASSES];
    memset(tuned, 0, sizeof tuned);
    for (int i = 0; i < CLASSES; ++i) {
        tuned[i].use = -1;
        if (blas->choice == CHOICE_AUTO)
            gantry__cpu_tuned_find(blas->host, &blas->info, blas->threads, i, &tuned[i]);
    }
    gantry__mutex_lock(&blas->lock);
    if (!atomic_load_explicit(&blas->is_looked_up, memory_order_relaxed)) {
        memcpy(blas->tuned, tuned, sizeof tuned);
        atomic_store_explicit(&blas->is_looked_up, true, memory_order_release);
    }
    gantry__mutex_unlock(&blas->lock);
}

/* The choice for a class without a record. */
static int choose_by_rule(gantry__cpu_blas_t *blas, const char **out_why) {
    static const char *const options[] = {NULL, "GANTRY_CPU_MATMUL=onednn",
                                          "GANTRY_CPU_MATMUL=openblas", "GANTRY_CPU_MATMUL=own"};
    *out_why = options[blas->choice];
    switch (blas->choice) {
        case CHOICE_OWN: return GANTRY_CPU_BLAS_OWN;
        case CHOICE_ONEDNN:
            return is_usable(blas, GANTRY_CPU_BLAS_ONEDNN) ? GANTRY_CPU_BLAS_ONEDNN
                                                           : GANTRY_CPU_BLAS_OWN;
        case CHOICE_OPENBLAS:
            return is_usable(blas, GANTRY_CPU_BLAS_OPENBLAS) ? GANTRY_CPU_BLAS_OPENBLAS
                                                             : GANTRY_CPU_BLAS_OWN;
        default:
            if (is_usable(blas, GANTRY_CPU_BLAS_ONEDNN)) {
                *out_why = "found first; not measured, `gantry tune` measures";
                return GANTRY_CPU_BLAS_ONEDNN;
            }
            if (blas->simd_level > GANTRY_CPU_BASE) {
                *out_why = "loops for this instruction set; not measured, `gantry tune` measures";
                return GANTRY_CPU_BLAS_OWN;
            }
            *out_why = "no oneDNN; not measured, `gantry tune` measures";
            return is_usable(blas, GANTRY_CPU_BLAS_OPENBLAS) ? GANTRY_CPU_BLAS_OPENBLAS
                                                             : GANTRY_CPU_BLAS_OWN;
    }
}

/* ---- the line for listings ---- */

static void cpu_blas_append(char *text, size_t bytes, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void cpu_blas_append(char *text, size_t bytes, const char *format, ...) {
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, bytes - used, format, arguments);
    va_end(arguments);
}

/* Appends the text of every library that was tried. */
static void describe_libraries(const gantry__cpu_blas_t *blas, char *text, size_t bytes) {
    for (int i = GANTRY_CPU_BLAS_ONEDNN; i <= GANTRY_CPU_BLAS_OPENBLAS; ++i)
        if (blas->libraries[i].is_tried)
            cpu_blas_append(text, bytes, "; %s", blas->libraries[i].text);
}

/* Writes the line if no class has a record, so that one rule chose for all of them. */
static void describe_rule(gantry__cpu_blas_t *blas, int serving, const char *why) {
    char *text = blas->description;
    size_t bytes = sizeof blas->description;
    if (serving == GANTRY_CPU_BLAS_OWN) {
        cpu_blas_append(text, bytes, "matrix products: own (%s", why);
        describe_libraries(blas, text, bytes);
        cpu_blas_append(text, bytes, ")");
    } else {
        cpu_blas_append(text, bytes,
                        "matrix products: %s for large float32 ones (%s), own for the rest",
                        blas->libraries[serving].text, why);
    }
}

/* Writes "small oneDNN (own 41.5, oneDNN 48.0)", class by class. If serving is NULL, the line names
 * the libraries of the records. */
static void describe_classes(const gantry__cpu_tuned_t *tuned, const int *serving, char *text,
                             size_t bytes) {
    const char *measured = "";
    cpu_blas_append(text, bytes, "matrix products of float32 in GFLOP/s:");
    for (int i = 0; i < CLASSES; ++i) {
        int serves = serving ? serving[i] : tuned[i].use;
        cpu_blas_append(text, bytes, "%s %s ", i > 0 ? "," : "", gantry__cpu_product_name(i));
        if (tuned[i].use < 0) {
            cpu_blas_append(text, bytes, "%s (not measured)",
                            serves < 0 ? "by rule" : gantry__cpu_blas_name(serves));
            continue;
        }
        cpu_blas_append(text, bytes, "%s", gantry__cpu_blas_name(serves));
        if (tuned[i].figures[0] != '\0') cpu_blas_append(text, bytes, " (%s)", tuned[i].figures);
        measured = strcmp(tuned[i].measured, measured) > 0 ? tuned[i].measured : measured;
    }
    cpu_blas_append(text, bytes, "; measured %s", measured);
}

static void cpu_blas_open_all(gantry__cpu_blas_t *blas) {
    const char *why = "";
    bool has_missing = false;
    for (int i = 0; i < CLASSES; ++i) {
        int wish = blas->tuned[i].use;
        if (wish < 0) {
            blas->serving[i] = choose_by_rule(blas, &why);
        } else {
            blas->serving[i] = is_usable(blas, wish) ? wish : GANTRY_CPU_BLAS_OWN;
            has_missing |= blas->serving[i] != wish;
        }
    }
    if (!is_tuned(blas->tuned)) {
        describe_rule(blas, blas->serving[0], why);
        return;
    }
    describe_classes(blas->tuned, blas->serving, blas->description, sizeof blas->description);
    if (has_missing) {
        cpu_blas_append(blas->description, sizeof blas->description,
                        "; own serves where a library is missing");
    }
    describe_libraries(blas, blas->description, sizeof blas->description);
}

bool gantry__cpu_blas_is_open(gantry__cpu_blas_t *blas) {
    return atomic_load_explicit(&blas->is_open, memory_order_acquire);
}

int gantry__cpu_blas_choose(gantry__cpu_blas_t *blas, int64_t m, int64_t n, int64_t k) {
    if (!gantry__cpu_blas_is_open(blas)) {
        read_records(blas);
        gantry__mutex_lock(&blas->lock);
        if (!atomic_load_explicit(&blas->is_open, memory_order_relaxed)) {
            cpu_blas_open_all(blas);
            atomic_store_explicit(&blas->is_open, true, memory_order_release);
        }
        gantry__mutex_unlock(&blas->lock);
    }
    return blas->serving[gantry__cpu_product_class(m, n, k)];
}

/* Whether oneDNN reads B without packing it, with rows whose beginnings share a few sets of the
 * cache. It does so with few rows of A, and takes up to three times as long as our own loops, which
 * pack B. Measured with AVX2. */
static bool has_clashing_rows(const gantry__cpu_blas_t *blas, int64_t m, int64_t b_row) {
    return blas->simd_level == GANTRY_CPU_AVX2 && m >= CLASHING_LEAST && m <= CLASHING_MOST &&
           b_row > 0 && b_row % CLASHING_ELEMENTS == 0;
}

int gantry__cpu_blas_choose_rows(gantry__cpu_blas_t *blas, int64_t m, int64_t n, int64_t k,
                                 int64_t b_row) {
    const int library = gantry__cpu_blas_choose(blas, m, n, k);
    const bool is_by_rule =
        blas->choice == CHOICE_AUTO && blas->tuned[gantry__cpu_product_class(m, n, k)].use < 0;
    return library == GANTRY_CPU_BLAS_ONEDNN && is_by_rule && has_clashing_rows(blas, m, b_row)
               ? GANTRY_CPU_BLAS_OWN
               : library;
}

bool gantry__cpu_blas_has_no_wish(gantry__cpu_blas_t *blas, int64_t m, int64_t n, int64_t k) {
    if (blas->choice != CHOICE_AUTO) return false;
    read_records(blas);
    return !atomic_load_explicit(&blas->is_looked_up, memory_order_acquire) ||
           blas->tuned[gantry__cpu_product_class(m, n, k)].use < 0;
}

const char *gantry__cpu_blas_library(gantry__cpu_blas_t *blas) {
    static const char *const before[] = {
        "matrix products: oneDNN if found, opened on first need; not measured, `gantry tune` measures",
        "matrix products: oneDNN if found (GANTRY_CPU_MATMUL=onednn), opened on first need",
        "matrix products: OpenBLAS if found (GANTRY_CPU_MATMUL=openblas), opened on first need",
        "matrix products: own (GANTRY_CPU_MATMUL=own)"};
    if (gantry__cpu_blas_is_open(blas)) return blas->description;
    read_records(blas);
    if (!is_tuned(blas->tuned)) return before[blas->choice];
    gantry__mutex_lock(&blas->lock);
    if (blas->before[0] == '\0') {
        describe_classes(blas->tuned, NULL, blas->before, sizeof blas->before);
        cpu_blas_append(blas->before, sizeof blas->before, "; libraries are opened on first need");
    }
    gantry__mutex_unlock(&blas->lock);
    return blas->before;
}

/* ---- a product ---- */

int32_t gantry__cpu_blas_sgemm(gantry__cpu_blas_t *blas, int library, bool transpose_a,
                               bool transpose_b, int64_t m, int64_t n, int64_t k, const float *a,
                               int64_t a_stride, const float *b, int64_t b_stride, float *c,
                               int64_t c_stride) {
    if (library == GANTRY_CPU_BLAS_ONEDNN) {
        int threads = blas->set_threads ? blas->get_threads() : 1;
        if (threads != 1) blas->set_threads(1);
        /* A signal handler that runs in a thread inside oneDNN's sgemm damages results and the heap
         * (seen with 2.6.3, also without Gantry). Our workers get no signals anyway. */
        const gantry__os_signals_t signals = gantry__os_signals_defer();
        int code = blas->dnnl_sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', m, n, k, 1.0f,
                                    a, a_stride, b, b_stride, 0.0f, c, c_stride);
        gantry__os_signals_end(&signals);
        if (threads != 1) blas->set_threads(threads);
        return code;
    }
    const int row_major = 101, plain = 111, transposed = 112;
    if (m > INT_MAX || n > INT_MAX || k > INT_MAX || a_stride > INT_MAX || b_stride > INT_MAX ||
        c_stride > INT_MAX)
        return -1;
    blas->cblas_sgemm(row_major, transpose_a ? transposed : plain, transpose_b ? transposed : plain,
                      (int)m, (int)n, (int)k, 1.0f, a, (int)a_stride, b, (int)b_stride, 0.0f, c,
                      (int)c_stride);
    return 0;
}
