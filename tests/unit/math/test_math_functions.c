/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Each math function that the expression of an op calls has a row in ops/functions.def.
 * Promise: A row of ops/functions.def names an op whose expression calls the function. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "test.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
    const char *op, *form, *math, *expression;
} ops[] = {
#define GANTRY_ELEMENTWISE(name, function, summary, form, types, result, check, math, expression) \
    {#name, #form, #math, #expression},
#include "ops/elementwise.def"
};

static const struct {
    const char *form, *op, *name;
} functions[] = {
#define GANTRY_MATH_FUNCTION(form, op, name, ...) {#form, #op, #name},
#define GANTRY_MATH_PAIR(op, name, float64) {"OP", #op, #name},
#include "ops/functions.def"
};

static bool has_row(const char *name) {
    for (size_t i = 0; i < COUNT(functions); ++i) {
        if (strcmp(functions[i].name, name) == 0) return true;
    }
    return false;
}

/* Those of math_rounding.cl are exact, and have no row. */
TEST(functions_of_expressions_have_rows) {
    char name[32];
    size_t found = 0;
    for (size_t i = 0; i < COUNT(ops); ++i) {
        const char *call = strstr(ops[i].expression, "GANTRY_MATH(");
        if (!call || strcmp(ops[i].math, "ROUNDING") == 0) continue;
        assert_int_equal(sscanf(call, "GANTRY_MATH(%31[a-z0-9_])", name), 1);
        if (!has_row(name)) fail_msg("%s calls %s, which has no row", ops[i].op, name);
        ++found;
    }
    assert_true(found >= 30);
}

static bool calls(const char *op, const char *name) {
    char call[48];
    snprintf(call, sizeof call, "GANTRY_MATH(%s)(", name);
    for (size_t i = 0; i < COUNT(ops); ++i) {
        if (strcmp(ops[i].op, op) == 0) return strstr(ops[i].expression, call) != NULL;
    }
    return false;
}

/* Pow calls its function by the word GANTRY_POWER, because integers have it, too. A variant is the
 * row of its op with another name. */
TEST(rows_name_ops_that_call_them) {
    for (size_t i = 0; i < COUNT(functions); ++i) {
        if (strcmp(functions[i].form, "OP") != 0 || strcmp(functions[i].name, "pow") == 0) continue;
        if (!calls(functions[i].op, functions[i].name))
            fail_msg("%s does not call %s", functions[i].op, functions[i].name);
    }
}

int main(void) { return test_main(); }
