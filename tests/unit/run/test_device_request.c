/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Nested calls of gantry_device_begin request what nested blocks of tf.device request in
 * TensorFlow, for each of 235 chains, and what nested scopes request.
 * Promise: Between gantry_device_begin and gantry_device_end the scope's ops, constants, variables
 * and inner scopes are on the requested device, and their records name it.
 * Promise: A gantry_device_begin without its end, and an end without its begin, are errors of the
 * scope; pairs stay pairs when one of them fails.
 *
 * device_scopes.inc has the chains, from tests/golden/make_device_scopes.py. */
#define _XOPEN_SOURCE 700

#include "run/scope_state.h"
#include "runtime_fixture.h"
#include "test.h"

#define LOCAL(device) "/job:localhost/replica:0/task:0/device:" device

static void expect_begun(gantry_scope_t *scope, const char *device) {
    if (gantry_device_begin(scope, device) != GANTRY_OK)
        fail_msg("%s: %s", device, gantry_scope_message(scope));
}

static void expect_end(gantry_scope_t *scope) {
    if (gantry_device_end(scope) != GANTRY_OK) fail_msg("%s", gantry_scope_message(scope));
}

/* Runs an op in the scope. */
static void expect_runs_on(gantry_scope_t *scope, const char *device) {
    const gantry_tensor_t *x = F32(scope, 1, 2), *sum = gantry_add(scope, x, x);
    if (!sum) fail_msg("%s", gantry_scope_message(scope));
    expect_on(sum, device);
    EXPECT_F32(sum, 2, 4);
}

/* ---- nested requests ---- */

enum { MOST_TEXTS = 3 };

static const struct chain_t {
    const char *texts[MOST_TEXTS];
    int count;
    const char *tensorflow; /* the device that is requested in the innermost block */
    const char *own;        /* NULL: the same */
} chains[] = {
#include "device_scopes.inc"
};

/* A request that leaves job, replica or task open means this process: names are compared with all
 * three. */
static void complete(const char *device, char out[GANTRY__DEVICE_NAME_BYTES]) {
    const char *here = "/job:localhost/replica:0/task:0";
    gantry__device_reference_t wanted, process;
    assert_int_equal(gantry__device_reference_parse(device, NULL, 0, &wanted), GANTRY_OK);
    assert_int_equal(gantry__device_reference_parse(here, NULL, 0, &process), GANTRY_OK);
    gantry__device_name_merge_unset(&wanted.name, &process.name, &wanted.name);
    (void)gantry__device_name_format(&wanted.name, out, GANTRY__DEVICE_NAME_BYTES);
}

static void expect_request(const gantry_scope_t *scope, const struct chain_t *chain) {
    char expected[GANTRY__DEVICE_NAME_BYTES], none[GANTRY__DEVICE_NAME_BYTES];
    complete(chain->own ? chain->own : chain->tensorflow, expected);
    complete("", none);
    const char *got = scope->wish ? scope->wish->text : none;
    if (strcmp(got, expected) != 0)
        fail_msg("%s, %s, %s: \"%s\" instead of \"%s\"", chain->texts[0],
                 chain->texts[1] ? chain->texts[1] : "-", chain->texts[2] ? chain->texts[2] : "-",
                 got, expected);
}

static void check_requests(runtime_fixture_t *f, const struct chain_t *chain) {
    gantry_scope_t *scope = runtime_fixture_scope(f, NULL);
    const gantry__wish_t *outer[MOST_TEXTS];
    for (int i = 0; i < chain->count; ++i) {
        outer[i] = scope->wish;
        expect_begun(scope, chain->texts[i]);
    }
    expect_request(scope, chain);
    for (int i = chain->count; i-- > 0;) {
        expect_end(scope);
        assert_ptr_equal(scope->wish, outer[i]);
    }
    expect_ended_well(scope);
}

static void check_scopes(runtime_fixture_t *f, const struct chain_t *chain) {
    gantry_scope_t *scopes[MOST_TEXTS + 1] = {runtime_fixture_scope(f, NULL)};
    for (int i = 0; i < chain->count; ++i) {
        const char *text = *chain->texts[i] ? chain->texts[i] : GANTRY_DEVICE_NONE;
        scopes[i + 1] = gantry_scope_begin_in(scopes[i], text);
    }
    expect_request(scopes[chain->count], chain);
    for (int i = chain->count; i >= 0; --i) expect_ended_well(scopes[i]);
}

TEST(nested_requests_merge_as_tensorflows_blocks_do) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    assert_int_equal(sizeof chains / sizeof chains[0], 235);
    for (size_t i = 0; i < sizeof chains / sizeof chains[0]; ++i) {
        check_requests(&f, &chains[i]);
        check_scopes(&f, &chains[i]);
    }
    runtime_fixture_close(&f);
}

/* ---- what the request covers ---- */

static gantry_placement_record_t newest(const runtime_fixture_t *f) {
    gantry_placement_record_t record = {.struct_size = sizeof record};
    size_t count = 0;
    assert_int_equal(gantry_get_placements(f->runtime, 1, &record, &count), GANTRY_OK);
    assert_int_equal(count, 1);
    return record;
}

TEST(request_covers_what_the_scope_makes_until_its_end) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    expect_begun(scope, "/GPU:1");
    const gantry_tensor_t *made = F32(scope, 1, 2);
    expect_on(made, "/device:GPU:1");
    expect_runs_on(scope, "/device:GPU:1");
    gantry_placement_record_t record = newest(&f);
    assert_string_equal(record.op, "Add");
    assert_string_equal(record.asked, LOCAL("GPU:1"));
    assert_int_equal(record.reason, GANTRY_PLACED_EXPLICIT);
    gantry_variable_t *variable = gantry_variable_create(scope, made, "v");
    assert_string_equal(gantry_logical_device_name(gantry_variable_device(variable)),
                        "/device:GPU:1");
    gantry_scope_t *inner = gantry_scope_begin_in(scope, NULL);
    expect_runs_on(inner, "/device:GPU:1");
    gantry_scope_t *own = gantry_scope_begin_in(scope, "/GPU:0"); /* its own device goes before */
    expect_runs_on(own, "/device:GPU:0");
    expect_begun(scope, "/device:GPU:*");
    expect_runs_on(scope, "/device:GPU:1");
    expect_begun(scope, "");
    expect_runs_on(scope, "/device:GPU:0"); /* preferred */
    assert_string_equal(newest(&f).asked, "");
    for (int i = 0; i < 3; ++i) expect_end(scope);
    expect_runs_on(scope, "/device:CPU:0");
    expect_runs_on(inner, "/device:GPU:1"); /* to its own end */
    expect_ended_well(own);
    expect_ended_well(inner);
    EXPECT_F32(gantry_add(scope, made, made), 2, 4); /* the scope's own, as before */
    gantry_variable_release(variable);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(missing_device_falls_back_and_the_record_names_it) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    expect_begun(scope, "/GPU:9");
    expect_runs_on(scope, "/device:GPU:0");
    assert_string_equal(newest(&f).asked, LOCAL("GPU:9"));
    assert_int_equal(newest(&f).reason, GANTRY_PLACED_SOFT_SAME_TYPE);
    assert_int_equal(gantry_set_soft_device_placement(f.runtime, false), GANTRY_OK);
    assert_null(F32(scope, 1, 2));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, LOCAL("GPU:9"));
    expect_end(scope);
    expect_runs_on(scope, "/device:GPU:0");
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

static const char *on_cpu(const gantry_device_choice_t *choice, void *user) {
    (void)choice;
    ++*(int *)user;
    return "/CPU:0";
}

TEST(request_goes_before_a_device_function_and_none_cancels_it) {
    int asked = 0;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    gantry_scope_t *outer = runtime_fixture_scope(&f, NULL),
                   *scope = gantry_scope_begin_choosing(outer, on_cpu, &asked);
    expect_begun(scope, "/GPU:1");
    expect_runs_on(scope, "/device:GPU:1");
    assert_int_equal(asked, 2); /* Const, Add */
    expect_begun(scope, GANTRY_DEVICE_NONE);
    expect_runs_on(scope, "/device:GPU:0");
    assert_int_equal(asked, 2);
    expect_end(scope);
    expect_end(scope);
    expect_runs_on(scope, "/device:CPU:0");
    assert_int_equal(asked, 4);
    expect_ended_well(scope);
    expect_ended_well(outer);
    runtime_fixture_close(&f);
}

TEST(request_goes_before_the_tensor_with_which_a_scope_runs) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    gantry_scope_t *outer = runtime_fixture_scope(&f, "/GPU:1"),
                   *scope = gantry_scope_begin_with(outer, F32(outer, 1));
    expect_runs_on(scope, "/device:GPU:1");
    expect_begun(scope, "/GPU:0");
    expect_runs_on(scope, "/device:GPU:0");
    expect_end(scope);
    expect_runs_on(scope, "/device:GPU:1");
    expect_ended_well(scope);
    expect_ended_well(outer);
    runtime_fixture_close(&f);
}

/* ---- errors ---- */

TEST(bad_device_is_named_with_what_is_accepted) {
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"/GPU:x", "gantry_device_begin: Malformed device specification '/GPU:x': "},
        {"/foo:bar", "gantry_device_begin: Malformed device specification '/foo:bar': "},
        {NULL, "gantry_device_begin: device is NULL; a device text such as /GPU:0 is accepted"}};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
        expect_begun(scope, "/GPU:1");
        assert_int_equal(gantry_device_begin(scope, cases[i].text), GANTRY_INVALID_ARGUMENT);
        if (cases[i].text) assert_non_null(strstr(gantry_scope_message(scope), "accepted: GPU:0"));
        assert_null(F32(scope, 1, 2));
        expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, cases[i].message);
        expect_runs_on(scope, "/device:GPU:1"); /* the request so far */
        expect_end(scope);                      /* of the one that failed */
        expect_runs_on(scope, "/device:GPU:1");
        expect_end(scope);
        expect_runs_on(scope, "/device:GPU:0");
        expect_ended_well(scope);
    }
    expect_failure(gantry_device_begin(NULL, "/GPU:0"), GANTRY_INVALID_ARGUMENT,
                   "the scope is NULL");
    expect_failure(gantry_device_end(NULL), GANTRY_INVALID_ARGUMENT, "the scope is NULL");
    runtime_fixture_close(&f);
}

TEST(pairs_stay_pairs_in_a_failed_scope) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "/CPU:0");
    expect_begun(scope, "/GPU:1");
    assert_null(gantry_add(scope, NULL, NULL));
    assert_int_equal(gantry_device_begin(scope, "/GPU:0"), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_device_end(scope), GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "op Add: input 0 (x) is NULL");
    expect_runs_on(scope, "/device:GPU:1");
    assert_null(gantry_add(scope, NULL, NULL));
    assert_int_equal(gantry_device_end(scope), GANTRY_INVALID_ARGUMENT);
    gantry_scope_clear(scope);
    expect_runs_on(scope, "/device:CPU:0");
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(end_without_begin_is_an_error_of_the_scope) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *outer = runtime_fixture_scope(&f, NULL);
    expect_begun(outer, "/GPU:0");
    gantry_scope_t *scope = gantry_scope_begin_in(outer, NULL);
    assert_int_equal(gantry_device_end(scope), GANTRY_FAILED_PRECONDITION); /* the parent's */
    assert_null(F32(scope, 1));
    expect_failure(gantry_scope_end(scope), GANTRY_FAILED_PRECONDITION,
                   "gantry_device_end: the scope has no open gantry_device_begin");
    expect_end(outer);
    assert_int_equal(gantry_device_end(outer), GANTRY_FAILED_PRECONDITION);
    gantry_scope_clear(outer);
    expect_ended_well(outer);
    runtime_fixture_close(&f);
}

TEST(request_left_open_is_an_error_of_the_scope) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    expect_begun(scope, "/GPU:0");
    expect_begun(scope, "/task:0");
    expect_failure(gantry_scope_end(scope), GANTRY_FAILED_PRECONDITION,
                   "Exiting device scope without proper scope nesting: a gantry_device_begin has "
                   "no gantry_device_end, and requests " LOCAL("GPU:0") "; it is ended too");
    scope = runtime_fixture_scope(&f, NULL);
    expect_begun(scope, "");
    expect_failure(gantry_scope_end(scope), GANTRY_FAILED_PRECONDITION, "requests no device");
    /* the first error stays; a scope that its parent ends releases its requests, too */
    scope = runtime_fixture_scope(&f, NULL);
    expect_begun(gantry_scope_begin_in(scope, NULL), "/GPU:0");
    assert_null(gantry_add(scope, NULL, NULL));
    expect_failure(gantry_scope_end(scope), GANTRY_INVALID_ARGUMENT, "op Add");
    runtime_fixture_close(&f);
}

TEST(lent_scope_keeps_its_requests) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    expect_begun(scope, "/GPU:1");
    assert_int_equal(gantry_scope_lend(scope), GANTRY_OK);
    assert_int_equal(gantry_device_end(scope), GANTRY_FAILED_PRECONDITION);
    expect_scope_failure(scope, GANTRY_FAILED_PRECONDITION,
                         "gantry_device_end: a body ends a gantry_device_begin that it did not");
    expect_begun(scope, "/CPU:0");
    expect_end(scope);
    expect_begun(scope, "/CPU:0");
    expect_begun(scope, "/GPU:0");
    gantry_scope_take_back(scope);
    expect_scope_failure(scope, GANTRY_FAILED_PRECONDITION, "requests " LOCAL("GPU:0"));
    expect_runs_on(scope, "/device:GPU:1");
    expect_end(scope);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(request_in_a_released_runtime_is_refused) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    gantry_runtime_t *runtime = f.runtime;
    f.runtime = NULL;
    gantry_runtime_release(runtime);
    assert_int_equal(gantry_device_begin(scope, "/GPU:0"), GANTRY_FAILED_PRECONDITION);
    assert_int_equal(gantry_device_end(scope), GANTRY_FAILED_PRECONDITION);
    expect_failure(gantry_scope_end(scope), GANTRY_FAILED_PRECONDITION, "the runtime was released");
    runtime_fixture_close(&f);
}

/* ---- memory runs out ---- */

TEST(pairs_stay_pairs_when_memory_runs_out) {
    static const char *const devices[] = {"/GPU:0/task:0", "/GPU:1/task:0"};
    bool has_failed = true;
    for (long n = 0; has_failed; ++n) {
        runtime_fixture_t f;
        runtime_fixture_open(&f, 2);
        gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
        runtime_fixture_starve(&f, n);
        for (int i = 0; i < 2; ++i) {
            (void)gantry_device_begin(scope, devices[i]);
            (void)F32(scope, 1, 2);
        }
        has_failed = runtime_fixture_feed(&f);
        assert_int_equal(gantry_scope_status(scope),
                         has_failed ? GANTRY_RESOURCE_EXHAUSTED : GANTRY_OK);
        gantry_scope_clear(scope);
        for (int i = 0; i < 2; ++i) expect_end(scope);
        expect_runs_on(scope, "/device:CPU:0");
        expect_ended_well(scope);
        runtime_fixture_close(&f);
        assert_in_range(n, 0, 500);
    }
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
