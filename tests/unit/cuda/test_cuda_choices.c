/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The CUDA backend chooses a card's program architecture, its address and how threads wait
 * for it.
 * Promise: With `GANTRY_CUDA_WAIT=block` a thread that waits for a card sleeps.
 *
 * The tests run on the stand-in for NVIDIA's driver. */
#define _POSIX_C_SOURCE 200809L
#include "cuda_fixture.h"
#include "test.h"

#include "cuda/cuda_backend.h"

/* NVRTC of 11.2, 12.4 and 12.8; cards of an architecture that it knows, and newer ones. */
TEST(card_that_nvrtc_does_not_know_gets_its_familys_first) {
    static const int of_11_2[] = {52, 60, 61, 70, 75, 80, 86};
    static const int of_12_4[] = {50, 75, 80, 86, 87, 89, 90};
    static const int of_12_8[] = {75, 80, 86, 87, 89, 90, 100, 101, 120};
    static const struct {
        const int *archs;
        int capability, wanted;
    } rows[] = {{of_11_2, 86, 86},  {of_11_2, 89, 80},  {of_11_2, 90, 80},   {of_11_2, 72, 70},
                {of_12_4, 100, 90}, {of_12_4, 120, 90}, {of_12_8, 103, 100}, {of_12_8, 121, 120},
                {of_12_8, 90, 90},  {of_11_2, 53, 52},  {of_11_2, 50, 0}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        int count = rows[i].archs == of_12_8 ? 9 : 7;

        assert_int_equal(gantry__cuda_arch_choose(rows[i].archs, count, rows[i].capability),
                         rows[i].wanted);
    }
}

/* The domain of a virtual machine's card has all 32 bits; CUDA and NVML use the same address. */
TEST(address_keeps_all_bits_of_its_domain) {
    static const char *const addresses[] = {"10000:65:00.0", "9a3c0001:00:00.0"};
    fixture_t fixture;

    for (size_t i = 0; i < 2; ++i) {
        char setting[64];

        snprintf(setting, sizeof setting, "pci=%s", addresses[i]);
        assert_int_equal(fixture_control()->set(setting), 0);
        fixture_init(&fixture);
        fixture_open_instance(&fixture);
        assert_string_equal(fixture.info[0].pci_address, addresses[i]);
        fixture_close(&fixture);
    }
    assert_int_equal(fixture_control()->set("pci=0000:65:00.0"), 0);
}

/* policy 0: not set */
static void wait_as_told(const char *wait, int32_t policy, uint64_t blocking, uint64_t polling) {
    const stand_in_control_t *control = fixture_control();
    fixture_t fixture;
    gantry_backend_event_t *event = NULL;

    control->reset();
    fixture_init(&fixture);
    fixture_set(&fixture, "GANTRY_CUDA_CONTEXT", "private");
    if (wait) fixture_set(&fixture, "GANTRY_CUDA_WAIT", wait);
    fixture_open_instance(&fixture);
    for (uint32_t i = 0; policy && i < FIXTURE_DEVICES; ++i)
        assert_ok(fixture.backend->set_wait_policy(fixture.instance, fixture.index[i], policy));
    fixture_open_devices(&fixture);
    assert_ok(fixture.backend->event->create(fixture.device[0], &event));
    assert_ok(fixture.backend->event->record(event, fixture.stream[0]));
    assert_ok(fixture.backend->event->synchronize(event));
    assert_ok(fixture.backend->stream->synchronize(fixture.stream[0]));
    fixture.backend->event->destroy(event);
    assert_int_equal(control->calls("waits that block"), blocking);
    assert_int_equal(control->calls("waits that poll"), polling);
    assert_int_equal(control->calls("contexts that block"), blocking > 0 ? FIXTURE_DEVICES : 0);
    fixture_close(&fixture);
}

/* With block, every wait uses a blocking event, in which the thread may sleep. A wait for a stream
 * does so, too. */
TEST(threads_wait_for_a_card_as_the_option_says) {
    fixture_t fixture;

    wait_as_told(NULL, 0, 0, 1);
    wait_as_told("auto", 0, 0, 1);
    wait_as_told("block", 0, 2, 0);
    /* the policy of a device wins; spinning and yielding ask before they wait */
    wait_as_told("block", GANTRY__WAIT_AUTO, 0, 1);
    wait_as_told(NULL, GANTRY__WAIT_BLOCK, 2, 0);
    wait_as_told(NULL, GANTRY__WAIT_ADAPTIVE, 2, 0);
    wait_as_told(NULL, GANTRY__WAIT_SPIN, 0, 2);
    wait_as_told(NULL, GANTRY__WAIT_YIELD, 0, 2);
    fixture_init(&fixture);
    fixture_set(&fixture, "GANTRY_CUDA_WAIT", "sleep");
    assert_int_equal(fixture.backend->open(&fixture.host, &fixture.instance),
                     GANTRY_INVALID_ARGUMENT);
    assert_error_has("GANTRY_CUDA_WAIT is \"sleep\"; auto and block are accepted");
}

int main(void) {
    setenv("POCL_DEVICES", "pthread pthread", 1);
    setenv("GANTRY_STAND_IN_CUDA", "devices=2;memory=256M", 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    return test_main();
}
