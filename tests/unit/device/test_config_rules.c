/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: TensorFlow's rules about changes of settings and about virtual GPUs hold row by row.
 *
 * A comment names each row. "Gantry:" marks an intended difference; the test then checks Gantry's
 * behaviour.
 *
 * Rows without a test, because Gantry lacks their subject:
 *   sync/async execution: every device has one order, see streams
 *   "Memory growth cannot differ between GPU devices": growth is per device (tested in
 *     test_device_config.c)
 *   "Cannot set memory growth on non-GPU devices", "Virtual devices are not supported for
 *     <type>": every type has both
 *   TF1 config imported into TF2
 *   device_count and virtual_devices that do not match visible_device_list in number: a split
 *     belongs to a named device, so there is nothing to match
 *   num_virtual_devices_per_gpu: gantry_set_logical_cpu_devices for CPUs; a GPU's parts are
 *     written out
 *   fraction 1.2 with compute capability 6: Gantry has no unified memory and refuses it
 * Rows about operations on logical devices, their numbers and their order are tested with the
 * creation of logical devices. */
#define _XOPEN_SOURCE 700

#include "device/physical_device.h"
#include "physical_names.h"
#include "test.h"

#define MIB (UINT64_C(1) << 20)
#define MODIFIED(what) \
    what " cannot be modified after being initialized (initialized by gantry_matmul)"

typedef gantry_logical_device_config_t part_t;

static int set_up(void **state) {
    (void)state;
    device_fixture_clear();
    fake->set_device_count(2);
    return 0;
}

static void freeze(device_fixture_t *f) {
    /* logical devices do not matter here */
    assert_int_equal(gantry__device_table_freeze(&f->table, "gantry_matmul"), GANTRY_OK);
}

static gantry_status_t split(device_fixture_t *f, physical_device_t device, size_t count,
                             uint64_t limit_bytes) {
    part_t parts[GANTRY__MOST_PARTS + 1] = {{0}};
    for (size_t i = 0; i < count; ++i) parts[i].memory_limit_bytes = limit_bytes;
    return gantry__device_set_logical(&f->table, device, parts, count);
}

/* ---- 2.2 ---- */

TEST(rule_set_visible_devices) {
    device_fixture_t f;
    device_fixture_open(&f, NULL, NULL);
    physical_device_t none = (physical_device_t)(const void *)&f, first[] = {gpu(&f, 0)},
                      strange[] = {none};
    /* 2.2 set_visible_devices: "Unrecognized device: <repr>" */
    expect_failure(gantry__device_set_visible(&f.table, strange, 1, NULL), GANTRY_INVALID_ARGUMENT,
                   "Unrecognized device: ");
    assert_int_equal(gantry__device_set_visible(&f.table, first, 1, "GPU"), GANTRY_OK);
    assert_string_equal(f.table.visible_by, "gantry_set_visible_devices");
    freeze(&f);
    /* 2.2 after init, different value: "Visible devices cannot be modified after being
     * initialized"; equal: no-op */
    expect_failure(gantry__device_set_visible(&f.table, NULL, 0, "GPU"), GANTRY_FAILED_PRECONDITION,
                   MODIFIED("Visible devices"));
    assert_int_equal(gantry__device_set_visible(&f.table, first, 1, "GPU"), GANTRY_OK);
    /* 2.2 the device is checked before the state */
    expect_failure(gantry__device_set_visible(&f.table, strange, 1, NULL), GANTRY_INVALID_ARGUMENT,
                   "Unrecognized device: ");
    device_fixture_close(&f);
}

TEST(rule_set_memory_growth) {
    device_fixture_t f;
    device_fixture_open(&f, NULL, NULL);
    physical_device_t strange = (physical_device_t)(const void *)&f;
    /* 2.2 set_memory_growth: "Unrecognized device: ..." */
    expect_failure(gantry__device_set_growth(&f.table, strange, true), GANTRY_INVALID_ARGUMENT,
                   "Unrecognized device: ");
    expect_failure(gantry__device_set_growth(&f.table, NULL, true), GANTRY_INVALID_ARGUMENT,
                   "Unrecognized device: ");
    /* 2.2 "Cannot set memory growth on device when virtual devices configured". Gantry: growth
     * holds for each part */
    assert_int_equal(split(&f, gpu(&f, 0), 2, MIB), GANTRY_OK);
    assert_int_equal(gantry__device_set_growth(&f.table, gpu(&f, 0), false), GANTRY_OK);
    assert_false(gpu(&f, 0)->card->settings.growth);
    assert_int_equal(gpu(&f, 0)->card->part_count, 2);
    /* 2.2 "Cannot set memory growth on non-GPU and non-Pluggable devices". Gantry: CPUs have
     * growth, too */
    assert_int_equal(gantry__device_set_growth(&f.table, cpu(&f), false), GANTRY_OK);
    freeze(&f);
    /* 2.2 after init, different value: "Physical devices cannot be modified after being
     * initialized"; equal: no-op */
    expect_failure(gantry__device_set_growth(&f.table, gpu(&f, 1), false),
                   GANTRY_FAILED_PRECONDITION, MODIFIED("Physical devices"));
    assert_int_equal(gantry__device_set_growth(&f.table, gpu(&f, 0), false), GANTRY_OK);
    expect_failure(gantry__device_set_growth(&f.table, strange, false), GANTRY_INVALID_ARGUMENT,
                   "Unrecognized device");
    device_fixture_close(&f);
}

TEST(rule_set_logical_device_configuration) {
    device_fixture_t f;
    device_fixture_open(&f, NULL, NULL);
    part_t with_priority[2] = {{.has_priority = true}, {.has_priority = true}};
    part_t with_ordinal[2] = {{.has_ordinal = true, .ordinal = 1}, {.has_ordinal = true}};
    /* 2.2 CPU: "Setting memory limit on CPU virtual devices is currently not supported", the same
     * for priority and ordinal. Gantry: a CPU's parts have limits and ordinals, and the only
     * priority there is */
    assert_int_equal(split(&f, cpu(&f), 2, MIB), GANTRY_OK);
    assert_int_equal(gantry__device_set_logical(&f.table, cpu(&f), with_ordinal, 2), GANTRY_OK);
    assert_int_equal(gantry__device_set_logical(&f.table, cpu(&f), with_priority, 2), GANTRY_OK);
    with_priority[1].priority = -1;
    expect_failure(
        gantry__device_set_logical(&f.table, cpu(&f), with_priority, 2), GANTRY_INVALID_ARGUMENT,
        "Priority -1 is outside the range of supported priorities [0,0] for virtual device 1 on CPU# 0");
    /* 2.2 GPU: "Setting memory limit is required for GPU virtual devices"; Gantry: not for a single
     * part (4.3) */
    expect_failure(split(&f, gpu(&f, 0), 2, 0), GANTRY_INVALID_ARGUMENT,
                   "Setting memory limit is required for GPU virtual devices");
    assert_int_equal(split(&f, gpu(&f, 0), 1, 0), GANTRY_OK);
    assert_int_equal(split(&f, gpu(&f, 0), 2, MIB), GANTRY_OK);
    freeze(&f);
    /* 2.2 after init, different value: "Virtual devices cannot be modified after being
     * initialized"; equal: no-op */
    expect_failure(split(&f, gpu(&f, 0), 2, 2 * MIB), GANTRY_FAILED_PRECONDITION,
                   MODIFIED("Virtual devices"));
    expect_failure(split(&f, gpu(&f, 0), 3, MIB), GANTRY_FAILED_PRECONDITION,
                   MODIFIED("Virtual devices"));
    expect_failure(split(&f, gpu(&f, 1), 1, MIB), GANTRY_FAILED_PRECONDITION,
                   MODIFIED("Virtual devices"));
    assert_int_equal(split(&f, gpu(&f, 0), 2, MIB), GANTRY_OK);
    /* the value is checked before the state */
    expect_failure(split(&f, gpu(&f, 0), 2, 0), GANTRY_INVALID_ARGUMENT,
                   "Setting memory limit is required");
    device_fixture_close(&f);
}

TEST(rule_set_logical_cpu_devices) {
    device_fixture_t f;
    device_fixture_open(&f, NULL, NULL);
    expect_failure(gantry__device_set_logical_cpus(&f.table, 0), GANTRY_INVALID_ARGUMENT,
                   "is empty");
    expect_failure(gantry__device_set_logical_cpus(&f.table, 65), GANTRY_INVALID_ARGUMENT,
                   "at most 64 are accepted");
    assert_int_equal(gantry__device_set_logical_cpus(&f.table, 3), GANTRY_OK);
    assert_int_equal(cpu(&f)->card->part_count, 3);
    /* 2.2 set_logical_cpu_devices(n): "Virtual CPUs already set, cannot modify again."; Gantry: the
     * same n is fine */
    expect_failure(gantry__device_set_logical_cpus(&f.table, 2), GANTRY_FAILED_PRECONDITION,
                   "Virtual CPUs already set, cannot modify again.");
    assert_int_equal(cpu(&f)->card->part_count, 3);
    assert_int_equal(gantry__device_set_logical_cpus(&f.table, 3), GANTRY_OK);
    freeze(&f);
    assert_int_equal(gantry__device_set_logical_cpus(&f.table, 3), GANTRY_OK);
    expect_failure(gantry__device_set_logical_cpus(&f.table, 2), GANTRY_FAILED_PRECONDITION,
                   "cannot modify again.");
    device_fixture_close(&f);
    /* never set before initialisation */
    device_fixture_open(&f, NULL, NULL);
    freeze(&f);
    expect_failure(gantry__device_set_logical_cpus(&f.table, 2), GANTRY_FAILED_PRECONDITION,
                   MODIFIED("Virtual devices"));
    device_fixture_close(&f);
}

TEST(rule_last_value_before_initialisation_wins) {
    device_fixture_t f;
    device_fixture_open(&f, NULL, NULL);
    assert_int_equal(split(&f, gpu(&f, 0), 2, MIB), GANTRY_OK);
    assert_int_equal(split(&f, gpu(&f, 0), 3, 2 * MIB), GANTRY_OK);
    assert_int_equal(gpu(&f, 0)->card->part_count, 3);
    assert_int_equal(gpu(&f, 0)->card->parts[2].memory_limit_bytes, 2 * MIB);
    part_t parts[4];
    size_t count = 0;
    assert_int_equal(gantry__device_get_logical(&f.table, gpu(&f, 0), 2, parts, &count), GANTRY_OK);
    assert_int_equal(count, 3); /* and two values are written */
    assert_int_equal(parts[1].memory_limit_bytes, 2 * MIB);
    assert_int_equal(gantry__device_get_logical(&f.table, gpu(&f, 1), 4, parts, &count), GANTRY_OK);
    assert_int_equal(count, 0);
    device_fixture_close(&f);
}

/* ---- 4.3 ---- */

static void set_variable(const char *name, const char *value) {
    assert_int_equal(setenv(name, value, 1), 0);
}

#define NO_FRACTION \
    "It's invalid to set per_process_gpu_memory_fraction when virtual_devices is set."

TEST(row_fraction_and_any_split) {
    device_fixture_t f;
    /* 4.3 fraction 0.1 and any virtual_devices entry (even empty): by calls, in either order,
     * ... */
    device_fixture_open(&f, NULL, NULL);
    assert_int_equal(gantry__device_set_fraction(&f.table, gpu(&f, 0), 0.1), GANTRY_OK);
    expect_failure(split(&f, gpu(&f, 0), 2, MIB), GANTRY_INVALID_ARGUMENT, NO_FRACTION);
    expect_failure(split(&f, gpu(&f, 0), 1, 0), GANTRY_INVALID_ARGUMENT, NO_FRACTION);
    assert_int_equal(gpu(&f, 0)->card->part_count, 0);
    assert_int_equal(gpu(&f, 0)->card->settings.limit_bytes, 6710886);
    /* Gantry: this holds for one device; the others may be split */
    assert_int_equal(split(&f, gpu(&f, 1), 2, MIB), GANTRY_OK);
    device_fixture_close(&f);
    device_fixture_open(&f, NULL, NULL);
    assert_int_equal(split(&f, gpu(&f, 0), 2, MIB), GANTRY_OK);
    expect_failure(gantry__device_set_fraction(&f.table, gpu(&f, 0), 0.1), GANTRY_INVALID_ARGUMENT,
                   NO_FRACTION);
    assert_int_equal(gpu(&f, 0)->card->part_count, 2);
    assert_int_equal(gantry__device_set_fraction(&f.table, gpu(&f, 0), 0), GANTRY_OK);
    device_fixture_close(&f);
    /* ... in the environment, ... */
    set_variable("GANTRY_MEMORY_FRACTION", "GPU:0=0.1");
    set_variable("GANTRY_LOGICAL_DEVICES", "GPU:0=1M,1M");
    expect_failure(device_fixture_try_open(&f, NULL, NULL, -1), GANTRY_INVALID_ARGUMENT,
                   NO_FRACTION);
    assert_non_null(strstr(gantry__message(),
                           "fraction by GANTRY_MEMORY_FRACTION, split by GANTRY_LOGICAL_DEVICES"));
    /* ... and as options */
    gantry_runtime_options_t both = {
        .struct_size = sizeof both, .memory_fraction = 0.1, .logical_devices = "GPU:0=1M,1M"};
    device_fixture_clear();
    expect_failure(device_fixture_try_open(&f, NULL, &both, -1), GANTRY_INVALID_ARGUMENT,
                   NO_FRACTION);
}

TEST(row_fraction_and_split_of_two_sources) {
    device_fixture_t f;
    gantry_runtime_options_t split_option = {.struct_size = sizeof split_option,
                                             .logical_devices = "GPU:0=1M,1M"};
    gantry_runtime_options_t fraction_option = {.struct_size = sizeof fraction_option,
                                                .memory_fraction = 0.5};
    /* Gantry: the higher source wins */
    set_variable("GANTRY_MEMORY_FRACTION", "0.5");
    device_fixture_open(&f, NULL, &split_option);
    assert_int_equal(gpu(&f, 0)->card->part_count, 2);
    assert_int_equal(gpu(&f, 0)->card->settings.limit_bytes, 0);
    assert_int_equal(gpu(&f, 1)->card->settings.limit_bytes, 32 * MIB);
    device_fixture_close(&f);
    (void)unsetenv("GANTRY_MEMORY_FRACTION");
    set_variable("GANTRY_LOGICAL_DEVICES", "GPU:0=1M,1M");
    device_fixture_open(&f, NULL, &fraction_option);
    assert_int_equal(gpu(&f, 0)->card->part_count, 0);
    assert_int_equal(gpu(&f, 0)->card->settings.limit_bytes, 32 * MIB);
    assert_int_equal(
        log_lines_with(&f.log, "GPU:0 is not split as GANTRY_LOGICAL_DEVICES says", "overrules"),
        1);
    device_fixture_close(&f);
    device_fixture_open(&f, NULL, NULL);
    assert_int_equal(gantry__device_set_fraction(&f.table, gpu(&f, 0), 0.25), GANTRY_OK);
    assert_int_equal(gpu(&f, 0)->card->part_count, 0);
    assert_int_equal(gpu(&f, 0)->card->settings.limit_bytes, 16 * MIB);
    assert_int_equal(
        log_lines_with(&f.log, "GPU:0 is not split as GANTRY_LOGICAL_DEVICES says", "overrules"),
        1);
    /* this call removes the fraction */
    assert_int_equal(gantry__device_set_fraction(&f.table, gpu(&f, 0), 0), GANTRY_OK);
    assert_int_equal(gpu(&f, 0)->card->part_count, 2);
    device_fixture_close(&f);
}

TEST(row_limits_of_one_part) {
    device_fixture_t f;
    /* 4.3 no entry / one empty entry: one device, default limit, priority 0 */
    device_fixture_open(&f, NULL, NULL);
    assert_int_equal(gpu(&f, 0)->card->settings.limit_bytes, 0);
    assert_int_equal(split(&f, gpu(&f, 0), 1, 0), GANTRY_OK);
    assert_int_equal(gpu(&f, 0)->card->settings.limit_bytes, 0);
    assert_false(gpu(&f, 0)->card->parts[0].has_priority);
    device_fixture_close(&f);
    /* 4.3 {123}: one device with that limit (here in units that fit the fake card) */
    device_fixture_open(&f, NULL, NULL);
    assert_int_equal(split(&f, gpu(&f, 0), 1, 12 * MIB), GANTRY_OK);
    assert_int_equal(gpu(&f, 0)->card->part_count, 1);
    assert_int_equal(gpu(&f, 0)->card->settings.limit_bytes, 12 * MIB);
    device_fixture_close(&f);
}

TEST(row_priorities) {
    device_fixture_t f;
    part_t parts[2] = {{.memory_limit_bytes = 12 * MIB, .has_priority = true, .priority = 0},
                       {.memory_limit_bytes = 45 * MIB, .has_priority = true, .priority = -1}};
    device_fixture_open(&f, NULL, NULL);
    struct gantry_physical_device_t *card = f.table.physical[gpu(&f, 0)->position];
    card->info.least_priority = 1;
    card->info.greatest_priority = -1;
    /* 4.3 {123, 456}, priorities {0, -1}: two devices, those limits and priorities */
    assert_int_equal(gantry__device_set_logical(&f.table, card, parts, 2), GANTRY_OK);
    assert_int_equal(card->card->parts[0].memory_limit_bytes, 12 * MIB);
    assert_int_equal(card->card->parts[1].memory_limit_bytes, 45 * MIB);
    assert_int_equal(card->card->parts[1].priority, -1);
    /* 4.3 {123, 456}, priorities {0}: the number does not match; in C: one entry has a priority and
     * the other none, and 4.3 "Priority must be set for all virtual devices or none" */
    parts[1].has_priority = false;
    expect_failure(
        gantry__device_set_logical(&f.table, card, parts, 2), GANTRY_INVALID_ARGUMENT,
        "priority must be specified for all virtual devices: 1 of the 2 parts of /physical_device:GPU:0");
    /* 4.3 priority outside the stream range */
    parts[1].has_priority = true;
    parts[0].priority = -9999;
    expect_failure(
        gantry__device_set_logical(&f.table, card, parts, 2), GANTRY_INVALID_ARGUMENT,
        "Priority -9999 is outside the range of supported priorities [-1,1] for virtual device 0 on GPU# 0");
    parts[0].priority = 2;
    expect_failure(gantry__device_set_logical(&f.table, card, parts, 2), GANTRY_INVALID_ARGUMENT,
                   "Priority 2 is");
    assert_int_equal(card->card->part_count, 2); /* unchanged */
    assert_int_equal(card->card->parts[0].priority, 0);
    device_fixture_close(&f);
}

TEST(row_ordinals) {
    device_fixture_t f;
    part_t with[2] = {{.memory_limit_bytes = MIB, .has_ordinal = true, .ordinal = 2},
                      {.memory_limit_bytes = 2 * MIB, .has_ordinal = true, .ordinal = 1}};
    part_t without[2] = {{.memory_limit_bytes = MIB}, {.memory_limit_bytes = MIB}};
    device_fixture_open(&f, NULL, NULL);
    /* 4.3 {1, 2}, ordinals {2, 1}, and {3, 4} on the next: accepted (the tests of the creation of
     * logical devices check the numbers) */
    assert_int_equal(gantry__device_set_logical(&f.table, gpu(&f, 0), with, 2), GANTRY_OK);
    assert_int_equal(gantry__device_set_logical(&f.table, gpu(&f, 1), with, 2), GANTRY_OK);
    /* 4.3 ordinals on some GPUs only: "Device ordinals must be set for all virtual devices or
     * none." */
    expect_failure(
        gantry__device_set_logical(&f.table, gpu(&f, 1), without, 2), GANTRY_INVALID_ARGUMENT,
        "Device ordinals must be set for all virtual devices or none. /physical_device:GPU:1 has none, /physical_device:GPU:0 has them");
    /* a device of another type */
    assert_int_equal(gantry__device_set_logical(&f.table, cpu(&f), without, 2), GANTRY_OK);
    /* one part is no split */
    assert_int_equal(split(&f, gpu(&f, 1), 1, MIB), GANTRY_OK);
    /* so the other way is open, too */
    assert_int_equal(split(&f, gpu(&f, 0), 1, MIB), GANTRY_OK);
    assert_int_equal(gantry__device_set_logical(&f.table, gpu(&f, 1), without, 2), GANTRY_OK);
    expect_failure(gantry__device_set_logical(&f.table, gpu(&f, 0), with, 2),
                   GANTRY_INVALID_ARGUMENT, "Device ordinals must be set");
    /* 4.3 wrong count of ordinals; 2.2 "device_ordinals must be specified for all virtual
     * devices" */
    with[1].has_ordinal = false;
    expect_failure(gantry__device_set_logical(&f.table, gpu(&f, 0), with, 2),
                   GANTRY_INVALID_ARGUMENT,
                   "device_ordinals must be specified for all virtual devices: 1 of the 2 parts");
    with[1].has_ordinal = true;
    with[1].ordinal = -1;
    expect_failure(
        gantry__device_set_logical(&f.table, gpu(&f, 0), with, 2), GANTRY_INVALID_ARGUMENT,
        "the device ordinal of part 1 of /physical_device:GPU:0 is -1; 0 or more is accepted");
    device_fixture_close(&f);
    set_variable("GANTRY_LOGICAL_DEVICES", "GPU:0=1M/ordinal=0,1M/ordinal=1;GPU:1=1M,1M");
    expect_failure(device_fixture_try_open(&f, NULL, NULL, -1), GANTRY_INVALID_ARGUMENT,
                   "Device ordinals must be set for all virtual devices or none.");
}

TEST(row_fraction_above_one) {
    device_fixture_t f;
    device_fixture_open(&f, NULL, NULL);
    /* 4.3 fraction 1.2, capability 6: limit = total * 1.2. Gantry: oversubscription is refused */
    static const double wrong[] = {1.2, -0.1, 1e300};
    for (size_t i = 0; i < 3; ++i) {
        expect_failure(gantry__device_set_fraction(&f.table, gpu(&f, 0), wrong[i]),
                       GANTRY_INVALID_ARGUMENT, "over 0 up to 1 is accepted");
    }
    double zero = 0;
    expect_failure(gantry__device_set_fraction(&f.table, gpu(&f, 0), zero / zero),
                   GANTRY_INVALID_ARGUMENT, "nan");
    assert_int_equal(gantry__device_set_fraction(&f.table, gpu(&f, 0), 1), GANTRY_OK);
    assert_int_equal(gpu(&f, 0)->card->settings.limit_bytes, 64 * MIB);
    assert_int_equal(gantry__device_set_fraction(&f.table, gpu(&f, 0), 0.5), GANTRY_OK);
    freeze(&f);
    assert_int_equal(gantry__device_set_fraction(&f.table, gpu(&f, 0), 0.5), GANTRY_OK);
    expect_failure(gantry__device_set_fraction(&f.table, gpu(&f, 0), 0.25),
                   GANTRY_FAILED_PRECONDITION, MODIFIED("Physical devices"));
    expect_failure(gantry__device_set_fraction(&f.table, gpu(&f, 0), 1.2), GANTRY_INVALID_ARGUMENT,
                   "over 0 up to 1");
    expect_failure(gantry__device_set_fraction(&f.table, NULL, 0.25), GANTRY_INVALID_ARGUMENT,
                   "Unrecognized device");
    device_fixture_close(&f);
    device_fixture_open(&f, NULL, NULL);
    f.table.physical[gpu(&f, 0)->position]->info.total_bytes = 0;
    expect_failure(gantry__device_set_fraction(&f.table, gpu(&f, 0), 0.5), GANTRY_INVALID_ARGUMENT,
                   "does not report how much memory it has");
    device_fixture_close(&f);
}

TEST(row_sum_of_limits) {
    device_fixture_t f;
    device_fixture_open(&f, NULL, NULL);
    part_t open[3] = {{.memory_limit_bytes = cpu(&f)->info.total_bytes}, {0}, {0}};
    /* 4.3 "The sum of limits is never checked against the card". Gantry: it is */
    expect_failure(
        split(&f, gpu(&f, 0), 2, 32 * MIB + 1), GANTRY_INVALID_ARGUMENT,
        "the memory limits of the 2 parts of /physical_device:GPU:0 add up to 67108866 bytes; it has 67108864");
    expect_failure(split(&f, gpu(&f, 0), 3, UINT64_MAX / 2), GANTRY_INVALID_ARGUMENT, "add up to");
    assert_int_equal(split(&f, gpu(&f, 0), 2, 32 * MIB), GANTRY_OK);
    expect_failure(gantry__device_set_logical(&f.table, cpu(&f), open, 3), GANTRY_INVALID_ARGUMENT,
                   "2 parts without a limit are left without memory");
    expect_failure(split(&f, gpu(&f, 0), 65, 1), GANTRY_INVALID_ARGUMENT,
                   "cannot be split into 65 logical devices; at most 64 are accepted");
    assert_int_equal(split(&f, gpu(&f, 0), 64, MIB), GANTRY_OK);
    device_fixture_close(&f);
}

/* ---- Gantry's own ---- */

TEST(limit_and_split_fit_each_other) {
    device_fixture_t f;
    device_fixture_open(&f, NULL, NULL);
    assert_int_equal(gantry__device_set_limit(&f.table, gpu(&f, 0), 8 * MIB), GANTRY_OK);
    expect_failure(
        split(&f, gpu(&f, 0), 2, 5 * MIB), GANTRY_INVALID_ARGUMENT,
        "set by gantry_set_logical_device_configuration, add up to 10485760 bytes; its limit, set by gantry_set_memory_limit, is 8388608");
    assert_int_equal(split(&f, gpu(&f, 0), 2, 4 * MIB), GANTRY_OK);
    assert_int_equal(gpu(&f, 0)->card->settings.limit_bytes, 8 * MIB);
    expect_failure(gantry__device_set_limit(&f.table, gpu(&f, 0), 9 * MIB), GANTRY_INVALID_ARGUMENT,
                   "gantry_set_logical_device_configuration split it into 2 logical devices");
    device_fixture_close(&f);
    set_variable("GANTRY_MEMORY_LIMIT", "8M");
    /* a call's split overrides an environment's limit that the split does not fit, ... */
    device_fixture_open(&f, NULL, NULL);
    assert_int_equal(split(&f, gpu(&f, 0), 2, 5 * MIB), GANTRY_OK);
    assert_int_equal(gpu(&f, 0)->card->settings.limit_bytes, 0);
    device_fixture_close(&f);
    /* ... and a call's limit overrides an environment's split */
    (void)unsetenv("GANTRY_MEMORY_LIMIT");
    set_variable("GANTRY_LOGICAL_DEVICES", "GPU:0=5M,5M");
    device_fixture_open(&f, NULL, NULL);
    assert_int_equal(gantry__device_set_limit(&f.table, gpu(&f, 0), 10 * MIB), GANTRY_OK);
    assert_int_equal(gpu(&f, 0)->card->part_count, 2);
    assert_int_equal(gantry__device_set_limit(&f.table, gpu(&f, 0), 8 * MIB), GANTRY_OK);
    assert_int_equal(gpu(&f, 0)->card->part_count, 0);
    assert_int_equal(
        log_lines_with(&f.log,
                       "is not split as GANTRY_LOGICAL_DEVICES says: gantry_set_memory_limit",
                       "overrules it"),
        1);
    device_fixture_close(&f);
    set_variable("GANTRY_MEMORY_LIMIT", "8M");
    expect_failure(
        device_fixture_try_open(&f, NULL, NULL, -1), GANTRY_INVALID_ARGUMENT,
        "set by GANTRY_LOGICAL_DEVICES, add up to 10485760 bytes; its limit, set by GANTRY_MEMORY_LIMIT");
}

TEST(limit_and_fraction_bound_together) {
    device_fixture_t f;
    /* within one source the smaller limit holds */
    device_fixture_open(&f, NULL, NULL);
    assert_int_equal(gantry__device_set_limit(&f.table, gpu(&f, 0), 8 * MIB), GANTRY_OK);
    assert_int_equal(gantry__device_set_fraction(&f.table, gpu(&f, 0), 0.5), GANTRY_OK);
    assert_int_equal(gpu(&f, 0)->card->settings.limit_bytes, 8 * MIB);
    assert_int_equal(gantry__device_set_fraction(&f.table, gpu(&f, 0), 0.0625), GANTRY_OK);
    assert_int_equal(gpu(&f, 0)->card->settings.limit_bytes, 4 * MIB);
    assert_int_equal(gantry__device_set_limit(&f.table, gpu(&f, 0), 0), GANTRY_OK);
    assert_int_equal(gpu(&f, 0)->card->settings.limit_bytes, 4 * MIB);
    device_fixture_close(&f);
    /* of two sources the higher one wins */
    gantry_runtime_options_t fraction = {.struct_size = sizeof fraction, .memory_fraction = 0.5};
    set_variable("GANTRY_MEMORY_LIMIT", "8M");
    device_fixture_open(&f, NULL, &fraction);
    assert_int_equal(gpu(&f, 0)->card->settings.limit_bytes, 32 * MIB);
    assert_int_equal(gantry__device_set_limit(&f.table, gpu(&f, 0), 48 * MIB), GANTRY_OK);
    assert_int_equal(gpu(&f, 0)->card->settings.limit_bytes, 48 * MIB);
    device_fixture_close(&f);
}

TEST(imitation_may_not_exceed_the_device) {
    device_fixture_t f;
    device_fixture_open(&f, NULL, NULL);
    static const struct {
        part_t part;
        const char *message;
    } cases[] = {
        {{.memory_limit_bytes = MIB, .max_work_group_size = 257},
         "the work-group size of part 1 of /physical_device:GPU:0 is 257; at most its own 256"},
        {{.memory_limit_bytes = MIB, .local_memory_bytes = 32769}, "the local memory of part 1"},
        {{.memory_limit_bytes = MIB, .largest_allocation_bytes = 64 * MIB + 1},
         "the largest allocation of part 1"}};
    for (size_t i = 0; i < 3; ++i) {
        part_t parts[2] = {{.memory_limit_bytes = MIB}, cases[i].part};
        expect_failure(gantry__device_set_logical(&f.table, gpu(&f, 0), parts, 2),
                       GANTRY_INVALID_ARGUMENT, cases[i].message);
    }
    part_t fitting[1] = {
        {.max_work_group_size = 256, .local_memory_bytes = 32768, .largest_allocation_bytes = MIB}};
    assert_int_equal(gantry__device_set_logical(&f.table, gpu(&f, 0), fitting, 1), GANTRY_OK);
    device_fixture_close(&f);
}

TEST(refused_and_failed_calls_change_nothing) {
    device_fixture_t f;
    device_fixture_open(&f, NULL, NULL);
    assert_int_equal(split(&f, gpu(&f, 0), 2, MIB), GANTRY_OK);
    f.heap.inner.calls = 0;
    f.heap.inner.fail_at = 0;
    assert_int_equal(split(&f, gpu(&f, 0), 3, MIB), GANTRY_RESOURCE_EXHAUSTED);
    f.heap.inner.fail_at = -1;
    assert_int_equal(gpu(&f, 0)->card->part_count, 2);
    expect_failure(split(&f, gpu(&f, 0), 3, 0), GANTRY_INVALID_ARGUMENT, "is required");
    assert_int_equal(gpu(&f, 0)->card->part_count, 2);
    device_fixture_close(&f);
}

typedef struct race_t {
    device_fixture_t *f;
    int number;
} race_t;

static void *set_again_and_again(void *user) {
    const race_t *race = user;
    for (int i = 0; i < 300; ++i) {
        physical_device_t device = gpu(race->f, 0);
        part_t parts[3] = {{.memory_limit_bytes = MIB},
                           {.memory_limit_bytes = MIB},
                           {.memory_limit_bytes = MIB}},
               got[3];
        size_t count = 0;
        (void)gantry__device_set_logical(&race->f->table, device, parts,
                                         2 + (size_t)(i + race->number) % 2);
        (void)gantry__device_set_growth(&race->f->table, device, i % 2 == 0);
        (void)gantry__device_get_growth(&race->f->table, device);
        (void)gantry__device_get_logical(&race->f->table, device, 3, got, &count);
        if (count != 0 && (count < 2 || count > 3 || got[1].memory_limit_bytes != MIB)) return user;
    }
    return NULL;
}

TEST(setters_of_many_threads_leave_one_whole_value) {
    device_fixture_t f;
    device_fixture_open(&f, NULL, NULL);
    pthread_t threads[4];
    race_t races[4];
    for (int i = 0; i < 4; ++i) {
        races[i] = (race_t){&f, i};
        assert_int_equal(pthread_create(&threads[i], NULL, set_again_and_again, &races[i]), 0);
    }
    for (int i = 0; i < 4; ++i) {
        void *broken = NULL;
        assert_int_equal(pthread_join(threads[i], &broken), 0);
        assert_null(broken);
    }
    assert_in_range(gpu(&f, 0)->card->part_count, 2, 3);
    device_fixture_close(&f);
}

int main(void) { return test_main_each(set_up, device_fixture_tear_down); }
