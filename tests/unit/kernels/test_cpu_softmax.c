/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Softmax and LogSoftmax of the CPU backend agree with their formula. */

#include "cpu_reduce_case.h"
#include "test.h"

static void check_softmax(cpu_call_t *cpu, int32_t dtype, int64_t rows, int64_t length) {
    const int64_t sizes[] = {rows, length};
    double tolerance = dtype == F32 ? 1e-5 : 1e-13;
    gantry_arg_t *input = cpu_tensor(cpu, dtype, 2, sizes);
    randomize(input);
    const gantry_arg_t *inputs[] = {input};
    gantry_arg_t *soft = cpu_tensor(cpu, dtype, 2, sizes);
    gantry_arg_t *logs = cpu_tensor(cpu, dtype, 2, sizes);
    assert_int_equal(cpu_compute(cpu, kernel_of("Softmax"), inputs, 1, soft, NULL, 0), 0);
    assert_int_equal(cpu_compute(cpu, kernel_of("LogSoftmax"), inputs, 1, logs, NULL, 0), 0);
    for (int64_t row = 0; row < rows; ++row) {
        double largest = -INFINITY, sum = 0;
        for (int64_t i = 0; i < length; ++i) {
            largest = fmax(largest, element(input, row * length + i));
        }
        for (int64_t i = 0; i < length; ++i) {
            sum += exp(element(input, row * length + i) - largest);
        }
        for (int64_t i = 0; i < length; ++i) {
            double shifted = element(input, row * length + i) - largest;
            assert_true(fabs(element(soft, row * length + i) - exp(shifted) / sum) <=
                        tolerance * exp(shifted) / sum + 1e-38);
            assert_true(fabs(element(logs, row * length + i) - (shifted - log(sum))) <=
                        tolerance * (1 + fabs(shifted)));
        }
    }
    cpu_call_clear(cpu);
}

TEST(softmax_rows_of_any_length_match_the_formula) {
    static const int64_t lengths[] = {1,  2,  3,  5,   10,   16,   31,   32,
                                      33, 64, 65, 100, 1000, 4096, 4097, 20000};
    int best = gantry__cpu_simd_detect(NULL);
    for (int level = 0; level <= best; ++level) {
        cpu_call_t cpu;
        cpu_call_open(&cpu, level, 2);
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; ++i) {
            check_softmax(&cpu, F32, 1, lengths[i]);
            check_softmax(&cpu, F32, lengths[i] < 100 ? 131 : 3, lengths[i]);
            check_softmax(&cpu, F64, lengths[i] < 100 ? 67 : 3, lengths[i]);
        }
        cpu_call_close(&cpu);
    }
}

TEST(softmax_levels_threads_and_forms_give_equal_bits) {
    static const int64_t shapes[][2] = {{1000, 5}, {300, 32}, {300, 33}, {9, 5000}};
    int best = gantry__cpu_simd_detect(NULL);
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; ++s) {
        for (int logarithm = 0; logarithm < 2; ++logarithm) {
            const char *op = logarithm ? "LogSoftmax" : "Softmax";
            size_t bytes = (size_t)(shapes[s][0] * shapes[s][1]) * sizeof(float);
            float *first = NULL;
            for (int run = 0; run < 2 * (best + 1); ++run) {
                cpu_call_t cpu;
                cpu_call_open(&cpu, run / 2, (uint32_t)(run % 2 + 1));
                gantry_arg_t *input = cpu_tensor(&cpu, F32, 2, shapes[s]);
                gantry_arg_t *output = cpu_tensor(&cpu, F32, 2, shapes[s]);
                const gantry_arg_t *inputs[] = {input};
                random_state = 5;
                randomize(input);
                assert_int_equal(cpu_compute(&cpu, kernel_of(op), inputs, 1, output, NULL, 0), 0);
                if (first == NULL) {
                    first = malloc(bytes);
                    memcpy(first, output->data, bytes);
                    const int64_t one[] = {1, shapes[s][1]}; /* a single row uses the other form */
                    gantry_arg_t *row = cpu_tensor(&cpu, F32, 2, one);
                    gantry_arg_t *alone = cpu_tensor(&cpu, F32, 2, one);
                    memcpy(row->data, (float *)input->data + shapes[s][1],
                           (size_t)shapes[s][1] * sizeof(float));
                    inputs[0] = row;
                    assert_int_equal(cpu_compute(&cpu, kernel_of(op), inputs, 1, alone, NULL, 0),
                                     0);
                    assert_memory_equal(alone->data, first + shapes[s][1],
                                        (size_t)shapes[s][1] * sizeof(float));
                }
                assert_memory_equal(first, output->data, bytes);
                cpu_call_close(&cpu);
            }
            free(first);
        }
    }
}

TEST(softmax_extremes_follow_the_formula) {
    static const float values[] = {INFINITY,  1,         NAN, 1,    -INFINITY,
                                   -INFINITY, -INFINITY, 1,   1000, -1000};
    cpu_call_t cpu;
    const int64_t sizes[] = {5, 2};
    cpu_call_open(&cpu, -1, 1);
    gantry_arg_t *input = cpu_tensor(&cpu, F32, 2, sizes);
    gantry_arg_t *output = cpu_tensor(&cpu, F32, 2, sizes);
    const gantry_arg_t *inputs[] = {input};
    memcpy(input->data, values, sizeof values);
    assert_int_equal(cpu_compute(&cpu, kernel_of("Softmax"), inputs, 1, output, NULL, 0), 0);
    const float *y = output->data;
    assert_true(isnan(y[0]) && isnan(y[2]) && isnan(y[3]) && isnan(y[4]) && isnan(y[5]));
    assert_true(y[6] == 0.0f && y[7] == 1.0f && y[8] == 1.0f && y[9] == 0.0f);
    assert_int_equal(cpu_compute(&cpu, kernel_of("LogSoftmax"), inputs, 1, output, NULL, 0), 0);
    assert_true(isnan(y[0]) && isnan(y[3]) && y[6] == -INFINITY && y[7] == 0.0f && y[8] == 0.0f &&
                y[9] == -2000.0f);
    cpu_call_close(&cpu);
}

int main(void) { return test_main(); }
