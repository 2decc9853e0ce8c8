/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The BFC allocator refuses impossible options and names the value. */
#include "bfc_pool.h"
#include "test.h"

#include <string.h>

TEST(bad_options_are_refused_with_the_value) {
    static const uint64_t alignments[] = {1, 128, 255, 384, UINT64_C(1) << 41, UINT64_MAX};
    gantry__bfc_t bfc;
    for (size_t i = 0; i < sizeof alignments / sizeof *alignments; ++i) {
        gantry__bfc_options_t options = {.limit_bytes = GIB, .alignment = alignments[i]};
        assert_int_equal(gantry__bfc_init(&bfc, &gantry__heap_default, &options),
                         GANTRY_INVALID_ARGUMENT);
        char value[32];
        (void)snprintf(value, sizeof value, "%llu", (unsigned long long)alignments[i]);
        assert_non_null(strstr(gantry__message(), value));
        gantry__bfc_deinit(&bfc);
    }
    gantry__bfc_options_t none = {.growth = true};
    assert_int_equal(gantry__bfc_init(&bfc, &gantry__heap_default, &none), GANTRY_INVALID_ARGUMENT);
    assert_non_null(strstr(gantry__message(), "limit"));
    gantry__bfc_options_t full = {.limit_bytes = MIB, .reserved_bytes = MIB};
    assert_int_equal(gantry__bfc_init(&bfc, &gantry__heap_default, &full), GANTRY_INVALID_ARGUMENT);
    assert_non_null(strstr(gantry__message(), "1048576 of it are reserved"));
}

int main(void) { return test_main(); }
