/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The reader of golden cases refuses every broken file, and the comparison reports every
 * kind of difference. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../conformance/golden.h"

#define WHOLE_CASE                                                                                                \
    "{\"name\":\"a\",\"op\":\"Sum\",\"source\":\"tensorflow\",\"attrs\":{\"keep_dims\":{\"bool\":true},"          \
    "\"axis\":{\"int\":-1},\"alpha\":{\"float\":0.25},\"DstT\":{\"type\":\"int64\"},\"shape\":{\"shape\":[2,3]}," \
    "\"dims\":{\"ints\":[0,-2]},\"none\":{\"ints\":[]},\"data_format\":{\"string\":\"NCHW\"}},"                   \
    "\"inputs\":[{\"dtype\":\"float32\",\"shape\":[2],\"hex\":\"0000803f000000c0\"},"                             \
    "{\"dtype\":\"int32\",\"shape\":[2,2],\"cycle_hex\":\"05000000ffffffff\"},"                                   \
    "{\"dtype\":\"bool\",\"shape\":[0,3],\"hex\":\"\"}],"                                                         \
    "\"outputs\":[{\"dtype\":\"float64\",\"shape\":[],\"hex\":\"000000000000f0bf\"}],"                            \
    "\"tolerance\":{\"ulp\":2,\"abs\":1e-6,\"rel\":0.5}}"
#define ERROR_CASE                                                                           \
    "{\"name\":\"b\",\"op\":\"Sum\",\"source\":\"tensorflow\",\"inputs\":[],\"outputs\":[]," \
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
    snprintf(text, sizeof text,
             "{\"format\":1,\"op\":\"Sum\",\"tensorflow_op\":\"Sum\",\"cases\":[%s]}", cases);
    return text;
}

static void load_whole_file_gives_every_field(void **state) {
    (void)state;
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
    assert_int_equal(item->input_count, 3);
    assert_int_equal(item->inputs[0].dtype, GANTRY_FLOAT32);
    assert_int_equal(item->inputs[0].bytes, 8);
    const float floats[] = {1.0f, -2.0f};
    assert_memory_equal(item->inputs[0].data, floats, sizeof floats);
    const int32_t ints[] = {5, -1, 5, -1};
    assert_int_equal(item->inputs[1].shape.rank, 2);
    assert_memory_equal(item->inputs[1].data, ints, sizeof ints);
    assert_int_equal(item->inputs[2].bytes, 0);
    assert_non_null(item->inputs[2].data);
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

static void load_case_without_optional_fields_gives_defaults(void **state) {
    (void)state;
    golden_file_t file;
    char error[256] = "";
    const char *text = file_of(
        "{\"name\":\"c\",\"inputs\":[],\"outputs\":[{\"dtype\":\"bool\",\"shape\":[1],\"hex\":\"01\"}]}");
    if (load_text(text, strlen(text), &file, error, sizeof error)) fail_msg("%s", error);
    assert_string_equal(file.cases[0].op, "Sum");
    assert_string_equal(file.cases[0].source, "tensorflow");
    assert_string_equal(file.cases[0].message_contains, "");
    assert_true(file.cases[0].tolerance.exact);
    assert_int_equal(file.cases[0].attr_count, 0);
    golden_free(&file);
}

static void load_attributes_gives_every_kind(void **state) {
    (void)state;
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

static void load_broken_field_is_refused(void **state) {
    (void)state;
    expect_refusal("\"format\":1", "\"format\":2", "\"format\" is not 1");
    expect_refusal("\"format\":1,", "", "\"format\" is not 1");
    expect_refusal("\"op\":\"Sum\",\"tensorflow_op\"", "\"tensorflow_op\"", "\"op\" is missing");
    expect_refusal("\"name\":\"a\"", "\"name\":7", "\"name\" is missing or not a string");
    expect_refusal("\"dtype\":\"float32\"", "\"dtype\":\"float31\"",
                   "case a: unknown type float31");
    expect_refusal("\"dtype\":\"float32\"", "\"dtype\":\"float64\"",
                   "16 bytes has data of 16 hex digits");
    expect_refusal("0000803f000000c0", "0000803f00", "8 bytes has data of 10 hex digits");
    expect_refusal("0000803f000000c0", "0000803f000000c", "15 hex digits");
    expect_refusal("0000803f000000c0", "0000803f0000zzc0", "not hexadecimal at digit 12");
    expect_refusal("05000000ffffffff", "", "has data of 0 hex digits");
    expect_refusal("05000000ffffffff", "05000000ff", "has data of 10 hex digits");
    expect_refusal("\"hex\":\"0000803f", "\"data\":\"0000803f", "neither");
    expect_refusal("\"shape\":[0,3]", "\"shape\":[1,1,1,1,1,1,1,1,1]", "at most 8");
    expect_refusal("\"shape\":[0,3]", "\"shape\":[-1,3]", "negative or too large");
    expect_refusal("\"shape\":[0,3]", "\"shape\":[4000000000,4000000000]", "negative or too large");
    expect_refusal("\"shape\":[0,3]", "\"shape\":[0.5]", "an integer was expected");
    expect_refusal("\"bool\":true", "\"bool\":1", "attribute keep_dims is not a boolean");
    expect_refusal("\"bool\":true", "\"half\":1", "unknown kind half");
    expect_refusal("{\"bool\":true}", "{}", "attribute keep_dims has no value");
    expect_refusal("\"type\":\"int64\"", "\"type\":\"int65\"", "DstT is not a known type");
    expect_refusal("\"ints\":[0,-2]", "\"ints\":[0,\"1\"]", "an integer was expected");
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

static void load_missing_or_empty_file_is_refused(void **state) {
    (void)state;
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

static void load_file_cut_anywhere_is_refused(void **state) {
    (void)state;
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

static void compare_exact_sees_bits_but_not_kinds_of_nan(void **state) {
    (void)state;
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

static void compare_within_bounds_accepts_only_those(void **state) {
    (void)state;
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

static void compare_difference_is_told_with_place_values_and_ulp(void **state) {
    (void)state;
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

static void compare_doubles_and_integers_sees_every_bit(void **state) {
    (void)state;
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(load_whole_file_gives_every_field),
        cmocka_unit_test(load_case_without_optional_fields_gives_defaults),
        cmocka_unit_test(load_attributes_gives_every_kind),
        cmocka_unit_test(load_broken_field_is_refused),
        cmocka_unit_test(load_missing_or_empty_file_is_refused),
        cmocka_unit_test(load_file_cut_anywhere_is_refused),
        cmocka_unit_test(compare_exact_sees_bits_but_not_kinds_of_nan),
        cmocka_unit_test(compare_within_bounds_accepts_only_those),
        cmocka_unit_test(compare_difference_is_told_with_place_values_and_ulp),
        cmocka_unit_test(compare_doubles_and_integers_sees_every_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
