/* SPDX-License-Identifier: Apache-2.0 */
/* Square matrix products of a card in each type, against cuBLASLt called directly with the same
 * types, layout and workspace limit. The reference is the faster of two of cuBLASLt's algorithms:
 * the first that it proposes, which Gantry uses, and the fastest of the first few. The card's
 * OpenCL view computes only float32, without TF32. The host checks results against sums in double.
 * Sums of many terms do not show whether float32 secretly uses TF32; a product that only float32
 * computes exactly does. */
#include "card.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_product.h"
#include "list.h"

#define LEAST_RATIO 0.97
#define OPENCL_LEAST_RATIO 0.6
#define CHECKED 32 /* elements of a product */
#define MOST_CALLS 2000

typedef struct kind_t {
    const char *name;
    bench_product_type_t type;
    gantry_dtype_t dtype;
    const char *setting; /* of the runtime; NULL: defaults */
    double tolerance;    /* relative; all terms are positive */
} kind_t;

static const kind_t kinds[] = {
    {"float32", BENCH_PRODUCT_FLOAT32, GANTRY_FLOAT32, NULL, 1e-5},
    {"TF32", BENCH_PRODUCT_TF32, GANTRY_FLOAT32, "GANTRY_CUDA_MATMUL_PRECISION=tf32", 2e-3},
    {"float16", BENCH_PRODUCT_FLOAT16, GANTRY_FLOAT16, NULL, 2e-3},
    {"bfloat16", BENCH_PRODUCT_BFLOAT16, GANTRY_BFLOAT16, NULL, 1e-2},
};

typedef struct subject_t {
    const char *name;
    gantry_scope_t *scope;
    const gantry_tensor_t *a, *b;
} subject_t;

typedef struct raw_subject_t {
    const bench_product_t *product;
    int choice;
} raw_subject_t;

/* The operands and a result on the host. */
typedef struct matrices_t {
    const kind_t *kind;
    int n;
    size_t bytes;
    void *a, *b, *c;
} matrices_t;

static bool run(void *argument, int calls) {
    subject_t *subject = argument;
    for (int i = 0; i < calls; ++i) {
        const gantry_tensor_t *c = gantry_matmul(subject->scope, subject->a, subject->b, NULL);
        if (!c || (i + 1 == calls && gantry_tensor_wait(c) != GANTRY_OK)) return false;
        gantry_tensor_drop(subject->scope, c);
    }
    return true;
}

static bool run_raw(void *argument, int calls) {
    const raw_subject_t *subject = argument;
    return bench_product_run(subject->product, subject->choice, calls);
}

/* ---- checks ---- */

static double element(const matrices_t *m, const void *matrix, size_t index) {
    uint32_t bits;
    uint16_t half;
    float value;
    if (m->kind->dtype == GANTRY_FLOAT32) return (double)((const float *)matrix)[index];
    half = ((const uint16_t *)matrix)[index];
    if (m->kind->dtype == GANTRY_FLOAT16) { /* infinities and NaN do not occur */
        int exponent = half >> 10 & 31;
        double fraction = (half & 1023) + (exponent ? 1024 : 0);
        return ldexp(half & 0x8000 ? -fraction : fraction, (exponent ? exponent : 1) - 25);
    }
    bits = (uint32_t)half << 16;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static bool product_is_right(const matrices_t *m) {
    size_t n = (size_t)m->n;
    for (size_t i = 0; i < CHECKED; ++i) {
        size_t row = (i * 7919 + n - 1) % n, column = (i * 104729 + n / 2) % n;
        double sum = 0;
        for (size_t k = 0; k < n; ++k)
            sum += element(m, m->a, row * n + k) * element(m, m->b, k * n + column);
        if (!(fabs(element(m, m->c, row * n + column) - sum) <= m->kind->tolerance * sum))
            return false;
    }
    return true;
}

/* ---- contenders ---- */

static const gantry_tensor_t *operand(const subject_t *subject, const kind_t *kind, int n,
                                      int64_t seed) {
    const gantry_tensor_t *x = bench_random(subject->scope, GANTRY_SHAPE(n, n), seed), *narrow;
    if (!x || kind->dtype == GANTRY_FLOAT32) return x;
    narrow = gantry_cast(subject->scope, x, kind->dtype);
    gantry_tensor_drop(subject->scope, x);
    return narrow;
}

/* Returns false after noting the reason. */
static bool open_subject(bench_t *bench, const bench_t *runner, const char *device,
                         const kind_t *kind, int n, subject_t *out) {
    *out = (subject_t){.name = device, .scope = bench_scope(runner, device)};
    if (out->scope) out->a = operand(out, kind, n, 1);
    if (out->a) out->b = operand(out, kind, n, 2);
    if (out->b) {
        const gantry_tensor_t *c = gantry_matmul(out->scope, out->a, out->b, NULL);
        if (c && gantry_tensor_wait(c) == GANTRY_OK) {
            gantry_tensor_drop(out->scope, c);
            return true;
        }
    }
    bench_report_note(&bench->report, "card_matmul, %s on %s: left out: %.150s", kind->name, device,
                      gantry_last_message());
    if (out->scope) (void)gantry_scope_end(out->scope);
    *out = (subject_t){.name = device};
    return false;
}

/* Multiplies a matrix of 1 + 2^-12 with the identity: the result is that matrix, in any order of
 * sums. TF32 has ten bits and gives 1. Overwrites c. Returns true for types that need not be
 * exact. */
static bool is_exact(bench_t *bench, const subject_t *subject, matrices_t *m) {
    const float value = 1 + 1.0F / 4096;
    size_t count = (size_t)m->n * (size_t)m->n;
    gantry_scope_t *scope = subject->scope;
    if (m->kind->type != BENCH_PRODUCT_FLOAT32) return true;
    const gantry_tensor_t *a =
        gantry_fill(scope, GANTRY_SHAPE(m->n, m->n), gantry_scalar_f32(scope, value));
    const gantry_tensor_t *rows =
        gantry_range(scope, gantry_scalar_i32(scope, 0), gantry_scalar_i32(scope, m->n),
                     gantry_scalar_i32(scope, 1));
    const gantry_tensor_t *identity = gantry_one_hot(scope, rows, m->n, gantry_scalar_f32(scope, 1),
                                                     gantry_scalar_f32(scope, 0), -1);
    const gantry_tensor_t *c = a && identity ? gantry_matmul(scope, a, identity, NULL) : NULL;
    bool is_same = c && gantry_tensor_read(c, m->c, m->bytes) == GANTRY_OK;
    if (!is_same)
        return bench_card_has_failed(bench, "card_matmul", "float32, a matrix times the identity",
                                     subject->name);
    for (size_t i = 0; is_same && i < count; ++i)
        is_same = memcmp((float *)m->c + i, &value, sizeof value) == 0;
    gantry_tensor_drop(scope, c);
    gantry_tensor_drop(scope, identity);
    gantry_tensor_drop(scope, a);
    return is_same ||
           bench_card_is_wrong(bench, "card_matmul", "float32, which has less than its 24 bits",
                               subject->name);
}

static bool subject_is_right(bench_t *bench, const subject_t *subject, matrices_t *m) {
    if (!is_exact(bench, subject, m)) return false;
    const gantry_tensor_t *c = gantry_matmul(subject->scope, subject->a, subject->b, NULL);
    bool is_read = c && gantry_tensor_read(c, m->c, m->bytes) == GANTRY_OK;
    if (!is_read) return bench_card_has_failed(bench, "card_matmul", m->kind->name, subject->name);
    gantry_tensor_drop(subject->scope, c);
    return product_is_right(m) ||
           bench_card_is_wrong(bench, "card_matmul", m->kind->name, subject->name);
}

static bool raw_is_right(bench_t *bench, const bench_product_t *product, int choice, matrices_t *m,
                         const char *name) {
    bool is_read = bench_product_run(product, choice, 1) && bench_product_read(product, m->c);
    return (is_read && product_is_right(m)) ||
           bench_card_is_wrong(bench, "card_matmul", m->kind->name, name);
}

static bool open_matrices(const subject_t *subject, const kind_t *kind, int n, matrices_t *out) {
    size_t bytes = (size_t)n * (size_t)n * gantry_dtype_size(kind->dtype);
    *out = (matrices_t){kind, n, bytes, malloc(bytes), malloc(bytes), malloc(bytes)};
    return out->a && out->b && out->c &&
           gantry_tensor_read(subject->a, out->a, bytes) == GANTRY_OK &&
           gantry_tensor_read(subject->b, out->b, bytes) == GANTRY_OK;
}

static void close_matrices(matrices_t *matrices) {
    free(matrices->a);
    free(matrices->b);
    free(matrices->c);
}

/* ---- the case ---- */

/* contenders: first the library's algorithms, then the devices. */
static void report(bench_t *bench, const kind_t *kind, int n, bench_contender_t *contenders,
                   size_t raw_count, size_t count) {
    char work[48];
    const bench_contender_t *fastest = &contenders[0];
    if (raw_count > 1 && !contenders[1].failed &&
        bench_median_seconds(&contenders[1]) < bench_median_seconds(fastest))
        fastest = &contenders[1];
    (void)snprintf(work, sizeof work, "%s, n = %d", kind->name, n);
    bench_measure_t shown = {.subject = "card_matmul",
                             .work = work,
                             .unit = "TFLOP/s",
                             .amount = 2e-12 * n * n * n,
                             .reference = fastest};
    for (size_t i = raw_count; i < count; ++i) {
        shown.least_ratio =
            strncmp(contenders[i].name, "opencl:", 7) == 0 ? OPENCL_LEAST_RATIO : LEAST_RATIO;
        bench_report_contenders(&bench->report, &shown, &contenders[i], 1, 1);
    }
    bench_report_contenders(&bench->report, &shown, contenders, raw_count, 0);
}

static void measure(bench_t *bench, const subject_t *subjects, size_t subject_count,
                    const bench_product_t *product, matrices_t *m) {
    raw_subject_t ways[2] = {{product, 0}, {product, product->fastest}};
    bench_contender_t contenders[4] = {
        {.name = "cuBLASLt", .run = run_raw, .subject = &ways[0]},
        {.name = "cuBLASLt, fastest", .run = run_raw, .subject = &ways[1]}};
    size_t raw_count = product->fastest == 0 ? 1 : 2, count = raw_count;
    bool is_right =
        raw_is_right(bench, product, 0, m, contenders[0].name) &&
        (raw_count == 1 || raw_is_right(bench, product, product->fastest, m, contenders[1].name));
    for (size_t i = 0; i < subject_count; ++i) {
        const subject_t *subject = &subjects[i];
        if (!subject->scope || !subject_is_right(bench, subject, m)) continue;
        contenders[count++] = (bench_contender_t){
            .name = subject->name, .run = run, .subject = (void *)(uintptr_t)subject};
    }
    if (!is_right || count == raw_count) return;
    bench_card_interleave(bench, contenders, count, MOST_CALLS);
    report(bench, m->kind, m->n, contenders, raw_count, count);
}

/* runner has a runtime with the kind's precision. Returns false if larger sizes need no try. */
static bool measure_size(bench_t *bench, const bench_t *runner, const bench_device_t *device,
                         const bench_card_t *card, const kind_t *kind, int n) {
    const bench_device_t *view =
        kind->type == BENCH_PRODUCT_FLOAT32 ? bench_card_opencl_view(bench, device) : NULL;
    subject_t subjects[2] = {{0}};
    bench_product_t product;
    matrices_t matrices = {0};
    bool has_own = open_subject(bench, runner, device->alias, kind, n, &subjects[0]);
    bool is_ready = has_own && open_matrices(&subjects[0], kind, n, &matrices);
    if (has_own && view) (void)open_subject(bench, runner, view->alias, kind, n, &subjects[1]);
    if (is_ready && bench_product_open(&product, card, kind->type, n, matrices.a, matrices.b)) {
        measure(bench, subjects, view ? 2 : 1, &product, &matrices);
        bench_product_close(&product);
    } else if (has_own) {
        bench_report_note(&bench->report,
                          "card_matmul, %s, n = %d: left out, cuBLASLt or memory is missing",
                          kind->name, n);
        is_ready = false;
    }
    close_matrices(&matrices);
    for (int i = 0; i < 2; ++i) {
        if (subjects[i].scope) (void)gantry_scope_end(subjects[i].scope);
        if (subjects[i].name) bench_card_trim(runner, subjects[i].name);
    }
    return is_ready;
}

static void measure_kind(bench_t *bench, const bench_device_t *device, const bench_card_t *card,
                         const kind_t *kind) {
    static const int sizes[] = {1024, 2048, 4096, 8192, 16384};
    const char *const extra[] = {kind->setting, NULL};
    bench_t runner = *bench;
    bool goes_on = true;
    if (kind->setting) runner.runtime = bench_runtime(extra);
    if (!runner.runtime) {
        bench_report_note(&bench->report, "card_matmul, %s: left out: %.150s", kind->name,
                          gantry_last_message());
        return;
    }
    for (size_t i = 0; goes_on && i < sizeof sizes / sizeof sizes[0] && sizes[i] <= bench->most_n;
         ++i) {
        goes_on = measure_size(bench, &runner, device, card, kind, sizes[i]) && bench_save(bench);
    }
    if (bench->most_n < sizes[0])
        (void)measure_size(bench, &runner, device, card, kind, bench->most_n);
    if (kind->setting) gantry_runtime_release(runner.runtime);
}

static void run_case(bench_t *bench, const bench_device_t *device, const bench_card_t *card) {
    bool is_any = false;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; ++i) {
        if (!bench_list_has(bench->types, kinds[i].name)) continue;
        is_any = true;
        measure_kind(bench, device, card, &kinds[i]);
    }
    if (!is_any)
        bench_report_note(&bench->report, "card_matmul: left out, --types %s names none of its",
                          bench->types);
}

void bench_card_matmul(bench_t *bench) { bench_each_card(bench, "card_matmul", run_case); }
