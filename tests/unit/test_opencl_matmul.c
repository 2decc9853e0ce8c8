/* The OpenCL backend's own matrix products, CLBlast's, the one for processors and the emulated tensor cores, on PoCL: through kernel_def
 * and a core of a few lines that gives scratch, programs and launches. */
#define _POSIX_C_SOURCE 200809L
#include "opencl_fixture.h"

#include <math.h>

enum { FLOAT32 = 1, FLOAT64 = 2 };

#define MOST_SCRATCH 4
#define MOST_PROGRAMS 32

/* What services of a call need. */
typedef struct core_t {
    fixture_t *fixture;
    gantry_span_t scratch[MOST_SCRATCH];
    uint32_t scratch_count;
    gantry_backend_program_t *programs[MOST_PROGRAMS];
    const gantry_program_source_t *sources[MOST_PROGRAMS];
    char options[MOST_PROGRAMS][160];
    uint32_t program_count;
    int32_t scratch_status; /* what the next scratch answers */
} core_t;

static int32_t take_scratch(gantry_op_call_t *call, uint64_t size_bytes, gantry_span_t *out_span) {
    core_t *core = call->core;

    if (core->scratch_status != 0) {
        return core->scratch_status;
    }
    assert_true(core->scratch_count < MOST_SCRATCH);
    *out_span = fixture_region(core->fixture, 0, size_bytes + 256);
    core->scratch[core->scratch_count++] = *out_span;
    out_span->offset_bytes = 256; /* never at the region's beginning */
    out_span->size_bytes = size_bytes;
    return 0;
}

static int32_t get_kernel(gantry_op_call_t *call, const gantry_program_source_t *source, const char *options,
                          const char *name, gantry_backend_kernel_t **out_kernel) {
    core_t *core = call->core;
    const gantry_program_ops_t *ops = core->fixture->backend->program;

    for (uint32_t i = 0; i < core->program_count; i++) {
        if (core->sources[i] == source && strcmp(core->options[i], options) == 0) {
            return ops->kernel_find(core->programs[i], name, out_kernel);
        }
    }
    assert_true(core->program_count < MOST_PROGRAMS);
    core->sources[core->program_count] = source;
    snprintf(core->options[core->program_count], sizeof core->options[0], "%s", options);
    assert_ok(ops->build(call->device, source, options, &core->programs[core->program_count]));
    return ops->kernel_find(core->programs[core->program_count++], name, out_kernel);
}

static int32_t launch(gantry_op_call_t *call, gantry_backend_kernel_t *kernel, const gantry_launch_t *what) {
    return ((core_t *)call->core)->fixture->backend->program->launch(call->stream, kernel, what);
}

static int32_t fill(gantry_op_call_t *call, const gantry_span_t *target, const void *pattern, uint32_t pattern_bytes) {
    return ((core_t *)call->core)->fixture->backend->transfer->fill(call->stream, target, pattern, pattern_bytes);
}

static const gantry_call_services_t services = {
    .struct_size = sizeof services, .scratch = take_scratch, .kernel = get_kernel, .launch = launch, .fill = fill};

static void core_open(core_t *core, fixture_t *fixture, const char *choice) {
    memset(core, 0, sizeof *core);
    core->fixture = fixture;
    fixture_init(fixture);
    fixture->option_names[0] = "GANTRY_OPENCL_MATMUL";
    fixture->option_values[0] = choice;
    fixture_open_instance(fixture);
    fixture_open_devices(fixture);
}

static void core_close(core_t *core) {
    for (uint32_t i = 0; i < core->program_count; i++) {
        core->fixture->backend->program->destroy(core->programs[i]);
    }
    fixture_close(core->fixture);
}

/* ---- one product ---- */

typedef struct product_t {
    int32_t dtype;
    int is_batched; /* BatchMatMul */
    int is_a_transposed;
    int is_b_transposed;
    uint32_t vector_width;  /* 0: the device's */
    uint32_t compute_units; /* likewise */
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

static double get(const void *data, int32_t dtype, int64_t i) {
    return dtype == FLOAT32 ? (double)((const float *)data)[i] : ((const double *)data)[i];
}

/* Numbers of a few bits, so that every sum is exact in both types and the results must be equal, whatever the order. */
static void *make_numbers(int32_t dtype, int64_t count, uint32_t seed) {
    void *data = malloc((size_t)(count > 0 ? count : 1) * 8);

    assert_non_null(data);
    for (int64_t i = 0; i < count; i++) {
        double value;

        seed = seed * 1664525u + 1013904223u;
        value = (double)((int)(seed >> 28) - 7);
        if (dtype == FLOAT32) {
            ((float *)data)[i] = (float)value;
        } else {
            ((double *)data)[i] = value;
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
    uint32_t count = core->fixture->backend->kernels(core->fixture->instance, core->fixture->index[0], &kernels);

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
    uint64_t item = p->dtype == FLOAT32 ? 4 : 8;
    int64_t out[8];
    int32_t rank = output_dims(p, out);
    uint64_t a_bytes = (uint64_t)elements(p->a_rank, p->a_dims) * item;
    uint64_t b_bytes = (uint64_t)elements(p->b_rank, p->b_dims) * item;
    uint64_t c_bytes = (uint64_t)elements(rank, out) * item;
    uint64_t b_begin = 256 + (a_bytes + 511) / 256 * 256;
    uint64_t c_begin = b_begin + (b_bytes + 511) / 256 * 256;
    gantry_span_t all = fixture_region(fixture, 0, c_begin + c_bytes + 256);
    gantry_arg_t x = make_arg(p, p->a_rank, p->a_dims, (gantry_span_t){all.region, 256, a_bytes});
    gantry_arg_t y = make_arg(p, p->b_rank, p->b_dims, (gantry_span_t){all.region, b_begin, b_bytes});
    gantry_arg_t z = make_arg(p, rank, out, (gantry_span_t){all.region, c_begin, c_bytes});
    const gantry_arg_t *inputs[] = {&x, &y};
    gantry_arg_t *outputs[] = {&z};
    gantry_attr_t ta = {.struct_size = sizeof ta, .kind = GANTRY_ATTR_BOOL, .i = p->is_a_transposed};
    gantry_attr_t tb = {.struct_size = sizeof tb, .kind = GANTRY_ATTR_BOOL, .i = p->is_b_transposed};
    const gantry_attr_t *attrs[] = {&ta, &tb};
    gantry_device_info_t info = fixture->info[0];
    gantry_op_call_t call = {.struct_size = sizeof call,
                             .input_count = 2,
                             .output_count = 1,
                             .attr_count = 2,
                             .inputs = inputs,
                             .outputs = outputs,
                             .attrs = attrs,
                             .op = p->is_batched ? "BatchMatMul" : "MatMul",
                             .device_info = &info,
                             .device = fixture->device[0],
                             .stream = fixture->stream[0],
                             .services = &services,
                             .core = core};
    unsigned char edge[256];
    gantry_span_t behind = {all.region, c_begin + c_bytes, 256};
    int32_t status;

    ta.name = p->is_batched ? "adj_x" : "transpose_a";
    tb.name = p->is_batched ? "adj_y" : "transpose_b";
    if (p->vector_width != 0) {
        info.native_vector_width = p->vector_width;
    }
    if (p->compute_units != 0) {
        info.compute_units = p->compute_units;
    }
    assert_ok(
        fixture->backend->transfer->fill(fixture->stream[0], &all, &(unsigned char){0xff}, 1)); /* NaN everywhere */
    fixture_write(fixture, 0, x.span, a);
    fixture_write(fixture, 0, y.span, b);
    call.kernel = find_kernel(core, &call);
    assert_non_null(call.kernel);
    core->scratch_count = 0;
    status = call.kernel->compute(&call);
    assert_ok(fixture->backend->stream->synchronize(fixture->stream[0]));
    if (status == 0) {
        fixture_read(fixture, 0, z.span, c);
        fixture_read(fixture, 0, behind, edge);
        for (int i = 0; i < 256; i++) {
            assert_int_equal(edge[i], 0xff);
        }
    }
    for (uint32_t i = 0; i < core->scratch_count; i++) {
        fixture_region_free(fixture, 0, core->scratch[i]);
    }
    fixture_region_free(fixture, 0, all);
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

static void check_shapes(core_t *core, const int64_t (*shapes)[3], size_t count, uint32_t vector_width) {
    for (size_t s = 0; s < count; s++) {
        for (int form = 0; form < 4; form++) {
            for (int32_t dtype = FLOAT32; dtype <= FLOAT64; dtype++) {
                product_t p = plain(dtype, shapes[s][0], shapes[s][1], shapes[s][2], form & 1, form >> 1);

                p.vector_width = vector_width;
                check_product(core, &p);
            }
        }
    }
}

static void check_batches(core_t *core, int32_t last_dtype) {
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
        for (int32_t dtype = FLOAT32; dtype <= last_dtype; dtype++) {
            product_t p = products[i];

            p.dtype = dtype;
            p.is_batched = 1;
            check_product(core, &p);
        }
    }
}

/* ---- tests ---- */

static const int64_t small_shapes[][3] = {{1, 1, 1},    {2, 3, 2},   {3, 5, 7},   {12, 8, 32},
                                          {13, 33, 37}, {40, 19, 5}, {5, 100, 70}};
#define SMALL_SHAPES (sizeof small_shapes / sizeof small_shapes[0])

static void cpu_matmul_small_shapes_are_exact(void **state) {
    fixture_t fixture;
    core_t core;

    (void)state;
    core_open(&core, &fixture, "cpu");
    check_shapes(&core, small_shapes, SMALL_SHAPES, 0);
    core_close(&core);
}

/* Several blocks in each direction, several work-items, both ways of taking b, the transposed product, few rows, few
 * columns. */
static void cpu_matmul_block_edges_are_exact(void **state) {
    static const int64_t shapes[][3] = {{300, 257, 97}, {245, 513, 64}, {31, 300, 130}, {700, 260, 6}, {1, 600, 500},
                                        {500, 600, 1},  {8, 40, 2100},  {3, 900, 800},  {800, 900, 3}, {40, 2100, 9}};
    fixture_t fixture;
    core_t core;

    (void)state;
    core_open(&core, &fixture, NULL); /* auto: the device is a CPU */
    check_shapes(&core, shapes, sizeof shapes / sizeof shapes[0], 0);
    core_close(&core);
}

static void cpu_matmul_narrow_vectors_are_exact(void **state) {
    static const int64_t shapes[][3] = {{13, 33, 37}, {64, 600, 33}, {3, 5, 70}, {2, 1100, 1000}, {100, 700, 6}};
    static const uint32_t widths[] = {1, 4, 8};
    fixture_t fixture;
    core_t core;

    (void)state;
    core_open(&core, &fixture, "cpu");
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
        check_shapes(&core, shapes, sizeof shapes / sizeof shapes[0], widths[w]);
    }
    core_close(&core);
}

static void cpu_matmul_batches_are_exact(void **state) {
    fixture_t fixture;
    core_t core;

    (void)state;
    core_open(&core, &fixture, "cpu");
    check_batches(&core, FLOAT64);
    core_close(&core);
}

static void cpu_matmul_twice_gives_the_same_bits(void **state) {
    enum { M = 150, K = 700, N = 170 };
    fixture_t fixture;
    core_t core;
    product_t p = plain(FLOAT32, M, K, N, 0, 0);
    float *a = malloc(M * K * sizeof *a);
    float *b = malloc(K * N * sizeof *b);
    float *c = malloc(2 * M * N * sizeof *c);

    (void)state;
    assert_true(a != NULL && b != NULL && c != NULL);
    core_open(&core, &fixture, "cpu");
    for (int i = 0; i < M * K; i++) {
        a[i] = 1.0f / (float)(i % 1013 + 1);
    }
    for (int i = 0; i < K * N; i++) {
        b[i] = 1.0f / (float)(i % 997 + 3);
    }
    assert_ok(run(&core, &p, a, b, c));
    for (int i = 0; i < 3; i++) {
        assert_ok(run(&core, &p, a, b, c + M * N));
        assert_memory_equal(c, c + M * N, M * N * sizeof *c);
    }
    free(a);
    free(b);
    free(c);
    core_close(&core);
}

static void matmul_over_nothing_is_zero(void **state) {
    static const char *const choices[] = {"cpu", "clblast"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        fixture_t fixture;
        core_t core;
        product_t p = plain(FLOAT64, 3, 0, 5, 0, 0);

        core_open(&core, &fixture, choices[i]);
        check_product(&core, &p);
        core_close(&core);
    }
}

static void cpu_matmul_without_scratch_returns_its_error(void **state) {
    fixture_t fixture;
    core_t core;
    product_t p = plain(FLOAT32, 4, 4, 4, 0, 0);
    float numbers[16] = {0};

    (void)state;
    core_open(&core, &fixture, "cpu");
    core.scratch_status = RESOURCE_EXHAUSTED;
    assert_int_equal(run(&core, &p, numbers, numbers, numbers), RESOURCE_EXHAUSTED);
    core_close(&core);
}

static int has_clblast(const core_t *core) {
    return strstr(core->fixture->backend->libraries(core->fixture->instance), "CLBlast missing") == NULL;
}

/* A few only: on a processor each new kernel of CLBlast takes seconds to build. */
static void clblast_small_shapes_and_batches_are_exact(void **state) {
    static const product_t batches[] = {
        {.dtype = FLOAT32, .is_batched = 1, .a_rank = 3, .b_rank = 2, .a_dims = {5, 7, 9}, .b_dims = {9, 33}},
        {.dtype = FLOAT32,
         .is_batched = 1,
         .a_rank = 5,
         .b_rank = 4,
         .a_dims = {2, 1, 3, 7, 9},
         .b_dims = {4, 1, 9, 5}},
    };
    fixture_t fixture;
    core_t core;
    product_t p;

    (void)state;
    core_open(&core, &fixture, "clblast");
    if (!has_clblast(&core)) {
        print_message("skipped: %s\n", fixture.backend->libraries(fixture.instance));
        core_close(&core);
        skip();
    }
    for (size_t i = 0; i < SMALL_SHAPES; i++) {
        p = plain(FLOAT32, small_shapes[i][0], small_shapes[i][1], small_shapes[i][2], 0, 0);
        check_product(&core, &p);
    }
    p = plain(FLOAT32, 13, 33, 37, 1, 1);
    check_product(&core, &p);
    p = plain(FLOAT64, 13, 33, 37, 0, 0);
    check_product(&core, &p);
    for (size_t i = 0; i < sizeof batches / sizeof batches[0]; i++) {
        check_product(&core, &batches[i]);
    }
    core_close(&core);
}

/* ---- tensor cores, emulated: the kernel is the card's, but for what one fragment's product is ---- */

/* Tiles of either size; with rows of whole float4 and without; several steps of k, the last not full. */
static void tensor_matmul_shapes_are_exact(void **state) {
    static const int64_t shapes[][3] = {{1, 1, 1},     {3, 5, 7},     {16, 8, 8},      {64, 16, 64},
                                        {65, 33, 130}, {128, 36, 60}, {200, 100, 132}, {129, 17, 1100}};
    fixture_t fixture;
    core_t core;

    (void)state;
    core_open(&core, &fixture, "tensor_emulated");
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (int form = 0; form < 4; form++) {
            product_t p = plain(FLOAT32, shapes[s][0], shapes[s][1], shapes[s][2], form & 1, form >> 1);

            p.compute_units =
                form == 0 || form == 3 ? 1 : 1000; /* large tiles, small tiles: each form of either operand in both */
            check_product(&core, &p);
        }
    }
    core_close(&core);
}

static void tensor_matmul_batches_are_exact(void **state) {
    fixture_t fixture;
    core_t core;

    (void)state;
    core_open(&core, &fixture, "tensor_emulated");
    check_batches(&core, FLOAT32);
    core_close(&core);
}

static float random_float(uint32_t *seed, float least) {
    *seed = *seed * 1664525u + 1013904223u;
    return least + (1 - least) * (float)(*seed >> 8) * 0x1p-24f;
}

/* Largest errors of c and of sums by fmaf, in parts of sum |a b|, against float64. */
static void measure_errors(const float *a, const float *b, const float *c, int m, int k, int n, double *out_own,
                           double *out_plain) {
    *out_own = *out_plain = 0;
    for (int e = 0; e < m * n; e++) {
        double sum = 0;
        double size = 0;
        float plain_sum = 0;

        for (int p = 0; p < k; p++) {
            float x = a[e / n * k + p];
            float y = b[p * n + e % n];

            sum += (double)x * y;
            size += fabs((double)x * y);
            plain_sum = fmaf(x, y, plain_sum);
        }
        *out_own = fmax(*out_own, fabs((double)c[e] - sum) / size);
        *out_plain = fmax(*out_plain, fabs((double)plain_sum - sum) / size);
    }
}

/* Three products of TF32 are near float32's accuracy, and one would miss the bound by two decimals. */
static void tensor_matmul_errs_as_little_as_float32(void **state) {
    enum { M = 70, K = 1500, N = 90 };
    static const float least[] = {-1, 0}; /* random signs; all positive, where a bias shows */
    fixture_t fixture;
    core_t core;
    product_t p = plain(FLOAT32, M, K, N, 0, 0);
    float *a = malloc(M * K * sizeof *a);
    float *b = malloc(K * N * sizeof *b);
    float *c = malloc(M * N * sizeof *c);
    uint32_t seed = 7;

    (void)state;
    assert_true(a != NULL && b != NULL && c != NULL);
    core_open(&core, &fixture, "tensor_emulated");
    for (int kind = 0; kind < 2; kind++) {
        double own;
        double plain_error;

        for (int i = 0; i < M * K; i++) {
            a[i] = random_float(&seed, least[kind]);
        }
        for (int i = 0; i < K * N; i++) {
            b[i] = random_float(&seed, least[kind]);
        }
        assert_ok(run(&core, &p, a, b, c));
        measure_errors(a, b, c, M, K, N, &own, &plain_error);
        print_message("from %g to 1: largest error %.3g of sum |a b|, float32 in one sum %.3g\n", (double)least[kind],
                      own, plain_error);
        assert_true(own <= 0x1p-19);
        assert_true(own <= plain_error);
    }
    free(a);
    free(b);
    free(c);
    core_close(&core);
}

/* One step of k holds what cannot be split: then every sum is float32's own, in rising order. */
static void tensor_matmul_of_special_values_is_that_of_float32(void **state) {
    enum { M = 20, K = 16, N = 24 };
    static const float values[] = {INFINITY,    -INFINITY, NAN,         0x1.fffffep127f, -0x1p60f,
                                   0x1.fp-113f, 0x1p-149f, 0x1.8p-127f, 0x1p100f,        -0x1p-120f};
    fixture_t fixture;
    core_t core;
    product_t p = plain(FLOAT32, M, K, N, 0, 0);
    float a[M * K];
    float b[K * N];
    float c[M * N];
    uint32_t seed = 3;

    (void)state;
    core_open(&core, &fixture, "tensor_emulated");
    for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
        for (int i = 0; i < M * K; i++) {
            a[i] = random_float(&seed, -1);
        }
        for (int i = 0; i < K * N; i++) {
            b[i] = random_float(&seed, -1);
        }
        (v % 2 ? a : b)[v * 31] = values[v];
        assert_ok(run(&core, &p, a, b, c));
        for (int e = 0; e < M * N; e++) {
            float sum = 0;

            for (int i = 0; i < K; i++) {
                sum = fmaf(a[e / N * K + i], b[i * N + e % N], sum);
            }
            if (!(isnan(sum) && isnan(c[e])) && sum != c[e]) {
                fail_msg("with %a: %a at %d, float32 has %a", (double)values[v], (double)c[e], e, (double)sum);
            }
        }
    }
    core_close(&core);
}

/* An infinity in one step of k of several, zeros in all: only its row is touched. */
static void tensor_matmul_keeps_an_infinity_to_its_row(void **state) {
    enum { M = 5, K = 70, N = 6 };
    fixture_t fixture;
    core_t core;
    product_t p = plain(FLOAT32, M, K, N, 0, 0);
    float a[M * K] = {0};
    float b[K * N];
    float c[M * N];

    (void)state;
    core_open(&core, &fixture, "tensor_emulated");
    for (int i = 0; i < K * N; i++) {
        b[i] = 1;
    }
    for (int i = 0; i < M * K; i++) {
        a[i] = i % 3 == 0;
    }
    a[2 * K + 40] = -INFINITY;
    assert_ok(run(&core, &p, a, b, c));
    for (int e = 0; e < M * N; e++) {
        float sum = 0;

        for (int i = 0; i < K; i++) {
            sum += a[e / N * K + i];
        }
        assert_true(c[e] == sum);
    }
    core_close(&core);
}

/* "portable" leaves the op to the pack, and a forced choice is the only one that says yes. */
static void matmul_choice_decides_who_supports_it(void **state) {
    static const char *const choices[] = {"portable", "tensor", "cpu", "auto",
                                          "tensor_emulated"}; /* no NVIDIA card here */

    (void)state;
    for (int i = 0; i < 5; i++) {
        fixture_t fixture;
        core_t core;
        const gantry_kernel_def_t *const *kernels = NULL;
        gantry_op_call_t call = {.struct_size = sizeof call, .op = "MatMul"};
        uint32_t yes = 0;
        uint32_t count;

        core_open(&core, &fixture, choices[i]);
        call.device = fixture.device[0];
        call.device_info = &fixture.info[0];
        count = fixture.backend->kernels(fixture.instance, fixture.index[0], &kernels);
        assert_int_equal(count, 6);
        for (uint32_t j = 0; j < count; j++) {
            yes += kernels[j]->supports(&call) != 0;
        }
        assert_int_equal(yes, i < 2 ? 0 : 2);
        assert_int_equal(fixture.backend->kernels(fixture.instance, 1000, &kernels), 0);
        core_close(&core);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matmul_choice_decides_who_supports_it),
        cmocka_unit_test(cpu_matmul_small_shapes_are_exact),
        cmocka_unit_test(cpu_matmul_block_edges_are_exact),
        cmocka_unit_test(cpu_matmul_narrow_vectors_are_exact),
        cmocka_unit_test(cpu_matmul_batches_are_exact),
        cmocka_unit_test(cpu_matmul_twice_gives_the_same_bits),
        cmocka_unit_test(matmul_over_nothing_is_zero),
        cmocka_unit_test(cpu_matmul_without_scratch_returns_its_error),
        cmocka_unit_test(clblast_small_shapes_and_batches_are_exact),
        cmocka_unit_test(tensor_matmul_shapes_are_exact),
        cmocka_unit_test(tensor_matmul_batches_are_exact),
        cmocka_unit_test(tensor_matmul_errs_as_little_as_float32),
        cmocka_unit_test(tensor_matmul_of_special_values_is_that_of_float32),
        cmocka_unit_test(tensor_matmul_keeps_an_infinity_to_its_row),
    };

    setenv("POCL_DEVICES", "pthread pthread", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
