/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The CPU backend's reductions and ArgMax agree with plain loops, and sums follow the
 * definition of their tree, element by element. */
#include <math.h>

#include "cpu_reduce_case.h"
#include "test.h"

/* ---- the definition in plain C ---- */

enum { SUM, MEAN, MAX, MIN, PROD, NORM, OPS };
static const char *const op_names[] = {"Sum", "Mean", "Max", "Min", "Prod", "EuclideanNorm"};

#define DEFINE_TREE(T, name, max_lowest)                                      \
    static T name##_combine(int op, T a, T b) {                               \
        switch (op) {                                                         \
            case MAX: return b > a || b != b ? b : a;                         \
            case MIN: return b < a || b != b ? b : a;                         \
            case PROD: return a * b;                                          \
            default: return a + b;                                            \
        }                                                                     \
    }                                                                         \
    static T name##_tree(int op, const T *x, int64_t count) {                 \
        T *chunks = malloc((size_t)(count / 4096 + 1) * sizeof(T));           \
        int64_t found = 0;                                                    \
        for (int64_t begin = 0; begin < count; begin += 4096) {               \
            T lanes[64];                                                      \
            for (int k = 0; k < 64; ++k) {                                    \
                lanes[k] = op == MAX   ? (T)(max_lowest)                      \
                           : op == MIN ? (T) - (max_lowest)                   \
                                       : (T)(op == PROD);                     \
            }                                                                 \
            for (int64_t i = begin; i < count && i < begin + 4096; ++i) {     \
                lanes[i % 64] = name##_combine(op, lanes[i % 64], x[i]);      \
            }                                                                 \
            for (int half = 32; half > 0; half /= 2) {                        \
                for (int k = 0; k < half; ++k) {                              \
                    lanes[k] = name##_combine(op, lanes[k], lanes[k + half]); \
                }                                                             \
            }                                                                 \
            chunks[found++] = lanes[0];                                       \
        }                                                                     \
        T result = found == 1 ? chunks[0] : name##_tree(op, chunks, found);   \
        free(chunks);                                                         \
        return result;                                                        \
    }
DEFINE_TREE(float, f32, -INFINITY)
DEFINE_TREE(double, f64, -INFINITY)

#define DEFINE_RESULT(T, name, root)                           \
    static T name##_result(int op, T *x, int64_t count) {      \
        if (op == NORM) {                                      \
            for (int64_t i = 0; i < count; ++i) {              \
                x[i] = x[i] * x[i];                            \
            }                                                  \
            return root(name##_tree(op, x, count));            \
        }                                                      \
        T all = count == 1 ? x[0] : name##_tree(op, x, count); \
        return op == MEAN && count > 1 ? all / (T)count : all; \
    }
DEFINE_RESULT(float, f32, sqrtf)
DEFINE_RESULT(double, f64, sqrt)

/* The elements' sum; 0 if it wrapped to a negative number. */
static int64_t integer_root(int64_t square) {
    int64_t root = square > 0 ? (int64_t)sqrt((double)square) : 0;
    while (root > 0 && (uint64_t)root * (uint64_t)root > (uint64_t)square) {
        root--;
    }
    while (square > 0 && (uint64_t)(root + 1) * (uint64_t)(root + 1) <= (uint64_t)square) {
        root++;
    }
    return root;
}

/* Integers: the order does not matter. */
static int64_t integer_reduce(int op, int32_t dtype, const int64_t *x, int64_t count) {
    uint64_t sum = op == PROD;
    int64_t best = x[0];
    for (int64_t i = 0; i < count; ++i) {
        sum = op == PROD ? sum * (uint64_t)x[i]
                         : sum + (uint64_t)x[i] * (op == NORM ? (uint64_t)x[i] : 1);
        best = (op == MAX && x[i] > best) || (op == MIN && x[i] < best) ? x[i] : best;
    }
    if (op == MEAN) {
        return (int64_t)sum / count;
    }
    const int64_t wrapped = dtype == I32 ? (int32_t)(uint32_t)sum : (int64_t)sum;
    if (op == NORM) {
        return integer_root(wrapped);
    }
    return op == SUM || op == PROD ? wrapped : best;
}

/* The sequence of elements that the output element reduces, in row-major order. Each is widened to
 * 8 bytes unless it is float32; halves are widened to float32. */
static int64_t collect(const gantry_arg_t *input, uint32_t mask, int64_t output, void *sequence) {
    int64_t found = 0;
    for (int64_t i = 0; i < input->element_count; ++i) {
        int64_t rest = i, place = 0, scale = 1;
        for (int32_t a = input->rank - 1; a >= 0; --a) {
            int64_t at = rest % input->dims[a];
            rest /= input->dims[a];
            if (!(mask >> a & 1u)) {
                place += at * scale;
                scale *= input->dims[a];
            }
        }
        if (place != output) {
            continue;
        }
        if (input->dtype == F32) {
            ((float *)sequence)[found] = ((float *)input->data)[i];
        } else if (input->dtype == F16) {
            ((float *)sequence)[found] = gantry__f16_to_f32(((uint16_t *)input->data)[i]);
        } else if (input->dtype == BF16) {
            ((float *)sequence)[found] = gantry__bf16_to_f32(((uint16_t *)input->data)[i]);
        } else if (input->dtype == I32) {
            ((int64_t *)sequence)[found] = ((int32_t *)input->data)[i];
        } else { /* of either type */
            memcpy((char *)sequence + found * 8, (const char *)input->data + i * 8, 8);
        }
        found++;
    }
    return found;
}

static void check_output(int op, const gantry_arg_t *input, uint32_t mask,
                         const gantry_arg_t *output, int64_t at) {
    int64_t *sequence = calloc((size_t)input->element_count + 1, 8);
    int64_t count = collect(input, mask, at, sequence);
    if (input->dtype == F32) {
        float expected = f32_result(op, (float *)sequence, count);
        assert_memory_equal(&expected, (float *)output->data + at, sizeof expected);
    } else if (input->dtype == F16 || input->dtype == BF16) {
        float all = f32_result(op, (float *)sequence, count);
        uint16_t expected =
            input->dtype == F16 ? gantry__f32_to_f16(all) : gantry__f32_to_bf16(all);
        assert_int_equal(expected, ((uint16_t *)output->data)[at]);
    } else if (input->dtype == F64) {
        double expected = f64_result(op, (double *)sequence, count);
        assert_memory_equal(&expected, (double *)output->data + at, sizeof expected);
    } else {
        int64_t expected = integer_reduce(op, input->dtype, sequence, count);
        int64_t actual =
            input->dtype == I32 ? ((int32_t *)output->data)[at] : ((int64_t *)output->data)[at];
        assert_int_equal(expected, actual);
    }
    free(sequence);
}

static gantry_arg_t *reduced_output(cpu_call_t *cpu, const gantry_arg_t *input, uint32_t mask) {
    int64_t sizes[GANTRY_MAX_RANK];
    int32_t rank = 0;
    for (int32_t i = 0; i < input->rank; ++i) {
        if (!(mask >> i & 1u)) {
            sizes[rank++] = input->dims[i];
        }
    }
    return cpu_tensor(cpu, input->dtype, rank, sizes);
}

static gantry_arg_t *axes_of(cpu_call_t *cpu, uint32_t mask) {
    int32_t axes[GANTRY_MAX_RANK];
    int64_t count = 0;
    for (int32_t i = 0; i < GANTRY_MAX_RANK; ++i) {
        if (mask >> i & 1u) {
            axes[count++] = i;
        }
    }
    return cpu_ints(cpu, count, axes);
}

static gantry_arg_t *reduce(cpu_call_t *cpu, const char *op, const gantry_arg_t *input,
                            uint32_t mask) {
    gantry_arg_t *output = reduced_output(cpu, input, mask);
    const gantry_arg_t *inputs[] = {input, axes_of(cpu, mask)};
    assert_int_equal(cpu_compute(cpu, kernel_of(op), inputs, 2, output, NULL, 0), 0);
    return output;
}

/* Reduces random data of the shape, and checks `checks` of the outputs. */
static void check_shape(cpu_call_t *cpu, int op, int32_t dtype, int32_t rank, const int64_t *sizes,
                        uint32_t mask, int checks) {
    gantry_arg_t *input = cpu_tensor(cpu, dtype, rank, sizes);
    randomize(input);
    gantry_arg_t *output = reduce(cpu, op_names[op], input, mask);
    for (int i = 0; i < checks; ++i) {
        int64_t at = checks >= output->element_count
                         ? i % output->element_count
                         : (int64_t)(random_bits() % (uint64_t)output->element_count);
        check_output(op, input, mask, output, at);
    }
    cpu_call_clear(cpu);
}

/* ---- tests ---- */

enum { TYPES = 6 };
static const int32_t number_dtypes[TYPES] = {F32, F64, I32, I64, F16, BF16};

TEST(reduction_every_length_follows_the_tree) {
    static const int64_t more[] = {255, 256, 257, 4095, 4096, 4097, 8191, 8192, 8193, 100000};
    int best = gantry__cpu_simd_detect(NULL);
    for (int level = 0; level <= best; ++level) {
        cpu_call_t cpu;
        cpu_call_open(&cpu, level, 2);
        for (int64_t n = 1; n <= 140; ++n) {
            int64_t length = n <= 130 ? n : more[n - 131];
            for (int k = 0; k < OPS * TYPES; ++k) {
                check_shape(&cpu, k / TYPES, number_dtypes[k % TYPES], 1, &length, 1, 1);
            }
        }
        cpu_call_close(&cpu);
    }
}

TEST(reduction_three_levels_follow_the_tree) {
    int64_t length = 4096 * 4096 + 5000;
    cpu_call_t cpu;
    cpu_call_open(&cpu, -1, 2);
    gantry_arg_t *input = cpu_tensor(&cpu, F32, 1, &length);
    randomize(input);
    gantry_arg_t *output = reduce(&cpu, "Sum", input, 1);
    float expected = f32_tree(SUM, input->data, length);
    assert_memory_equal(&expected, output->data, sizeof expected);
    cpu_call_close(&cpu);
}

TEST(reduction_rows_and_columns_follow_the_tree) {
    static const int64_t shapes[][3] = {
        {1, 3, 5},    {7, 10, 1},     {130, 10, 1}, {66, 32, 1},   {66, 33, 1},  {5, 64, 1},
        {3, 65, 1},   {2, 5000, 1},   {1, 64, 3},   {1, 65, 3},    {4, 100, 2},  {1, 5000, 3},
        {2, 9000, 5}, {1, 20, 64},    {1, 200, 64}, {1, 130, 65},  {1, 33, 128}, {1, 70, 129},
        {3, 70, 200}, {2, 1, 300},    {1, 2, 1500}, {1, 63, 1030}, {1, 64, 600}, {2, 65, 2050},
        {1, 4097, 3}, {1, 4097, 140}, {66, 17, 1},  {130, 63, 1},  {130, 64, 1}, {70, 4, 8},
        {9, 3, 8},    {2, 127, 6},    {2, 128, 6}};
    int best = gantry__cpu_simd_detect(NULL);
    for (int level = 0; level <= best; ++level) {
        cpu_call_t cpu;
        cpu_call_open(&cpu, level, 2);
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; ++s) {
            int step =
                /* large shapes: each operation with one type */
                shapes[s][0] * shapes[s][1] * shapes[s][2] > 50000 ? 7 : 1;
            for (int k = 0; k < OPS * TYPES; k += step) {
                check_shape(&cpu, k / TYPES, number_dtypes[k % TYPES], 3, shapes[s], 2,
                            step == 1 ? 2 : 1);
            }
        }
        cpu_call_close(&cpu);
    }
}

TEST(reduction_any_axes_follow_the_tree) {
    cpu_call_t cpu;
    cpu_call_open(&cpu, -1, 2);
    for (int round = 0; round < 360; ++round) {
        int64_t sizes[GANTRY_MAX_RANK];
        int32_t rank = 1 + (int32_t)(random_bits() % GANTRY_MAX_RANK);
        int64_t limit = 12000;
        for (int32_t i = 0; i < rank; ++i) {
            sizes[i] = 1 + (int64_t)(random_bits() % (i % 3 == 0 ? 9u : 4u));
            limit /= sizes[i];
        }
        sizes[random_bits() % (uint32_t)rank] *=
            limit > 1 ? 1 + (int64_t)(random_bits() % (uint64_t)limit) : 1;
        check_shape(&cpu, round % OPS, number_dtypes[round / OPS % TYPES], rank, sizes,
                    random_bits() & ((1u << rank) - 1), 3);
    }
    for (int round = 0; round < OPS * 4; ++round) {
        const int64_t big[] = {70, 3, 90, 2};
        const int64_t wide[] = {3, 2, 70, 300};
        check_shape(&cpu, round / 4, number_dtypes[(round + round / 4) % TYPES], 4, big, 5, 4);
        check_shape(&cpu, round / 4, number_dtypes[(round + round / 4) % TYPES], 4, big, 10, 4);
        check_shape(&cpu, round / 4, number_dtypes[(round + round / 4) % TYPES], 4, wide, 5, 1);
        check_shape(&cpu, round / 4, number_dtypes[(round + round / 4) % TYPES], 4, wide, 7, 1);
    }
    cpu_call_close(&cpu);
}

/* Sums data of [rows, columns] over the axes of mask at a level, with threads. The first result
 * goes to *first, and later ones must equal it. */
static void sum_again(const int64_t *sizes, uint32_t mask, const float *data, int level,
                      uint32_t threads, void **first) {
    cpu_call_t cpu;
    cpu_call_open(&cpu, level, threads);
    gantry_arg_t *input = cpu_tensor(&cpu, F32, 2, sizes);
    memcpy(input->data, data, (size_t)input->element_count * sizeof(float));
    gantry_arg_t *output = reduce(&cpu, "Sum", input, mask);
    size_t bytes = (size_t)output->element_count * sizeof(float);
    if (*first == NULL) {
        *first = malloc(bytes);
        memcpy(*first, output->data, bytes);
    }
    assert_memory_equal(*first, output->data, bytes);
    cpu_call_close(&cpu);
}

TEST(sum_threads_and_levels_give_equal_bits) {
    static const int64_t shapes[][2] = {
        {1, 300003}, {300, 1003}, {60000, 3}, {12, 30011}, {40001, 7}};
    int best = gantry__cpu_simd_detect(NULL);
    cpu_call_t source;
    cpu_call_open(&source, 0, 1);
    gantry_arg_t *data = cpu_tensor(&source, F32, 2, (const int64_t[]){1000, 400});
    randomize(data);
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; ++s) {
        for (uint32_t mask = 1; mask <= 3; ++mask) {
            void *first = NULL;
            for (int run = 0; run < 4; ++run) {
                sum_again(shapes[s], mask, data->data, run < best ? run : best,
                          (uint32_t)(run % 3 + 1), &first);
            }
            free(first);
        }
    }
    cpu_call_close(&source);
}

/* One level over adjacent lines, beyond the caches. */
static void reduce_lines(const gantry__cpu_reduce_loops_t *loops, const gantry_arg_t *in,
                         int64_t length, int reads_ahead, double *out) {
    gantry__cpu_reduce_plan_t plan = {.in = in->data,
                                      .out = out,
                                      .out_dtype = in->dtype,
                                      .reads_ahead = reads_ahead,
                                      .block = 1,
                                      .blocks = 1};
    gantry__reduce_shape_plain(in->element_count / length, length, 1, &plan.shape);
    plan.chunks = gantry__reduce_chunks(length);
    plan.units = plan.shape.outer * plan.chunks;
    gantry__cpu_reduce_units(loops, &plan, 0, plan.units / 3);
    gantry__cpu_reduce_units(loops, &plan, plan.units / 3, plan.units);
}

/* On cores whose hardware prefetcher reads ahead, lines are summed in pairs. This test does so on
 * every machine. */
TEST(reduction_of_lines_in_pairs_gives_the_bits_of_single_ones) {
    static const int64_t lengths[] = {64, 192, 1000, 4096, 61 * 4096, 4097};
    cpu_call_t cpu;
    cpu_call_open(&cpu, 0, 1);
    for (int32_t tree = GANTRY_TREE_SUM; tree < GANTRY_TREE_KINDS; ++tree) {
        for (size_t t = 0; t < TYPES; ++t) {
            gantry_arg_t *in = cpu_tensor(&cpu, number_dtypes[t], 1, (const int64_t[]){1 << 20});
            randomize(in);
            for (int level = 0; level <= gantry__cpu_simd_detect(NULL); ++level) {
                gantry__cpu_reduce_loops_t loops = {0};
                const int found =
                    tree == GANTRY_TREE_MAX || tree == GANTRY_TREE_MIN
                        ? GANTRY_CPU_PICK(level, reduce_find_extreme)(tree, in->dtype, &loops)
                        : GANTRY_CPU_PICK(level, reduce_find)(tree, in->dtype, &loops);
                for (size_t l = 0; found && l < sizeof lengths / sizeof lengths[0]; ++l) {
                    static double single[1 << 14], pairs[1 << 14];
                    in->element_count = (1 << 20) / lengths[l] * lengths[l];
                    memset(single, 0, sizeof single);
                    memset(pairs, 0, sizeof pairs);
                    reduce_lines(&loops, in, lengths[l], 0, single);
                    reduce_lines(&loops, in, lengths[l], 1, pairs);
                    assert_memory_equal(single, pairs, sizeof single);
                }
            }
        }
    }
    cpu_call_close(&cpu);
}

TEST(sum_of_one_element_keeps_its_sign) {
    cpu_call_t cpu;
    const int64_t sizes[] = {3, 1};
    cpu_call_open(&cpu, -1, 1);
    gantry_arg_t *input = cpu_tensor(&cpu, F32, 2, sizes);
    for (int i = 0; i < 3; ++i) {
        ((float *)input->data)[i] = -0.0f;
    }
    gantry_arg_t *kept = reduce(&cpu, "Sum", input, 2);
    gantry_arg_t *summed = reduce(&cpu, "Sum", input, 1);
    assert_true(signbit(((float *)kept->data)[0]) != 0);
    assert_true(signbit(((float *)summed->data)[0]) == 0);
    cpu_call_close(&cpu);
}

TEST(max_and_min_nan_anywhere_spreads) {
    cpu_call_t cpu;
    const int64_t sizes[] = {3, 200};
    cpu_call_open(&cpu, -1, 1);
    for (int64_t place = 0; place < 200; place += 7) {
        gantry_arg_t *input = cpu_tensor(&cpu, F32, 2, sizes);
        randomize(input);
        ((float *)input->data)[200 + place] = NAN;
        for (int op = MAX; op <= MIN; ++op) {
            float *rows = reduce(&cpu, op_names[op], input, 2)->data;
            float *columns = reduce(&cpu, op_names[op], input, 1)->data;
            assert_true(!isnan(rows[0]) && isnan(rows[1]) && !isnan(rows[2]));
            for (int64_t i = 0; i < 200; ++i) {
                assert_int_equal(isnan(columns[i]) != 0, i == place);
            }
        }
        cpu_call_clear(&cpu);
    }
    cpu_call_close(&cpu);
}

TEST(reduction_empty_input_gives_identity) {
    cpu_call_t cpu;
    const int64_t sizes[] = {0, 3};
    cpu_call_open(&cpu, -1, 1);
    gantry_arg_t *floats = cpu_tensor(&cpu, F32, 2, sizes);
    gantry_arg_t *doubles = cpu_tensor(&cpu, F64, 2, sizes);
    gantry_arg_t *ints = cpu_tensor(&cpu, I32, 2, sizes);
    gantry_arg_t *longs = cpu_tensor(&cpu, I64, 2, sizes);
    assert_true(((float *)reduce(&cpu, "Sum", floats, 1)->data)[2] == 0.0f);
    assert_true(isnan(((float *)reduce(&cpu, "Mean", floats, 1)->data)[2]));
    assert_true(((float *)reduce(&cpu, "Max", floats, 1)->data)[2] == -INFINITY);
    assert_true(((double *)reduce(&cpu, "Min", doubles, 1)->data)[2] == INFINITY);
    assert_true(isnan(((double *)reduce(&cpu, "Mean", doubles, 1)->data)[0]));
    assert_int_equal(((int32_t *)reduce(&cpu, "Mean", ints, 1)->data)[1], 0);
    assert_int_equal(((int32_t *)reduce(&cpu, "Max", ints, 1)->data)[1], INT32_MIN);
    assert_int_equal(((int32_t *)reduce(&cpu, "Min", ints, 1)->data)[1], INT32_MAX);
    assert_true(((int64_t *)reduce(&cpu, "Max", longs, 1)->data)[1] == INT64_MIN);
    assert_true(((int64_t *)reduce(&cpu, "Min", longs, 1)->data)[1] == INT64_MAX);
    assert_int_equal(((int64_t *)reduce(&cpu, "Sum", longs, 1)->data)[1], 0);
    cpu_call_close(&cpu);
}

TEST(mean_of_int32_sums_in_64_bits_and_truncates) {
    static const int32_t values[] = {INT32_MAX, INT32_MAX, 5, -7, 0, 0};
    cpu_call_t cpu;
    const int64_t sizes[] = {2, 3};
    cpu_call_open(&cpu, -1, 1);
    gantry_arg_t *input = cpu_tensor(&cpu, I32, 2, sizes);
    memcpy(input->data, values, sizeof values);
    int32_t *rows = reduce(&cpu, "Mean", input, 2)->data;
    assert_int_equal(rows[0], 1431655766); /* TensorFlow's result */
    assert_int_equal(rows[1], -2);
    cpu_call_close(&cpu);
}

TEST(sum_scratch_exhausted_returns_the_status) {
    cpu_call_t cpu;
    const int64_t sizes[] = {100000};
    static const char *const ops[] = {"Sum", "Mean"};
    cpu_call_open(&cpu, -1, 2);
    for (int k = 0; k < 4; ++k) {
        gantry_arg_t *input = cpu_tensor(&cpu, k < 2 ? F32 : I32, 1, sizes);
        randomize(input);
        gantry_arg_t *output = reduced_output(&cpu, input, 1);
        const gantry_arg_t *inputs[] = {input, axes_of(&cpu, 1)};
        cpu.scratch_left = 0;
        assert_int_equal(cpu_compute(&cpu, kernel_of(ops[k % 2]), inputs, 2, output, NULL, 0),
                         GANTRY_RESOURCE_EXHAUSTED);
    }
    cpu_call_close(&cpu);
}

/* ---- ArgMax ---- */

static void check_argmax(cpu_call_t *cpu, const gantry_arg_t *input, int32_t axis,
                         int32_t out_dtype) {
    int64_t sizes[GANTRY_MAX_RANK], inner = 1;
    int32_t rank = 0;
    for (int32_t i = 0; i < input->rank; ++i) {
        inner *= i > axis ? input->dims[i] : 1;
        if (i != axis) {
            sizes[rank++] = input->dims[i];
        }
    }
    gantry_arg_t *output = cpu_tensor(cpu, out_dtype, rank, sizes);
    int32_t negative = axis - input->rank;
    const gantry_arg_t *inputs[] = {input, cpu_ints(cpu, 1, &negative)};
    assert_int_equal(cpu_compute(cpu, kernel_of("ArgMax"), inputs, 2, output, NULL, 0), 0);
    for (int64_t i = 0; i < output->element_count; ++i) {
        int64_t base = i / inner * inner * input->dims[axis] + i % inner, best = 0;
        double value = -INFINITY;
        for (int64_t k = 0; k < input->dims[axis]; ++k) {
            double x = element(input, base + k * inner);
            best = x > value ? k : best;
            value = x > value ? x : value;
        }
        assert_int_equal(best, (int64_t)element(output, i));
    }
}

TEST(argmax_any_axis_finds_the_first_largest) {
    static const int64_t shapes[][3] = {{3, 5, 7},    {1, 1, 300}, {4, 63, 64},    {2, 65, 129},
                                        {2, 4097, 2}, {1, 3, 300}, {1, 1, 200001}, {2, 5000, 3}};
    static const int32_t dtypes[] = {F32, F64, I32, I64, GANTRY_BOOL};
    int best = gantry__cpu_simd_detect(NULL);
    for (int level = 0; level <= best; ++level) {
        cpu_call_t cpu;
        cpu_call_open(&cpu, level, 2);
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; ++s) {
            for (int k = 0; k < 15; ++k) {
                gantry_arg_t *input = cpu_tensor(&cpu, dtypes[k % 5], 3, shapes[s]);
                randomize(input);
                /* many ties */
                for (int64_t i = 0; i < input->element_count && dtypes[k % 5] == F32; ++i) {
                    ((float *)input->data)[i] = floorf(((float *)input->data)[i] / 64.0f);
                }
                /* exact as double */
                for (int64_t i = 0; i < input->element_count && dtypes[k % 5] == I64; ++i) {
                    ((int64_t *)input->data)[i] /= 4096;
                }
                check_argmax(&cpu, input, k / 5, k % 2 ? I32 : I64);
                cpu_call_clear(&cpu);
            }
        }
        cpu_call_close(&cpu);
    }
}

TEST(argmax_nan_never_wins) {
    cpu_call_t cpu;
    const int64_t sizes[] = {70000};
    cpu_call_open(&cpu, -1, 2);
    gantry_arg_t *input = cpu_tensor(&cpu, F32, 1, sizes);
    float *x = input->data;
    for (int64_t i = 0; i < sizes[0]; ++i) {
        x[i] = NAN;
    }
    check_argmax(&cpu, input, 0, I64); /* all NaN: 0 */
    x[66000] = -3.0f;
    check_argmax(&cpu, input, 0, I64);
    x[66001] = 3.0f;
    check_argmax(&cpu, input, 0, I32);
    x[5] = 3.0f;
    check_argmax(&cpu, input, 0, I32);
    x[0] = -INFINITY;
    check_argmax(&cpu, input, 0, I32);
    cpu_call_close(&cpu);
}

TEST(argmax_empty_axis_is_refused) {
    cpu_call_t cpu;
    const int64_t sizes[] = {0, 3}, out_sizes[] = {3};
    int32_t axis = 0;
    cpu_call_open(&cpu, -1, 1);
    const gantry_arg_t *inputs[] = {cpu_tensor(&cpu, F32, 2, sizes), cpu_ints(&cpu, 1, &axis)};
    gantry_arg_t *output = cpu_tensor(&cpu, I64, 1, out_sizes);
    assert_int_equal(cpu_compute(&cpu, kernel_of("ArgMax"), inputs, 2, output, NULL, 0),
                     GANTRY_INVALID_ARGUMENT);
    assert_non_null(strstr(cpu.message, "no elements"));
    cpu_call_close(&cpu);
}

int main(void) { return test_main(); }
