/* SPDX-License-Identifier: Apache-2.0 */
/* Debian's oneDNN brings libgomp, whose threads would stand beside ours; so each of our threads
 * calls it for its own stripe of C and asks libgomp, for that thread and that call only, for one
 * thread. OpenBLAS's number of threads is one setting for the whole process: it is set to 1, and
 * the threads that loading it made are ended, unless the process had loaded OpenBLAS before us,
 * whose owner then decides. */
#define _GNU_SOURCE
#include "kernels/matmul/cpu_blas.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "cpu/cpu_machine.h"
#include "kernels/common/cpu_simd.h"
#include "cpu/blas/cpu_tuned.h"
#include "kernels/common/kernel_types.h"

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

/* One library, tried at most once. */
typedef struct {
    int is_tried;
    int is_usable;
    char text[128]; /* its name with the file's, or why it cannot be used */
} library_t;

struct gantry__cpu_blas_t {
    const gantry_host_t *host;
    int choice;
    int simd_level;
    gantry_device_info_t info; /* struct_size 0: records are not looked up */
    uint32_t threads;
    pthread_mutex_t lock;
    atomic_int is_looked_up; /* tuned is constant from then on, */
    gantry__cpu_tuned_t tuned[CLASSES];
    atomic_int is_open; /* and what is below from then on */
    int serving[CLASSES];
    library_t libraries[3]; /* by GANTRY_CPU_BLAS_... */
    dnnl_sgemm_fn dnnl_sgemm;
    set_threads_fn set_threads; /* libgomp's, NULL when oneDNN has another runtime */
    get_threads_fn get_threads;
    cblas_sgemm_fn cblas_sgemm;
    char before[640]; /* listed until it is open; "": not written yet */
    char description[640];
};

/* ---- classes ---- */

int gantry__cpu_product_class(int64_t m, int64_t n, int64_t k) {
    int64_t multiplications = m * n * k;
    if (m < THIN_SIDE || n < THIN_SIDE) {
        return GANTRY_CPU_PRODUCT_THIN;
    }
    return multiplications <= SMALL_MULTIPLICATIONS    ? GANTRY_CPU_PRODUCT_SMALL
           : multiplications <= MIDDLE_MULTIPLICATIONS ? GANTRY_CPU_PRODUCT_MIDDLE
                                                       : GANTRY_CPU_PRODUCT_LARGE;
}

/* ---- create ---- */

static int parse_choice(const char *text) {
    static const char *const names[] = {"auto", "onednn", "openblas", "own"};
    for (int i = 0; text != NULL && i < 4; ++i) {
        if (strcmp(text, names[i]) == 0) {
            return i;
        }
    }
    return -1;
}

int32_t gantry__cpu_blas_create(const gantry_host_t *host, int simd_level,
                                gantry__cpu_blas_t **out_blas) {
    const char *option = host->option(host->self, "GANTRY_CPU_MATMUL");
    gantry__cpu_blas_t *blas = host->reallocate(host->self, NULL, 0, sizeof *blas);
    *out_blas = NULL;
    if (blas == NULL) {
        return host->set_error(host->self, GANTRY_RESOURCE_EXHAUSTED, "errno", 0,
                               "No memory for the CPU backend's matrix products");
    }
    memset(blas, 0, sizeof *blas);
    blas->host = host;
    blas->simd_level = simd_level;
    blas->choice = parse_choice(option);
    if (blas->choice < 0) {
        if (option != NULL && option[0] != '\0') {
            char text[160];
            snprintf(
                text, sizeof text,
                "GANTRY_CPU_MATMUL is \"%.40s\"; accepted are auto, onednn, openblas and own: auto is used",
                option);
            host->log(host->self, GANTRY_LEVEL_WARNING, text);
        }
        blas->choice = CHOICE_AUTO;
    }
    atomic_init(&blas->is_looked_up, 0);
    atomic_init(&blas->is_open, 0);
    if (pthread_mutex_init(&blas->lock, NULL) != 0) {
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
    if (blas != NULL) {
        pthread_mutex_destroy(&blas->lock);
        blas->host->reallocate(blas->host->self, blas, sizeof *blas, 0);
    }
}

/* ---- libraries ---- */

/* POSIX lets a data pointer carry a function; C does not: the bytes are copied. */
static int find_symbol(void *library, const char *name, void *out_function, size_t size) {
    void *symbol = dlsym(library, name);
    memcpy(out_function, &symbol, size);
    return symbol != NULL;
}

static int open_onednn(gantry__cpu_blas_t *blas, library_t *out) {
    static const char *const names[] = {"libdnnl.so.3", "libdnnl.so.2", "libdnnl.so"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) {
            continue;
        }
        if (!find_symbol(library, "dnnl_sgemm", &blas->dnnl_sgemm, sizeof blas->dnnl_sgemm)) {
            snprintf(out->text, sizeof out->text, "%s lacks dnnl_sgemm", names[i]);
            return 0;
        }
        if (!find_symbol(library, "omp_set_num_threads", &blas->set_threads,
                         sizeof blas->set_threads) ||
            !find_symbol(library, "omp_get_max_threads", &blas->get_threads,
                         sizeof blas->get_threads)) {
            blas->set_threads = NULL;
        }
        snprintf(out->text, sizeof out->text, "oneDNN (%s)", names[i]);
        return 1;
    }
    snprintf(out->text, sizeof out->text, "libdnnl.so.3 and libdnnl.so.2 not found");
    return 0;
}

/* OpenBLAS with threads of its own makes one for each core when it is loaded. Its own way to end
 * them, which it goes before every fork, leaves it able to make them again should somebody else
 * ask for them. */
static void use_one_thread(void *library) {
    enum { OWN_THREADS = 1 };
    set_threads_fn set_threads;
    get_threads_fn get_parallel;
    shutdown_fn shut_down;
    if (find_symbol(library, "openblas_set_num_threads", &set_threads, sizeof set_threads)) {
        set_threads(1);
    }
    if (find_symbol(library, "openblas_get_parallel", &get_parallel, sizeof get_parallel) &&
        find_symbol(library, "blas_thread_shutdown_", &shut_down, sizeof shut_down) &&
        get_parallel() == OWN_THREADS) {
        shut_down();
    }
}

static int open_openblas(gantry__cpu_blas_t *blas, library_t *out) {
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        void *before = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) {
            continue;
        }
        if (!find_symbol(library, "cblas_sgemm", &blas->cblas_sgemm, sizeof blas->cblas_sgemm)) {
            snprintf(out->text, sizeof out->text, "%s lacks cblas_sgemm", names[i]);
            return 0;
        }
        if (before == NULL) {
            use_one_thread(library);
        }
        snprintf(out->text, sizeof out->text, "OpenBLAS (%s)", names[i]);
        return 1;
    }
    snprintf(out->text, sizeof out->text, "libopenblas.so.0 not found");
    return 0;
}

/* ---- before one is opened ---- */

/* What one may map: OpenBLAS has a buffer for each thread, and waits for ever where it does not get
 * it; oneDNN ends the process. Of the machine's memory they take what they touch. */
static int cpu_blas_has_room(const gantry__cpu_blas_t *blas, library_t *out) {
    const uint64_t left = gantry__cpu_machine_room("");
    const uint64_t needed = (256 + 64 * (uint64_t)blas->threads) << 20;
    if (left >= needed) {
        return 1;
    }
    snprintf(out->text, sizeof out->text,
             "not opened: ulimit leaves this process %llu MiB of memory, and it may take %llu",
             (unsigned long long)(left >> 20), (unsigned long long)(needed >> 20));
    return 0;
}

static void *do_nothing(void *argument) { return argument; }

/* OpenBLAS interrupts the process where it cannot make a thread. */
static int has_threads(library_t *out) {
    pthread_t thread;
    int code = pthread_create(&thread, NULL, do_nothing, NULL);
    if (code == 0) {
        pthread_join(thread, NULL);
        return 1;
    }
    snprintf(out->text, sizeof out->text, "not opened: no thread can be made: %s (ulimit -u)",
             strerror(code));
    return 0;
}

static int is_usable(gantry__cpu_blas_t *blas, int library) {
    library_t *wanted = &blas->libraries[library];
    if (!wanted->is_tried) {
        wanted->is_tried = 1;
        wanted->is_usable = library == GANTRY_CPU_BLAS_OWN     ? 1
                            : !cpu_blas_has_room(blas, wanted) ? 0
                            : library == GANTRY_CPU_BLAS_ONEDNN
                                ? open_onednn(blas, wanted)
                                : has_threads(wanted) && open_openblas(blas, wanted);
    }
    return wanted->is_usable;
}

/* ---- who serves ---- */

static int is_tuned(const gantry__cpu_tuned_t *tuned) {
    for (int i = 0; i < CLASSES; ++i) {
        if (tuned[i].use >= 0) {
            return 1;
        }
    }
    return 0;
}

/* The host is asked without a lock of ours: it may log. */
static void look_up(gantry__cpu_blas_t *blas) {
    gantry__cpu_tuned_t tuned[CLASSES];
    if (atomic_load_explicit(&blas->is_looked_up, memory_order_acquire)) {
        return;
    }
    memset(tuned, 0, sizeof tuned);
    for (int i = 0; i < CLASSES; ++i) {
        tuned[i].use = -1;
        if (blas->choice == CHOICE_AUTO && blas->info.struct_size != 0) {
            gantry__cpu_tuned_find(blas->host, &blas->info, blas->threads, i, &tuned[i]);
        }
    }
    pthread_mutex_lock(&blas->lock);
    if (!atomic_load_explicit(&blas->is_looked_up, memory_order_relaxed)) {
        memcpy(blas->tuned, tuned, sizeof tuned);
        atomic_store_explicit(&blas->is_looked_up, 1, memory_order_release);
    }
    pthread_mutex_unlock(&blas->lock);
}

/* For a class that nothing was measured of. */
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

/* What the libraries tried say of themselves. */
static void describe_libraries(const gantry__cpu_blas_t *blas, char *text, size_t bytes) {
    for (int i = GANTRY_CPU_BLAS_ONEDNN; i <= GANTRY_CPU_BLAS_OPENBLAS; ++i) {
        if (blas->libraries[i].is_tried) {
            cpu_blas_append(text, bytes, "; %s", blas->libraries[i].text);
        }
    }
}

/* One rule for all classes. */
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

/* "small oneDNN (own 41.5, oneDNN 48.0)", class by class; serving NULL: what the records wish
 * for. */
static void describe_classes(const gantry__cpu_tuned_t *tuned, const int *serving, char *text,
                             size_t bytes) {
    const char *measured = "";
    cpu_blas_append(text, bytes, "matrix products of float32 in GFLOP/s:");
    for (int i = 0; i < CLASSES; ++i) {
        int serves = serving != NULL ? serving[i] : tuned[i].use;
        cpu_blas_append(text, bytes, "%s %s ", i > 0 ? "," : "", gantry__cpu_product_name(i));
        if (tuned[i].use < 0) {
            cpu_blas_append(text, bytes, "%s (not measured)",
                            serves < 0 ? "by rule" : gantry__cpu_blas_name(serves));
            continue;
        }
        cpu_blas_append(text, bytes, "%s", gantry__cpu_blas_name(serves));
        if (tuned[i].figures[0] != '\0') {
            cpu_blas_append(text, bytes, " (%s)", tuned[i].figures);
        }
        measured = strcmp(tuned[i].measured, measured) > 0 ? tuned[i].measured : measured;
    }
    cpu_blas_append(text, bytes, "; measured %s", measured);
}

static void cpu_blas_open_all(gantry__cpu_blas_t *blas) {
    const char *why = "";
    int has_missing = 0;
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

int gantry__cpu_blas_is_open(gantry__cpu_blas_t *blas) {
    return atomic_load_explicit(&blas->is_open, memory_order_acquire);
}

int gantry__cpu_blas_choose(gantry__cpu_blas_t *blas, int64_t m, int64_t n, int64_t k) {
    if (!gantry__cpu_blas_is_open(blas)) {
        look_up(blas);
        pthread_mutex_lock(&blas->lock);
        if (!atomic_load_explicit(&blas->is_open, memory_order_relaxed)) {
            cpu_blas_open_all(blas);
            atomic_store_explicit(&blas->is_open, 1, memory_order_release);
        }
        pthread_mutex_unlock(&blas->lock);
    }
    return blas->serving[gantry__cpu_product_class(m, n, k)];
}

const char *gantry__cpu_blas_library(gantry__cpu_blas_t *blas) {
    static const char *const before[] = {
        "matrix products: oneDNN if found, opened on first need; not measured, `gantry tune` measures",
        "matrix products: oneDNN if found (GANTRY_CPU_MATMUL=onednn), opened on first need",
        "matrix products: OpenBLAS if found (GANTRY_CPU_MATMUL=openblas), opened on first need",
        "matrix products: own (GANTRY_CPU_MATMUL=own)"};
    if (gantry__cpu_blas_is_open(blas)) {
        return blas->description;
    }
    look_up(blas);
    if (!is_tuned(blas->tuned)) {
        return before[blas->choice];
    }
    pthread_mutex_lock(&blas->lock);
    if (blas->before[0] == '\0') {
        describe_classes(blas->tuned, NULL, blas->before, sizeof blas->before);
        cpu_blas_append(blas->before, sizeof blas->before, "; libraries are opened on first need");
    }
    pthread_mutex_unlock(&blas->lock);
    return blas->before;
}

/* ---- a product ---- */

int32_t gantry__cpu_blas_sgemm(gantry__cpu_blas_t *blas, int library, int transpose_a,
                               int transpose_b, int64_t m, int64_t n, int64_t k, const float *a,
                               int64_t a_stride, const float *b, int64_t b_stride, float *c,
                               int64_t c_stride) {
    if (library == GANTRY_CPU_BLAS_ONEDNN) {
        int threads = blas->set_threads != NULL ? blas->get_threads() : 1;
        if (threads != 1) {
            blas->set_threads(1);
        }
        int code = blas->dnnl_sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', m, n, k, 1.0f,
                                    a, a_stride, b, b_stride, 0.0f, c, c_stride);
        if (threads != 1) {
            blas->set_threads(threads);
        }
        return code;
    }
    const int row_major = 101, plain = 111, transposed = 112;
    if (m > INT_MAX || n > INT_MAX || k > INT_MAX || a_stride > INT_MAX || b_stride > INT_MAX ||
        c_stride > INT_MAX) {
        return -1;
    }
    blas->cblas_sgemm(row_major, transpose_a ? transposed : plain, transpose_b ? transposed : plain,
                      (int)m, (int)n, (int)k, 1.0f, a, (int)a_stride, b, (int)b_stride, 0.0f, c,
                      (int)c_stride);
    return 0;
}
