/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Device names are compared and merged as in TensorFlow's case tables; "deviation" marks
 * Gantry's differences. */
#include "device_name_case.h"
#include "test.h"

/* ---- Relations. */

static int compare(const char *a, const char *b) {
    const gantry__device_name_t name_a = full(a), name_b = full(b);
    const int order = gantry__device_name_compare(&name_a, &name_b);
    return (order > 0) - (order < 0);
}

TEST(compare_sorts_in_the_order_of_the_table) {
    static const char *const ascending[] = {
        "",
        /* numbers compare by value */
        "/device:CPU:*",
        "/device:CPU:0",
        "/device:CPU:1",
        "/device:GPU:2",
        "/device:GPU:10",
        "/task:0/device:CPU:0",
        "/task:0/device:CPU:1",
        "/replica:0/task:0/device:CPU:0",
        "/replica:0/task:0/device:CPU:1",
        "/job:foo/device:CPU:7",
        "/job:foo/replica:0/task:0/device:CPU:0",
        "/job:foo/replica:0/task:0/device:CPU:1",
        "/job:foo/replica:0/task:0/device:GPU:0",
        "/job:foo/replica:0/task:0/device:GPU:0@cuda",
        "/job:foo/replica:0/task:0/device:GPU:0@opencl",
        "/job:foo/replica:0/task:1/device:CPU:0",
        "/job:foo/replica:1/task:0/device:CPU:0",
        "/job:goo/replica:0/task:0/device:CPU:0",
    };
    for (size_t i = 0; i < COUNT(ascending); ++i)
        for (size_t j = 0; j < COUNT(ascending); ++j)
            if (compare(ascending[i], ascending[j]) != (i > j) - (i < j))
                fail_msg("'%s' against '%s'", ascending[i], ascending[j]);
    assert_int_equal(
        compare("/job:foo/replica:0/task:0/cpu:0", "/task:0/replica:0/job:foo/device:CPU:0"), 0);
}

TEST(every_registered_spelling_is_one_device) {
    /* TensorFlow registers each device under several texts; Gantry's parser gives all of them one
     * meaning. */
    gantry__device_name_t device = full("/job:foo/replica:10/task:0/device:GPU:1");
    static const char *const spellings[] = {"/job:foo/replica:10/task:0/device:GPU:1",
                                            "/job:foo/replica:10/task:0/gpu:1",
                                            "/device:GPU:1",
                                            "GPU:1",
                                            "/gpu:1",
                                            "gpu:1"};
    for (size_t i = 0; i < COUNT(spellings); ++i) {
        gantry__device_reference_t reference = user(spellings[i]);
        gantry__device_name_merge_unset(&reference.name, &device, &reference.name);
        assert_true(gantry__device_name_is_equal(&reference.name, &device));
    }
}

/* ---- Merging. */

#define JOBS "incompatible jobs"
#define REPLICAS "incompatible replicas"
#define TASKS "incompatible tasks"

static const struct {
    const char *a, *b;
    /* a text that begins with "incompatible" is refused */
    const char *merge, *soft;
    const char *unset_ab, *unset_ba;
} merge_rows[] = {
    {"", "", "", "", "", ""},
    {"/job:foo/replica:1/task:2/cpu:1", "/job:foo/replica:1/task:2/cpu:1",
     "/job:foo/replica:1/task:2/device:CPU:1", "/job:foo/replica:1/task:2/device:CPU:1",
     "/job:foo/replica:1/task:2/device:CPU:1", "/job:foo/replica:1/task:2/device:CPU:1"},
    {"", "/job:foo", "/job:foo", "/job:foo", "/job:foo", "/job:foo"},
    {"", "/replica:2", "/replica:2", "/replica:2", "/replica:2", "/replica:2"},
    {"", "/task:7", "/task:7", "/task:7", "/task:7", "/task:7"},
    {"", "/device:GPU:1", "/device:GPU:1", "/device:GPU:1", "/device:GPU:1", "/device:GPU:1"},
    {"", "/gpu:*", "/device:GPU:*", "/device:GPU:*", "/device:GPU:*", "/device:GPU:*"},
    {"/job:foo", "/task:7", "/job:foo/task:7", "/job:foo/task:7", "/job:foo/task:7",
     "/job:foo/task:7"},
    {"/job:foo", "/device:GPU:1", "/job:foo/device:GPU:1", "/job:foo/device:GPU:1",
     "/job:foo/device:GPU:1", "/job:foo/device:GPU:1"},
    {"/job:foo/replica:0", "/replica:0/task:1", "/job:foo/replica:0/task:1",
     "/job:foo/replica:0/task:1", "/job:foo/replica:0/task:1", "/job:foo/replica:0/task:1"},
    {"/gpu:*", "/gpu:*", "/device:GPU:*", "/device:GPU:*", "/device:GPU:*", "/device:GPU:*"},
    {"/device:GPU:1", "/gpu:*", "/device:GPU:1", "/device:GPU:1", "/device:GPU:1", "/device:GPU:1"},
    {"/job:foo", "/job:bar", JOBS, JOBS, "/job:foo", "/job:bar"},
    {"/replica:0", "/replica:1", REPLICAS, REPLICAS, "/replica:0", "/replica:1"},
    {"/task:0", "/task:1", TASKS, TASKS, "/task:0", "/task:1"},
    {"/gpu:*", "/cpu:*", "incompatible types", "", "/device:GPU:*", "/device:CPU:*"},
    {"/device:GPU:0", "/device:GPU:1", "incompatible ids", "/device:GPU:*", "/device:GPU:0",
     "/device:GPU:1"},
    {"/device:GPU:1", "/device:GPU:2", "incompatible ids", "/device:GPU:*", "/device:GPU:1",
     "/device:GPU:2"},
    {"/gpu:0", "/cpu:1", "incompatible types", "", "/device:GPU:0", "/device:CPU:1"},
    /* deviation, unset: TensorFlow moves the index to the other type, GPU:1; Gantry's index stays
     * with its type */
    {"/gpu:*", "/cpu:1", "incompatible types", "", "/device:GPU:*", "/device:CPU:1"},
    {"/cpu:*", "/device:GPU:1", "incompatible types", "", "/device:CPU:*", "/device:GPU:1"},
    {"/device:GPU:1", "/cpu:*", "incompatible types", "", "/device:GPU:1", "/device:CPU:*"},
    {"/job:foo/CPU:*", "/device:GPU:1", "incompatible types", "/job:foo", "/job:foo/device:CPU:*",
     "/job:foo/device:GPU:1"},
    {"/cpu:*", "/job:foo/device:GPU:1", "incompatible types", "/job:foo", "/job:foo/device:CPU:*",
     "/job:foo/device:GPU:1"},
    {"/cpu:*", "/task:0/device:GPU:1", "incompatible types", "/task:0", "/task:0/device:CPU:*",
     "/task:0/device:GPU:1"},
    {"/task:0/cpu:*", "/device:GPU:1", "incompatible types", "/task:0", "/task:0/device:CPU:*",
     "/task:0/device:GPU:1"},
    {"/job:foo/device:GPU", "/job:bar", JOBS, JOBS, "/job:foo/device:GPU:*",
     "/job:bar/device:GPU:*"},
    /* only Gantry has this field */
    {"/gpu:1@opencl", "/gpu:1@cuda", "incompatible backends", "/device:GPU:1",
     "/device:GPU:1@opencl", "/device:GPU:1@cuda"},
    {"/gpu:1@opencl", "/cpu:*", "incompatible types", "", "/device:GPU:1@opencl", "/device:CPU:*"},
    {"/gpu:1@opencl", "/gpu:*", "/device:GPU:1@opencl", "/device:GPU:1@opencl",
     "/device:GPU:1@opencl", "/device:GPU:1@opencl"},
};

static void assert_merge(gantry_status_t status, const gantry__device_name_t *merged,
                         const char *expected, const gantry__device_name_t *a,
                         const gantry__device_name_t *b) {
    if (strncmp(expected, "incompatible", 12) != 0) {
        assert_int_equal(status, GANTRY_OK);
        assert_name(merged, expected, expected);
        return;
    }
    char message[2 * GANTRY__DEVICE_NAME_BYTES + 100];
    line_t text_a, text_b;
    (void)gantry__device_name_format(a, text_a, sizeof text_a);
    (void)gantry__device_name_format(b, text_b, sizeof text_b);
    (void)snprintf(message, sizeof message, "Cannot merge devices with %s: '%s' and '%s'", expected,
                   text_a, text_b);
    assert_int_equal(status, GANTRY_INVALID_ARGUMENT);
    assert_string_equal(gantry__message(), message);
    assert_name(merged, "/job:untouched", expected);
}

TEST(merge_table) {
    for (size_t i = 0; i < COUNT(merge_rows); ++i) {
        gantry__device_name_t a = full(merge_rows[i].a), b = full(merge_rows[i].b),
                              out = full("/job:untouched");
        assert_merge(gantry__device_name_merge(&a, &b, false, &out), &out, merge_rows[i].merge, &a,
                     &b);
        out = full("/job:untouched");
        assert_merge(gantry__device_name_merge(&b, &a, false, &out), &out, merge_rows[i].merge, &b,
                     &a);
        out = full("/job:untouched");
        assert_merge(gantry__device_name_merge(&a, &b, true, &out), &out, merge_rows[i].soft, &a,
                     &b);
        out = full("/job:untouched");
        assert_merge(gantry__device_name_merge(&b, &a, true, &out), &out, merge_rows[i].soft, &b,
                     &a);
    }
}

TEST(merge_unset_table) {
    for (size_t i = 0; i < COUNT(merge_rows); ++i) {
        gantry__device_name_t a = full(merge_rows[i].a), b = full(merge_rows[i].b),
                              out = full("/job:untouched");
        gantry__device_name_merge_unset(&a, &b, &out);
        assert_name(&out, merge_rows[i].unset_ab, merge_rows[i].a);
        gantry__device_name_merge_unset(&b, &a, &b); /* the result may be an input */
        assert_name(&b, merge_rows[i].unset_ba, merge_rows[i].b);
    }
}

/* ---- Nested scopes. */

TEST(scope_merge_table) {
    static const struct {
        const char *outer, *inner, *result;
    } rows[] = {
        /* the chain of TensorFlow's DeviceSpec test */
        {"", "/task:1/cpu:0", "/task:1/device:CPU:0"},
        {"/task:1/cpu:0", "/job:boo/device:GPU:0", "/job:boo/task:1/device:GPU:0"},
        {"/job:boo/task:1/device:GPU:0", "/job:muu/cpu:2", "/job:muu/task:1/device:CPU:2"},
        {"/job:muu/task:1/device:CPU:2", "/job:muu/device:MyFunnyDevice:2",
         "/job:muu/task:1/device:MyFunnyDevice:2"},
        /* the nested scopes of a tf.device test */
        {"", "/device:GPU:0", "/device:GPU:0"},
        {"/device:GPU:0", "/job:worker", "/job:worker/device:GPU:0"},
        {"/job:worker/device:GPU:0", "/device:CPU:0", "/job:worker/device:CPU:0"},
        {"/job:worker/device:CPU:0", "/job:ps", "/job:ps/device:CPU:0"},
        {"/device:GPU:7", "", "/device:GPU:7"},
        {"/device:GPU:7", "/", "/device:GPU:7"},
        {"/device:GPU:7", "/device:GPU:*", "/device:GPU:7"},
        {"/device:GPU:7", "gpu", "/device:GPU:7"},
        {"/device:CPU:*", "/device:CPU:5", "/device:CPU:5"},
        {"/job:worker/replica:2", "/job:worker/replica:3/task:0", "/job:worker/replica:3/task:0"},
        {"/job:worker", "/job:*", "/job:worker"},
        /* deviation: TensorFlow gives CPU:1, a device that may not exist */
        {"GPU:1", "CPU", "/device:CPU:*"},
        {"GPU:1@opencl", "CPU:0", "/device:CPU:0"},
        {"GPU:1@opencl", "GPU:0", "/device:GPU:0@opencl"},
        {"GPU:1", "GPU:*@opencl", "/device:GPU:1@opencl"},
        /* not logical names: the whole device part is replaced */
        {"GPU:1", "opencl:1", "opencl:1"},
        {"/job:localhost/GPU:1", "opencl:1", "opencl:1"},
        {"opencl:1", "", "opencl:1"},
        {"opencl:1", "CPU", "/device:CPU:*"},
        {"opencl:1", "opencl", "opencl"},
        {"GPU-8932", "GPU:0", "/device:GPU:0"},
        {"GPU-8932", "/job:localhost", "UUID:GPU-8932"},
        {"CPU:0", "65:00.0", "0000:65:00.0"},
        {"/physical_device:GPU:1", "/", "/physical_device:GPU:1"},
        /* the two names number devices differently, so the index is not inherited */
        {"/physical_device:GPU:1", "gpu", "/device:GPU:*"},
    };
    for (size_t i = 0; i < COUNT(rows); ++i) {
        gantry__device_reference_t outer = user(rows[i].outer), inner = user(rows[i].inner), out;
        line_t text;
        gantry__device_reference_merge_scope(&outer, &inner, &out);
        (void)gantry__device_reference_format(&out, text, sizeof text);
        if (strcmp(text, rows[i].result) != 0)
            fail_msg("'%s' in '%s': got '%s', want '%s'", rows[i].inner, rows[i].outer, text,
                     rows[i].result);
        gantry__device_reference_merge_scope(&outer, &inner, &outer);
        assert_true(gantry__device_name_is_equal(&outer.name, &out.name));
    }
}

TEST(scope_merge_of_alias_keeps_the_task_part_for_the_resolver) {
    gantry__device_reference_t outer = user("/job:worker/GPU:1"), alias = user("opencl:1");
    gantry__device_reference_t inner = user("/task:3"), out;
    gantry__device_reference_merge_scope(&outer, &alias, &out);
    assert_true(out.name.has_job);
    assert_string_equal(out.name.job, "worker");
    assert_false(out.name.has_type);
    assert_int_equal(out.name.index, 1);
    gantry__device_reference_merge_scope(&out, &inner, &out);
    assert_int_equal(out.kind, GANTRY__DEVICE_BACKEND_ALIAS);
    assert_int_equal(out.name.task, 3);
    assert_string_equal(out.name.backend, "opencl");
}

int main(void) { return test_main(); }
