/* SPDX-License-Identifier: Apache-2.0 */
/* Comparison of processes in a loop of the program's own. */
#include <inttypes.h>

#include "train/base/inner_scope.h"
#include "train/strategy/compare_optimizer.h"
#include "train/strategy/strategy_state.h"

static gantry_status_t check_arguments(const gantry_strategy_t *strategy, gantry_scope_t *scope,
                                       gantry_variable_t *const *variables, size_t count) {
    static const char call[] = "gantry_strategy_check_alike";
    if (!scope) return gantry__train_fail_null(NULL, call, "scope", "one from gantry_scope_begin");
    if (!strategy) return gantry__train_fail_null(scope, call, "strategy", "one");
    if (!variables && count > 0)
        return gantry__train_refuse(scope, "%s: variables is NULL; an array of %zu is accepted",
                                    call, count);
    for (size_t i = 0; i < count; ++i) {
        if (!variables[i])
            return gantry__train_refuse(scope,
                                        "%s: variables[%zu] is NULL; a variable is accepted%s",
                                        call, i, gantry__train_before().text);
    }
    return gantry__train_check_scope(scope);
}

static void check_alike_add_variable(gantry__lines_t *lines, gantry_scope_t *scope, size_t index,
                                     gantry_variable_t *variable) {
    char shape[160];
    uint64_t sum = 0;
    const char *name = gantry_variable_name(variable);
    (void)gantry_shape_format(gantry_variable_shape(variable), shape, sizeof shape);
    gantry__lines_add(lines, "variable %zu, %.80s, of %s%s", index, name,
                      gantry_dtype_name(gantry_variable_dtype(variable)), shape);
    gantry__lines_fail(lines, gantry__variable_checksum(scope, variable, &sum));
    gantry__lines_add(lines, "variable %zu, %.80s, with the checksum %016" PRIx64, index, name,
                      sum);
}

gantry_status_t gantry_strategy_check_alike(const gantry_strategy_t *strategy,
                                            gantry_scope_t *scope, gantry_optimizer_t *optimizer,
                                            gantry_variable_t *const *variables, size_t count) {
    gantry__lines_t lines = {.text = NULL};
    const gantry_communicator_t *communicator = gantry__strategy_communicator(strategy);
    const gantry_status_t checked = check_arguments(strategy, scope, variables, count);
    if (!communicator) return checked;
    /* a process that fails must take part, because the others wait for it */
    gantry__lines_fail(&lines, checked);
    if (optimizer) gantry__lines_add_optimizer(&lines, optimizer);
    if (optimizer) gantry__lines_add_progress(&lines, optimizer);
    for (size_t i = 0; i < count && lines.status == GANTRY_OK; ++i)
        check_alike_add_variable(&lines, scope, i, variables[i]);
    const gantry_status_t status =
        gantry__compare(communicator, &lines, "gantry_strategy_check_alike");
    gantry__lines_deinit(&lines);
    return scope ? gantry__train_hand_on(scope, status) : status;
}
