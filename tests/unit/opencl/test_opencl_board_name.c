/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Where a driver reports a board's name and a chip's, as AMD's does, the device is called
 * by the board, and the chip is a part of its hash.
 * Promise: A device whose board has no name is called by its chip.
 *
 * stand_ins/opencl/twin_layer.c plays the driver. */
#define _POSIX_C_SOURCE 200809L
#include "opencl_fixture.h"
#include "test.h"

static void expect_name(const char *board, const char *chip, const char *expected,
                        char out_hash[32]) {
    fixture_t fixture;
    assert_int_equal(setenv("TWIN_BOARD", board, 1), 0);
    assert_int_equal(setenv("TWIN_NAME", chip, 1), 0);
    fixture_need_driver();
    fixture_init(&fixture);
    assert_ok(fixture.backend->open(&fixture.host, &fixture.instance));
    gantry_device_info_t info = {.struct_size = sizeof info};
    assert_ok(fixture.backend->device_info(fixture.instance, 0, &info));
    assert_string_equal(info.hardware_name, expected);
    (void)snprintf(out_hash, 32, "%s", info.build_hash);
    fixture_close(&fixture);
}

TEST(empty_board_name_falls_back_to_the_chips) {
    char hash[32];
    expect_name("", "gfx1100", "gfx1100", hash);
    expect_name("  ", "gfx1100", "gfx1100", hash);
    expect_name("Acme Board", "gfx1100", "Acme Board", hash);
}

/* A program for one chip does not run on the other. */
TEST(hash_tells_chips_of_one_board_name_apart) {
    char one[32], again[32], other[32];
    expect_name("Acme Board", "gfx906:sramecc+:xnack-", "Acme Board", one);
    expect_name("Acme Board", "gfx906:sramecc+:xnack-", "Acme Board", again);
    expect_name("Acme Board", "gfx906:sramecc-:xnack-", "Acme Board", other);
    assert_string_equal(one, again);
    assert_string_not_equal(one, other);
}

int main(void) {
    (void)setenv("POCL_DEVICES", "pthread pthread", 1);
    (void)setenv("OPENCL_LAYERS", GANTRY_TEST_MODULES "/opencl/twin_layer.so", 1);
    return test_main();
}
