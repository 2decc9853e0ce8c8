/* SPDX-License-Identifier: Apache-2.0 */
/* Scopes: a thread's list of tensors with one wish and one error. In this order:
 *
 *   errors           the first one stays
 *   begin            also inside another scope
 *   end              ends inner scopes, too, and flushes the devices
 *   loans            to callbacks, which do not end what they did not begin
 *   scopes of parts  for composed ops, in the caller's memory
 *
 * scope_tensors.c has the list of tensors, device_request.c the device that a scope requests;
 * run/eager.c runs ops in a scope. */
#include <gantry/scope.h>

#include <stdio.h>
#include <string.h>

#include "base/fp_mode.h"
#include "base/nesting.h"
#include "device/device_open.h"
#include "run/observe.h"
#include "run/scope_state.h"

/* ---- errors ---- */

/* The error may be that memory ran out: then only the beginning of the message is kept, here and as
 * the thread's last message. */
static void set_error(gantry_scope_t *scope, gantry_status_t status, const char *message) {
    scope->status = status;
    (void)snprintf(scope->beginning, sizeof scope->beginning, "%s", message);
    /* a thread that does not exist here may hold the heap's lock */
    if (!gantry__runtime_is_ours(scope->runtime)) return;
    scope->message = gantry__heap_strdup(&scope->runtime->heap, message);
    if (!scope->message) (void)gantry__fail(status, "%s", scope->beginning);
}

gantry_status_t gantry__scope_fail(gantry_scope_t *scope, gantry_status_t status) {
    if (scope->status != GANTRY_OK || status == GANTRY_OK) return scope->status;
    set_error(scope, status, gantry__message());
    return status;
}

gantry_status_t gantry_scope_fail(gantry_scope_t *scope, gantry_status_t status, const char *text) {
    GANTRY__TRY(gantry__scope_check(scope));
    if (status == GANTRY_OK) return GANTRY_OK;
    return gantry__scope_fail(scope, gantry_fail(status, text));
}

static gantry_status_t scope_check_ours(const gantry_scope_t *scope) {
    if (!scope) return gantry__refuse("the scope is NULL; one from gantry_scope_begin is accepted");
    if (gantry__runtime_is_ours(scope->runtime)) return GANTRY_OK;
    return gantry__fork_guard_fail(&scope->runtime->fork);
}

gantry_status_t gantry__scope_check_slowly(gantry_scope_t *scope) {
    GANTRY__TRY(scope_check_ours(scope));
    if (scope->status != GANTRY_OK) return scope->status;
    gantry_status_t status = gantry__runtime_check(scope->runtime);
    return status == GANTRY_OK ? GANTRY_OK : gantry__scope_fail(scope, status);
}

/* The scope after `at`, of all inside the scope; NULL after the last one. at: the scope itself for
 * the first one. */
static gantry_scope_t *next_inside(const gantry_scope_t *scope, const gantry_scope_t *at) {
    if (at->first_child) return at->first_child;
    while (at != scope && !at->next_sibling) at = at->parent;
    return at == scope ? NULL : at->next_sibling;
}

gantry_status_t gantry__scope_ignored(const gantry_scope_t *scope) {
    if (scope->inner.status != GANTRY_OK)
        return gantry__fail(scope->inner.status, "%s",
                            scope->inner.message ? scope->inner.message : "");
    for (const gantry_scope_t *at = next_inside(scope, scope); at; at = next_inside(scope, at)) {
        if (at->status != GANTRY_OK)
            return gantry__fail(at->status, "%s", gantry_scope_message(at));
    }
    return GANTRY_OK;
}

/* A scope inside a lent one ends with an error: the body may not hand it on. */
static void note_inner_error(const gantry_scope_t *scope) {
    gantry_scope_t *lent = scope->parent;
    while (lent && lent->loans == 0) lent = lent->parent;
    if (!lent || lent->inner.status != GANTRY_OK) return;
    lent->inner.status = scope->status;
    lent->inner.message = gantry__heap_strdup(&scope->runtime->heap, gantry_scope_message(scope));
}

gantry_status_t gantry_scope_status(const gantry_scope_t *scope) {
    GANTRY__TRY(scope_check_ours(scope));
    return scope->status;
}

const char *gantry_scope_message(const gantry_scope_t *scope) {
    if (scope && !gantry__runtime_is_ours(scope->runtime)) return scope->runtime->fork.text;
    if (!scope || scope->status == GANTRY_OK) return "";
    return scope->message ? scope->message : scope->beginning;
}

void gantry_scope_clear(gantry_scope_t *scope) {
    if (!scope || !gantry__runtime_is_ours(scope->runtime)) return;
    scope->status = GANTRY_OK;
    gantry__heap_free_text(&scope->runtime->heap, scope->message);
    scope->message = NULL;
}

/* ---- begin ---- */

static gantry_scope_t *make_scope(gantry_runtime_t *runtime) {
    gantry_scope_t *scope = gantry__heap_zalloc(&runtime->heap, sizeof *scope);
    if (!scope) return NULL;
    scope->runtime = gantry__runtime_retain(runtime, 1);
    scope->order.batch_invariant = runtime->switches.batch_invariant;
    scope->order.any = runtime->switches.any_order;
    return scope;
}

gantry_scope_t *gantry_scope_begin(gantry_runtime_t *runtime, const char *device) {
    if (gantry__runtime_check_well(runtime) != GANTRY_OK) return NULL;
    GANTRY__RECORD(recorded, runtime, GANTRY__PROFILE_SCOPE, NULL);
    gantry_scope_t *scope = make_scope(runtime);
    if (scope) (void)gantry__scope_fail(scope, gantry__scope_request(scope, NULL, device));
    return scope;
}

/* The table owns the device, which callers see as const. */
static gantry_logical_device_t *own_device(gantry_runtime_t *runtime,
                                           const gantry_logical_device_t *device) {
    return runtime->devices.logical[device->position];
}

static gantry_status_t find_wish(gantry_runtime_t *runtime, gantry_logical_device_t *device,
                                 const gantry__wish_t **out_wish) {
    gantry__device_reference_t reference;
    GANTRY__TRY(gantry__device_reference_from_user(&runtime->devices, device->name, &reference));
    GANTRY__TRY(gantry__runtime_wish(runtime, &reference, out_wish));
    atomic_store_explicit(&device->wish, *out_wish, memory_order_release);
    return GANTRY_OK;
}

static gantry_status_t wish_for(gantry_runtime_t *runtime, const gantry_logical_device_t *device,
                                const gantry__wish_t **out_wish) {
    if (!device)
        return gantry__refuse(
            "gantry_scope_begin_on: device is NULL; a logical device of the runtime is accepted");
    if (device->table != &runtime->devices)
        return gantry__refuse(
            "gantry_scope_begin_on: %s belongs to another runtime; a logical device of this runtime is accepted",
            device->name);
    *out_wish = atomic_load_explicit(&device->wish, memory_order_acquire);
    return *out_wish ? GANTRY_OK : find_wish(runtime, own_device(runtime, device), out_wish);
}

gantry_scope_t *gantry_scope_begin_on(gantry_runtime_t *runtime,
                                      const gantry_logical_device_t *device) {
    if (gantry__runtime_check_well(runtime) != GANTRY_OK) return NULL;
    GANTRY__RECORD(recorded, runtime, GANTRY__PROFILE_SCOPE, NULL);
    gantry_scope_t *scope = make_scope(runtime);
    if (scope) (void)gantry__scope_fail(scope, wish_for(runtime, device, &scope->wish));
    return scope;
}

static gantry_scope_t *begin_in(gantry_scope_t *parent, const char *device) {
    gantry_scope_t *scope = make_scope(parent->runtime);
    if (!scope) return NULL;
    scope->parent = parent;
    scope->next_sibling = parent->first_child;
    scope->tag = parent->tag;
    scope->origin = parent->origin;
    scope->order.batch_invariant = parent->order.batch_invariant;
    scope->order.any = parent->order.any;
    scope->blocks.are_ignored = parent->blocks.are_ignored;
    scope->trace = parent->trace;
    scope->related = parent->related;
    scope->chooser = parent->chooser;
    scope->observer = parent->observer;
    scope->place = parent->place;
    if (parent->first_child) parent->first_child->previous_sibling = scope;
    parent->first_child = scope;
    if (parent->status != GANTRY_OK) { /* the children of a failed scope do nothing either */
        set_error(scope, parent->status, gantry_scope_message(parent));
        return scope;
    }
    (void)gantry__scope_fail(scope, gantry__scope_request(scope, parent->wish, device));
    return scope;
}

gantry_scope_t *gantry_scope_begin_in(gantry_scope_t *parent, const char *device) {
    if (!parent) {
        (void)gantry__refuse("the parent scope is NULL; one from gantry_scope_begin is accepted");
        return NULL;
    }
    gantry_runtime_t *runtime = parent->runtime;
    if (!gantry__fork_guard_ask(&runtime->fork)) {
        (void)gantry__fork_guard_fail(&runtime->fork);
        return NULL;
    }
    GANTRY__RECORD(recorded, runtime, GANTRY__PROFILE_SCOPE, NULL);
    return begin_in(parent, device);
}

gantry_status_t gantry_scope_set_tag(gantry_scope_t *scope, const char *tag) {
    GANTRY__TRY(gantry__scope_check(scope));
    const char *word = NULL;
    if (tag && *tag) {
        gantry_status_t status = gantry__runtime_word(scope->runtime, tag, &word);
        if (status != GANTRY_OK) return gantry__scope_fail(scope, status);
    }
    scope->tag = word;
    return GANTRY_OK;
}

/* Takes the choice of a call; default_value is the runtime's. */
static gantry_status_t scope_take_choice(gantry_scope_t *scope, const char *call,
                                         gantry_choice_t choice, bool default_value, bool *out) {
    if (choice != GANTRY_DEFAULT && choice != GANTRY_OFF && choice != GANTRY_ON)
        return gantry__scope_fail(
            scope, gantry__refuse(
                       "%s: choice is %d; GANTRY_DEFAULT, GANTRY_OFF and GANTRY_ON are accepted",
                       call, (int)choice));
    *out = choice == GANTRY_DEFAULT ? default_value : choice == GANTRY_ON;
    return GANTRY_OK;
}

gantry_status_t gantry_scope_set_batch_invariant(gantry_scope_t *scope, gantry_choice_t choice) {
    GANTRY__TRY(gantry__scope_check(scope));
    return scope_take_choice(scope, "gantry_scope_set_batch_invariant", choice,
                             scope->runtime->switches.batch_invariant,
                             &scope->order.batch_invariant);
}

gantry_status_t gantry_scope_set_any_order(gantry_scope_t *scope, gantry_choice_t choice) {
    GANTRY__TRY(gantry__scope_check(scope));
    return scope_take_choice(scope, "gantry_scope_set_any_order", choice,
                             scope->runtime->switches.any_order, &scope->order.any);
}

/* ---- end ---- */

static void unlink_scope(gantry_scope_t *scope) {
    if (!scope->parent) return;
    if (scope->previous_sibling) {
        scope->previous_sibling->next_sibling = scope->next_sibling;
    } else {
        scope->parent->first_child = scope->next_sibling;
    }
    if (scope->next_sibling) scope->next_sibling->previous_sibling = scope->previous_sibling;
}

static void destroy_scope(gantry_scope_t *scope) {
    if (scope->observer) gantry__observe_end(scope);
    if (scope->blocks.depth > 0) gantry__scope_end_blocks(scope);
    gantry__scope_release_tensors(scope);
    unlink_scope(scope);
    gantry_runtime_t *runtime = scope->runtime;
    gantry__heap_free_text(&runtime->heap, scope->message);
    gantry__heap_free_text(&runtime->heap, scope->inner.message);
    gantry__heap_free(&runtime->heap, scope, sizeof *scope);
    gantry__runtime_drop(runtime, 1);
}

/* Destroys children before their parents, without recursion; visits each scope twice. */
static void destroy_children(gantry_scope_t *scope) {
    for (gantry_scope_t *at = scope;;) {
        while (at->first_child) at = at->first_child;
        if (at == scope) return;
        gantry_scope_t *parent = at->parent;
        destroy_scope(at);
        at = parent;
    }
}

/* Flushes the devices: some drivers delay work until a call waits, and the work of a scope starts
 * at its end at the latest. */
static void flush_devices(gantry_runtime_t *runtime) {
    if (!atomic_load_explicit(&runtime->is_initialized, memory_order_acquire)) return;
    for (size_t i = 0; i < runtime->devices.logical_count; ++i)
        gantry__logical_device_flush(runtime->devices.logical[i]);
}

static gantry_status_t end_scope(gantry_scope_t *scope) {
    if (scope->first_child) {
        (void)gantry__scope_fail(
            scope,
            gantry__fail(
                GANTRY_FAILED_PRECONDITION,
                "Exiting device scope without proper scope nesting: an inner scope is still open; it is ended too"));
        destroy_children(scope);
    }
    if (scope->blocks.depth > 0) gantry__scope_end_blocks(scope);
    flush_devices(scope->runtime);
    gantry_status_t status = scope->status;
    if (status != GANTRY_OK) {
        note_inner_error(scope);
        (void)gantry__fail(status, "%s", gantry_scope_message(scope));
    }
    destroy_scope(scope);
    return status;
}

static GANTRY__RECORDING gantry_status_t end_recorded(gantry_scope_t *scope) {
    GANTRY__RECORD(recorded, scope->runtime, GANTRY__PROFILE_SCOPE, NULL);
    return end_scope(scope);
}

/* The innermost scope that would end with this one and that a body or a call still uses; NULL:
 * none. Open scopes inside one that ends are an error: the search costs other programs nothing. */
static gantry_scope_t *find_lent(gantry_scope_t *scope) {
    gantry_scope_t *lent = scope->loans > 0 ? scope : NULL;
    for (gantry_scope_t *at = next_inside(scope, scope); at; at = next_inside(scope, at))
        if (at->loans > 0) lent = at;
    return lent;
}

gantry_status_t gantry_scope_end(gantry_scope_t *scope) {
    GANTRY__OWN_FP_MODE(fp);
    if (!scope) return gantry__refuse("the scope is NULL; one from gantry_scope_begin is accepted");
    gantry_runtime_t *runtime = scope->runtime;
    if (!gantry__fork_guard_ask(&runtime->fork)) return gantry__fork_guard_fail(&runtime->fork);
    gantry_scope_t *lent = find_lent(scope);
    if (lent)
        return gantry__scope_fail(
            lent,
            gantry__fail(
                GANTRY_FAILED_PRECONDITION,
                "a body ends a scope that it did not begin; scopes that it began are accepted"));
    if (!gantry__profile_is_on(&runtime->devices)) return end_scope(scope);
    (void)gantry__runtime_retain(runtime, 1); /* the scope may hold the last reference */
    gantry_status_t status = end_recorded(scope);
    gantry__runtime_drop(runtime, 1);
    return status;
}

gantry_status_t gantry__scope_end_body(gantry_scope_t *scope, gantry_status_t status) {
    char why[GANTRY__MESSAGE_BYTES] = "";
    if (status != GANTRY_OK) (void)snprintf(why, sizeof why, "%s", gantry__message());
    const uint32_t before = gantry__failures();
    gantry_scope_clear(scope);
    (void)gantry_scope_end(scope);
    if (status != GANTRY_OK) return gantry__fail(status, "%s", why);
    gantry__forget_since(before);
    return GANTRY_OK;
}

/* ---- loans ---- */

gantry_status_t gantry__scope_lend(gantry_scope_t *scope) {
    GANTRY__TRY(gantry__nesting_enter());
    ++scope->loans;
    return GANTRY_OK;
}

gantry_status_t gantry_scope_lend(gantry_scope_t *scope) {
    GANTRY__TRY(gantry__scope_check(scope));
    return gantry__scope_fail(scope, gantry__scope_lend(scope));
}

void gantry_scope_take_back(gantry_scope_t *scope) {
    if (!scope || scope->loans == 0) return;
    gantry__scope_end_loan(scope);
    gantry__nesting_leave();
}

/* A scope of parts is not among those in its parent. */
void gantry__scope_hold(gantry_scope_t *scope) {
    for (; scope; scope = scope->parent) ++scope->loans;
}

void gantry__scope_let_go(gantry_scope_t *scope) {
    for (; scope; scope = scope->parent) --scope->loans;
}

/* ---- scopes of parts ---- */

/* The scope's spare objects, if the borrower has none. */
static void lend_spares(gantry_scope_t *scope, gantry_scope_t *borrower) {
    if (borrower->spares.first) return;
    borrower->spares.first = scope->spares.first;
    borrower->spares.count = scope->spares.count;
    scope->spares.first = NULL;
    scope->spares.count = 0;
}

void gantry__scope_begin_parts(gantry_scope_t *inner, gantry_scope_t *outer,
                               const gantry__op_def_t *composed) {
    memset(inner, 0, offsetof(gantry_scope_t, next_name));
    inner->next_name[0] = '\0';
    inner->runtime = outer->runtime;
    inner->parent = outer;
    inner->wish = outer->wish;
    inner->chooser = outer->chooser;
    inner->tag = outer->tag;
    inner->origin = outer->origin;
    inner->order.batch_invariant = outer->order.batch_invariant;
    inner->order.any = outer->order.any;
    inner->blocks.are_ignored = outer->blocks.are_ignored;
    inner->composed = composed;
    inner->trace = outer->trace;
    inner->related = outer->related;
    inner->own_draws = outer->own_draws;
    inner->place = outer->place;
    inner->called = outer->called ? outer->called : composed;
    lend_spares(outer, inner);
    if (outer->trace)
        (void)snprintf(inner->next_name, sizeof inner->next_name, "%s",
                       *outer->next_name ? outer->next_name : composed->name);
}

gantry_status_t gantry__scope_begin_update(gantry_scope_t *inner, gantry_scope_t *outer,
                                           const gantry__op_def_t *op,
                                           const gantry_logical_device_t *device) {
    gantry__device_reference_t home;
    gantry__scope_begin_parts(inner, outer, op);
    inner->composed = NULL;
    inner->called = outer->called;
    inner->chooser = NULL;
    inner->related.colocated = NULL;
    inner->next_name[0] = '\0';
    GANTRY__TRY(
        gantry__device_reference_from_user(&outer->runtime->devices, device->full_name, &home));
    return gantry__runtime_wish(outer->runtime, &home, &inner->wish);
}

void gantry__scope_end_parts(gantry_scope_t *inner) {
    gantry__scope_drop_all(inner);
    lend_spares(inner, inner->parent);
    gantry__scope_release_tensors(inner);
    gantry__heap_free_text(&inner->runtime->heap, inner->message);
}

gantry_runtime_t *gantry_scope_runtime(const gantry_scope_t *scope) {
    return scope ? scope->runtime : NULL;
}
