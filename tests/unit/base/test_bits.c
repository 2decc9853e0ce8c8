/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Numbers of 1 to 8 bytes become bits and come back, and those of a file's order of bytes
 * become the machine's, whatever that is. */
#include "host/bits.h"
#include "ops/type_rows.h"
#include "test.h"

#define BITS UINT64_C(0x8877665544332211)

TEST(bits_of_each_size_are_read_and_written) {
    const uint8_t one = 0x11;
    const uint16_t two = 0x2211;
    const uint32_t four = UINT32_C(0x44332211);
    const uint64_t eight = BITS;
    assert_true(gantry__bits_read(&one, sizeof one) == one);
    assert_true(gantry__bits_read(&two, sizeof two) == two);
    assert_true(gantry__bits_read(&four, sizeof four) == four);
    assert_true(gantry__bits_read(&eight, sizeof eight) == eight);
    uint32_t written = 0;
    gantry__bits_write(BITS, &written, sizeof written);
    assert_true(written == four);
    const uint64_t placed = gantry__bits_placed(two, sizeof two);
    uint16_t first;
    memcpy(&first, &placed, sizeof first);
    assert_true(first == two);
    assert_true(gantry__bits_placed(BITS, 8) == BITS && gantry__bits_placed(0, 0) == 0);
}

TEST(little_bits_have_the_lowest_byte_first) {
    const uint64_t little = gantry__bits_little(BITS);
    const unsigned char *bytes = (const unsigned char *)&little;
    for (unsigned i = 0; i < 8; ++i) assert_int_equal(bytes[i], 0x11 * (i + 1));
    assert_true(gantry__bits_little(little) == BITS);
}

TEST(numbers_of_files_are_turned) {
    unsigned char file[] = {0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99};
    uint32_t numbers[2];
    gantry__bits_turn(file, 8, 4);
    memcpy(numbers, file, sizeof numbers);
    assert_true(numbers[0] == UINT32_C(0x44332211) && numbers[1] == UINT32_C(0x88776655));
    assert_int_equal(file[8], 0x99);
    gantry__bits_turn(file, 9, 4); /* and back; a part of a number stays */
    for (unsigned i = 0; i < 9; ++i) assert_int_equal(file[i], 0x11 * (i + 1));
}

TEST(a_placed_one_is_1_of_the_type) {
    float parts[2];
    uint16_t half;
    int64_t whole;
    uint64_t placed = gantry__type_placed_one(GANTRY_COMPLEX64);
    memcpy(parts, &placed, sizeof parts);
    assert_true(parts[0] == 1.0f && parts[1] == 0.0f);
    placed = gantry__type_placed_one(GANTRY_FLOAT16);
    memcpy(&half, &placed, sizeof half);
    assert_int_equal(half, 0x3c00);
    placed = gantry__type_placed_one(GANTRY_INT64);
    memcpy(&whole, &placed, sizeof whole);
    assert_int_equal(whole, 1);
}

int main(void) { return test_main(); }
