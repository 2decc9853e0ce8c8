/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The CPU backend gives right results in every process: with an older instruction set, on
 * one core of several, next to OpenMP, and with each matrix library.
 * Promise: The CPU backend chooses vector code at run time among AVX-512, AVX2 and the base
 * instruction set, and each gives right results.
 * Promise: A signal handler that runs in the midst of a matrix product leaves results and heap
 * unchanged.
 *
 * The process has at most one thread per core, not counting those that the user asked OpenMP for.
 * Each case is a process of its own, because libraries stay loaded and affinity is set before the
 * runtime reads it. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gantry/gantry.h>

#include "sanitized.h"
#include "test.h"

enum { SIDE = 300, COUNT = 100000, OPENMP_THREADS = 3, SKIPPED = 77 };

typedef struct case_t {
    const char *simd, *matmul; /* values of options; NULL: not given */
    int on_one_core;
    int beside_openmp;
    int threads; /* requested threads; 0: all cores */
} case_t;

/* ---- right results ---- */

static int tell(const char *what) {
    (void)fprintf(stderr, "%s: %s\n", what, gantry_last_message());
    return 1;
}

/* Small multiples of 1/8: sums are exact in any order. */
static int product_is_right(gantry_scope_t *scope, int side) {
    float *a = malloc((size_t)side * (size_t)side * sizeof *a),
          *c = malloc((size_t)side * (size_t)side * sizeof *c);
    size_t bytes = (size_t)side * (size_t)side * sizeof *a;
    int wrong = !a || !c;
    for (int i = 0; !wrong && i < side * side; ++i) a[i] = (float)(i * 7919 % 33 - 16) / 8;
    const gantry_tensor_t *x =
        wrong ? NULL : gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(side, side), a, bytes);
    const gantry_tensor_t *z = x ? gantry_matmul(scope, x, x, NULL) : NULL;
    if (!z || gantry_tensor_read(z, c, bytes) != GANTRY_OK) wrong = tell("product");
    for (int look = 0; !wrong && look < 500; ++look) {
        int i = look * 7 % side, j = look * 13 % side;
        double sum = 0;
        for (int p = 0; p < side; ++p) sum += (double)a[i * side + p] * (double)a[p * side + j];
        double difference = (double)c[i * side + j] - sum;
        if (difference < 0 || difference > 0) wrong = tell("an element of a product");
    }
    free(a);
    free(c);
    return !wrong;
}

static int sort_is_right(gantry_scope_t *scope) {
    int32_t *values = malloc(COUNT * sizeof *values);
    int wrong = !values;
    for (int i = 0; !wrong && i < COUNT; ++i) values[i] = (int32_t)((int64_t)i * 7919 % COUNT);
    const gantry_tensor_t *x = wrong ? NULL
                                     : gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(COUNT),
                                                       values, COUNT * sizeof *values);
    const gantry_tensor_t *sorted = x ? gantry_sort(scope, x, -1, false) : NULL;
    if (!sorted || gantry_tensor_read(sorted, values, COUNT * sizeof *values) != GANTRY_OK)
        wrong = tell("sort");
    /* 7919 and COUNT are coprime */
    for (int i = 0; !wrong && i < COUNT; ++i) wrong = values[i] != i;
    free(values);
    return !wrong;
}

/* ---- the process ---- */

static int threads_now(void) {
    DIR *tasks = opendir("/proc/self/task");
    int count = -2; /* "." and ".." */
    while (tasks && readdir(tasks)) ++count;
    if (tasks) (void)closedir(tasks);
    return count;
}

static int cores(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

static void stay_on_one_core(void) {
    cpu_set_t all, one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof all, &all) != 0) return;
    for (size_t i = 0; i < CPU_SETSIZE; ++i) {
        if (!CPU_ISSET(i, &all)) continue;
        CPU_SET(i, &one);
        break;
    }
    (void)sched_setaffinity(0, sizeof one, &one);
}

typedef void (*parallel_fn)(void (*work)(void *), void *data, unsigned threads, unsigned flags);

/* The function that a compiler calls for a parallel section; NULL without libgomp. */
static parallel_fn open_openmp(void) {
    void *library = dlopen("libgomp.so.1", RTLD_NOW | RTLD_GLOBAL);
    void *symbol = library ? dlsym(library, "GOMP_parallel") : NULL;
    parallel_fn parallel;
    memcpy(&parallel, &symbol, sizeof parallel);
    return parallel;
}

typedef struct shared_t {
    gantry_runtime_t *runtime;
    _Atomic int right;
} shared_t;

static void work_in_parallel(void *data) {
    shared_t *shared = data;
    if (!shared->runtime) return; /* this call only creates the threads */
    gantry_scope_t *scope = gantry_scope_begin(shared->runtime, "CPU:0");
    if (scope && product_is_right(scope, 100) && product_is_right(scope, SIDE)) ++shared->right;
    if (scope) (void)gantry_scope_end(scope);
}

/* Returns the exit code of the case's process. */
static int run_case(const void *given) {
    const case_t *c = given;
    char texts[2][64];
    const char *extra[4] = {"GANTRY_TUNING_FILE="};
    int count = 1, asked = 0;
    parallel_fn parallel = c->beside_openmp ? open_openmp() : NULL;
    if (c->beside_openmp && !parallel) return SKIPPED;
    if (c->on_one_core) stay_on_one_core();
    if (c->simd) (void)snprintf(texts[0], sizeof texts[0], "GANTRY_CPU_SIMD=%s", c->simd);
    if (c->simd) extra[count++] = texts[0];
    if (c->matmul) (void)snprintf(texts[1], sizeof texts[1], "GANTRY_CPU_MATMUL=%s", c->matmul);
    if (c->matmul) extra[count++] = texts[1];
    shared_t shared = {NULL, 0};
    if (parallel) {
        asked = OPENMP_THREADS;
        parallel(work_in_parallel, &shared, OPENMP_THREADS, 0);
    }
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .backends = "cpu",
                                              .extra = extra,
                                              .cpu_threads = c->threads};
    if (gantry_runtime_create(&options, &shared.runtime) != GANTRY_OK) return tell("runtime");
    gantry_scope_t *scope = gantry_scope_begin(shared.runtime, "CPU:0");
    if (!product_is_right(scope, 70) || !product_is_right(scope, 500) || !sort_is_right(scope))
        return 1;
    if (gantry_scope_end(scope) != GANTRY_OK) return tell("scope");
    if (parallel) parallel(work_in_parallel, &shared, OPENMP_THREADS, 0);
    if (parallel && shared.right != OPENMP_THREADS) return tell("products in a parallel section");
    int most = (c->threads ? c->threads : cores()) + asked, threads = threads_now();
    if (threads > most) (void)fprintf(stderr, "%d threads; %d are accepted\n", threads, most);
    gantry_runtime_release(shared.runtime);
    return threads > most ? 2 : 0;
}

/* ---- OpenBLAS after Gantry ---- */

typedef void (*set_threads_fn)(int count);
typedef void (*sgemm_fn)(int order, int a_form, int b_form, int m, int n, int k, float alpha,
                         const float *a, int a_ld, const float *b, int b_ld, float beta, float *c,
                         int c_ld);

/* The program uses OpenBLAS with threads after Gantry has opened it. */
static int use_openblas(void) {
    enum { N = 400, ROW_MAJOR = 101, PLAIN = 111 };
    static float ones[N * N], sums[N * N];
    void *library = dlopen("libopenblas.so.0", RTLD_NOW), *symbols[2];
    set_threads_fn set_threads;
    sgemm_fn sgemm;
    if (!library) return SKIPPED;
    symbols[0] = dlsym(library, "openblas_set_num_threads");
    symbols[1] = dlsym(library, "cblas_sgemm");
    if (!symbols[0] || !symbols[1]) return SKIPPED;
    memcpy(&set_threads, &symbols[0], sizeof set_threads);
    memcpy(&sgemm, &symbols[1], sizeof sgemm);
    for (int i = 0; i < N * N; ++i) ones[i] = 1;
    for (int threads = 3; threads > 0; --threads) {
        set_threads(threads);
        sgemm(ROW_MAJOR, PLAIN, PLAIN, N, N, N, 1, ones, N, ones, N, 0, sums, N);
        for (int i = 0; i < N * N; ++i) {
            if (sums[i] < N || sums[i] > N) return 3;
        }
    }
    return 0;
}

static int run_openblas_after(const void *unused) {
    (void)unused;
    static const case_t ours = {.matmul = "openblas"};
    (void)alarm(100);
    int code = run_case(&ours);
    return code ? code : use_openblas();
}

/* ---- cases ---- */

/* ---- signals ---- */

enum { INTERRUPTED_SIDE = 96, PRODUCTS = FEWER_FOR_SANITIZERS(20000, 2000), MICROSECONDS = 200 };

static volatile sig_atomic_t signals;

static void count_signal(int number) {
    (void)number;
    signals = signals + 1;
}

static int products_are_alike(gantry_scope_t *scope) {
    static float a[INTERRUPTED_SIDE * INTERRUPTED_SIDE], first[INTERRUPTED_SIDE * INTERRUPTED_SIDE],
        next[INTERRUPTED_SIDE * INTERRUPTED_SIDE];
    for (int i = 0; i < INTERRUPTED_SIDE * INTERRUPTED_SIDE; ++i)
        a[i] = (float)(i * 7919 % 33 - 16) / 8;
    const gantry_tensor_t *x = gantry_constant(
        scope, GANTRY_FLOAT32, GANTRY_SHAPE(INTERRUPTED_SIDE, INTERRUPTED_SIDE), a, sizeof a);
    for (int i = 0; i < PRODUCTS; ++i) {
        const gantry_tensor_t *y = gantry_matmul(scope, x, x, NULL);
        if (!y || gantry_tensor_read(y, i == 0 ? first : next, sizeof first) != GANTRY_OK)
            return tell("a product between signals");
        if (i > 0 && memcmp(first, next, sizeof first) != 0) return tell("an interrupted product");
        gantry_tensor_drop(scope, y);
    }
    return 0;
}

/* The thread that multiplies handles signals meanwhile, as of a timer. */
static int run_interrupted(const void *matmul) {
    const struct sigaction action = {.sa_handler = count_signal, .sa_flags = SA_RESTART};
    const struct itimerval every = {{.tv_usec = MICROSECONDS}, {.tv_usec = MICROSECONDS}};
    const gantry_runtime_options_t options = {
        .struct_size = sizeof options, .backends = "cpu", .cpu_threads = 1};
    gantry_runtime_t *runtime;
    (void)setenv("GANTRY_CPU_MATMUL", matmul, 1);
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK) return tell("runtime");
    if (sigaction(SIGALRM, &action, NULL) != 0 || setitimer(ITIMER_REAL, &every, NULL) != 0)
        return 1;
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    const int code = products_are_alike(scope);
    (void)gantry_scope_end(scope);
    gantry_runtime_release(runtime);
    return signals > 0 ? code : 1;
}

/* Runs it in a process of its own; returns what waitpid tells. */
static int run_apart(int (*run)(const void *argument), const void *argument) {
    int ended;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) _exit(run(argument));
    assert_int_equal(waitpid(child, &ended, 0), child);
    return ended;
}

static void expect_case(const case_t *c) {
    const int ended = run_apart(run_case, c);
    if (WIFEXITED(ended) && WEXITSTATUS(ended) == SKIPPED) {
        print_message("skipped: libgomp.so.1 is not here\n");
    } else if (!WIFEXITED(ended) || WEXITSTATUS(ended) != 0) {
        fail_msg("simd %s, matmul %s, %s, %s, %d threads: %s %d", c->simd ? c->simd : "best",
                 c->matmul ? c->matmul : "auto", c->on_one_core ? "one core" : "all cores",
                 c->beside_openmp ? "beside OpenMP" : "alone", c->threads,
                 WIFEXITED(ended) ? "exit" : "signal",
                 WIFEXITED(ended) ? WEXITSTATUS(ended) : WTERMSIG(ended));
    }
}

static const char *const libraries[] = {NULL, "own", "onednn", "openblas"};

TEST(every_instruction_set_is_right) {
    static const char *const levels[] = {"base", "avx2", "avx512"};
    for (int level = 0; level < 3; ++level) {
        for (int i = 0; i < 4; ++i)
            expect_case(&(case_t){.simd = levels[level], .matmul = libraries[i]});
        expect_case(&(case_t){.simd = levels[level], .matmul = "own", .on_one_core = 1});
    }
}

TEST(one_core_has_no_threads_beside_the_program) {
    for (int i = 0; i < 4; ++i) expect_case(&(case_t){.matmul = libraries[i], .on_one_core = 1});
}

TEST(beside_openmp_threads_are_the_cores_and_what_was_asked) {
    for (int i = 0; i < 4; ++i) {
        expect_case(&(case_t){.matmul = libraries[i], .beside_openmp = 1});
        expect_case(&(case_t){.matmul = libraries[i], .beside_openmp = 1, .on_one_core = 1});
    }
}

TEST(threads_are_as_many_as_asked_for) {
    for (int threads = 1; threads <= 5; threads += 2) {
        for (int i = 0; i < 4; ++i)
            expect_case(&(case_t){.matmul = libraries[i], .threads = threads});
    }
}

TEST(signals_leave_products_as_they_are) {
    for (int i = 1; i < 4; ++i) {
        const int ended = run_apart(run_interrupted, libraries[i]);
        if (!WIFEXITED(ended) || WEXITSTATUS(ended) != 0)
            fail_msg("%s: %s %d", libraries[i], WIFEXITED(ended) ? "exit" : "signal",
                     WIFEXITED(ended) ? WEXITSTATUS(ended) : WTERMSIG(ended));
    }
}

TEST(openblas_serves_the_program_after_us) {
    const int ended = run_apart(run_openblas_after, NULL);
    assert_true(WIFEXITED(ended));
    if (WEXITSTATUS(ended) == SKIPPED) {
        print_message("skipped: no OpenBLAS here that could be opened before\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(ended), 0);
}

int main(void) {
    (void)unsetenv("GANTRY_CPU_SIMD");
    (void)unsetenv("GANTRY_CPU_MATMUL");
    (void)unsetenv("GANTRY_CPU_THREADS");
    return test_main();
}
