/* SPDX-License-Identifier: Apache-2.0 */
/* Fused programs of elementwise ops give the bits of the ops one by one on the CPU: random programs over all ops,
 * types and broadcasts, every instruction with every type, and outputs over the memory of inputs. */
#include "fused_case.h"

#include "cpu_scope.h"

static void run_programs(cpu_scope_t *f, uint64_t first, uint64_t count, uint64_t types,
                         uint32_t longest) {
    static fused_case_t c; /* large */
    for (uint64_t seed = first; seed < first + count; ++seed) {
        fused_draw(&c, seed, types, 1 + (uint32_t)(seed * 7 % longest), longest);
        gantry_scope_t *scope = gantry_scope_begin(f->runtime, "/CPU:0");
        fused_check(scope, &c, seed);
        assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
        fused_free(&c);
    }
}

static void random_programs_of_float32_have_the_ops_bits(void **state) {
    run_programs(*state, 1, 1000, UINT64_C(1) << GANTRY_FLOAT32, 24);
}

static void random_programs_of_all_types_have_the_ops_bits(void **state) {
    run_programs(*state, 2000, 4000, FUSED_ALL_TYPES, 24);
}

static void long_programs_have_the_ops_bits(void **state) {
    run_programs(*state, 7000, 200, FUSED_ALL_TYPES, GANTRY__FUSED_MOST_INSTRUCTIONS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_programs_of_float32_have_the_ops_bits,
                                        cpu_scope_set_up, cpu_scope_tear_down),
        cmocka_unit_test_setup_teardown(random_programs_of_all_types_have_the_ops_bits,
                                        cpu_scope_set_up, cpu_scope_tear_down),
        cmocka_unit_test_setup_teardown(long_programs_have_the_ops_bits, cpu_scope_set_up,
                                        cpu_scope_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
