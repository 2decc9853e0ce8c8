/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The CPU backend finds the machine's memory and the limits of cgroups 1 and 2 in /proc
 * and cgroup files, here in trees that the test writes.
 * Promise: The CPU backend reads load, use and clocks of all cores from /proc and /sys, and each
 * figure that it does not find has its reason. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cpu/cpu_backend.h"
#include "test.h"

static void write_below(const char *root, const char *name, const char *text) {
    char path[512];
    snprintf(path, sizeof path, "%s%s", root, name);
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; ++slash) {
        *slash = '\0';
        assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int make_root(void **state) {
    static char root[64];
    strcpy(root, "/tmp/gantry_machine_XXXXXX");
    assert_non_null(mkdtemp(root));
    write_below(root, "/proc/meminfo",
                "MemTotal:       8000 kB\nMemFree:  100 kB\nMemAvailable:   6000 kB\n");
    *state = root;
    return 0;
}

static int remove_root(void **state) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", (char *)*state);
    return system(command) == 0 ? 0 : -1;
}

static void memory_is(const char *root, uint64_t free_kib, uint64_t total_kib) {
    uint64_t free_bytes = 1;
    uint64_t total_bytes = 1;
    gantry__cpu_machine_memory(root, &free_bytes, &total_bytes);
    assert_int_equal(free_bytes / 1024, free_kib);
    assert_int_equal(total_bytes / 1024, total_kib);
}

TEST(machine_without_cgroups_has_the_machines_figures) {
    memory_is(*state, 6000, 8000);
    assert_int_equal(gantry__cpu_machine_cores(*state, 6), 6);
    assert_int_equal(gantry__cpu_machine_cores(*state, 0), 1);
    memory_is("/nonexistent", 0, 0);
}

TEST(machine_cgroup_2_tightest_ancestor_binds) {
    const char *root = *state;
    write_below(root, "/proc/self/cgroup", "0::/user/app\n");
    write_below(root, "/sys/fs/cgroup/user/app/memory.max", "max\n");
    write_below(root, "/sys/fs/cgroup/user/memory.max", "4096000\n");
    write_below(root, "/sys/fs/cgroup/user/memory.current", "2048000\n");
    write_below(root, "/sys/fs/cgroup/user/memory.stat",
                "anon 5\ninactive_file 1024000\nactive_file 3\n");
    write_below(root, "/sys/fs/cgroup/user/app/cpu.max", "150000 100000\n");
    write_below(root, "/sys/fs/cgroup/user/cpu.max", "max 100000\n");
    memory_is(root, 3000, 4000); /* 4000 less (2000 in use less 1000 of reclaimable cache) */
    assert_int_equal(gantry__cpu_machine_cores(root, 8), 2);
    assert_int_equal(gantry__cpu_machine_cores(root, 1), 1);
}

TEST(machine_cgroup_1_path_missing_inside_a_container_uses_the_mount) {
    const char *root = *state;
    write_below(root, "/proc/self/cgroup",
                "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n0::/\n");
    write_below(root, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "1024000\n");
    write_below(root, "/sys/fs/cgroup/memory/memory.usage_in_bytes", "9999999\n");
    write_below(root, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000\n");
    write_below(root, "/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    memory_is(root, 0, 1000);
    assert_int_equal(gantry__cpu_machine_cores(root, 8), 3);
    write_below(root, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    write_below(root, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    memory_is(root, 6000, 8000);
    assert_int_equal(gantry__cpu_machine_cores(root, 8), 8);
}

TEST(machine_odd_files_mean_no_limit) {
    const char *root = *state;
    write_below(root, "/proc/self/cgroup", "nonsense\n:\n::\n4:memory\n0::");
    memory_is(root, 6000, 8000);
    assert_int_equal(gantry__cpu_machine_cores(root, 3), 3);
    write_below(
        root, "/proc/cpuinfo",
        "processor\t: 0\nvendor_id\t: GenuineTest\nmodel name\t: Test CPU @ 3\ncpu MHz\t\t: 2596.120\n");
    gantry__cpu_identity_t identity;
    gantry__cpu_machine_identity(root, &identity);
    assert_string_equal(identity.hardware_name, "Test CPU @ 3");
    assert_string_equal(identity.vendor, "GenuineTest");
    assert_int_equal(identity.clock_mhz, 2596);
    gantry__cpu_machine_identity("/nonexistent", &identity);
    assert_string_equal(identity.hardware_name, "CPU");
}

/* Without cgroups: 8000 KiB, of which 6000 are free. */
static void write_limits(const char *root, const char *space, const char *data) {
    char text[512];

    snprintf(text, sizeof text,
             "Limit                     Soft Limit           Hard Limit           Units     \n"
             "Max data size             %s            unlimited            bytes     \n"
             "Max address space         %s            unlimited            bytes     \n",
             data, space);
    write_below(root, "/proc/self/limits", text);
    write_below(
        root, "/proc/self/status",
        "Name:\tprogram\nVmPeak:\t    5000 kB\nVmSize:\t    3000 kB\nVmData:\t     500 kB\n");
}

TEST(machine_limits_of_the_process_bind) {
    const char *root = *state;

    write_limits(root, "unlimited", "unlimited");
    memory_is(root, 6000, 8000);
    assert_true(gantry__cpu_machine_unused_limit(root) == UINT64_MAX);
    write_limits(root, "4096000", "unlimited");
    memory_is(root, 1000, 4000);
    /* the limit was set below the memory already in use */
    write_limits(root, "1024000", "unlimited");
    memory_is(root, 0, 1000);
    write_limits(root, "unlimited", "2048000");
    memory_is(root, 1500, 2000);
    /* the limit is above the machine's memory, and 5400 KiB of it are left */
    write_limits(root, "8601600", "unlimited");
    memory_is(root, 5400, 8000);
    assert_int_equal(gantry__cpu_machine_unused_limit(root), 5400 * 1024);
}

/* ---- load, use, clocks ---- */

#define SECOND INT64_C(1000000000)

static void use_is(const char *root, int64_t now_ns, gantry__cpu_use_t *use, const char *stat,
                   int percent) {
    write_below(root, "/proc/stat", stat);
    assert_true(gantry__cpu_machine_use(root, now_ns, use));
    assert_int_equal(use->is_known, percent >= 0);
    if (percent >= 0) assert_int_equal(use->percent, percent);
}

TEST(machine_use_is_the_share_between_two_readings) {
    const char *root = *state;
    gantry__cpu_use_t use = {0};
    /*                       user nice system idle iowait irq softirq steal guest */
    use_is(root, SECOND, &use, "cpu  1000 0 1000 8000 0 0 0 0 500 0\ncpu0 7 7 7 7\n", -1);
    use_is(root, 2 * SECOND, &use, "cpu  1010 5 1005 8060 20 0 0 0 500 0\n", 20);
    /* too soon: the figure before; then the time that a host took counts as use */
    use_is(root, 2 * SECOND + 1000000, &use, "cpu  9010 5 1005 8060 20 0 0 0 500 0\n", 20);
    use_is(root, 3 * SECOND, &use, "cpu  1010 5 1005 8060 20 10 10 80 500 0\n", 100);
    use_is(root, 4 * SECOND, &use, "cpu  1010 5 1005 8160 20 10 10 80 500 0\n", 0);
    /* counts that stand still or fall give no share, and the next reading has one again */
    use_is(root, 5 * SECOND, &use, "cpu  1010 5 1005 8160 20 10 10 80 500 0\n", -1);
    use_is(root, 6 * SECOND, &use, "cpu  1010 5 1005 8100 0 10 10 80 500 0\n", -1);
    use_is(root, 7 * SECOND, &use, "cpu  1030 5 1005 8120 0 10 10 80 500 0\n", 50);
    write_below(root, "/proc/stat", "intr 1\n");
    assert_false(gantry__cpu_machine_use(root, 8 * SECOND, &use));
    assert_false(use.is_known);
    use = (gantry__cpu_use_t){0};
    assert_false(gantry__cpu_machine_use("/nonexistent", SECOND, &use));
    use_is(root, SECOND, &use, "cpu  1 2\n", -1); /* an old kernel's line */
    use_is(root, 2 * SECOND, &use, "cpu  2 3\n", 100);
}

TEST(machine_clocks_are_the_highest_of_all_cores) {
    const char *root = *state;
    uint32_t now, most;
    gantry__cpu_machine_clocks(root, &now, &most);
    assert_true(now == 0 && most == 0);
    write_below(root, "/proc/cpuinfo", "processor\t: 0\ncpu MHz\t\t: 2596.120\n");
    gantry__cpu_machine_clocks(root, &now, &most);
    assert_true(now == 2596 && most == 0);
    write_below(root, "/sys/devices/system/cpu/possible", "0-2\n");
    write_below(root, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "800000\n");
    write_below(root, "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3200000\n");
    write_below(root, "/sys/devices/system/cpu/cpu2/cpufreq/scaling_cur_freq", "3100999\n");
    write_below(root, "/sys/devices/system/cpu/cpu2/cpufreq/cpuinfo_max_freq", "3600000\n");
    write_below(root, "/sys/devices/system/cpu/cpu3/cpufreq/scaling_cur_freq", "9900000\n");
    gantry__cpu_machine_clocks(root, &now, &most);
    assert_true(now == 3100 && most == 3600);
    write_below(root, "/sys/devices/system/cpu/possible", "99999999999999999999\n");
    gantry__cpu_machine_clocks(root, &now, &most);
    assert_true(now == 9900);
}

static gantry_device_telemetry_t figures_of(const char *root, int64_t now_ns,
                                            gantry__cpu_use_t *use) {
    gantry_device_telemetry_t figures = {.struct_size = sizeof figures};
    gantry__cpu_telemetry_fill(root, now_ns, use, &figures);
    return figures;
}

TEST(each_unknown_figure_has_its_reason) {
    const char *root = *state;
    gantry__cpu_use_t use = {0}, none = {0};
    const gantry_device_telemetry_t bare = figures_of("/nonexistent", SECOND, &none);
    assert_int_equal(bare.known, 0);
    assert_string_equal(
        bare.reason,
        "the backend cpu reports memory, load, use and clock of the machine; no memory: "
        "/proc/meminfo has none; no load: /proc/loadavg cannot be read; no use: "
        "/proc/stat has no counts; no clock: /proc/cpuinfo and cpufreq have none");
    write_below(root, "/proc/loadavg", "1.50 0.80 0.40 1/100 7\n");
    write_below(root, "/proc/cpuinfo", "cpu MHz\t\t: 2596.120\n");
    write_below(root, "/proc/stat", "cpu  10 0 0 90 0 0 0 0\n");
    const gantry_device_telemetry_t first = figures_of(root, SECOND, &use);
    assert_int_equal(first.known,
                     GANTRY_TELEMETRY_MEMORY | GANTRY_TELEMETRY_LOAD | GANTRY_TELEMETRY_CLOCK);
    assert_non_null(
        strstr(first.reason, "machine; the use is known from a reading 0.25 s later on"));
    write_below(root, "/proc/stat", "cpu  40 0 0 160 0 0 0 0\n");
    const gantry_device_telemetry_t second = figures_of(root, 2 * SECOND, &use);
    assert_int_equal(second.known, first.known | GANTRY_TELEMETRY_PROCESSOR);
    assert_int_equal(second.processor_percent, 30);
    assert_int_equal(second.used_bytes, 2000 * 1024);
    assert_int_equal(second.clock_mhz, 2596);
    assert_true(second.load_average > 1.49 && second.load_average < 1.51);
    assert_string_equal(second.reason,
                        "the backend cpu reports memory, load, use and clock of the machine");
}

int main(void) { return test_main_each(make_root, remove_root); }
