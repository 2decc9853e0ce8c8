/* SPDX-License-Identifier: Apache-2.0 */
/* Checks scopes: the first error stays, devices nest, and ownership moves. */
#include <stdio.h>
#include <string.h>

#include "conformance.h"

static void the_first_error_stays(conformance_t *c) {
    char first[1024];
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *two = conformance_iota(scope, 2), *three = conformance_iota(scope, 3);
    CHECK(c, gantry_scope_status(scope) == GANTRY_OK && !*gantry_scope_message(scope),
          "a new scope has an error");
    CHECK(c, !gantry_add(scope, two, three), "[2] + [3] gave a tensor");
    snprintf(first, sizeof first, "%s", gantry_scope_message(scope));
    conformance_check_status(c, "[2] + [3]", gantry_scope_status(scope), GANTRY_INVALID_ARGUMENT,
                             first, "Incompatible shapes: [2] vs. [3]");
    CHECK(c, !gantry_add(scope, two, two), "an op in a failed scope gave a tensor");
    CHECK(c, !gantry_matmul(scope, NULL, two, NULL),
          "an op of NULL in a failed scope gave a tensor");
    CHECK(c, !conformance_iota(scope, 2), "a constant in a failed scope was made");
    CHECK(c, strcmp(first, gantry_scope_message(scope)) == 0, "the message became \"%s\"",
          gantry_scope_message(scope));
    float values[2];
    CHECK(c, gantry_tensor_read(two, values, sizeof values) == GANTRY_OK,
          "a tensor made before the error cannot be read");
    conformance_end_scope(c, scope, GANTRY_INVALID_ARGUMENT);
}

static void clear_forgets_the_error(conformance_t *c) {
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *two = conformance_iota(scope, 2);
    (void)gantry_add(scope, two, conformance_iota(scope, 3));
    gantry_scope_clear(scope);
    CHECK(c, gantry_scope_status(scope) == GANTRY_OK && !*gantry_scope_message(scope),
          "the error is still there");
    conformance_check_floats(c, "an op after it", gantry_add(scope, two, two),
                             (const float[]){0, 2}, 2);
    conformance_end_scope(c, scope, GANTRY_OK);
}

static void null_inputs_are_named(conformance_t *c) {
    gantry_scope_t *scope = conformance_scope(c);
    CHECK(c, !gantry_add(scope, conformance_iota(scope, 2), NULL), "x + NULL gave a tensor");
    conformance_check_status(c, "x + NULL", gantry_scope_status(scope), GANTRY_INVALID_ARGUMENT,
                             gantry_scope_message(scope), "Add");
    CHECK(c,
          strstr(gantry_scope_message(scope), "input 1") ||
              strstr(gantry_scope_message(scope), "input y"),
          "the second input is not named: %s", gantry_scope_message(scope));
    gantry_scope_end(scope);
}

static void a_bad_device_gives_a_failed_scope(conformance_t *c) {
    static const char *const bad[] = {"/GPU:zero", "/device:GPU:0/device:CPU:0", "cpu:-1",
                                      "nonsense", "/CPU:0trailing"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        gantry_scope_t *scope = gantry_scope_begin(c->runtime, bad[i]);
        CHECK(c, scope, "%s gave no scope", bad[i]);
        if (!scope) continue;
        conformance_check_status(c, bad[i], gantry_scope_status(scope), GANTRY_INVALID_ARGUMENT,
                                 gantry_scope_message(scope), bad[i]);
        CHECK(c, !conformance_iota(scope, 2), "a constant was made on %s", bad[i]);
        conformance_end_scope(c, scope, GANTRY_INVALID_ARGUMENT);
    }
}

static void null_arguments_are_refused(conformance_t *c) {
    CHECK(c, !gantry_scope_begin(NULL, NULL), "a scope began without a runtime");
    CHECK(c, *gantry_last_message(), "there is no message");
    CHECK(c, gantry_scope_end(NULL) == GANTRY_INVALID_ARGUMENT, "ending NULL was accepted");
    gantry_tensor_release(NULL);
    gantry_variable_release(NULL);
    gantry_runtime_release(NULL);
    gantry_scope_t *scope = conformance_scope(c);
    gantry_tensor_drop(scope, NULL);
    CHECK(c, gantry_scope_runtime(scope) == c->runtime, "the scope has another runtime");
    conformance_end_scope(c, scope, GANTRY_OK);
}

/* ---- devices nest ---- */

/* Runs an op in a child scope and returns its device. */
static void check_child(conformance_t *c, gantry_scope_t *parent, const char *device,
                        const char *wanted) {
    gantry_scope_t *child = gantry_scope_begin_in(parent, device);
    CHECK(c, child, "no child scope on %s", device ? device : "(none)");
    if (!child) return;
    const gantry_tensor_t *x = conformance_iota(child, 2), *sum = gantry_add(child, x, x);
    CHECK(c, sum, "%s: %s", device ? device : "(none)", gantry_scope_message(child));
    CHECK(c, !sum || strcmp(c->record.device, wanted) == 0,
          "under %s an op ran on %s instead of %s", device ? device : "(none)", c->record.device,
          wanted);
    conformance_end_scope(c, child, GANTRY_OK);
}

static void inner_devices_replace_outer_ones(conformance_t *c) {
    const char *here = gantry_logical_device_full_name(c->device),
               *cpu = "/job:localhost/replica:0/task:0/device:CPU:0";
    gantry_scope_t *scope = conformance_scope(c);
    check_child(c, scope, NULL, here);
    check_child(c, scope, "", here);
    check_child(c, scope, "/job:localhost", here);
    check_child(c, scope, "/device:CPU:0", cpu);
    check_child(c, scope, "cpu:0", cpu);
    check_child(c, scope, here, here);
    conformance_end_scope(c, scope, GANTRY_OK);
    scope = conformance_scope_on(c, "/CPU:0");
    check_child(c, scope, c->options.device, here);
    check_child(c, scope, NULL, cpu);
    conformance_end_scope(c, scope, GANTRY_OK);
}

/* Runs an op in a block of the scope, and one after it. */
static void check_block(conformance_t *c, gantry_scope_t *scope, const char *device,
                        const char *wanted, const char *after) {
    const gantry_tensor_t *x = conformance_iota(scope, 2);
    (void)gantry_device_begin(scope, device);
    (void)gantry_add(scope, x, x);
    CHECK(c, strcmp(c->record.device, wanted) == 0, "in a block on %s an op ran on %s, not %s",
          device, c->record.device, wanted);
    (void)gantry_device_end(scope);
    conformance_check_floats(c, "after a block", gantry_add(scope, x, x), (const float[]){0, 2}, 2);
    CHECK(c, strcmp(c->record.device, after) == 0, "after a block on %s an op ran on %s, not %s",
          device, c->record.device, after);
}

static void blocks_request_devices(conformance_t *c) {
    const char *here = gantry_logical_device_full_name(c->device),
               *cpu = "/job:localhost/replica:0/task:0/device:CPU:0";
    gantry_scope_t *scope = conformance_scope(c);
    check_block(c, scope, "/", here, here);
    check_block(c, scope, "/device:CPU:0", cpu, here);
    check_block(c, scope, here, here, here);
    conformance_end_scope(c, scope, GANTRY_OK);
    scope = conformance_scope_on(c, "/CPU:0");
    check_block(c, scope, c->options.device, here, cpu);
    conformance_end_scope(c, scope, GANTRY_OK);
}

static void none_cuts_off_outer_devices(conformance_t *c) {
    gantry_scope_t *free_scope = conformance_scope_on(c, NULL);
    const gantry_tensor_t *x = conformance_iota(free_scope, 2);
    char free_device[sizeof c->record.device];
    CHECK(c, gantry_add(free_scope, x, x), "%s", gantry_scope_message(free_scope));
    snprintf(free_device, sizeof free_device, "%s", c->record.device);
    CHECK(c, !*c->record.asked, "\"%s\" is recorded as requested", c->record.asked);
    conformance_end_scope(c, free_scope, GANTRY_OK);
    gantry_scope_t *scope = conformance_scope(c);
    check_child(c, scope, GANTRY_DEVICE_NONE, free_device);
    conformance_end_scope(c, scope, GANTRY_OK);
}

static void missing_devices_fall_back_or_fail(conformance_t *c) {
    gantry_scope_t *scope = conformance_scope_on(c, "/GPU:77");
    const gantry_tensor_t *x = conformance_iota(scope, 2), *sum = gantry_add(scope, x, x);
    CHECK(c, sum, "soft placement is on: %s", gantry_scope_message(scope));
    CHECK(c,
          c->record.reason == GANTRY_PLACED_SOFT_SAME_TYPE ||
              c->record.reason == GANTRY_PLACED_SOFT_OTHER_TYPE,
          "the placement of %s was \"%s\"", c->record.op,
          gantry_placement_reason_text(c->record.reason));
    CHECK(c, c->record.refusal_count > 0, "no refused device is recorded");
    conformance_end_scope(c, scope, GANTRY_OK);
    gantry_set_soft_device_placement(c->runtime, false);
    scope = conformance_scope_on(c, "/GPU:77");
    x = conformance_iota(scope, 2);
    (void)gantry_add(scope, x, x);
    conformance_check_status(c, "/GPU:77 without soft placement", gantry_scope_status(scope),
                             GANTRY_INVALID_ARGUMENT, gantry_scope_message(scope), "GPU:77");
    gantry_scope_end(scope);
    gantry_set_soft_device_placement(c->runtime, true);
    CHECK(c, gantry_get_soft_device_placement(c->runtime),
          "soft placement cannot be switched back on");
}

/* ---- ownership ---- */

static void a_childs_error_is_its_own(conformance_t *c) {
    gantry_scope_t *parent = conformance_scope(c), *child = gantry_scope_begin_in(parent, NULL);
    (void)gantry_add(child, conformance_iota(child, 2), conformance_iota(child, 3));
    conformance_end_scope(c, child, GANTRY_INVALID_ARGUMENT);
    CHECK(c, gantry_scope_status(parent) == GANTRY_OK, "the parent failed too: %s",
          gantry_scope_message(parent));
    child = gantry_scope_begin_in(parent, NULL);
    CHECK(c, !gantry_scope_keep(child, NULL), "keeping NULL gave a tensor");
    CHECK(c, gantry_scope_status(parent) == GANTRY_INVALID_ARGUMENT,
          "keeping NULL left the parent %s", gantry_status_name(gantry_scope_status(parent)));
    gantry_scope_end(child);
    conformance_end_scope(c, parent, GANTRY_INVALID_ARGUMENT);
}

static void kept_tensors_outlive_their_scope(conformance_t *c) {
    gantry_scope_t *parent = conformance_scope(c), *child = gantry_scope_begin_in(parent, NULL);
    const gantry_tensor_t *x = conformance_iota(child, 3);
    const gantry_tensor_t *kept = gantry_scope_keep(child, gantry_add(child, x, x));
    conformance_end_scope(c, child, GANTRY_OK);
    conformance_check_floats(c, "kept for the parent", kept, (const float[]){0, 2, 4}, 3);
    gantry_tensor_t *mine = gantry_scope_keep(parent, gantry_square(parent, kept));
    conformance_end_scope(c, parent, GANTRY_OK);
    conformance_check_floats(c, "kept for the caller", mine, (const float[]){0, 4, 16}, 3);
    gantry_scope_t *next = conformance_scope(c);
    conformance_check_floats(c, "used in another scope", gantry_neg(next, mine),
                             (const float[]){0, -4, -16}, 3);
    conformance_end_scope(c, next, GANTRY_OK);
    gantry_tensor_release(gantry_tensor_retain(mine));
    conformance_check_floats(c, "after retain and release", mine, (const float[]){0, 4, 16}, 3);
    gantry_tensor_release(mine);
}

static void dropped_tensors_do_not_disturb_others(conformance_t *c) {
    gantry_scope_t *scope = conformance_scope(c), *other = conformance_scope(c);
    const gantry_tensor_t *x = conformance_iota(scope, 1000), *y = gantry_add(scope, x, x),
                          *z = conformance_iota(other, 2);
    gantry_tensor_drop(scope, x);
    gantry_tensor_drop(scope, z); /* another's */
    for (int i = 0; i < 100; ++i) {
        const gantry_tensor_t *next = gantry_add(scope, y, gantry_scalar_f32(scope, 1));
        gantry_tensor_drop(scope, y);
        y = next;
    }
    const int64_t begin[] = {0}, size[] = {2};
    conformance_check_floats(c, "a chain of 100 additions", gantry_slice(scope, y, begin, size),
                             (const float[]){100, 102}, 2);
    conformance_check_floats(c, "another scope's tensor", z, (const float[]){0, 1}, 2);
    conformance_end_scope(c, other, GANTRY_OK);
    conformance_end_scope(c, scope, GANTRY_OK);
}

static void ending_a_parent_first_ends_its_children(conformance_t *c) {
    gantry_scope_t *parent = conformance_scope(c), *child = gantry_scope_begin_in(parent, NULL);
    CHECK(c, gantry_scope_begin_in(child, NULL) && conformance_iota(child, 4), "%s",
          gantry_scope_message(child));
    gantry_status_t status = gantry_scope_end(parent);
    CHECK(c, status == GANTRY_FAILED_PRECONDITION, "it gave %s", gantry_status_name(status));
}

static void scopes_nest_deeply(conformance_t *c) {
    gantry_scope_t *scopes[64];
    scopes[0] = conformance_scope(c);
    const gantry_tensor_t *x = conformance_iota(scopes[0], 2);
    for (int i = 1; i < 64; ++i) {
        scopes[i] = gantry_scope_begin_in(scopes[i - 1], i & 1 ? NULL : c->options.device);
        x = gantry_add(scopes[i], x, x);
        CHECK(c, x, "depth %d: %s", i, gantry_scope_message(scopes[i]));
    }
    conformance_check_floats(c, "2^63", x, (const float[]){0, 0x1p63f}, 2);
    for (int i = 63; i >= 0; --i) conformance_end_scope(c, scopes[i], GANTRY_OK);
}

/* ---- the end of a runtime ---- */

static void objects_of_a_released_runtime_are_refused(conformance_t *c) {
    gantry_runtime_options_t options = conformance_runtime_options(c);
    gantry_runtime_t *runtime = NULL;
    CHECK(c, gantry_runtime_create(&options, &runtime) == GANTRY_OK, "%s", gantry_last_message());
    gantry_scope_t *scope = gantry_scope_begin(runtime, c->options.device);
    if (!scope) {
        conformance_fail(c, "no scope in a second runtime: %s", gantry_last_message());
        gantry_runtime_release(runtime);
        return;
    }
    const gantry_tensor_t *x = conformance_iota(scope, 2);
    gantry_variable_t *v = gantry_variable_create(scope, x, NULL);
    gantry_tensor_t *kept = x ? gantry_tensor_retain(x) : NULL;
    CHECK(c, x && v, "%s", gantry_scope_message(scope));
    gantry_scope_t *ours = conformance_scope(c);
    CHECK(c, !x || !gantry_add(ours, x, x), "a tensor of another runtime was used");
    CHECK(c, gantry_scope_status(ours) == GANTRY_INVALID_ARGUMENT, "it gave %s",
          gantry_status_name(gantry_scope_status(ours)));
    gantry_scope_end(ours);
    gantry_runtime_release(runtime);
    float values[2];
    gantry_status_t status =
        kept ? gantry_tensor_read(kept, values, sizeof values) : GANTRY_FAILED_PRECONDITION;
    conformance_check_status(c, "reading", status, GANTRY_FAILED_PRECONDITION,
                             gantry_last_message(), "");
    CHECK(c, !gantry_add(scope, x, x), "an op ran in a released runtime");
    CHECK(c, gantry_scope_status(scope) == GANTRY_FAILED_PRECONDITION, "it gave %s",
          gantry_status_name(gantry_scope_status(scope)));
    gantry_scope_end(scope);
    gantry_variable_release(v);
    gantry_tensor_release(kept);
}

void conformance_run_scopes(conformance_t *c) {
    static const conformance_check_t checks[] = {
        {"the_first_error_stays", the_first_error_stays},
        {"clear_forgets_the_error", clear_forgets_the_error},
        {"null_inputs_are_named", null_inputs_are_named},
        {"a_bad_device_gives_a_failed_scope", a_bad_device_gives_a_failed_scope},
        {"null_arguments_are_refused", null_arguments_are_refused},
        {"inner_devices_replace_outer_ones", inner_devices_replace_outer_ones},
        {"blocks_request_devices", blocks_request_devices},
        {"none_cuts_off_outer_devices", none_cuts_off_outer_devices},
        {"missing_devices_fall_back_or_fail", missing_devices_fall_back_or_fail},
        {"a_childs_error_is_its_own", a_childs_error_is_its_own},
        {"kept_tensors_outlive_their_scope", kept_tensors_outlive_their_scope},
        {"dropped_tensors_do_not_disturb_others", dropped_tensors_do_not_disturb_others},
        {"ending_a_parent_first_ends_its_children", ending_a_parent_first_ends_its_children},
        {"scopes_nest_deeply", scopes_nest_deeply},
        {"objects_of_a_released_runtime_are_refused", objects_of_a_released_runtime_are_refused},
    };
    conformance_run_checks(c, "scope", checks, sizeof checks / sizeof checks[0]);
}
