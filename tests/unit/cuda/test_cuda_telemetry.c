/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The CUDA backend reports NVML's figures of a card, of a part of a card and of its
 * processes without a context, and gives the reason where one is missing. */
#define _XOPEN_SOURCE 700

#include "cuda_fixture.h"
#include "test.h"

#define MOST 8

typedef struct seen_t {
    uint32_t count;
    gantry_device_process_t processes[MOST];
} seen_t;

static void see(void *user, const gantry_device_process_t *process) {
    seen_t *seen = user;
    if (seen->count < MOST) seen->processes[seen->count] = *process;
    ++seen->count;
}

static gantry_device_telemetry_t ask(const fixture_t *fixture, uint32_t index) {
    gantry_device_telemetry_t figures = {.struct_size = sizeof figures};
    assert_ok(fixture->backend->telemetry->read(fixture->instance, index, &figures));
    return figures;
}

TEST(a_cards_figures_are_nvmls) {
    fixture_t fixture;
    fixture_init(&fixture);
    fixture_open_instance(&fixture);
    const gantry_device_telemetry_t t = ask(&fixture, 1);
    assert_true(t.total_bytes == fixture.info[1].total_bytes && t.free_bytes == t.total_bytes);
    assert_true(t.used_bytes == 0);
    assert_int_equal(t.utilization_percent, 7);
    assert_int_equal(t.memory_busy_percent, 3);
    assert_int_equal(t.temperature_celsius, 43);
    assert_int_equal(t.power_milliwatts, 118250);
    assert_int_equal(t.power_limit_milliwatts, 700000);
    assert_int_equal(t.clock_mhz, 1755);
    assert_int_equal(t.most_clock_mhz, 1980);
    assert_int_equal(t.memory_clock_mhz, 3201);
    assert_int_equal(t.ecc_enabled, 1);
    assert_int_equal(t.ecc_corrected, 2);
    assert_int_equal(t.ecc_uncorrected, 0);
    assert_int_equal(t.slowed_by, GANTRY_SLOWED_POWER);
    /* it has no fan; the load is the machine's */
    assert_int_equal(t.known, 0xfff & ~GANTRY_TELEMETRY_FAN);
    assert_string_equal(t.reason, "");
    assert_int_equal(fixture_control()->live(STAND_IN_CONTEXTS), 0);
    fixture_close(&fixture);
}

TEST(a_question_without_an_answer_is_not_known) {
    static const struct {
        const char *fail;
        uint32_t bit;
    } rows[] = {
        {"fail=nvmlDeviceGetMemoryInfo:0:3", GANTRY_TELEMETRY_MEMORY},
        {"fail=nvmlDeviceGetUtilizationRates:0:3", GANTRY_TELEMETRY_UTILIZATION},
        {"fail=nvmlDeviceGetTemperature:0:3", GANTRY_TELEMETRY_TEMPERATURE},
        {"fail=nvmlDeviceGetPowerUsage:0:3", GANTRY_TELEMETRY_POWER},
        {"fail=nvmlDeviceGetEnforcedPowerLimit:0:3", GANTRY_TELEMETRY_POWER_LIMIT},
        {"fail=nvmlDeviceGetClockInfo:0:3", GANTRY_TELEMETRY_CLOCK | GANTRY_TELEMETRY_MEMORY_CLOCK},
        {"fail=nvmlDeviceGetMaxClockInfo:0:3", GANTRY_TELEMETRY_MOST_CLOCK},
        {"fail=nvmlDeviceGetEccMode:0:3", GANTRY_TELEMETRY_ECC_MODE},
        {"fail=nvmlDeviceGetTotalEccErrors:0:3", GANTRY_TELEMETRY_ECC_ERRORS},
        {"fail=nvmlDeviceGetCurrentClocksThrottleReasons:0:3", GANTRY_TELEMETRY_SLOWED}};
    const stand_in_control_t *control = fixture_control();
    fixture_t fixture;
    fixture_init(&fixture);
    fixture_open_instance(&fixture);
    const uint32_t all = ask(&fixture, 0).known;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        assert_int_equal(control->set(rows[i].fail), 0);
        const gantry_device_telemetry_t t = ask(&fixture, 0);
        if (t.known != (all & ~rows[i].bit)) fail_msg("%s: known is %x", rows[i].fail, t.known);
        control->reset();
    }
    fixture_close(&fixture);
}

TEST(a_part_of_a_card_has_its_memory_alone) {
    const stand_in_control_t *control = fixture_control();
    fixture_t fixture;
    assert_int_equal(control->set("mig=1"), 0);
    fixture_init(&fixture);
    fixture_open_instance(&fixture);
    const gantry_device_telemetry_t t = ask(&fixture, 0);
    assert_true(t.total_bytes == fixture.info[0].total_bytes);
    assert_int_equal(t.known & GANTRY_TELEMETRY_TEMPERATURE, 0);
    assert_int_equal(t.temperature_celsius, 0);
    fixture_close(&fixture);
    assert_int_equal(control->set("mig=0"), 0);
}

TEST(an_older_core_gets_the_fields_it_knows) {
    fixture_t fixture;
    gantry_device_telemetry_t t;
    fixture_init(&fixture);
    fixture_open_instance(&fixture);
    memset(&t, 0xa5, sizeof t);
    t.struct_size = offsetof(gantry_device_telemetry_t, power_milliwatts);
    assert_ok(fixture.backend->telemetry->read(fixture.instance, 0, &t));
    assert_int_equal(t.temperature_celsius, 43);
    assert_int_equal(t.power_milliwatts, 0xa5a5a5a5u);
    fixture_close(&fixture);
}

TEST(processes_have_names_and_memory) {
    const stand_in_control_t *control = fixture_control();
    fixture_t fixture;
    seen_t seen = {0};
    assert_int_equal(control->set("other=0,96M"), 0);
    fixture_init(&fixture);
    fixture_open_instance(&fixture);
    assert_ok(fixture.backend->telemetry->processes(fixture.instance, 0, see, &seen));
    assert_int_equal(seen.count, 0);
    assert_ok(fixture.backend->telemetry->processes(fixture.instance, 1, see, &seen));
    assert_int_equal(seen.count, 1);
    assert_string_equal(seen.processes[0].name, "/usr/bin/python3");
    assert_true(seen.processes[0].used_bytes == 96 << 20);
    assert_int_equal(seen.processes[0].is_graphics, 0);
    assert_int_equal(control->set("fail=nvmlSystemGetProcessName:0:4"), 0);
    seen.count = 0;
    assert_ok(fixture.backend->telemetry->processes(fixture.instance, 1, see, &seen));
    assert_string_equal(seen.processes[0].name, "");
    assert_int_equal(control->set("fail=nvmlDeviceGetComputeRunningProcesses_v3:0:4"), 0);
    assert_int_equal(fixture.backend->telemetry->processes(fixture.instance, 1, see, &seen),
                     GANTRY_UNAVAILABLE);
    assert_error_has("NVML does not list the processes of");
    fixture_close(&fixture);
    control->reset();
    assert_int_equal(control->set("other=0"), 0);
}

TEST(without_nvml_the_reason_is_told) {
    fixture_t fixture;
    gantry_device_telemetry_t t = {.struct_size = sizeof t};
    seen_t seen = {0};
    fixture_init(&fixture);
    fixture_set(&fixture, "GANTRY_CUDA_NVML", "/nonexistent/libnvidia-ml.so");
    fixture_open_instance(&fixture);
    assert_int_equal(fixture.backend->telemetry->read(fixture.instance, 0, &t), GANTRY_UNAVAILABLE);
    assert_error_has("are not known: NVML cannot be opened: /nonexistent/libnvidia-ml.so");
    assert_int_equal(fixture.backend->telemetry->processes(fixture.instance, 0, see, &seen),
                     GANTRY_UNAVAILABLE);
    assert_int_equal(fixture.backend->telemetry->read(fixture.instance, 2, &t),
                     GANTRY_INVALID_ARGUMENT);
    assert_int_equal(seen.count, 0);
    fixture_close(&fixture);
}

int main(void) {
    setenv("POCL_DEVICES", "pthread pthread", 1);
    setenv("GANTRY_STAND_IN_CUDA", "devices=2;memory=256M;cc=9.0", 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    return test_main();
}
