/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The reader of golden cases refuses every broken file, and the comparison reports every
 * kind of difference.
 * Promise: Of a golden output that is written as samples, the samples and a hash or a sum of all
 * elements are compared. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../conformance/golden.h"
#include "test.h"

#define WHOLE_CASE                                                                            \
    "{\"name\":\"a\",\"op\":\"Sum\",\"source\":\"tensorflow\",\"attrs\":{\"keep_dims\":true," \
    "\"axis\":-1,\"alpha\":{\"float\":0.25},\"DstT\":{\"type\":\"int64\"},"                   \
    "\"shape\":{\"shape\":[2,3]},\"dims\":[0,-2],\"none\":[],\"data_format\":\"NCHW\"},"      \
    "\"inputs\":[\"f32[2] 1,-2\",\"i32[2,2] 5,-1*\",\"b8[0,3]\",\"@pair\"],"                  \
    "\"outputs\":[\"f64[] =AAAAAAAA8L8\"],\"tolerance\":{\"ulp\":2,\"abs\":1e-6,\"rel\":0.5}}"
#define ERROR_CASE                                                            \
    "{\"name\":\"b\",\"op\":\"Sum\",\"source\":\"tensorflow\",\"inputs\":[]," \
    "\"error\":\"InvalidArgument\",\"message_contains\":\"axis\"}"

/* Writes text (the first `bytes` of it, or all) to a temporary file, loads the file, and returns
 * golden_load's result. */
static int load_text(const char *text, size_t bytes, golden_file_t *out, char *error,
                     size_t error_bytes) {
    char path[] = "/tmp/gantry_golden_XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    FILE *file = fdopen(descriptor, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
    int result = golden_load(path, out, error, error_bytes);
    remove(path);
    return result;
}

static const char *file_of(const char *cases) {
    static char text[8192];
    snprintf(
        text, sizeof text,
        "{\"format\":2,\"op\":\"Sum\",\"tensorflow_op\":\"Sum\",\"tensors\":{\"pair\":\"i64[2] "
        "7:2\"},\"cases\":[%s]}",
        cases);
    return text;
}

TEST(load_whole_file_gives_every_field) {
    golden_file_t file;
    char error[256] = "";
    const char *text = file_of(WHOLE_CASE "," ERROR_CASE);
    if (load_text(text, strlen(text), &file, error, sizeof error)) fail_msg("%s", error);
    assert_string_equal(file.op, "Sum");
    assert_int_equal(file.case_count, 2);
    const golden_case_t *item = &file.cases[0];
    assert_string_equal(item->name, "a");
    assert_string_equal(item->source, "tensorflow");
    assert_int_equal(item->error_status, GANTRY_OK);
    assert_int_equal(item->input_count, 4);
    assert_int_equal(item->inputs[0].dtype, GANTRY_FLOAT32);
    assert_int_equal(item->inputs[0].bytes, 8);
    const float floats[] = {1.0f, -2.0f};
    assert_memory_equal(item->inputs[0].data, floats, sizeof floats);
    const int32_t ints[] = {5, -1, 5, -1};
    assert_int_equal(item->inputs[1].shape.rank, 2);
    assert_memory_equal(item->inputs[1].data, ints, sizeof ints);
    assert_int_equal(item->inputs[2].bytes, 0);
    assert_non_null(item->inputs[2].data);
    const int64_t pair[] = {7, 7};
    assert_int_equal(item->inputs[3].dtype, GANTRY_INT64);
    assert_memory_equal(item->inputs[3].data, pair, sizeof pair);
    const double minus_one = -1.0;
    assert_int_equal(item->outputs[0].shape.rank, 0);
    assert_memory_equal(item->outputs[0].data, &minus_one, sizeof minus_one);
    assert_false(item->tolerance.exact);
    assert_int_equal(item->tolerance.ulp, 2);
    assert_true(item->tolerance.absolute == 1e-6 && item->tolerance.relative == 0.5);
    assert_int_equal(file.cases[1].error_status, GANTRY_INVALID_ARGUMENT);
    assert_string_equal(file.cases[1].message_contains, "axis");
    assert_int_equal(file.cases[1].output_count, 0);
    golden_free(&file);
    golden_free(&file);
}

TEST(load_case_without_optional_fields_gives_defaults) {
    golden_file_t file;
    char error[256] = "";
    const char *text = file_of("{\"name\":\"c\",\"inputs\":[],\"outputs\":[\"b8[1] 1\"]}");
    if (load_text(text, strlen(text), &file, error, sizeof error)) fail_msg("%s", error);
    assert_string_equal(file.cases[0].op, "Sum");
    assert_string_equal(file.cases[0].source, "tensorflow");
    assert_string_equal(file.cases[0].message_contains, "");
    assert_true(file.cases[0].tolerance.exact);
    assert_int_equal(file.cases[0].attr_count, 0);
    golden_free(&file);
}

TEST(load_attributes_gives_every_kind) {
    golden_file_t file;
    const char *text = file_of(WHOLE_CASE);
    assert_int_equal(load_text(text, strlen(text), &file, NULL, 0), 0);
    const golden_case_t *item = &file.cases[0];
    assert_int_equal(item->attr_count, 8);
    assert_true(golden_find_attr(item, "keep_dims")->bool_value);
    assert_int_equal(golden_find_attr(item, "axis")->kind, GOLDEN_ATTR_INT);
    assert_int_equal(golden_find_attr(item, "axis")->int_value, -1);
    assert_true(golden_find_attr(item, "alpha")->float_value == 0.25);
    assert_int_equal(golden_find_attr(item, "DstT")->type_value, GANTRY_INT64);
    assert_int_equal(golden_find_attr(item, "shape")->shape_value.rank, 2);
    assert_int_equal(golden_find_attr(item, "shape")->shape_value.dims[1], 3);
    const golden_attr_t *dims = golden_find_attr(item, "dims");
    assert_int_equal(dims->kind, GOLDEN_ATTR_INTS);
    assert_int_equal(dims->int_count, 2);
    assert_int_equal(dims->ints[1], -2);
    assert_int_equal(golden_find_attr(item, "none")->int_count, 0);
    assert_string_equal(golden_find_attr(item, "data_format")->string_value, "NCHW");
    assert_null(golden_find_attr(item, "absent"));
    golden_free(&file);
}

/* Loads the whole case after replacing one text in it. */
static void expect_refusal(const char *from, const char *to, const char *said) {
    char text[8192];
    const char *whole = file_of(WHOLE_CASE);
    const char *at = strstr(whole, from);
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - whole), whole, to, at + strlen(from));
    golden_file_t file;
    char error[512] = "";
    if (load_text(text, strlen(text), &file, error, sizeof error) == 0)
        fail_msg("accepted: %s for %s", to, from);
    if (!strstr(error, said)) fail_msg("for %s: \"%s\" does not say \"%s\"", to, error, said);
    assert_null(file.cases);
}

TEST(load_broken_field_is_refused) {
    expect_refusal("\"format\":2", "\"format\":1", "\"format\" is not 2");
    expect_refusal("\"format\":2,", "", "\"format\" is not 2");
    expect_refusal("\"op\":\"Sum\",\"tensorflow_op\"", "\"tensorflow_op\"", "\"op\" is missing");
    expect_refusal("\"name\":\"a\"", "\"name\":7", "\"name\" is missing or not a string");
    expect_refusal("\"shape\":[2,3]", "\"shape\":[1,1,1,1,1,1,1,1,1]", "at most 8");
    expect_refusal("\"shape\":[2,3]", "\"shape\":[0.5]", "an integer was expected");
    expect_refusal("\"keep_dims\":true", "\"keep_dims\":{\"half\":1}", "unknown kind half");
    expect_refusal("\"keep_dims\":true", "\"keep_dims\":{}", "unknown kind (none)");
    expect_refusal("\"keep_dims\":true", "\"keep_dims\":0.5", "an integer was expected");
    expect_refusal("\"type\":\"int64\"", "\"type\":\"int65\"", "DstT is not a known type");
    expect_refusal("{\"float\":0.25}", "{\"float\":\"1\"}", "alpha is not a number");
    expect_refusal("\"dims\":[0,-2]", "\"dims\":[0,\"1\"]", "an integer was expected");
    expect_refusal("\"ulp\":2", "\"ulps\":2", "unknown bound \"ulps\"");
    expect_refusal("\"ulp\":2", "\"ulp\":-2", "negative");
    expect_refusal("\"tolerance\":{\"ulp\":2,\"abs\":1e-6,\"rel\":0.5}", "\"tolerance\":{}",
                   "or is empty");
    expect_refusal("\"tolerance\":{\"ulp\":2,\"abs\":1e-6,\"rel\":0.5}", "\"tolerance\":1",
                   "is not an object");
    expect_refusal("\"source\":\"tensorflow\"", "\"source\":1",
                   "\"source\" is missing or not a string");
    expect_refusal("\"tolerance\":", "\"error\":\"InvalidArgument\",\"tolerance\":",
                   "an error case has outputs");
    expect_refusal(
        "\"tolerance\":", "\"error\":\"Invalid\",\"tolerance\":", "unknown status Invalid");
}

/* In place of the text of the first input. */
static void expect_text_refused(const char *text, const char *said) {
    char quoted[256];
    snprintf(quoted, sizeof quoted, "\"%s\"", text);
    expect_refusal("\"f32[2] 1,-2\"", quoted, said);
}

TEST(load_broken_tensor_is_refused) {
    expect_text_refused("f31[2] 1,-2", "case a: unknown type f31");
    expect_text_refused("f32 1,-2", "unknown type f32 1,-2");
    expect_text_refused("f32[2 1,-2", "does not end with ]");
    expect_text_refused("f32[-1] 1", "does not end with ]");
    expect_text_refused("f32[1,1,1,1,1,1,1,1,1] 1", "at most 8");
    expect_text_refused("f32[4000000000,4000000000] 1", "shape is too large");
    expect_text_refused("f32[2]", "a tensor has no data");
    expect_text_refused("f32[2] ", "a tensor of 2 elements has data of 0");
    expect_text_refused("f32[0] 1", "a tensor without elements has data");
    expect_text_refused("f32[2] 1", "a tensor of 2 elements has data of 1");
    expect_text_refused("f32[2] 1,2,3", "more than 2 elements");
    expect_text_refused("f32[2] 1,", "element 0 of a tensor is not a number");
    expect_text_refused("f32[2] 1,x", "element 1 of a tensor is not a number");
    expect_text_refused("f32[2] 1,2x", "element 1 of a tensor is not a number");
    expect_text_refused("f32[2] 1:3", "element 0 of a tensor is not a number");
    expect_text_refused("f32[2] 1:0,2", "element 0 of a tensor is not a number");
    expect_text_refused("i64[1] 9223372036854775808888", "element 0 of a tensor is not a number");
    expect_text_refused("c64[1] 1", "complex numbers has no numbers");
    expect_text_refused("f32[2] =AAAA-AAA", "not base64 at '-'");
    expect_text_refused("f32[2] =AAAAAA", "a tensor of 2 elements has data of 1");
    expect_text_refused("f32[2] =AAAAA", "data of 3 bytes, and elements of 4");
    expect_text_refused("f32[2] =AAAAAAAAAAAAAAA", "data of more than 8 bytes");
    expect_text_refused("f32[2] *", "a tensor of 2 elements has data of 0");
    expect_text_refused("f32[2] 1,2#0123456789abcdef", "a tensor of 2 elements has data of 2");
    expect_text_refused("f32[2] ~x", "not drawn as ~x");
    expect_text_refused("f32[2] ~4294967296", "not drawn as ~4294967296");
    expect_text_refused("f32[2] ~1*3", "not drawn as ~1*3");
    expect_text_refused("c64[2] ~1", "complex numbers is drawn");
    expect_text_refused("f32[100] ?1,2", "2 samples instead of 64");
    expect_text_refused("f32[100] ?1:16#12", "a hash has 16 digits, not 12");
    expect_text_refused("f32[100] ?1:2#0123456789abcdef", "2 samples instead of 16");
    expect_text_refused("f32[100] ?1:64*", "samples end with \"*\"");
    expect_text_refused("f32[100] ?1:64", "samples end with \"\"");
    expect_text_refused("f32[100] ?1:64#=x", "a sum is a number, not x");
    expect_text_refused("f32[100] ?1:64#=inf", "a sum is a number, not inf");
    expect_text_refused("f32[100] ?1:64#=2.5", "input 0 is given by samples");
    expect_text_refused("@none", "\"tensors\" has no text @none");
    expect_refusal("\"f32[2] 1,-2\"", "7", "a tensor is not a text");
    expect_refusal("f64[] =AAAAAAAA8L8", "f64[100] ?1:16#0123456789abcdef",
                   "output 0 has both a hash and a bound");
    expect_refusal("f64[] =AAAAAAAA8L8", "i32[100] ?1:64#=2", "output 0 has a sum without a bound");
}

static void expect_bytes(const char *text, const void *bytes, size_t count) {
    char why[256] = "";
    golden_tensor_t tensor;
    if (golden_read_tensor(text, &tensor, why, sizeof why)) fail_msg("%s: %s", text, why);
    assert_int_equal(tensor.bytes, count);
    assert_memory_equal(tensor.data, bytes, count);
    free(tensor.data);
}

TEST(a_tensor_is_read_in_every_form) {
    expect_bytes("f32[4] 1:2,-2.5,inf", (const float[]){1, 1, -2.5f, INFINITY}, 16);
    expect_bytes("f16[3] 1,-0,nan", (const uint16_t[]){0x3c00, 0x8000, 0x7e00}, 6);
    expect_bytes("bf16[2] 1e-40,3.39e38", (const uint16_t[]){1, 0x7f7f}, 4);
    expect_bytes("i64[2] -9223372036854775808,5", (const int64_t[]){INT64_MIN, 5},
                 2 * sizeof(int64_t));
    expect_bytes("u64[1] 18446744073709551615", (const uint64_t[]){UINT64_MAX}, 8);
    expect_bytes("i8[5] 1,-2*", (const int8_t[]){1, -2, 1, -2, 1}, 5);
    expect_bytes("u8[3] =AQID", (const uint8_t[]){1, 2, 3}, 3);
    expect_bytes("c64[1] =AACAPwAAAEA", (const float[]){1, 2}, 8);
    expect_bytes("b8[] 1", (const uint8_t[]){1}, 1);
}

/* numpy.random.RandomState(7): uniform(-4, 4), randint(-1000, 1001) and randint(0, 2) */
TEST(drawn_elements_are_those_of_numpy) {
    expect_bytes("f64[3] ~7",
                 (const double[]){-3.3895336850083426, 2.239350337920917, -0.492726148472852},
                 3 * sizeof(double));
    expect_bytes("i32[4] ~7", (const int32_t[]){-825, 220, -463, -498}, 16);
    expect_bytes("i32[4] ~7*3", (const int32_t[]){-825, 220, -463, -825}, 16);
    expect_bytes("b8[6] ~7", (const uint8_t[]){1, 0, 1, 0, 1, 1}, 6);
}

TEST(load_missing_or_empty_file_is_refused) {
    golden_file_t file;
    char error[256] = "";
    assert_int_equal(golden_load("/nonexistent/Sum.json", &file, error, sizeof error), -1);
    assert_non_null(strstr(error, "/nonexistent/Sum.json: cannot be opened"));
    assert_int_equal(load_text("", 0, &file, error, sizeof error), -1);
    assert_non_null(strstr(error, "not JSON"));
    const char *none = file_of("");
    assert_int_equal(load_text(none, strlen(none), &file, error, sizeof error), -1);
    assert_non_null(strstr(error, "\"cases\" is missing or empty"));
}

TEST(load_file_cut_anywhere_is_refused) {
    const char *text = file_of(WHOLE_CASE "," ERROR_CASE);
    golden_file_t file;
    for (size_t bytes = 0; bytes < strlen(text); bytes += 3) {
        assert_int_equal(load_text(text, bytes, &file, NULL, 0), -1);
    }
}

static golden_tensor_t floats_of(const float *data, int64_t count) {
    return (golden_tensor_t){.dtype = GANTRY_FLOAT32,
                             .shape = GANTRY_SHAPE(count),
                             .bytes = (size_t)count * sizeof *data,
                             .data = (void *)(uintptr_t)data};
}

static int compare_one(float expected, float actual, golden_tolerance_t tolerance) {
    golden_tensor_t tensor = floats_of(&expected, 1);
    return golden_compare(&tensor, &tolerance, &actual, NULL, 0);
}

TEST(compare_exact_sees_bits_but_not_kinds_of_nan) {
    const golden_tolerance_t exact = {.exact = true};
    assert_int_equal(compare_one(1.0f, 1.0f, exact), 0);
    assert_int_equal(compare_one(1.0f, nextafterf(1.0f, 2.0f), exact), 1);
    assert_int_equal(compare_one(0.0f, -0.0f, exact), 1);
    assert_int_equal(compare_one(0.0f, 1e-45f, exact), 1);
    assert_int_equal(compare_one(NAN, -NAN, exact), 0);
    assert_int_equal(compare_one(NAN, 1.0f, exact), 1);
    assert_int_equal(compare_one(1.0f, NAN, exact), 1);
    assert_int_equal(compare_one(INFINITY, -INFINITY, exact), 1);
}

TEST(compare_within_bounds_accepts_only_those) {
    const golden_tolerance_t value = {.ulp = 0}, two = {.ulp = 2};
    assert_int_equal(compare_one(0.0f, -0.0f, value), 0);
    assert_int_equal(compare_one(1.0f, nextafterf(1.0f, 2.0f), value), 1);
    assert_int_equal(compare_one(1.0f, 1.0f + 0x1p-22f, two), 0);
    assert_int_equal(compare_one(1.0f, 1.0f + 3 * 0x1p-23f, two), 1);
    assert_int_equal(compare_one(1e-45f, -1e-45f, two), 0);
    assert_int_equal(compare_one(3e-45f, -1e-45f, two), 1);
    assert_int_equal(compare_one(INFINITY, 3.4028235e38f, two), 1);
    assert_int_equal(compare_one(3.4028235e38f, INFINITY, two), 1);
    assert_int_equal(compare_one(NAN, 0.0f, (golden_tolerance_t){.absolute = INFINITY}), 1);
    assert_int_equal(compare_one(INFINITY, -INFINITY, (golden_tolerance_t){.relative = 1}), 1);
    assert_int_equal(compare_one(100.0f, 100.5f, (golden_tolerance_t){.absolute = 0.5}), 0);
    assert_int_equal(compare_one(100.0f, 100.6f, (golden_tolerance_t){.absolute = 0.5}), 1);
    assert_int_equal(compare_one(-100.0f, -101.0f, (golden_tolerance_t){.relative = 0.01}), 0);
    assert_int_equal(compare_one(-100.0f, -101.1f, (golden_tolerance_t){.relative = 0.01}), 1);
}

TEST(compare_difference_is_told_with_place_values_and_ulp) {
    const float expected[6] = {1, 2, 3, 4, 5, 6};
    float actual[6] = {1, 2, 3, 4, 5, 7};
    actual[4] = nextafterf(5.0f, 6.0f);
    golden_tensor_t tensor = floats_of(expected, 6);
    tensor.shape = GANTRY_SHAPE(2, 3);
    char why[256] = "";
    const golden_tolerance_t exact = {.exact = true};
    assert_int_equal(golden_compare(&tensor, &exact, actual, why, sizeof why), 1);
    assert_string_equal(
        why, "2 of 6 elements differ; first at [1,1]: expected 5, got 5.00000048, 1 ulp apart");
    assert_int_equal(golden_largest_ulp(&tensor, actual), 1 << 21);
    actual[5] = NAN;
    assert_true(golden_largest_ulp(&tensor, actual) == INT64_MAX);
    char small[8];
    assert_int_equal(golden_compare(&tensor, &exact, actual, small, sizeof small), 1);
    assert_string_equal(small, "2 of 6 ");
}

TEST(compare_doubles_and_integers_sees_every_bit) {
    const golden_tolerance_t exact = {.exact = true}, loose = {.ulp = 1, .absolute = 1e-15};
    double pi = 3.14159265358979312, next = nextafter(pi, 4.0), most = -1.7976931348623157e308;
    golden_tensor_t tensor = {
        .dtype = GANTRY_FLOAT64, .shape = GANTRY_SCALAR, .bytes = sizeof pi, .data = &pi};
    char why[256] = "";
    assert_int_equal(golden_compare(&tensor, &exact, &next, why, sizeof why), 1);
    assert_non_null(strstr(
        why, "first at []: expected 3.1415926535897931, got 3.1415926535897936, 1 ulp apart"));
    assert_int_equal(golden_compare(&tensor, &loose, &next, why, sizeof why), 0);
    assert_int_equal(golden_compare(&tensor, &loose, &most, why, sizeof why), 1);
    assert_true(golden_largest_ulp(&tensor, &most) == INT64_MAX);

    int64_t big = INT64_MAX, less = INT64_MAX - 1;
    tensor = (golden_tensor_t){
        .dtype = GANTRY_INT64, .shape = GANTRY_SHAPE(1), .bytes = sizeof big, .data = &big};
    assert_int_equal(golden_compare(&tensor, &loose, &less, why, sizeof why), 1);
    assert_non_null(strstr(why, "expected 9223372036854775807, got 9223372036854775806"));
    assert_int_equal(golden_compare(&tensor, &exact, &big, NULL, 0), 0);

    uint8_t yes = 1, no = 0;
    tensor =
        (golden_tensor_t){.dtype = GANTRY_BOOL, .shape = GANTRY_SHAPE(1), .bytes = 1, .data = &yes};
    assert_int_equal(golden_compare(&tensor, &exact, &no, why, sizeof why), 1);
    assert_non_null(strstr(why, "expected 01, got 00"));
    tensor = (golden_tensor_t){
        .dtype = GANTRY_BOOL, .shape = GANTRY_SHAPE(0, 3), .bytes = 0, .data = &yes};
    assert_int_equal(golden_compare(&tensor, &exact, &no, NULL, 0), 0);
}

/* 200 elements of which the samples are right. */
TEST(a_hash_finds_what_no_sample_shows) {
    const golden_tolerance_t exact = {.exact = true}, value = {.ulp = 0}, loose = {.ulp = 1};
    float actual[200], samples[GOLDEN_SAMPLES];
    bool is_sample[200] = {false};
    char why[256] = "";
    for (size_t i = 0; i < 200; ++i) actual[i] = i % 9 == 3 ? NAN : (float)(i % 5);
    for (size_t i = 0; i < GOLDEN_SAMPLES; ++i) {
        size_t place = golden_sample_place(200, i);
        assert_in_range(place, 0, 199);
        is_sample[place] = true;
        samples[i] = actual[place];
    }
    assert_true(is_sample[0] && is_sample[199]);
    golden_tensor_t tensor = floats_of(actual, 200);
    tensor.data = samples;
    tensor.sample_count = GOLDEN_SAMPLES;
    assert_int_equal(golden_compare(&tensor, &loose, actual, why, sizeof why), 0);
    tensor.hash = golden_hash(GANTRY_FLOAT32, actual, sizeof actual, false);
    tensor.is_hashed = true;
    size_t other = 1;
    while (is_sample[other] || actual[other] != 0) ++other;
    actual[3] = -actual[3];
    assert_int_equal(golden_compare(&tensor, &exact, actual, why, sizeof why), 0);
    actual[other] = -0.0f;
    assert_int_equal(golden_compare(&tensor, &exact, actual, why, sizeof why), 1);
    assert_non_null(strstr(why, "the samples are right, but the hash of all 200 elements is"));
    assert_int_equal(golden_compare(&tensor, &value, actual, NULL, 0), 0);
    actual[199] += 1;
    assert_int_equal(golden_compare(&tensor, &exact, actual, why, sizeof why), 1);
    assert_non_null(strstr(why, "1 of 64 samples differ; first at [199]: expected 4, got 5"));
}

TEST(a_sum_finds_what_is_far_wrong_between_samples) {
    enum { COUNT = 1000 };
    const golden_tolerance_t bound = {.absolute = 1e-5};
    static float actual[COUNT];
    float samples[GOLDEN_SAMPLES];
    char why[256] = "";
    double allowed;
    for (size_t i = 0; i < COUNT; ++i) actual[i] = i == 700 ? INFINITY : (float)(i % 5);
    for (size_t i = 0; i < GOLDEN_SAMPLES; ++i) samples[i] = actual[golden_sample_place(COUNT, i)];
    golden_tensor_t tensor = floats_of(actual, COUNT);
    tensor.data = samples;
    tensor.sample_count = GOLDEN_SAMPLES;
    tensor.is_summed = true;
    tensor.sum = golden_sum(GANTRY_FLOAT32, actual, sizeof actual, &bound, &allowed);
    assert_true(allowed > 0.01 && allowed < 0.021);
    assert_int_equal(golden_compare(&tensor, &bound, actual, why, sizeof why), 0);
    for (size_t i = 0; i < COUNT; ++i) actual[i] += 9e-6f;
    assert_int_equal(golden_compare(&tensor, &bound, actual, why, sizeof why), 0);
    actual[5] += 0.05f; /* no sample */
    assert_int_equal(golden_compare(&tensor, &bound, actual, why, sizeof why), 1);
    assert_non_null(strstr(why, "the weighted sum of all 1000 elements is"));
    actual[5] -= 0.05f;
    actual[6] += 1; /* two elements change places */
    actual[7] -= 1;
    assert_int_equal(golden_compare(&tensor, &bound, actual, NULL, 0), 1);
}

int main(void) { return test_main(); }
