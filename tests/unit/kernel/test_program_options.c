/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Build options describe a device to its programs, and fit their buffer
 * (kernels/common/program_options.h). */

#include "kernels/common/program_options.h"
#include "test.h"

TEST(numbers_are_written_in_full) {
    gantry__k_options_t options = {.text = "", .length = 0};

    gantry__k_define(&options, "A", 0);
    gantry__k_define(&options, "BCD", 10);
    gantry__k_define(&options, "E", UINT32_MAX);
    assert_string_equal(options.text, "-DGANTRY_A=0 -DGANTRY_BCD=10 -DGANTRY_E=4294967295");
    assert_int_equal(options.length, strlen(options.text));
}

TEST(programs_are_told_how_items_run) {
    gantry_device_info_t info = {.type = GANTRY_DEVICE_TYPE_CPU};
    const gantry_op_call_t call = {.device_info = &info};

    assert_string_equal(gantry__k_options_of_type(&call, GANTRY_FLOAT64).text,
                        "-DGANTRY_SERIAL=1 -DGANTRY_T=f64");
    info.sub_group_size = 8; /* a processor whose work-items are vector lanes */
    assert_string_equal(gantry__k_options(&call).text,
                        "-DGANTRY_SERIAL=0 -DGANTRY_COPY_PARAMETERS=1");
    info.type = GANTRY_DEVICE_TYPE_GPU;
    assert_string_equal(gantry__k_options(&call).text, "-DGANTRY_SERIAL=0");
}

/* Never writes past the text's end, however long the text already is. */
TEST(a_definition_without_room_is_left_out) {
    for (size_t length = 1; length < 40; ++length) {
        struct {
            gantry__k_options_t options;
            char guard[16];
        } box = {.options = {.text = "", .length = 0}, .guard = "untouched"};
        char name[40] = "", before[sizeof box.options.text];

        memset(name, 'N', length);
        do {
            memcpy(before, box.options.text, sizeof before);
            gantry__k_define(&box.options, name, UINT32_MAX);
            assert_true(strlen(box.options.text) < sizeof box.options.text);
            assert_int_equal(strlen(box.options.text), box.options.length);
        } while (strcmp(before, box.options.text) != 0);
        assert_true(box.options.length > sizeof box.options.text - 2 * (length + 24));
        assert_string_equal(box.guard, "untouched");
    }
}

int main(void) { return test_main(); }
