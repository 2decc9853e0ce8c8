/* Debian's oneDNN brings libgomp, whose threads would stand beside ours; so each of our threads calls it for its own
 * stripe of C and asks libgomp, for that thread and that call only, for one thread. OpenBLAS's number of threads is one
 * setting for the whole process: it is set to 1 unless the process had loaded OpenBLAS before us, whose owner then
 * decides. */
#define _GNU_SOURCE
#include "cpu/cpu_blas.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "cpu/cpu_simd.h"
#include "portable/kernel_types.h"

typedef int (*dnnl_sgemm_fn)(char transpose_a, char transpose_b, int64_t m, int64_t n, int64_t k, float alpha,
                             const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c,
                             int64_t ldc);
typedef void (*cblas_sgemm_fn)(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                               const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);
typedef void (*set_threads_fn)(int count);
typedef int (*get_threads_fn)(void);

enum { CHOICE_AUTO = 0, CHOICE_ONEDNN, CHOICE_OPENBLAS, CHOICE_OWN };

struct gantry__cpu_blas_t {
    const gantry_host_t *host;
    int choice;
    int simd_level;
    atomic_int serving; /* -1: not opened yet */
    pthread_mutex_t lock;
    dnnl_sgemm_fn dnnl_sgemm;
    set_threads_fn set_threads; /* libgomp's, NULL when oneDNN has another runtime */
    get_threads_fn get_threads;
    cblas_sgemm_fn cblas_sgemm;
    char description[256];
};

static int parse_choice(const char *text)
{
    static const char *const names[] = {"auto", "onednn", "openblas", "own"};
    for (int i = 0; text != NULL && i < 4; i++) {
        if (strcmp(text, names[i]) == 0) {
            return i;
        }
    }
    return -1;
}

int32_t gantry__cpu_blas_create(const gantry_host_t *host, int simd_level, gantry__cpu_blas_t **out_blas)
{
    const char *option = host->option(host->self, "GANTRY_CPU_MATMUL");
    gantry__cpu_blas_t *blas = host->reallocate(host->self, NULL, 0, sizeof *blas);
    *out_blas = NULL;
    if (blas == NULL) {
        return host->set_error(host->self, GANTRY_K_RESOURCE_EXHAUSTED, "errno", 0,
                               "No memory for the CPU backend's matrix products");
    }
    memset(blas, 0, sizeof *blas);
    blas->host = host;
    blas->simd_level = simd_level;
    blas->choice = parse_choice(option);
    if (blas->choice < 0) {
        if (option != NULL && option[0] != '\0') {
            char text[160];
            snprintf(text, sizeof text,
                     "GANTRY_CPU_MATMUL is \"%.40s\"; accepted are auto, onednn, openblas and own: auto is used",
                     option);
            host->log(host->self, GANTRY_LOG_WARNING, text);
        }
        blas->choice = CHOICE_AUTO;
    }
    atomic_init(&blas->serving, -1);
    if (pthread_mutex_init(&blas->lock, NULL) != 0) {
        host->reallocate(host->self, blas, sizeof *blas, 0);
        return host->set_error(host->self, GANTRY_K_RESOURCE_EXHAUSTED, "errno", 0,
                               "No mutex for the CPU backend's matrix products");
    }
    *out_blas = blas;
    return GANTRY_K_OK;
}

void gantry__cpu_blas_release(gantry__cpu_blas_t *blas)
{
    if (blas != NULL) {
        pthread_mutex_destroy(&blas->lock);
        blas->host->reallocate(blas->host->self, blas, sizeof *blas, 0);
    }
}

/* POSIX lets a data pointer carry a function; C does not: the bytes are copied. */
static int find_symbol(void *library, const char *name, void *out_function, size_t size)
{
    void *symbol = dlsym(library, name);
    memcpy(out_function, &symbol, size);
    return symbol != NULL;
}

static int open_onednn(gantry__cpu_blas_t *blas)
{
    static const char *const names[] = {"libdnnl.so.3", "libdnnl.so.2", "libdnnl.so"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) {
            continue;
        }
        if (!find_symbol(library, "dnnl_sgemm", &blas->dnnl_sgemm, sizeof blas->dnnl_sgemm)) {
            snprintf(blas->description, sizeof blas->description, "%s lacks dnnl_sgemm", names[i]);
            return 0;
        }
        if (!find_symbol(library, "omp_set_num_threads", &blas->set_threads, sizeof blas->set_threads) ||
            !find_symbol(library, "omp_get_max_threads", &blas->get_threads, sizeof blas->get_threads)) {
            blas->set_threads = NULL;
        }
        snprintf(blas->description, sizeof blas->description, "oneDNN (%s)", names[i]);
        return 1;
    }
    snprintf(blas->description, sizeof blas->description, "libdnnl.so.3 and libdnnl.so.2 not found");
    return 0;
}

static int open_openblas(gantry__cpu_blas_t *blas)
{
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        void *before = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        set_threads_fn set_threads = NULL;
        if (library == NULL) {
            continue;
        }
        if (!find_symbol(library, "cblas_sgemm", &blas->cblas_sgemm, sizeof blas->cblas_sgemm)) {
            snprintf(blas->description, sizeof blas->description, "%s lacks cblas_sgemm", names[i]);
            return 0;
        }
        if (before == NULL && find_symbol(library, "openblas_set_num_threads", &set_threads, sizeof set_threads)) {
            set_threads(1);
        }
        snprintf(blas->description, sizeof blas->description, "OpenBLAS (%s)", names[i]);
        return 1;
    }
    snprintf(blas->description, sizeof blas->description, "libopenblas.so.0 not found");
    return 0;
}

/* Puts " for float32 products: why" behind the library's name, or tells why our own loops serve. */
static int describe(gantry__cpu_blas_t *blas, int serving, const char *why)
{
    char found[128];
    snprintf(found, sizeof found, "%.120s", blas->description);
    if (serving == GANTRY_CPU_BLAS_OWN) {
        snprintf(blas->description, sizeof blas->description, "matrix products: own (%s%s%s)", found,
                 found[0] != '\0' ? "; " : "", why);
    } else {
        snprintf(blas->description, sizeof blas->description,
                 "matrix products: %s for large float32 ones (%s), own for the rest", found, why);
    }
    return serving;
}

static int open_choice(gantry__cpu_blas_t *blas)
{
    switch (blas->choice) {
    case CHOICE_OWN:
        return describe(blas, GANTRY_CPU_BLAS_OWN, "GANTRY_CPU_MATMUL=own");
    case CHOICE_ONEDNN:
        return describe(blas, open_onednn(blas) ? GANTRY_CPU_BLAS_ONEDNN : GANTRY_CPU_BLAS_OWN,
                        "GANTRY_CPU_MATMUL=onednn");
    case CHOICE_OPENBLAS:
        return describe(blas, open_openblas(blas) ? GANTRY_CPU_BLAS_OPENBLAS : GANTRY_CPU_BLAS_OWN,
                        "GANTRY_CPU_MATMUL=openblas");
    default:
        if (open_onednn(blas)) {
            return describe(blas, GANTRY_CPU_BLAS_ONEDNN, "found first");
        }
        if (blas->simd_level > GANTRY_CPU_BASE) {
            return describe(blas, GANTRY_CPU_BLAS_OWN, "loops for this instruction set");
        }
        return describe(blas, open_openblas(blas) ? GANTRY_CPU_BLAS_OPENBLAS : GANTRY_CPU_BLAS_OWN, "no oneDNN");
    }
}

int gantry__cpu_blas_open(gantry__cpu_blas_t *blas)
{
    int serving = atomic_load_explicit(&blas->serving, memory_order_acquire);
    if (serving >= 0) {
        return serving;
    }
    pthread_mutex_lock(&blas->lock);
    serving = atomic_load_explicit(&blas->serving, memory_order_relaxed);
    if (serving < 0) {
        serving = open_choice(blas);
        atomic_store_explicit(&blas->serving, serving, memory_order_release);
    }
    pthread_mutex_unlock(&blas->lock);
    return serving;
}

const char *gantry__cpu_blas_library(gantry__cpu_blas_t *blas)
{
    static const char *const before[] = {
        "matrix products: oneDNN if found, opened on first need",
        "matrix products: oneDNN if found (GANTRY_CPU_MATMUL=onednn), opened on first need",
        "matrix products: OpenBLAS if found (GANTRY_CPU_MATMUL=openblas), opened on first need",
        "matrix products: own (GANTRY_CPU_MATMUL=own)"};
    return atomic_load_explicit(&blas->serving, memory_order_acquire) >= 0 ? blas->description : before[blas->choice];
}

int32_t gantry__cpu_blas_sgemm(gantry__cpu_blas_t *blas, int transpose_a, int transpose_b, int64_t m, int64_t n,
                               int64_t k, const float *a, int64_t a_stride, const float *b, int64_t b_stride, float *c,
                               int64_t c_stride)
{
    if (atomic_load_explicit(&blas->serving, memory_order_acquire) == GANTRY_CPU_BLAS_ONEDNN) {
        int threads = blas->set_threads != NULL ? blas->get_threads() : 1;
        if (threads != 1) {
            blas->set_threads(1);
        }
        int code = blas->dnnl_sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', m, n, k, 1.0f, a, a_stride, b,
                                    b_stride, 0.0f, c, c_stride);
        if (threads != 1) {
            blas->set_threads(threads);
        }
        return code;
    }
    const int row_major = 101, plain = 111, transposed = 112;
    if (m > INT_MAX || n > INT_MAX || k > INT_MAX || a_stride > INT_MAX || b_stride > INT_MAX || c_stride > INT_MAX) {
        return -1;
    }
    blas->cblas_sgemm(row_major, transpose_a ? transposed : plain, transpose_b ? transposed : plain, (int)m, (int)n,
                      (int)k, 1.0f, a, (int)a_stride, b, (int)b_stride, 0.0f, c, (int)c_stride);
    return 0;
}
