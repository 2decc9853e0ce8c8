/* SPDX-License-Identifier: Apache-2.0 */
/* Observers of scopes: a list from the innermost outwards, which a scope takes over from the one
 * around it when it begins. */
#include "run/observe.h"

#include "base/fp_mode.h"
#include "shared/struct_size.h"

/* ---- the list ---- */

gantry_status_t gantry_scope_observe(gantry_scope_t *scope, gantry_observer_t *observer) {
    GANTRY__TRY(gantry__scope_check(scope));
    if (!observer || !observer->observe)
        return gantry__scope_fail(
            scope, gantry__refuse("gantry_scope_observe: %s is NULL; an observer is accepted",
                                  observer ? "its function" : "the observer"));
    for (const gantry_observer_t *at = scope->observer; at; at = at->outer) {
        if (at == observer)
            return gantry__scope_fail(
                scope,
                gantry__fail(
                    GANTRY_FAILED_PRECONDITION,
                    "gantry_scope_observe: the scope has this observer; one that it does not have is accepted"));
    }
    observer->outer = scope->observer;
    observer->scope = scope;
    scope->observer = observer;
    return GANTRY_OK;
}

void gantry__observe_end(gantry_scope_t *scope) {
    if (!scope->observer) return;
    GANTRY__PROGRAM_FP_MODE(program);
    gantry__scope_hold(scope);
    for (gantry_observer_t *at = scope->observer; at; at = at->outer) {
        if (at->scope == scope && at->end) at->end(scope, at->user);
    }
    gantry__scope_let_go(scope);
}

static void remove_from(gantry_scope_t *scope, const gantry_observer_t *observer) {
    for (gantry_observer_t **at = &scope->observer; *at; at = &(*at)->outer) {
        if (*at != observer) continue;
        *at = observer->outer;
        return;
    }
}

/* Scopes in it first: their lists may lead through the observer. Depth-first, without recursion. */
void gantry_scope_unobserve(gantry_scope_t *scope, gantry_observer_t *observer) {
    if (!scope || !observer || !gantry__runtime_is_ours(scope->runtime)) return;
    gantry_scope_t *at = scope;
    for (;;) {
        if (at->first_child) {
            at = at->first_child;
            continue;
        }
        while (at != scope && !at->next_sibling) {
            remove_from(at, observer);
            at = at->parent;
        }
        remove_from(at, observer);
        if (at == scope) return;
        at = at->next_sibling;
    }
}

gantry_scope_t *gantry_scope_begin_unobserved(gantry_scope_t *parent) {
    gantry_scope_t *scope = gantry_scope_begin_in(parent, NULL);
    if (scope) scope->observer = NULL;
    return scope;
}

bool gantry_scope_is_observed(const gantry_scope_t *scope) { return scope && scope->observer; }

/* ---- telling ---- */

gantry_status_t gantry__observe(gantry_scope_t *scope, const gantry_observation_t *observation) {
    GANTRY__PROGRAM_FP_MODE(program);
    gantry_status_t status = GANTRY_OK;
    gantry__scope_hold(scope);
    for (gantry_observer_t *at = scope->observer; at && status == GANTRY_OK; at = at->outer)
        status = at->observe(scope, observation, at->user);
    gantry__scope_let_go(scope);
    return status;
}

gantry_status_t gantry_scope_tell(gantry_scope_t *scope, const gantry_observation_t *observation) {
    GANTRY__TRY(gantry__scope_check(scope));
    gantry_observation_t told;
    gantry_status_t status =
        gantry__struct_read(observation, 0, &told, sizeof told, "gantry_scope_tell: observation");
    if (status == GANTRY_OK && !told.op)
        status = gantry__refuse("gantry_scope_tell: op is NULL; the name of an op is accepted");
    if (status == GANTRY_OK) status = gantry__observe(scope, &told);
    return gantry__scope_fail(scope, status);
}

bool gantry__observes_parts(const gantry_scope_t *scope, const gantry__op_def_t *op) {
    const gantry_observer_t *observer = scope->observer;
    GANTRY__PROGRAM_FP_MODE(program);
    return !observer->whole || !observer->whole(op->name, observer->user);
}

/* Whether the parts of this composed op were reported. */
static bool is_told(const gantry__eager_t *eager) {
    return (eager->op->flags & GANTRY__OP_COMPOSED) &&
           !(eager->scope->trace && gantry__eager_is_whole(eager)) &&
           gantry__observes_parts(eager->scope, eager->op);
}

gantry_status_t gantry__observe_op(const gantry__eager_t *eager) {
    if (is_told(eager)) return GANTRY_OK;
    gantry_attr_value_t attrs[GANTRY__MAX_ATTRS];
    for (uint32_t i = 0; i < eager->op->attr_count; ++i) {
        const gantry_attr_t *attr = &eager->attrs[i];
        attrs[i] = (gantry_attr_value_t){.name = attr->name,
                                         .kind = (gantry_attr_kind_t)attr->kind,
                                         .i = attr->i,
                                         .f = attr->f,
                                         .s = attr->s,
                                         .list = attr->list};
    }
    return gantry__observe(eager->scope,
                           &(gantry_observation_t){.struct_size = sizeof(gantry_observation_t),
                                                   .op = eager->op->name,
                                                   .inputs = eager->inputs,
                                                   .input_count = eager->input_count,
                                                   .outputs = eager->request->outputs,
                                                   .output_count = eager->infer.output_count,
                                                   .attrs = attrs,
                                                   .attr_count = eager->op->attr_count});
}

gantry_status_t gantry__observe_alias(gantry_scope_t *scope, const gantry_tensor_t *input,
                                      const gantry_tensor_t *output) {
    return gantry__observe(scope,
                           &(gantry_observation_t){.struct_size = sizeof(gantry_observation_t),
                                                   .op = "Identity",
                                                   .inputs = &input,
                                                   .input_count = 1,
                                                   .outputs = &output,
                                                   .output_count = 1});
}

gantry_status_t gantry__observe_read(gantry_scope_t *scope, gantry_variable_t *variable,
                                     const gantry_tensor_t *value) {
    return gantry__observe(scope,
                           &(gantry_observation_t){.struct_size = sizeof(gantry_observation_t),
                                                   .op = "ReadVariableOp",
                                                   .outputs = &value,
                                                   .output_count = 1,
                                                   .variable = variable});
}
