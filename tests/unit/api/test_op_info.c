/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The host inputs that gantry_op_info names are those that kernels take in host memory,
 * and an op gives the same result whichever device they are on.
 * Promise: Every op has a version, which is 1 where no row says more. */
#define _XOPEN_SOURCE 700

#include "device/logical_device.h"
#include "op/op_def.h"
#include "runtime_fixture.h"
#include "test.h"

static bool takes_on_host(const gantry__kernel_entry_t *entries, size_t count, const char *name) {
    for (size_t i = 0; i < count; ++i) {
        if (gantry__kernel_has_host_arg(entries[i].def, name)) return true;
    }
    return false;
}

TEST(inputs_that_kernels_take_on_the_host_are_told) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    assert_int_equal(gantry_runtime_initialize(f.runtime), GANTRY_OK);
    const gantry__kernel_registry_t *registry =
        &f.runtime->registries[gantry__logical_view(f.runtime->host)->position];
    size_t on_host = 0;
    for (size_t i = 0; i < gantry_op_count(); ++i) {
        const gantry__op_def_t *op = gantry__op_get((gantry__op_id_t)i);
        gantry_op_info_t info = {.struct_size = sizeof info};
        size_t count;
        assert_int_equal(gantry_op_info(i, &info), GANTRY_OK);
        const gantry__kernel_entry_t *entries =
            gantry__kernel_registry_find(registry, info.name, &count);
        for (size_t k = 0; k < info.input_count; ++k) {
            if (!takes_on_host(entries, count, op->inputs[k].name)) continue;
            if (!(info.host_inputs >> k & 1)) fail_msg("%s: %s", info.name, info.inputs[k]);
            ++on_host;
        }
    }
    assert_true(on_host > 30);
    runtime_fixture_close(&f);
}

/* A host input on a card is read back first. */
TEST(host_input_on_another_device_gives_the_same_result) {
    static const char *const devices[] = {"CPU:0", "GPU:0"};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    const gantry_tensor_t *x = F32(scope, 1, 2, 3, 4, 5, 6);
    for (int i = 0; i < 2; ++i) {
        gantry_scope_t *there = gantry_scope_begin_in(scope, devices[i]);
        const gantry_tensor_t *inputs[] = {x, I32(there, 2), I32(there, 3)}, *part;
        size_t count = 1;
        assert_int_equal(gantry_op_call(scope, "Slice", inputs, 3, NULL, 0, &part, &count),
                         GANTRY_OK);
        EXPECT_F32(part, 3, 4, 5);
        expect_ended_well(there);
    }
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(every_op_has_a_version) {
    for (size_t i = 0; i < gantry_op_count(); ++i) {
        gantry_op_info_t info = {.struct_size = sizeof info};
        assert_int_equal(gantry_op_info(i, &info), GANTRY_OK);
        assert_int_equal(info.version, gantry__op_version(gantry__op_get((gantry__op_id_t)i)));
        assert_true(info.version >= 1);
    }
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
