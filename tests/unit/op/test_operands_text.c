/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The text of an error gives the operands' types and shapes, and long lists end in
 * `...`. */
#include <stdio.h>
#include <string.h>

#include "op/operands_text.h"
#include "test.h"

TEST(operands_are_listed_in_order) {
    gantry__operands_text_t operands = {.text = ""};
    gantry__operands_add(&operands, GANTRY_FLOAT32, &GANTRY_SHAPE(2, 3));
    assert_string_equal(operands.text, " of float32[2,3]");
    gantry__operands_add(&operands, GANTRY_BOOL, &GANTRY_SCALAR);
    gantry__operands_add(&operands, GANTRY_INT64, &GANTRY_SHAPE(-1, 0));
    assert_string_equal(operands.text, " of float32[2,3], bool[], int64[-1,0]");
}

/* Each prefix of a long list ends with the last shape that fits, or with one mark for the rest. */
TEST(many_operands_end_in_dots) {
    for (int64_t size = 1; size < 1000000000000; size *= 10) {
        gantry__operands_text_t operands = {.text = ""}, before = operands;
        int count = 0;
        for (; count < 64 && !operands.is_cut; ++count) {
            before = operands;
            gantry__operands_add(&operands, GANTRY_FLOAT32, &GANTRY_SHAPE(size));
        }
        assert_true(operands.is_cut);
        assert_in_range(strlen(operands.text), sizeof operands.text * 3 / 4,
                        sizeof operands.text - 1);
        char expected[sizeof operands.text + 8];
        (void)snprintf(expected, sizeof expected, "%s, ...", before.text);
        assert_string_equal(operands.text, expected);
        gantry__operands_add(&operands, GANTRY_BOOL, &GANTRY_SCALAR); /* though it is short */
        assert_string_equal(operands.text, expected);
    }
}

TEST(an_operand_that_is_too_long_is_left_out) {
    const gantry_shape_t longest = {.rank = 8,
                                    .dims = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX,
                                             INT64_MAX, INT64_MAX, INT64_MAX}};
    gantry__operands_text_t operands = {.text = ""};
    gantry__operands_add(&operands, GANTRY_FLOAT64, &longest);
    assert_string_equal(operands.text, " of ...");
    gantry__operands_add(&operands, GANTRY_FLOAT64, &longest);
    assert_string_equal(operands.text, " of ...");
}

int main(void) { return test_main(); }
