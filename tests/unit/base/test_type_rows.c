/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The columns of an element type in ops/types.def agree with its numbers. */
#include <string.h>
#include <gantry/types.h>

#include "base/decimal.h"
#include "host/bits.h"
#include "ops/type_rows.h"
#include "test.h"

#define TYPE(short) GANTRY_ID_##short,
static const int32_t types[] = {GANTRY_ELEMENT_TYPES(TYPE)};
enum { TYPE_COUNT = sizeof types / sizeof types[0] };

static gantry__real_t real(int32_t dtype, uint64_t bits) {
    const uint64_t number = gantry__bits_placed(bits, gantry__type_bytes(dtype));
    return gantry__real_read((gantry_dtype_t)dtype, &number);
}

TEST(floating_columns_are_their_numbers) {
    for (int i = 0; i < TYPE_COUNT; ++i) {
        const int32_t dtype = types[i];
        if (gantry__type_exponent_bits(dtype) == 0) continue;
        const uint64_t sign = UINT64_C(1) << (8 * gantry__type_bytes(dtype) - 1);
        const gantry__real_t one = real(dtype, gantry__type_one(dtype));
        assert_true(gantry__real_magnitude(&one) >= 1 && gantry__real_magnitude(&one) <= 1);
        assert_int_equal(gantry__type_infinity(dtype), gantry__type_greatest(dtype) + 1);
        assert_int_equal(gantry__type_lowest(dtype), gantry__type_greatest(dtype) | sign);
        assert_int_equal(real(dtype, gantry__type_greatest(dtype)).kind, GANTRY__REAL_FINITE);
        assert_int_equal(real(dtype, gantry__type_nan(dtype)).kind, GANTRY__REAL_NAN);
        if (gantry__type_infinity(dtype) != gantry__type_nan(dtype))
            assert_int_equal(real(dtype, gantry__type_infinity(dtype)).kind, GANTRY__REAL_INFINITE);
    }
}

static int64_t integer(int32_t dtype, uint64_t bits) {
    const uint64_t number = gantry__bits_placed(bits, gantry__type_bytes(dtype));
    return gantry__integer_read((gantry_dtype_t)dtype, &number);
}

TEST(integer_columns_are_their_ends) {
    for (int i = 0; i < TYPE_COUNT; ++i) {
        const int32_t dtype = types[i];
        if (!GANTRY__TYPE_IS(dtype, INTEGERS)) continue;
        const uint64_t all = UINT64_MAX >> (64 - 8 * gantry__type_bytes(dtype));
        const uint64_t lowest = gantry__type_lowest(dtype), greatest = gantry__type_greatest(dtype);
        assert_int_equal(gantry__type_one(dtype), 1);
        assert_int_equal((greatest + 1) & all, lowest);
        assert_true(GANTRY__TYPE_IS(dtype, SIGNED) == (lowest != 0));
        assert_true(integer(dtype, lowest) <= 0);
        assert_int_equal((uint64_t)integer(dtype, greatest), greatest);
    }
}

TEST(each_type_has_one_class_and_names_of_its_own) {
    for (int i = 0; i < TYPE_COUNT; ++i) {
        const int32_t dtype = types[i];
        const int classes = GANTRY__TYPE_IS(dtype, INTEGERS) + GANTRY__TYPE_IS(dtype, BOOLS) +
                            GANTRY__TYPE_IS(dtype, COMPLEXES) +
                            (gantry__type_exponent_bits(dtype) > 0);
        assert_int_equal(classes, 1);
        assert_true(GANTRY__TYPE_IS(dtype, ANY));
        for (int k = 0; k < i; ++k) {
            const char *npy = gantry__type_npy(dtype), *other = gantry__type_npy(types[k]);
            assert_string_not_equal(gantry__type_name(dtype), gantry__type_name(types[k]));
            if (npy && other) assert_string_not_equal(npy + 1, other + 1);
        }
    }
    assert_int_equal(gantry__type_bytes(-1), 0);
    assert_int_equal(gantry__type_bytes(GANTRY_DTYPE_NONE), 0);
    assert_false(GANTRY__TYPE_IS(-1, ANY));
    assert_false(GANTRY__TYPE_IS(64, ANY));
}

int main(void) { return test_main(); }
