/* The CUDA backend's matrix products by cuBLASLt, on the stand-in's: through kernel_def and a core of a few lines
 * that gives scratch. The stand-in's products are right; how fast and how exact NVIDIA's are is for a card to show. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>

#include "cuda_fixture.h"

#include "portable/kernels/dialect.cl"
#include "portable/kernels/half.cl"

enum { FLOAT32 = 1, FLOAT64 = 2, BFLOAT16 = 14, FLOAT16 = 19 };

static const int32_t dtypes[] = {FLOAT32, FLOAT64, FLOAT16, BFLOAT16};
#define DTYPES (sizeof dtypes / sizeof dtypes[0])

static uint64_t size_of(int32_t dtype) { return dtype == FLOAT64 ? 8 : dtype == FLOAT32 ? 4 : 2; }

#define MOST_SCRATCH 2

/* What services of a call need. */
typedef struct core_t {
    fixture_t *fixture;
    gantry_span_t scratch[MOST_SCRATCH];
    uint32_t scratch_count;
    int card;
    int32_t scratch_status; /* what the next scratch answers */
} core_t;

static int32_t take_scratch(gantry_op_call_t *call, uint64_t size_bytes, gantry_span_t *out_span) {
    core_t *core = call->core;

    if (core->scratch_status != 0) {
        return core->scratch_status;
    }
    assert_true(core->scratch_count < MOST_SCRATCH);
    *out_span = fixture_region(core->fixture, core->card, size_bytes + 256);
    core->scratch[core->scratch_count++] = *out_span;
    out_span->offset_bytes = 256; /* never at the region's beginning */
    out_span->size_bytes = size_bytes;
    return 0;
}

static int32_t fill(gantry_op_call_t *call, const gantry_span_t *target, const void *pattern, uint32_t pattern_bytes) {
    return ((core_t *)call->core)->fixture->backend->transfer->fill(call->stream, target, pattern, pattern_bytes);
}

static const gantry_call_services_t services = {.struct_size = sizeof services, .scratch = take_scratch, .fill = fill};

static void core_open(core_t *core, fixture_t *fixture, const char *name, const char *value) {
    memset(core, 0, sizeof *core);
    core->fixture = fixture;
    fixture_init(fixture);
    if (name != NULL) {
        fixture_set(fixture, name, value);
    }
    fixture_open_instance(fixture);
    fixture_open_devices(fixture);
}

static void core_close(core_t *core) { fixture_close(core->fixture); }

/* ---- one product ---- */

typedef struct product_t {
    int32_t dtype;
    int is_batched; /* BatchMatMul */
    int is_a_transposed;
    int is_b_transposed;
    uint32_t shift; /* bytes by which the tensors are off 256 */
    int32_t a_rank;
    int32_t b_rank;
    int64_t a_dims[8];
    int64_t b_dims[8];
} product_t;

static int64_t elements(int32_t rank, const int64_t *dims) {
    int64_t count = 1;

    for (int32_t i = 0; i < rank; i++) {
        count *= dims[i];
    }
    return count;
}

/* The output's shape; returns its rank. */
static int32_t output_dims(const product_t *p, int64_t *out) {
    int32_t rank = p->a_rank > p->b_rank ? p->a_rank : p->b_rank;

    for (int32_t d = 0; d < rank - 2; d++) {
        int32_t a = d - (rank - p->a_rank);
        int32_t b = d - (rank - p->b_rank);
        int64_t a_dim = a >= 0 ? p->a_dims[a] : 1;
        int64_t b_dim = b >= 0 ? p->b_dims[b] : 1;

        out[d] = a_dim == 1 ? b_dim : a_dim;
    }
    out[rank - 2] = p->a_dims[p->a_rank - (p->is_a_transposed ? 1 : 2)];
    out[rank - 1] = p->b_dims[p->b_rank - (p->is_b_transposed ? 2 : 1)];
    return rank;
}

static double half_number(int32_t dtype, uint16_t bits) {
    return (double)(dtype == FLOAT16 ? gantry_f16_to_f32(bits) : gantry_bf16_to_f32(bits));
}

static double get(const void *data, int32_t dtype, int64_t i) {
    switch (dtype) {
        case FLOAT32: return (double)((const float *)data)[i];
        case FLOAT64: return ((const double *)data)[i];
        default: return half_number(dtype, ((const uint16_t *)data)[i]);
    }
}

static uint16_t half_bits(int32_t dtype, double value) {
    return dtype == FLOAT16 ? gantry_f32_to_f16((float)value) : gantry_f32_to_bf16((float)value);
}

static double rounded(int32_t dtype, double value) {
    switch (dtype) {
        case FLOAT32: return (double)(float)value;
        case FLOAT64: return value;
        default: return half_number(dtype, half_bits(dtype, value));
    }
}

/* Numbers of a few bits, so that every sum is exact, in float32 for halves, and the results must be equal, whatever the
 * order. */
static void *make_numbers(int32_t dtype, int64_t count, uint32_t seed) {
    void *data = malloc((size_t)(count > 0 ? count : 1) * 8);

    assert_non_null(data);
    for (int64_t i = 0; i < count; i++) {
        double value;

        seed = seed * 1664525u + 1013904223u;
        value = (double)((int)(seed >> 28) - 7);
        switch (dtype) {
            case FLOAT32: ((float *)data)[i] = (float)value; break;
            case FLOAT64: ((double *)data)[i] = value; break;
            default: ((uint16_t *)data)[i] = half_bits(dtype, value); break;
        }
    }
    return data;
}

/* Where matrix `batch` of the output's batches begins in an input. */
static int64_t batch_begin(const product_t *p, int32_t rank, const int64_t *dims, int32_t out_rank, const int64_t *out,
                           int64_t batch) {
    int64_t begin = 0;
    int64_t stride = dims[rank - 1] * dims[rank - 2];

    (void)p;
    for (int32_t d = out_rank - 3; d >= 0; d--) {
        int32_t own = d - (out_rank - rank);
        int64_t index = batch % out[d];

        batch /= out[d];
        if (own >= 0) {
            begin += (dims[own] == 1 ? 0 : index) * stride;
            stride *= dims[own];
        }
    }
    return begin;
}

static void check_result(const product_t *p, const void *a, const void *b, const void *c) {
    int64_t out[8];
    int32_t rank = output_dims(p, out);
    int64_t m = out[rank - 2];
    int64_t n = out[rank - 1];
    int64_t k = p->a_dims[p->a_rank - (p->is_a_transposed ? 2 : 1)];
    int64_t batches = elements(rank - 2, out);

    for (int64_t batch = 0; batch < batches; batch++) {
        int64_t a0 = batch_begin(p, p->a_rank, p->a_dims, rank, out, batch);
        int64_t b0 = batch_begin(p, p->b_rank, p->b_dims, rank, out, batch);

        for (int64_t e = 0; e < m * n; e++) {
            int64_t i = e / n;
            int64_t j = e % n;
            double sum = 0;

            for (int64_t s = 0; s < k; s++) {
                sum += get(a, p->dtype, a0 + (p->is_a_transposed ? s * m + i : i * k + s)) *
                       get(b, p->dtype, b0 + (p->is_b_transposed ? j * k + s : s * n + j));
            }
            sum = rounded(p->dtype, sum);
            if (get(c, p->dtype, batch * m * n + e) != sum) {
                fail_msg("batch %lld [%lld, %lld] of %lld x %lld x %lld: %g, not %g", (long long)batch, (long long)i,
                         (long long)j, (long long)m, (long long)k, (long long)n, get(c, p->dtype, batch * m * n + e),
                         sum);
            }
        }
    }
}

/* The first kernel for the op that takes the call; NULL when none does. */
static const gantry_kernel_def_t *find_kernel(const core_t *core, const gantry_op_call_t *call) {
    const gantry_kernel_def_t *const *kernels = NULL;
    uint32_t count = core->fixture->backend->kernels(core->fixture->instance, (uint32_t)core->card, &kernels);

    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(kernels[i]->op, call->op) == 0 && kernels[i]->supports(call)) {
            assert_true(kernels[i]->priority > 0);
            return kernels[i];
        }
    }
    return NULL;
}

static gantry_arg_t make_arg(const product_t *p, int32_t rank, const int64_t *dims, gantry_span_t span) {
    gantry_arg_t arg = {.struct_size = sizeof arg, .dtype = p->dtype, .rank = rank, .dims = dims, .span = span};

    arg.element_count = elements(rank, dims);
    return arg;
}

/* Runs the product with all three tensors at offsets in one region; c gets the result. Returns compute's status. */
static int32_t run(core_t *core, const product_t *p, const void *a, const void *b, void *c) {
    fixture_t *fixture = core->fixture;
    uint64_t item = size_of(p->dtype);
    int64_t out[8];
    int32_t rank = output_dims(p, out);
    uint64_t a_bytes = (uint64_t)elements(p->a_rank, p->a_dims) * item;
    uint64_t b_bytes = (uint64_t)elements(p->b_rank, p->b_dims) * item;
    uint64_t c_bytes = (uint64_t)elements(rank, out) * item;
    uint64_t a_begin = 256 + p->shift;
    uint64_t b_begin = a_begin + (a_bytes + 511) / 256 * 256;
    uint64_t c_begin = b_begin + (b_bytes + 511) / 256 * 256;
    gantry_span_t all = fixture_region(fixture, core->card, c_begin + c_bytes + 256);
    gantry_arg_t x = make_arg(p, p->a_rank, p->a_dims, (gantry_span_t){all.region, a_begin, a_bytes});
    gantry_arg_t y = make_arg(p, p->b_rank, p->b_dims, (gantry_span_t){all.region, b_begin, b_bytes});
    gantry_arg_t z = make_arg(p, rank, out, (gantry_span_t){all.region, c_begin, c_bytes});
    const gantry_arg_t *inputs[] = {&x, &y};
    gantry_arg_t *outputs[] = {&z};
    gantry_attr_t ta = {.struct_size = sizeof ta, .kind = GANTRY_ATTR_BOOL, .i = p->is_a_transposed};
    gantry_attr_t tb = {.struct_size = sizeof tb, .kind = GANTRY_ATTR_BOOL, .i = p->is_b_transposed};
    const gantry_attr_t *attrs[] = {&ta, &tb};
    gantry_device_info_t info = fixture->info[core->card];
    gantry_op_call_t call = {.struct_size = sizeof call,
                             .input_count = 2,
                             .output_count = 1,
                             .attr_count = 2,
                             .inputs = inputs,
                             .outputs = outputs,
                             .attrs = attrs,
                             .op = p->is_batched ? "BatchMatMul" : "MatMul",
                             .device_info = &info,
                             .device = fixture->device[core->card],
                             .stream = fixture->stream[core->card],
                             .services = &services,
                             .core = core};
    unsigned char edge[256];
    gantry_span_t behind = {all.region, c_begin + c_bytes, 256};
    int32_t status;

    ta.name = p->is_batched ? "adj_x" : "transpose_a";
    tb.name = p->is_batched ? "adj_y" : "transpose_b";
    assert_ok(
        fixture->backend->transfer->fill(fixture->stream[core->card], &all, &(unsigned char){0xff}, 1)); /* NaN everywhere */
    fixture_write(fixture, core->card, x.span, a);
    fixture_write(fixture, core->card, y.span, b);
    call.kernel = find_kernel(core, &call);
    if (call.kernel == NULL) {
        fixture_region_free(fixture, core->card, all);
        return UNIMPLEMENTED;
    }
    core->scratch_count = 0;
    status = call.kernel->compute(&call);
    assert_ok(fixture->backend->stream->synchronize(fixture->stream[core->card]));
    if (status == 0) {
        fixture_read(fixture, core->card, z.span, c);
        fixture_read(fixture, core->card, behind, edge);
        for (int i = 0; i < 256; i++) {
            assert_int_equal(edge[i], 0xff);
        }
    }
    for (uint32_t i = 0; i < core->scratch_count; i++) {
        fixture_region_free(fixture, core->card, core->scratch[i]);
    }
    fixture_region_free(fixture, core->card, all);
    return status;
}

static void check_product(core_t *core, const product_t *p) {
    int64_t out[8];
    int64_t count = elements(output_dims(p, out), out);
    void *a = make_numbers(p->dtype, elements(p->a_rank, p->a_dims), 1);
    void *b = make_numbers(p->dtype, elements(p->b_rank, p->b_dims), 2);
    void *c = make_numbers(p->dtype, count, 3);

    assert_ok(run(core, p, a, b, c));
    check_result(p, a, b, c);
    free(a);
    free(b);
    free(c);
}

static product_t plain(int32_t dtype, int64_t m, int64_t k, int64_t n, int is_a_transposed, int is_b_transposed) {
    product_t p = {.dtype = dtype,
                   .a_rank = 2,
                   .b_rank = 2,
                   .is_a_transposed = is_a_transposed,
                   .is_b_transposed = is_b_transposed};

    p.a_dims[is_a_transposed ? 1 : 0] = m;
    p.a_dims[is_a_transposed ? 0 : 1] = k;
    p.b_dims[is_b_transposed ? 1 : 0] = k;
    p.b_dims[is_b_transposed ? 0 : 1] = n;
    return p;
}

static void check_shapes(core_t *core, const int64_t (*shapes)[3], size_t count, uint32_t shift) {
    for (size_t s = 0; s < count; s++) {
        for (int form = 0; form < 4; form++) {
            for (size_t t = 0; t < DTYPES; t++) {
                product_t p = plain(dtypes[t], shapes[s][0], shapes[s][1], shapes[s][2], form & 1, form >> 1);

                p.shift = shift;
                check_product(core, &p);
            }
        }
    }
}

static void check_batches(core_t *core) {
    static const product_t products[] = {
        {.a_rank = 3, .b_rank = 3, .a_dims = {5, 7, 9}, .b_dims = {5, 9, 11}},
        {.a_rank = 3, .b_rank = 2, .a_dims = {5, 7, 9}, .b_dims = {9, 33}}, /* one b: folded into rows */
        {.a_rank = 2, .b_rank = 3, .a_dims = {7, 9}, .b_dims = {4, 9, 3}},
        {.a_rank = 5, .b_rank = 4, .a_dims = {2, 1, 3, 7, 9}, .b_dims = {4, 1, 9, 5}},
        {.a_rank = 4,
         .b_rank = 4,
         .a_dims = {2, 3, 9, 7},
         .b_dims = {2, 3, 5, 9},
         .is_a_transposed = 1,
         .is_b_transposed = 1},
        {.a_rank = 8, .b_rank = 8, .a_dims = {2, 1, 2, 1, 2, 1, 3, 4}, .b_dims = {1, 2, 1, 2, 1, 2, 4, 3}},
        {.a_rank = 3, .b_rank = 3, .a_dims = {3, 40, 70}, .b_dims = {1, 90, 70}, .is_b_transposed = 1},
    };

    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++) {
        for (size_t t = 0; t < DTYPES; t++) {
            product_t p = products[i];

            p.dtype = dtypes[t];
            p.is_batched = 1;
            check_product(core, &p);
        }
    }
}

/* ---- tests ---- */

static const int64_t shapes[][3] = {{1, 1, 1},    {2, 3, 2},   {3, 5, 7},   {12, 8, 32},
                                    {13, 33, 37}, {1, 60, 50}, {50, 60, 1}, {5, 1, 70}};
#define SHAPES (sizeof shapes / sizeof shapes[0])

static void products_of_each_form_are_right(void **state) {
    fixture_t fixture;
    core_t core;

    (void)state;
    core_open(&core, &fixture, NULL, NULL);
    check_shapes(&core, shapes, SHAPES, 0);
    core_close(&core);
}

/* The stand-in refuses a pointer that is less aligned than it was promised. */
static void products_at_odd_addresses_are_right(void **state) {
    fixture_t fixture;
    core_t core;

    (void)state;
    core_open(&core, &fixture, NULL, NULL);
    check_shapes(&core, shapes, SHAPES, 8);
    core_close(&core);
}

static void products_of_batches_are_right(void **state) {
    fixture_t fixture;
    core_t core;

    (void)state;
    core_open(&core, &fixture, NULL, NULL);
    check_batches(&core);
    core_close(&core);
}

/* float32 numbers that each shorter type rounds elsewhere: 1 + 2^-20 keeps all its bits in float32 alone, 1 + 2^-9 is no
 * bfloat16, and 2^20 is no float16. */
static void float32_products_round_inputs_as_the_option_says(void **state) {
    static const struct {
        const char *precision;
        float results[3];
    } cases[] = {{NULL, {1.0f + 0x1p-20f, 1.0f + 0x1p-9f, 0x1p20f}},
                 {"float32", {1.0f + 0x1p-20f, 1.0f + 0x1p-9f, 0x1p20f}},
                 {"tf32", {1.0f, 1.0f + 0x1p-9f, 0x1p20f}},
                 {"bfloat16", {1.0f, 1.0f, 0x1p20f}},
                 {"float16", {1.0f, 1.0f + 0x1p-9f, INFINITY}}};
    const float a[3] = {1.0f + 0x1p-20f, 1.0f + 0x1p-9f, 0x1p20f};
    const float one = 1.0f;
    product_t p = plain(FLOAT32, 3, 1, 1, 0, 0);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fixture_t fixture;
        core_t core;
        float c[3];

        core_open(&core, &fixture, cases[i].precision != NULL ? "GANTRY_CUDA_MATMUL_PRECISION" : NULL,
                  cases[i].precision);
        assert_ok(run(&core, &p, a, &one, c));
        assert_memory_equal(c, cases[i].results, sizeof c);
        check_shapes(&core, shapes, SHAPES, 0); /* the other types do not mind, and small numbers keep their bits */
        core_close(&core);
    }
}

static void bfloat16_on_a_card_before_8_0_is_left_to_the_portable_kernels(void **state) {
    fixture_t fixture;
    core_t core;
    product_t p = plain(BFLOAT16, 1, 1, 1, 0, 0);
    uint16_t number = 0x3f80;

    (void)state;
    core_open(&core, &fixture, NULL, NULL);
    core.card = 1;
    assert_string_equal(fixture.info[1].compute_capability, "7.5");
    assert_int_equal(run(&core, &p, &number, &number, &number), UNIMPLEMENTED);
    p.dtype = FLOAT16;
    check_product(&core, &p);
    core_close(&core);
}

static void product_over_nothing_is_zero(void **state) {
    fixture_t fixture;
    core_t core;

    (void)state;
    core_open(&core, &fixture, NULL, NULL);
    for (size_t t = 0; t < DTYPES; t++) {
        product_t p = plain(dtypes[t], 3, 0, 5, 0, 0);

        check_product(&core, &p);
    }
    core_close(&core);
}

static void product_without_a_workspace_takes_another_way(void **state) {
    fixture_t fixture;
    core_t core;
    product_t p = plain(FLOAT32, 13, 33, 37, 0, 1);
    float number = 0;

    (void)state;
    core_open(&core, &fixture, NULL, NULL);
    core.scratch_status = RESOURCE_EXHAUSTED;
    check_product(&core, &p);
    check_batches(&core);
    core.scratch_status = UNAVAILABLE; /* a loss is no lack of memory */
    p = plain(FLOAT32, 1, 1, 1, 0, 0);
    assert_int_equal(run(&core, &p, &number, &number, &number), UNAVAILABLE);
    core_close(&core);
}

static void product_without_the_library_is_left_to_the_portable_kernels(void **state) {
    fixture_t fixture;
    core_t core;
    product_t p = plain(FLOAT32, 1, 1, 1, 0, 0);
    float number = 0;

    (void)state;
    core_open(&core, &fixture, "GANTRY_CUDA_CUBLAS", "/nonexistent/libcublasLt.so");
    assert_int_equal(run(&core, &p, &number, &number, &number), UNIMPLEMENTED);
    core_close(&core);
    core_open(&core, &fixture, "GANTRY_CUDA_CUBLAS", "libm.so.6");
    assert_int_equal(run(&core, &p, &number, &number, &number), UNIMPLEMENTED);
    assert_non_null(strstr(fixture.backend->libraries(fixture.instance), "has no function cublasLtGetVersion"));
    core_close(&core);
    fixture_control()->set("fail=cublasLtCreate:*:1");
    core_open(&core, &fixture, NULL, NULL);
    assert_int_equal(run(&core, &p, &number, &number, &number), UNIMPLEMENTED);
    core_close(&core);
    fixture_control()->reset();
}

/* Each call of the library fails once: an error with the library's own name for it, and nothing left behind. */
static void product_reports_each_failing_call(void **state) {
    static const char *const functions[] = {"cublasLtMatmulDescCreate",
                                            "cublasLtMatmulDescSetAttribute",
                                            "cublasLtMatrixLayoutCreate",
                                            "cublasLtMatmulPreferenceCreate",
                                            "cublasLtMatmulPreferenceSetAttribute",
                                            "cublasLtMatmulAlgoGetHeuristic",
                                            "cublasLtMatmul"};
    fixture_t fixture;
    core_t core;
    product_t p = plain(FLOAT32, 1, 1, 1, 0, 0);
    float number = 0;
    char setting[96];

    (void)state;
    core_open(&core, &fixture, NULL, NULL);
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        snprintf(setting, sizeof setting, "fail=%s:*:14", functions[i]);
        assert_int_equal(fixture_control()->set(setting), 0);
        assert_int_equal(run(&core, &p, &number, &number, &number), 13);
        assert_error_has("MatMul of 1 x 1 by 1 x 1 (1 batches): CUBLAS_STATUS_INTERNAL_ERROR (14)");
        fixture_control()->reset();
        check_product(&core, &p);
    }
    core_close(&core);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_each_form_are_right),
        cmocka_unit_test(products_at_odd_addresses_are_right),
        cmocka_unit_test(products_of_batches_are_right),
        cmocka_unit_test(float32_products_round_inputs_as_the_option_says),
        cmocka_unit_test(bfloat16_on_a_card_before_8_0_is_left_to_the_portable_kernels),
        cmocka_unit_test(product_over_nothing_is_zero),
        cmocka_unit_test(product_without_a_workspace_takes_another_way),
        cmocka_unit_test(product_without_the_library_is_left_to_the_portable_kernels),
        cmocka_unit_test(product_reports_each_failing_call),
    };

    setenv("POCL_DEVICES", "pthread pthread", 1);
    setenv("GANTRY_STAND_IN_CUDA", "devices=2;memory=256M;cc=9.0,7.5", 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
