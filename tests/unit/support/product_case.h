/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of a backend's own kernels, through kernel_def and a small core that gives
 * scratch, programs and launches. The results are checked element by element against sums on the
 * host.
 *
 * The test includes its backend's fixture before this file. */
#ifndef GANTRY_PRODUCT_CASE_H
#define GANTRY_PRODUCT_CASE_H

#include "backend_fixture.h"

#include "kernels/common/dialect.cl"
#include "kernels/common/half.cl"

static const int32_t floats[] = {GANTRY_FLOAT32, GANTRY_FLOAT64};

static inline uint64_t size_of(int32_t dtype) {
    return dtype == GANTRY_FLOAT64 ? 8 : dtype == GANTRY_FLOAT32 ? 4 : 2;
}

#define MOST_SCRATCH 4
#define MOST_PROGRAMS 32

/* The data that a call's services need. */
typedef struct core_t {
    fixture_t *fixture;
    gantry_span_t scratch[MOST_SCRATCH];
    uint32_t scratch_count;
    gantry_backend_program_t *programs[MOST_PROGRAMS];
    const gantry_program_source_t *sources[MOST_PROGRAMS];
    char options[MOST_PROGRAMS][160];
    uint32_t program_count;
    int32_t scratch_status; /* the status of the next scratch request */
    int card;               /* the fixture's device that runs products */
    uint32_t vector_width;  /* the card's width as kernels see it; 0: the card's own */
    uint32_t compute_units; /* likewise */
    const int32_t *dtypes;  /* types for the checks of shapes and batches */
    size_t dtype_count;
} core_t;

static inline int32_t take_scratch(gantry_op_call_t *call, uint64_t size_bytes,
                                   gantry_span_t *out_span) {
    core_t *core = call->core;

    if (core->scratch_status != 0) {
        return core->scratch_status;
    }
    assert_true(core->scratch_count < MOST_SCRATCH);
    *out_span = fixture_region(core->fixture, core->card, size_bytes + 256);
    core->scratch[core->scratch_count++] = *out_span;
    out_span->offset_bytes = 256; /* never at the start of the region */
    out_span->size_bytes = size_bytes;
    return 0;
}

/* As the core builds a source that makes its text. */
static inline void build_made(const gantry_program_ops_t *ops, const gantry_op_call_t *call,
                              const gantry_program_source_t *source, const char *options,
                              gantry_backend_program_t **out_program) {
    const uint64_t length = source->make(source->key, NULL, 0);
    char *text = malloc((size_t)length + 1);
    assert_non_null(text);
    (void)source->make(source->key, text, length + 1);
    const char *const parts[] = {text};
    const gantry_program_source_t made = {.struct_size = sizeof made,
                                          .kinds = source->kinds,
                                          .label = source->label,
                                          .parts = parts,
                                          .part_count = 1};
    assert_ok(ops->build(call->device, &made, options, out_program));
    free(text);
}

static inline int32_t get_kernel(gantry_op_call_t *call, const gantry_program_source_t *source,
                                 const char *options, const char *name,
                                 gantry_backend_kernel_t **out_kernel) {
    core_t *core = call->core;
    const gantry_program_ops_t *ops = core->fixture->backend->program;

    for (uint32_t i = 0; i < core->program_count; ++i) {
        if (core->sources[i] == source && strcmp(core->options[i], options) == 0) {
            return ops->kernel_find(core->programs[i], name, out_kernel);
        }
    }
    assert_true(core->program_count < MOST_PROGRAMS);
    core->sources[core->program_count] = source;
    snprintf(core->options[core->program_count], sizeof core->options[0], "%s", options);
    build_made(ops, call, source, options, &core->programs[core->program_count]);
    return ops->kernel_find(core->programs[core->program_count++], name, out_kernel);
}

static inline int32_t launch(gantry_op_call_t *call, gantry_backend_kernel_t *kernel,
                             const gantry_launch_t *what) {
    return ((core_t *)call->core)->fixture->backend->program->launch(call->stream, kernel, what);
}

static inline int32_t fill(gantry_op_call_t *call, const gantry_span_t *target, const void *pattern,
                           uint32_t pattern_bytes) {
    if (target->size_bytes == 0) return 0;
    return ((core_t *)call->core)
        ->fixture->backend->transfer->fill(call->stream, target, pattern, pattern_bytes);
}

static const gantry_call_services_t services = {.struct_size = sizeof services,
                                                .scratch = take_scratch,
                                                .kernel = get_kernel,
                                                .launch = launch,
                                                .fill = fill};

/* With an option of the backend, if name is not NULL. */
static inline void core_open(core_t *core, fixture_t *fixture, const char *name,
                             const char *value) {
    memset(core, 0, sizeof *core);
    core->fixture = fixture;
    core->dtypes = floats;
    core->dtype_count = 2;
    fixture_init(fixture);
    if (name != NULL) {
        fixture_set(fixture, name, value);
    }
    fixture_open_instance(fixture);
    fixture_open_devices(fixture);
}

static inline void core_close(core_t *core) {
    for (uint32_t i = 0; i < core->program_count; ++i) {
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
    uint32_t shift; /* distance of the tensors from a multiple of 256 bytes */
    int32_t a_rank;
    int32_t b_rank;
    int64_t a_dims[8];
    int64_t b_dims[8];
} product_t;

static inline int64_t elements(int32_t rank, const int64_t *dims) {
    int64_t count = 1;

    for (int32_t i = 0; i < rank; ++i) {
        count *= dims[i];
    }
    return count;
}

/* Makes the output's shape; returns its rank. */
static inline int32_t output_dims(const product_t *p, int64_t *out) {
    int32_t rank = p->a_rank > p->b_rank ? p->a_rank : p->b_rank;

    for (int32_t d = 0; d < rank - 2; ++d) {
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

static inline double half_number(int32_t dtype, uint16_t bits) {
    return (double)(dtype == GANTRY_FLOAT16 ? gantry__f16_to_f32(bits) : gantry__bf16_to_f32(bits));
}

static inline uint16_t half_bits(int32_t dtype, double value) {
    return dtype == GANTRY_FLOAT16 ? gantry__f32_to_f16((float)value)
                                   : gantry__f32_to_bf16((float)value);
}

static inline double get(const void *data, int32_t dtype, int64_t i) {
    switch (dtype) {
        case GANTRY_FLOAT32: return (double)((const float *)data)[i];
        case GANTRY_FLOAT64: return ((const double *)data)[i];
        default: return half_number(dtype, ((const uint16_t *)data)[i]);
    }
}

static inline void put(void *data, int32_t dtype, int64_t i, double value) {
    switch (dtype) {
        case GANTRY_FLOAT32: ((float *)data)[i] = (float)value; break;
        case GANTRY_FLOAT64: ((double *)data)[i] = value; break;
        default: ((uint16_t *)data)[i] = half_bits(dtype, value); break;
    }
}

/* The value rounded to the type. */
static inline double rounded(int32_t dtype, double value) {
    switch (dtype) {
        case GANTRY_FLOAT32: return (double)(float)value;
        case GANTRY_FLOAT64: return value;
        default: return half_number(dtype, half_bits(dtype, value));
    }
}

/* Numbers of a few bits: every sum is exact, for halves in float32, so results must be equal in any
 * order. */
static inline void *make_numbers(int32_t dtype, int64_t count, uint32_t seed) {
    void *data = malloc((size_t)(count > 0 ? count : 1) * 8);

    assert_non_null(data);
    for (int64_t i = 0; i < count; ++i) {
        double value;

        seed = seed * 1664525u + 1013904223u;
        value = (double)((int)(seed >> 28) - 7);
        put(data, dtype, i, value);
    }
    return data;
}

/* The start of matrix `batch` of the output's batches in an input. */
static inline int64_t batch_begin(int32_t rank, const int64_t *dims, int32_t out_rank,
                                  const int64_t *out, int64_t batch) {
    int64_t begin = 0;
    int64_t stride = dims[rank - 1] * dims[rank - 2];

    for (int32_t d = out_rank - 3; d >= 0; --d) {
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

static inline void check_result(const product_t *p, const void *a, const void *b, const void *c) {
    int64_t out[8];
    int32_t rank = output_dims(p, out);
    int64_t m = out[rank - 2];
    int64_t n = out[rank - 1];
    int64_t k = p->a_dims[p->a_rank - (p->is_a_transposed ? 2 : 1)];
    int64_t batches = elements(rank - 2, out);

    for (int64_t batch = 0; batch < batches; ++batch) {
        int64_t a0 = batch_begin(p->a_rank, p->a_dims, rank, out, batch);
        int64_t b0 = batch_begin(p->b_rank, p->b_dims, rank, out, batch);

        for (int64_t e = 0; e < m * n; ++e) {
            int64_t i = e / n;
            int64_t j = e % n;
            double sum = 0;

            for (int64_t s = 0; s < k; ++s) {
                sum += get(a, p->dtype, a0 + (p->is_a_transposed ? s * m + i : i * k + s)) *
                       get(b, p->dtype, b0 + (p->is_b_transposed ? j * k + s : s * n + j));
            }
            sum = rounded(p->dtype, sum);
            if (get(c, p->dtype, batch * m * n + e) != sum) {
                fail_msg("batch %lld [%lld, %lld] of %lld x %lld x %lld: %g, not %g",
                         (long long)batch, (long long)i, (long long)j, (long long)m, (long long)k,
                         (long long)n, get(c, p->dtype, batch * m * n + e), sum);
            }
        }
    }
}

/* The first kernel for the op that accepts the call; NULL if none does. */
static const gantry_kernel_def_t *find_kernel(const core_t *core, const gantry_op_call_t *call) {
    const gantry_kernel_def_t *const *kernels = NULL;
    uint32_t count = core->fixture->backend->kernels(core->fixture->instance,
                                                     core->fixture->index[core->card], &kernels);

    for (uint32_t i = 0; i < count; ++i) {
        if (strcmp(kernels[i]->op, call->op) == 0 && kernels[i]->supports(call)) {
            assert_true(kernels[i]->priority > 0);
            return kernels[i];
        }
    }
    return NULL;
}

static inline gantry_arg_t make_arg(const product_t *p, int32_t rank, const int64_t *dims,
                                    gantry_span_t span) {
    gantry_arg_t arg = {
        .struct_size = sizeof arg, .dtype = p->dtype, .rank = rank, .dims = dims, .span = span};

    arg.element_count = elements(rank, dims);
    return arg;
}

/* Runs the product with all three tensors at offsets in one region; c gets the result. Returns
 * compute's status, or Unimplemented if no kernel accepts the call. */
static inline int32_t run(core_t *core, const product_t *p, const void *a, const void *b, void *c) {
    fixture_t *fixture = core->fixture;
    uint64_t item = size_of(p->dtype);
    int card = core->card;
    int64_t out[8];
    int32_t rank = output_dims(p, out);
    uint64_t a_bytes = (uint64_t)elements(p->a_rank, p->a_dims) * item;
    uint64_t b_bytes = (uint64_t)elements(p->b_rank, p->b_dims) * item;
    uint64_t c_bytes = (uint64_t)elements(rank, out) * item;
    uint64_t a_begin = 256 + p->shift;
    uint64_t b_begin = a_begin + (a_bytes + 511) / 256 * 256;
    uint64_t c_begin = b_begin + (b_bytes + 511) / 256 * 256;
    gantry_span_t all = fixture_region(fixture, card, c_begin + c_bytes + 256);
    gantry_arg_t x =
        make_arg(p, p->a_rank, p->a_dims, (gantry_span_t){all.region, a_begin, a_bytes});
    gantry_arg_t y =
        make_arg(p, p->b_rank, p->b_dims, (gantry_span_t){all.region, b_begin, b_bytes});
    gantry_arg_t z = make_arg(p, rank, out, (gantry_span_t){all.region, c_begin, c_bytes});
    const gantry_arg_t *inputs[] = {&x, &y};
    gantry_arg_t *outputs[] = {&z};
    gantry_attr_t ta = {
        .struct_size = sizeof ta, .kind = GANTRY_ATTR_BOOL, .i = p->is_a_transposed};
    gantry_attr_t tb = {
        .struct_size = sizeof tb, .kind = GANTRY_ATTR_BOOL, .i = p->is_b_transposed};
    const gantry_attr_t *attrs[] = {&ta, &tb};
    gantry_device_info_t info = fixture->info[card];
    gantry_op_call_t call = {.struct_size = sizeof call,
                             .input_count = 2,
                             .output_count = 1,
                             .attr_count = 2,
                             .inputs = inputs,
                             .outputs = outputs,
                             .attrs = attrs,
                             .op = p->is_batched ? "BatchMatMul" : "MatMul",
                             .device_info = &info,
                             .device = fixture->device[card],
                             .stream = fixture->stream[card],
                             .services = &services,
                             .core = core};
    unsigned char edge[256];
    gantry_span_t behind = {all.region, c_begin + c_bytes, 256};
    int32_t status;

    ta.name = p->is_batched ? "adj_x" : "transpose_a";
    tb.name = p->is_batched ? "adj_y" : "transpose_b";
    if (core->vector_width != 0) {
        info.native_vector_width = core->vector_width;
    }
    if (core->compute_units != 0) {
        info.compute_units = core->compute_units;
    }
    assert_ok(
        /* NaN in every element */
        fixture->backend->transfer->fill(fixture->stream[card], &all, &(unsigned char){0xff}, 1));
    fixture_write(fixture, card, x.span, a);
    fixture_write(fixture, card, y.span, b);
    call.kernel = find_kernel(core, &call);
    if (call.kernel == NULL) {
        fixture_region_free(fixture, card, all);
        return GANTRY_UNIMPLEMENTED;
    }
    core->scratch_count = 0;
    status = call.kernel->compute(&call);
    assert_ok(fixture->backend->stream->synchronize(fixture->stream[card]));
    if (status == 0) {
        fixture_read(fixture, card, z.span, c);
        fixture_read(fixture, card, behind, edge);
        for (int i = 0; i < 256; ++i) {
            assert_int_equal(edge[i], 0xff);
        }
    }
    for (uint32_t i = 0; i < core->scratch_count; ++i) {
        fixture_region_free(fixture, card, core->scratch[i]);
    }
    fixture_region_free(fixture, card, all);
    return status;
}

static inline void check_product(core_t *core, const product_t *p) {
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

static inline product_t plain(int32_t dtype, int64_t m, int64_t k, int64_t n, int is_a_transposed,
                              int is_b_transposed) {
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

/* Each shape, m by k by n, plain and transposed, in all types. */
static inline void check_shapes(core_t *core, const int64_t (*shapes)[3], size_t count,
                                uint32_t shift) {
    for (size_t s = 0; s < count; ++s) {
        for (int form = 0; form < 4; ++form) {
            for (size_t t = 0; t < core->dtype_count; ++t) {
                product_t p = plain(core->dtypes[t], shapes[s][0], shapes[s][1], shapes[s][2],
                                    form & 1, form >> 1);

                p.shift = shift;
                check_product(core, &p);
            }
        }
    }
}

/* Batches of every kind in all types. */
static inline void check_batches(core_t *core) {
    static const product_t products[] = {
        {.a_rank = 3, .b_rank = 3, .a_dims = {5, 7, 9}, .b_dims = {5, 9, 11}},
        /* one b: its batches become rows */
        {.a_rank = 3, .b_rank = 2, .a_dims = {5, 7, 9}, .b_dims = {9, 33}},
        {.a_rank = 2, .b_rank = 3, .a_dims = {7, 9}, .b_dims = {4, 9, 3}},
        {.a_rank = 5, .b_rank = 4, .a_dims = {2, 1, 3, 7, 9}, .b_dims = {4, 1, 9, 5}},
        {.a_rank = 4,
         .b_rank = 4,
         .a_dims = {2, 3, 9, 7},
         .b_dims = {2, 3, 5, 9},
         .is_a_transposed = 1,
         .is_b_transposed = 1},
        {.a_rank = 8,
         .b_rank = 8,
         .a_dims = {2, 1, 2, 1, 2, 1, 3, 4},
         .b_dims = {1, 2, 1, 2, 1, 2, 4, 3}},
        {.a_rank = 3,
         .b_rank = 3,
         .a_dims = {3, 40, 70},
         .b_dims = {1, 90, 70},
         .is_b_transposed = 1},
    };

    for (size_t i = 0; i < sizeof products / sizeof products[0]; ++i) {
        for (size_t t = 0; t < core->dtype_count; ++t) {
            product_t p = products[i];

            p.dtype = core->dtypes[t];
            p.is_batched = 1;
            check_product(core, &p);
        }
    }
}

#endif
