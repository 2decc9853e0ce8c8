/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A backend learns how threads wait for a device before it opens the device, from a list
 * with a value for each device, from an option or from a call. */
#define _XOPEN_SOURCE 700

#include "device/device_config.h"
#include "device/physical_device.h"
#include "physical_names.h"
#include "test.h"

static int set_up(void **state) {
    (void)state;
    device_fixture_clear();
    device_fixture_set_three_gpus();
    return 0;
}

static void expect_policies(device_fixture_t *f, const char *text, const int32_t policies[3]) {
    assert_int_equal(gantry__device_table_freeze(&f->table, "this test"), GANTRY_OK);
    for (uint32_t g = 0; g < 3; ++g) {
        char name[32];
        (void)snprintf(name, sizeof name, "/device:GPU:%u", g);
        gantry_logical_device_t *device = device_fixture_find(f, name, NULL);
        gantry_fake_device_t settings;
        assert_int_equal(gantry__logical_device_open(device), GANTRY_OK);
        fake->get_device(g, &settings);
        if (settings.wait_policy != policies[g])
            fail_msg("\"%s\": GPU %u has %d", text, g, (int)settings.wait_policy);
    }
}

TEST(list_reaches_the_devices_that_it_names) {
    static const struct {
        const char *text;
        int32_t policies[3]; /* 0: the backend is not asked */
    } cases[] = {
        {"", {0, 0, 0}},
        {"block", {4, 4, 4}},
        {"GPU:0=spin,*=adaptive", {2, 5, 5}},
        {"GPU:1=yield,GPU:2=auto", {0, 3, 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        device_fixture_t f;
        device_fixture_set_three_gpus();
        assert_int_equal(setenv("GANTRY_WAIT_POLICY", cases[i].text, 1), 0);
        device_fixture_open(&f, NULL, NULL);
        expect_policies(&f, cases[i].text, cases[i].policies);
        device_fixture_close(&f);
        device_fixture_clear();
    }
}

TEST(call_wins_over_option_and_environment) {
    device_fixture_t f;
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .wait_policy = GANTRY_WAIT_BLOCK};
    const gantry_runtime_options_t wrong = {.struct_size = sizeof wrong,
                                            .wait_policy = (gantry_wait_policy_t)6};
    assert_int_equal(setenv("GANTRY_WAIT_POLICY", "GPU:0=spin,GPU:1=spin", 1), 0);
    device_fixture_open(&f, NULL, &options);
    assert_int_equal(gantry__device_set_wait(&f.table, gpu(&f, 1), GANTRY_WAIT_YIELD), GANTRY_OK);
    assert_int_equal(gantry__device_set_wait(&f.table, gpu(&f, 2), GANTRY_WAIT_SPIN), GANTRY_OK);
    assert_int_equal(gantry__device_set_wait(&f.table, gpu(&f, 2), GANTRY_WAIT_DEFAULT), GANTRY_OK);
    assert_int_equal(gantry__device_set_wait(&f.table, gpu(&f, 2), (gantry_wait_policy_t)-1),
                     GANTRY_INVALID_ARGUMENT);
    expect_policies(&f, "call", (const int32_t[]){4, 3, 4});
    /* the devices are in use: another value is too late, the same one is none */
    assert_int_equal(gantry__device_set_wait(&f.table, gpu(&f, 0), GANTRY_WAIT_SPIN),
                     GANTRY_FAILED_PRECONDITION);
    assert_int_equal(gantry__device_set_wait(&f.table, gpu(&f, 0), GANTRY_WAIT_BLOCK), GANTRY_OK);
    device_fixture_close(&f);
    gantry_runtime_t *runtime;
    assert_int_equal(gantry_runtime_create(&wrong, &runtime), GANTRY_INVALID_ARGUMENT);
    assert_non_null(strstr(gantry_last_message(), "wait_policy is 6; 0 to 5 is accepted"));
}

int main(void) { return test_main_each(set_up, device_fixture_tear_down); }
