/* SPDX-License-Identifier: Apache-2.0 */
/* The device policy copies and counts, or refuses, inputs on another device. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

/* The device's name for a scope; unlisted devices have aliases. */
static const char *name_of(const gantry_logical_device_t *device) {
    return gantry_logical_device_full_name(device);
}

static bool needs_two_devices(conformance_t *c) {
    if (c->elsewhere) return true;
    conformance_skip(c, "there is no second device");
    return false;
}

/* x + x on `to`, x made on `from`. */
static void check_moved(conformance_t *c, const char *from, const char *to, int64_t n) {
    gantry_scope_t *source = conformance_scope_on(c, from), *target = conformance_scope_on(c, to);
    const gantry_tensor_t *x = conformance_iota(source, n);
    c->record = (gantry_placement_record_t){.struct_size = sizeof c->record};
    const gantry_tensor_t *sum = gantry_add(target, x, x);
    golden_tensor_t got = {0};
    if (!sum) {
        conformance_fail(c, "%" PRId64 " elements: %s", n, gantry_scope_message(target));
    } else {
        uint64_t bytes = (uint64_t)n * sizeof(float), copied = c->record.bytes_copied;
        CHECK(c, copied == bytes || copied == 2 * bytes,
              "%" PRIu64 " bytes are recorded as copied, not %" PRIu64, copied, bytes);
        CHECK(c, strcmp(c->record.device, to) == 0, "ran on %s, not on %s", c->record.device, to);
        gantry_status_t status = conformance_read(sum, &got);
        CHECK(c, status == GANTRY_OK, "%s", conformance_last_error(status));
        for (int64_t i = 0; i < n && c->reasons == 0; ++i) {
            float value;
            memcpy(&value, (const char *)got.data + (size_t)i * sizeof value, sizeof value);
            CHECK(c, value == 2 * (float)i, "element %" PRId64 " of %" PRId64 " is %g", i, n,
                  (double)value);
        }
        conformance_free_outputs(&got, 1);
    }
    conformance_end_scope(c, target, GANTRY_OK);
    conformance_end_scope(c, source, GANTRY_OK);
}

static void inputs_from_another_device_are_copied(conformance_t *c) {
    static const int64_t sizes[] = {1, 4, 1000, 16384, 16385, 100000, 1500000};
    if (!needs_two_devices(c)) return;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        check_moved(c, name_of(c->elsewhere), name_of(c->device), sizes[i]);
        check_moved(c, name_of(c->device), name_of(c->elsewhere), sizes[i]);
    }
}

static void identity_copies_to_the_device_asked_for(conformance_t *c) {
    const float wanted[] = {0, 1, 2};
    if (!needs_two_devices(c)) return;
    gantry_scope_t *source = conformance_scope_on(c, name_of(c->elsewhere)),
                   *target = conformance_scope(c);
    const gantry_tensor_t *x = conformance_iota(source, 3), *y = gantry_identity(target, x);
    CHECK(c, y && gantry_tensor_device(y) == c->device, "the copy does not lie on %s",
          name_of(c->device));
    CHECK(c, x && gantry_tensor_device(x) == c->elsewhere, "the source moved");
    gantry_scope_end(source);
    conformance_check_floats(c, "the copy", y, wanted, 3);
    conformance_end_scope(c, target, GANTRY_OK);
}

static void empty_inputs_from_another_device_are_fine(conformance_t *c) {
    if (!needs_two_devices(c)) return;
    gantry_scope_t *source = conformance_scope_on(c, name_of(c->elsewhere)),
                   *target = conformance_scope(c);
    const gantry_tensor_t *x = gantry_constant(source, GANTRY_FLOAT32, GANTRY_SHAPE(0, 3), NULL, 0);
    const gantry_tensor_t *sum = gantry_add(target, x, x);
    conformance_check_floats(c, "empty + empty", sum, NULL, 0);
    conformance_end_scope(c, target, GANTRY_OK);
    conformance_end_scope(c, source, GANTRY_OK);
}

/* A chain of copies there and back keeps the order of work on both devices. */
static void work_may_go_back_and_forth(conformance_t *c) {
    if (!needs_two_devices(c)) return;
    gantry_scope_t *there = conformance_scope_on(c, name_of(c->elsewhere)),
                   *here = conformance_scope(c);
    const gantry_tensor_t *x = conformance_iota(here, 40000), *one = gantry_scalar_f32(here, 1.0f);
    for (int i = 0; i < 20; ++i) x = gantry_add(i & 1 ? here : there, x, one);
    golden_tensor_t got = {0};
    if (!x) {
        conformance_fail(c, "%s%s", gantry_scope_message(here), gantry_scope_message(there));
    } else {
        gantry_status_t status = conformance_read(x, &got);
        CHECK(c, status == GANTRY_OK, "%s", conformance_last_error(status));
        for (size_t i = 0; i < 40000 && c->reasons == 0; ++i) {
            float value;
            memcpy(&value, (const char *)got.data + i * sizeof value, sizeof value);
            CHECK(c, value == (float)i + 20, "element %zu is %g instead of %g", i, (double)value,
                  (double)i + 20);
        }
        conformance_free_outputs(&got, 1);
    }
    conformance_end_scope(c, here, GANTRY_OK);
    conformance_end_scope(c, there, GANTRY_OK);
}

/* ---- policy ---- */

static gantry_status_t add_under_policy(conformance_t *c, gantry_device_policy_t policy,
                                        gantry_dtype_t dtype, char *out_message,
                                        size_t message_bytes) {
    const int32_t one[2] = {1, 1};
    gantry_scope_t *source = conformance_scope_on(c, name_of(c->elsewhere)),
                   *target = conformance_scope(c);
    const gantry_tensor_t *x = gantry_constant(source, dtype, GANTRY_SHAPE(2), one, sizeof one);
    gantry_status_t set = gantry_set_device_policy(c->runtime, policy);
    CHECK(c, set == GANTRY_OK && gantry_get_device_policy(c->runtime) == policy,
          "the policy cannot be set");
    (void)gantry_add(target, x, x);
    gantry_set_device_policy(c->runtime, GANTRY_POLICY_SILENT);
    snprintf(out_message, message_bytes, "%s", gantry_scope_message(target));
    gantry_status_t status = gantry_scope_end(target);
    gantry_scope_end(source);
    return status;
}

static void explicit_policy_refuses_copies(conformance_t *c) {
    char message[1024];
    if (!needs_two_devices(c)) return;
    gantry_status_t status =
        add_under_policy(c, GANTRY_POLICY_EXPLICIT, GANTRY_FLOAT32, message, sizeof message);
    conformance_check_status(
        c, "explicit", status, GANTRY_INVALID_ARGUMENT, message,
        "Tensors on conflicting devices: cannot compute Add as input #0 was expected to be on");
    CHECK(c, strstr(message, name_of(c->elsewhere)) && strstr(message, name_of(c->device)),
          "both devices must be named: %s", message);
    status = add_under_policy(c, GANTRY_POLICY_SILENT_FOR_INT32, GANTRY_FLOAT32, message,
                              sizeof message);
    conformance_check_status(c, "silent for int32, a float", status, GANTRY_INVALID_ARGUMENT,
                             message, "conflicting devices");
    status =
        add_under_policy(c, GANTRY_POLICY_SILENT_FOR_INT32, GANTRY_INT32, message, sizeof message);
    conformance_check_status(c, "silent for int32, an int32", status, GANTRY_OK, message, "");
}

static void warn_policy_copies_and_warns(conformance_t *c) {
    char message[1024];
    if (!needs_two_devices(c)) return;
    unsigned before = atomic_load(&c->warnings);
    gantry_status_t status =
        add_under_policy(c, GANTRY_POLICY_WARN, GANTRY_FLOAT32, message, sizeof message);
    conformance_check_status(c, "warn", status, GANTRY_OK, message, "");
    CHECK(c, atomic_load(&c->warnings) > before, "there was no warning");
}

void conformance_run_transfers(conformance_t *c) {
    static const conformance_check_t checks[] = {
        {"inputs_from_another_device_are_copied", inputs_from_another_device_are_copied},
        {"identity_copies_to_the_device_asked_for", identity_copies_to_the_device_asked_for},
        {"empty_inputs_from_another_device_are_fine", empty_inputs_from_another_device_are_fine},
        {"work_may_go_back_and_forth", work_may_go_back_and_forth},
        {"explicit_policy_refuses_copies", explicit_policy_refuses_copies},
        {"warn_policy_copies_and_warns", warn_policy_copies_and_warns},
    };
    conformance_run_checks(c, "transfer", checks, sizeof checks / sizeof checks[0]);
}
