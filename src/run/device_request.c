/* SPDX-License-Identifier: Apache-2.0 */
/* The device that a scope requests: its own text over that of the scope around it, and the texts of
 * gantry_device_begin over both.
 *
 *     begin "/GPU:1"          wish GPU:1            depth 1, frame: no wish
 *       begin "/job:worker"   /job:worker, GPU:1    depth 2, frame: GPU:1
 *       end                   GPU:1
 *     end                     no wish
 *
 * A frame has what its end restores. Each begin counts in the depth, whether it succeeded or not,
 * so that pairs stay pairs in a scope whose error is cleared; one for whose frame there was no
 * memory has none. An end in a loan ends only what began in that loan. */
#include <gantry/scope.h>

#include <string.h>

#include "device/device_table.h"
#include "run/profile.h"
#include "run/runtime_state.h"
#include "run/scope_state.h"

gantry_status_t gantry__request_within(gantry_runtime_t *runtime, const gantry__wish_t *outer,
                                       const char *device, const gantry__wish_t **out_wish) {
    gantry__device_reference_t reference;
    *out_wish = strcmp(device, GANTRY_DEVICE_NONE) == 0 ? NULL : outer;
    if (strcmp(device, GANTRY_DEVICE_NONE) == 0) return GANTRY_OK;
    GANTRY__TRY(gantry__device_reference_from_user(&runtime->devices, device, &reference));
    if (outer) {
        gantry__device_reference_t inner = reference;
        gantry__device_reference_merge_scope(&outer->reference, &inner, &reference);
    }
    return gantry__runtime_wish(runtime, &reference, out_wish);
}

gantry_status_t gantry__scope_request(gantry_scope_t *scope, const gantry__wish_t *outer,
                                      const char *device) {
    scope->wish = outer;
    if (!device) return GANTRY_OK;
    const gantry__wish_t *wish;
    GANTRY__TRY(gantry__request_within(scope->runtime, outer, device, &wish));
    if (scope->blocks.are_ignored) return GANTRY_OK;
    if (strcmp(device, GANTRY_DEVICE_NONE) == 0) scope->chooser = NULL;
    scope->wish = wish;
    return GANTRY_OK;
}

gantry_status_t gantry__scope_wish_inside(gantry_scope_t *scope, const gantry__wish_t *wish) {
    const gantry__wish_t *outer = scope->wish;
    gantry__device_reference_t merged;
    scope->wish = wish;
    if (!outer) return GANTRY_OK;
    gantry__device_reference_merge_scope(&outer->reference, &wish->reference, &merged);
    return gantry__runtime_wish(scope->runtime, &merged, &scope->wish);
}

void gantry__scope_fix_wish(gantry_scope_t *scope) {
    scope->blocks.are_ignored = true;
    scope->chooser = NULL;
    scope->related.colocated = NULL;
}

/* ---- gantry_device_begin and gantry_device_end ---- */

static gantry_status_t device_request_open(gantry_scope_t *scope) {
    ++scope->blocks.depth;
    gantry__device_frame_t *frame = gantry__heap_alloc(&scope->runtime->heap, sizeof *frame);
    if (!frame) return GANTRY_RESOURCE_EXHAUSTED;
    *frame = (gantry__device_frame_t){.outer = scope->blocks.innermost,
                                      .wish = scope->wish,
                                      .chooser = scope->chooser,
                                      .depth = scope->blocks.depth,
                                      .loans = scope->loans};
    scope->blocks.innermost = frame;
    return GANTRY_OK;
}

/* The innermost frame, unless its begin was inside another one that has none. */
static void device_request_close(gantry_scope_t *scope) {
    gantry__device_frame_t *frame = scope->blocks.innermost;
    const uint32_t depth = scope->blocks.depth--;
    if (!frame || frame->depth != depth) return;
    scope->wish = frame->wish;
    scope->chooser = frame->chooser;
    scope->blocks.innermost = frame->outer;
    gantry__heap_free(&scope->runtime->heap, frame, sizeof *frame);
}

static gantry_status_t device_request_read(gantry_scope_t *scope, const char *device) {
    if (!device)
        return gantry__refuse(
            "gantry_device_begin: device is NULL; a device text such as /GPU:0 is accepted, and \"\" for no request");
    const gantry__wish_t *outer = scope->wish;
    const gantry_status_t status =
        gantry__scope_request(scope, outer, *device ? device : GANTRY_DEVICE_NONE);
    if (status == GANTRY_OK) return GANTRY_OK;
    scope->wish = outer;
    return gantry__fail_prefix(status, "gantry_device_begin: ");
}

gantry_status_t gantry_device_begin(gantry_scope_t *scope, const char *device) {
    if (!scope || !gantry__runtime_is_ours(scope->runtime)) return gantry_scope_status(scope);
    GANTRY__RECORD(recorded, scope->runtime, GANTRY__PROFILE_SCOPE, NULL);
    gantry_status_t status = device_request_open(scope);
    if (status == GANTRY_OK) status = gantry__scope_check(scope);
    if (status == GANTRY_OK) status = device_request_read(scope, device);
    return gantry__scope_fail(scope, status);
}

static gantry_status_t device_request_check_end(const gantry_scope_t *scope) {
    if (scope->blocks.depth == 0)
        return gantry__fail(
            GANTRY_FAILED_PRECONDITION,
            "gantry_device_end: the scope has no open gantry_device_begin; each gantry_device_end ends one of its own scope");
    if (!scope->blocks.innermost || scope->blocks.innermost->loans >= scope->loans)
        return GANTRY_OK;
    return gantry__fail(
        GANTRY_FAILED_PRECONDITION,
        "gantry_device_end: a body ends a gantry_device_begin that it did not begin; those that it began are accepted");
}

gantry_status_t gantry_device_end(gantry_scope_t *scope) {
    if (!scope || !gantry__runtime_is_ours(scope->runtime)) return gantry_scope_status(scope);
    const gantry_status_t status = device_request_check_end(scope);
    if (status != GANTRY_OK) return gantry__scope_fail(scope, status);
    device_request_close(scope);
    return scope->status;
}

/* ---- what is left open ---- */

static gantry_status_t device_request_fail_open(const gantry_scope_t *scope) {
    return gantry__fail(
        GANTRY_FAILED_PRECONDITION,
        "Exiting device scope without proper scope nesting: a gantry_device_begin has no gantry_device_end, and requests %s; it is ended too",
        scope->wish ? scope->wish->text : "no device");
}

void gantry__scope_end_blocks(gantry_scope_t *scope) {
    (void)gantry__scope_fail(scope, device_request_fail_open(scope));
    while (scope->blocks.depth > 0) device_request_close(scope);
}

void gantry__scope_end_loan(gantry_scope_t *scope) {
    const gantry__device_frame_t *frame = scope->blocks.innermost;
    --scope->loans;
    if (!frame || frame->loans <= scope->loans || !gantry__runtime_is_ours(scope->runtime)) return;
    (void)gantry__scope_fail(scope, device_request_fail_open(scope));
    while ((frame = scope->blocks.innermost) && frame->loans > scope->loans)
        device_request_close(scope);
}
