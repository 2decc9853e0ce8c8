/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: `gantry top` shows figures once as text and JSON, and live on a terminal with keys,
 * sizes and signals.
 * Promise: `gantry top` shows memory, utilisation, temperature, power, clocks, ECC, processes and
 * claims.
 * Promise: `gantry top` shows memory, use, load and clock of the processor, also for PoCL's
 * devices, as text and JSON, and the reason of a figure that is not known.
 * Promise: On a narrow terminal `gantry top` cuts lines at words, goes on with a note in the next
 * line, and marks a word that is cut.
 * Promise: `gantry top` fits 80, 40 and 7 columns, clears no screen, restores the terminal after
 * q, signals and Control-Z. */
#define _GNU_SOURCE /* posix_openpt, cfmakeraw */

#include "cli_case.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>

#include <cjson/cJSON.h>

#include <gantry/gantry.h>

#define CUDA(library) MODULES "/cuda/standin_" library ".so"
#define ON_STAND_IN                                                                  \
    "GANTRY_BACKENDS=cpu,cuda GANTRY_STATUS=/nonexistent GANTRY_CUDA_LIBRARY=" CUDA( \
        "libcuda") " GANTRY_CUDA_NVRTC=" CUDA("libnvrtc") " GANTRY_CUDA_CUBLAS=" CUDA("libcublas") " GANTRY_STAND_IN_CUDA='devices=2;memory=2G;other=0,512M' "
#define NVML "GANTRY_CUDA_NVML=" CUDA("libnvml") " "

#define ENTER "\x1b[?1049h\x1b[?25l"
#define LEAVE "\x1b[?25h\x1b[?1049l"

static bool has_opencl;

static bool has_stand_in(void) {
    return run(ON_STAND_IN NVML "$BIN/gantry devices | grep -q 'Stand-in for an NVIDIA GPU'") == 0;
}

/* The sixth cell of the row that begins so is a share. */
static void expect_no_dash_of_use(const char *row) {
    const char *at = strstr(output, row);
    unsigned percent = 0;
    if (!at || sscanf(at, " %*s %*s %*s %*s %*s %u%%", &percent) != 1 || percent > 100)
        fail_msg("no use in the row%s of\n%s", row, output);
}

/* ---- once ---- */

static const cJSON *field(const cJSON *object, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!item) fail_msg("no \"%s\" in\n%s", name, output);
    return item;
}

static void expect_number(const cJSON *object, const char *name, double wanted) {
    const cJSON *item = field(object, name);
    if (!cJSON_IsNumber(item) || item->valuedouble < wanted || item->valuedouble > wanted)
        fail_msg("\"%s\" is not %g in\n%s", name, wanted, output);
}

static const cJSON *device_named(const cJSON *root, const char *name) {
    const cJSON *device;
    cJSON_ArrayForEach(device, field(root, "devices")) {
        if (strcmp(field(device, "device")->valuestring, name) == 0) return device;
    }
    fail_msg("no device \"%s\" in\n%s", name, output);
    return NULL;
}

TEST(json_on_the_stand_in_has_the_recorded_values) {
    if (!has_stand_in()) SKIP_BECAUSE("the stand-in is not built, or has no PoCL here");
    expect_run(0, ON_STAND_IN NVML "$BIN/gantry top --once --json 2>/dev/null");
    cJSON *root = cJSON_Parse(output);
    assert_non_null(root);
    const cJSON *card = device_named(root, "GPU:1"), *cpu = device_named(root, "CPU:0");
    expect_number(card, "total_bytes", 2147483648.0);
    expect_number(card, "used_bytes", 536870912.0);
    expect_number(card, "free_bytes", 1610612736.0);
    expect_number(card, "utilization_percent", 7);
    expect_number(card, "memory_busy_percent", 3);
    expect_number(card, "temperature_celsius", 43);
    expect_number(card, "power_milliwatts", 118250);
    expect_number(card, "power_limit_milliwatts", 700000);
    expect_number(card, "clock_mhz", 1755);
    expect_number(card, "memory_clock_mhz", 3201);
    expect_number(card, "ecc_corrected", 2);
    expect_number(card, "ecc_uncorrected", 0);
    assert_true(cJSON_IsTrue(field(card, "ecc_enabled")));
    assert_true(cJSON_IsNull(field(card, "fan_percent")));
    assert_string_equal(cJSON_GetArrayItem(field(card, "slowed_by"), 0)->valuestring, "power");
    const cJSON *process = cJSON_GetArrayItem(field(card, "processes"), 0);
    assert_non_null(process);
    assert_string_equal(field(process, "name")->valuestring, "python3");
    expect_number(process, "used_bytes", 536870912.0);
    assert_int_equal(cJSON_GetArraySize(field(device_named(root, "GPU:0"), "processes")), 0);
    assert_true(cJSON_IsNull(field(card, "processor_percent")));
    assert_true(cJSON_IsNumber(field(cpu, "load_average")));
    assert_true(cJSON_IsNumber(field(cpu, "processor_percent")));
    assert_true(cJSON_IsNull(field(cpu, "processes")));
    assert_true(cJSON_IsNull(field(cpu, "utilization_percent")));
    cJSON_Delete(root);
}

/* CPU:0 and PoCL's two devices have the machine's figures. */
TEST(processors_have_the_machines_figures) {
    expect_run(0,
               "GANTRY_OPENCL_CPU=gpu POCL_DEVICES='pthread pthread' $BIN/gantry top --json "
               "2>/dev/null");
    cJSON *root = cJSON_Parse(output);
    assert_non_null(root);
    const cJSON *device;
    (void)device_named(root, "CPU:0");
    cJSON_ArrayForEach(device, field(root, "devices")) {
        const cJSON *clock = field(device, "clock_mhz");
        assert_true(field(device, "used_bytes")->valuedouble +
                        field(device, "free_bytes")->valuedouble ==
                    field(device, "total_bytes")->valuedouble);
        assert_true(cJSON_IsNumber(field(device, "load_average")));
        assert_true(cJSON_IsNumber(field(device, "processor_percent")));
        assert_true(field(device, "processor_percent")->valuedouble <= 100.0);
        if (cJSON_IsNumber(clock)) continue;
        assert_non_null(strstr(field(device, "reason")->valuestring, "; no clock: "));
    }
    if (has_opencl) assert_int_equal(cJSON_GetArraySize(field(root, "devices")), 3);
    cJSON_Delete(root);
    expect_run(0, "GANTRY_OPENCL_CPU=gpu POCL_DEVICES='pthread pthread' $BIN/gantry top --once");
    expect_no_dash_of_use("\nCPU:0 ");
    if (has_opencl) expect_no_dash_of_use("\nGPU:1 ");
}

TEST(text_on_the_stand_in_is_a_table) {
    if (!has_stand_in()) SKIP_BECAUSE("the stand-in is not built, or has no PoCL here");
    expect_run(0, ON_STAND_IN NVML "$BIN/gantry top --once");
    expect_in_output("\nDEVICE   CLAIM     USED  FREE TOTAL UTIL TEMP     POWER  MHZ   ECC NAME\n");
    expect_in_output(
        "\nGPU:1    free      512M  1.5G  2.0G   7%  43C  118/700W 1755   2/0 Stand-in for an NVIDIA GPU\n");
    expect_in_output("         slowed by the power limit\n");
    expect_in_output(" 4194300 GPU:1      512M -          python3\n");
}

TEST(without_nvml_the_table_says_why) {
    if (!has_stand_in()) SKIP_BECAUSE("the stand-in is not built, or has no PoCL here");
    expect_run(0, ON_STAND_IN "GANTRY_CUDA_NVML=/none $BIN/gantry top --once");
    expect_in_output("GPU:1    free         -     -  2.0G    -    -         -    -     - Stand-in");
    expect_in_output("are not known: NVML cannot be opened: /none");
}

TEST(an_unreadable_folder_of_claims_is_unknown_not_free) {
    expect_run(0, "GANTRY_BACKENDS=cpu GANTRY_CLAIMS_DIR=/dev/null $BIN/gantry top --once");
    expect_in_output("\nCPU:0    unknown  ");
    expect_in_output("\n         the claim is unknown: cannot open '/dev/null': Not a directory");
    expect_run(0, "GANTRY_BACKENDS=cpu GANTRY_CLAIMS_DIR=/dev/null $BIN/gantry devices");
    expect_in_output("whether it is claimed is unknown: cannot open '/dev/null'");
    expect_run(0, "GANTRY_BACKENDS=cpu GANTRY_CLAIMS_DIR=/dev/null $BIN/gantry top --json");
    cJSON *root = cJSON_Parse(output);
    const cJSON *claim = field(device_named(root, "CPU:0"), "claim");
    assert_string_equal(field(claim, "state")->valuestring, "unknown");
    assert_non_null(strstr(field(claim, "reason")->valuestring, "GANTRY_CLAIMS_DIR"));
    cJSON_Delete(root);
}

TEST(a_pipe_gets_one_frame_and_the_reason) {
    expect_run(0, "GANTRY_BACKENDS=cpu $BIN/gantry top");
    expect_in_output("gantry: standard output is no terminal: this is one frame, as with --once\n");
    expect_in_output("\nCPU:0 ");
}

TEST(a_dumb_terminal_gets_one_frame_without_sequences) {
    if (run("command -v script >/dev/null") != 0) SKIP_BECAUSE("no script(1) here: no terminal");
    expect_run(
        0, "GANTRY_BACKENDS=cpu TERM=dumb timeout 20 script -qec \"'$BIN'/gantry top\" /dev/null");
    expect_in_output("the terminal cannot move its cursor (TERM=dumb): this is one frame");
    expect_in_output("\nCPU:0 ");
    assert_null(strchr(output, '\033'));
}

#define NARROW(columns) \
    "script -qec \"stty cols " columns " && '$BIN'/gantry top --once 2>&1\" /dev/null | tr -d '\\r'"

TEST(narrow_terminals_cut_at_words) {
    if (run("command -v script >/dev/null") != 0) SKIP_BECAUSE("no script(1) here: no terminal");
    expect_run(0, "GANTRY_BACKENDS=cpu GANTRY_CLAIMS_DIR=/dev/null " NARROW("40"));
    expect_in_output(
        "\n         the claim is unknown: cannot\n"
        "         open '/dev/null': Not a\n         directory");
    expect_run(0, "GANTRY_BACKENDS=cpu GANTRY_CLAIMS_DIR=/dev/null " NARROW("20"));
    expect_in_output("\n the claim is\n unknown: cannot\n open '/dev/null':\n Not a directory");
    expect_run(0, "GANTRY_BACKENDS=cpu GANTRY_CLAIMS_DIR=/dev/null " NARROW("15"));
    assert_ptr_equal(strstr(output, "gantry top\n"), output);
    assert_null(strstr(output, "claim"));
    expect_run(0, "GANTRY_BACKENDS=cpu " NARROW("4"));
    assert_ptr_equal(strstr(output, "gan+\n"), output);
    if (!has_stand_in()) SKIP_BECAUSE("the stand-in is not built, or has no PoCL here");
    expect_run(0, ON_STAND_IN NVML NARROW("80"));
    expect_in_output("  118/700W 1755   2/0 Stand-in for\n");
    expect_run(0, ON_STAND_IN NVML NARROW("74"));
    expect_in_output("  118/700W 1755   2/0 Stand-+\n"); /* no word has room */
    expect_run(0, ON_STAND_IN NVML NARROW("70"));
    expect_in_output("  118/700W 1755   2/0\n");
}

TEST(wrong_options_are_refused) {
    expect_run(2, "$BIN/gantry top --interval 5ms");
    expect_in_output("--interval is \"5ms\"; accepted: 100ms to 1h");
    expect_run(2, "$BIN/gantry top --interval soon");
    expect_run(2, "$BIN/gantry top --often");
}

/* ---- programs that show their memory ---- */

static int program_count(void) {
    expect_run(0, "GANTRY_STATUS=$PWD/status GANTRY_BACKENDS=cpu $BIN/gantry top --json");
    cJSON *root = cJSON_Parse(output);
    assert_non_null(root);
    const int count = cJSON_GetArraySize(field(root, "programs"));
    cJSON_Delete(root);
    return count;
}

static void write_status(const char *name, long pid, const char *boot_ms) {
    char text[256];
    (void)snprintf(text, sizeof text, "{\"pid\":%ld,\"boot_ms\":%s,\"devices\":[]}\n", pid,
                   boot_ms);
    write_file(name, text);
}

TEST(programs_that_opt_in_are_shown) {
    char setting[128];
    const char *const extra[] = {setting, NULL};
    (void)snprintf(setting, sizeof setting, "GANTRY_STATUS=%s/status", folder);
    const gantry_runtime_options_t options = {
        .struct_size = sizeof options, .backends = "cpu", .kernel_cache = "", .extra = extra};
    gantry_runtime_t *runtime;
    assert_int_equal(gantry_runtime_create(&options, &runtime), GANTRY_OK);
    gantry_scope_t *scope = gantry_scope_begin(runtime, "CPU:0");
    static _Alignas(64) float foreign[3 << 17];
    assert_non_null(gantry_tensor_from_memory(scope, GANTRY_FLOAT32, GANTRY_SHAPE(3 << 17), foreign,
                                              sizeof foreign, NULL));
    assert_non_null(gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE(1 << 18)));
    assert_int_equal(program_count(), 1);
    expect_in_output("\"in_use_bytes\": 1048576");
    expect_in_output("\"foreign_bytes\": 1572864");
    expect_in_output("\"name\": \"test_top\"");
    expect_run(0, "GANTRY_STATUS=$PWD/status GANTRY_BACKENDS=cpu $BIN/gantry top --once");
    expect_in_output("CPU:0      1.0M");
    expect_in_output(" FOREIGN ");
    expect_in_output("   1.5M ");
    (void)gantry_scope_end(scope);
    gantry_runtime_release(runtime);
    assert_int_equal(program_count(), 0);
}

TEST(files_of_no_living_program_are_ignored) {
    expect_run(0, "mkdir -p status");
    pid_t child = fork();
    if (child == 0) _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    write_status("status/dead.json", (long)child, "1000");
    /* written before this process began: an earlier process had its pid */
    write_status("status/reused.json", (long)getpid(), "0");
    /* from before the machine was booted */
    write_status("status/future.json", (long)getpid(), "1e15");
    write_file("status/broken.json", "{\"pid\":");
    write_file("status/list.json", "[[[[]]]]");
    write_file("status/other.txt", "{}");
    assert_int_equal(program_count(), 0);
    expect_run(0, "rm -r status");
}

/* ---- live ---- */

typedef struct live_t {
    int master, slave;
    pid_t child;
    struct termios before;
    size_t length;
    char seen[1 << 18];
} live_t;

static live_t live;

static void run_top(void) {
    (void)setenv("GANTRY_BACKENDS", "cpu", 1);
    (void)setenv("TERM", "xterm", 1);
    (void)execl(GANTRY_BIN "/gantry", "gantry", "top", "--interval", "0.2", (char *)NULL);
    _exit(127);
}

/* A shell with job control: the command has a process group of its own, without which no process
 * stops, and the shell tells of its stop and its end. */
static void be_shell(int report) {
    int result = 0;
    (void)signal(SIGTTOU, SIG_IGN);
    const pid_t job = fork();
    if (job == 0) {
        (void)setpgid(0, 0);
        (void)tcsetpgrp(0, getpid());
        (void)signal(SIGTTOU, SIG_DFL);
        run_top();
    }
    (void)!write(report, &job, sizeof job);
    while (waitpid(job, &result, WUNTRACED) == job) {
        (void)!write(report, &result, sizeof result);
        if (!WIFSTOPPED(result)) break;
    }
    _exit(0);
}

/* The terminal becomes the controlling one of a session of its own. report: see be_shell; -1: the
 * command is the session's leader. */
static void child_run(const char *terminal, int report) {
    (void)setsid();
    int file = open(terminal, O_RDWR);
    (void)ioctl(file, TIOCSCTTY, 0);
    for (int i = 0; i < 3; ++i) (void)dup2(file, i);
    if (report >= 0) be_shell(report);
    run_top();
}

static void set_size(unsigned short columns, unsigned short lines) {
    struct winsize size = {.ws_row = lines, .ws_col = columns};
    assert_int_equal(ioctl(live.master, TIOCSWINSZ, &size), 0);
}

static void start_with(unsigned short columns, unsigned short lines, int report) {
    live.length = 0;
    live.master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(live.master >= 0 && grantpt(live.master) == 0 && unlockpt(live.master) == 0);
    const char *name = ptsname(live.master);
    assert_non_null(name);
    live.slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC); /* keeps the terminal's state */
    assert_true(live.slave >= 0);
    set_size(columns, lines);
    assert_int_equal(tcgetattr(live.slave, &live.before), 0);
    (void)fflush(NULL);
    live.child = fork();
    if (live.child == 0) child_run(name, report);
    assert_true(live.child > 0);
}

static void start(unsigned short columns, unsigned short lines) { start_with(columns, lines, -1); }

/* Reads until the text is among what came since `from`; returns its end. */
static size_t wait_for(size_t from, const char *text) {
    for (;;) {
        live.seen[live.length] = '\0';
        const char *at = strstr(live.seen + from, text);
        if (at) return (size_t)(at - live.seen) + strlen(text);
        struct pollfd file = {.fd = live.master, .events = POLLIN};
        if (poll(&file, 1, 10000) <= 0) fail_msg("no \"%s\" in\n%s", text, live.seen + from);
        const ssize_t got =
            read(live.master, live.seen + live.length, sizeof live.seen - 1 - live.length);
        if (got <= 0) fail_msg("no \"%s\" in\n%s", text, live.seen + from);
        live.length += (size_t)got;
    }
}

/* The frame that begins after `from`: no line has more printed characters than there are columns,
 * and there are no more lines than fit. */
static size_t expect_frame(size_t from, size_t columns, size_t lines) {
    size_t at = wait_for(from, "\x1b[H"), end = wait_for(at, "\x1b[H") - 3;
    size_t width = 0, count = 1;
    for (; at < end; ++at) {
        if (live.seen[at] == '\x1b') {
            while (at < end && !strchr("KJmHhl", live.seen[at])) ++at;
        } else if (live.seen[at] == '\r') {
            continue;
        } else if (live.seen[at] == '\n') {
            width = 0;
            ++count;
        } else if (++width > columns) {
            fail_msg("a line is longer than %zu: %s", columns, live.seen + from);
        }
    }
    if (count > lines) fail_msg("%zu lines are more than %zu", count, lines);
    return end;
}

/* Waits for the end, and checks that the terminal is as before. */
static int finish(size_t from) {
    struct termios after;
    int result;
    (void)wait_for(from, LEAVE);
    assert_int_equal(waitpid(live.child, &result, 0), live.child);
    assert_int_equal(tcgetattr(live.slave, &after), 0);
    assert_int_equal(after.c_lflag, live.before.c_lflag);
    assert_int_equal(after.c_iflag, live.before.c_iflag);
    assert_memory_equal(after.c_cc, live.before.c_cc, sizeof after.c_cc);
    (void)close(live.slave);
    (void)close(live.master);
    return result;
}

static void type(const char *keys) {
    assert_int_equal(write(live.master, keys, strlen(keys)), (ssize_t)strlen(keys));
}

TEST(frames_fit_every_size_and_q_ends) {
    start(80, 24);
    size_t at = wait_for(0, ENTER);
    (void)wait_for(at, "every 0.2 s, q ends");
    (void)wait_for(at, "DEVICE   CLAIM     USED  FREE TOTAL UTIL TEMP     POWER  MHZ   ECC NAME");
    struct termios now;
    assert_int_equal(tcgetattr(live.slave, &now), 0);
    assert_int_equal(now.c_lflag & (ICANON | ECHO), 0);
    at = expect_frame(at, 80, 24);
    set_size(40, 10);
    at = wait_for(at, "DEVICE   CLAIM     USED  FREE TOTAL UTIL\x1b[m\x1b[K");
    at = expect_frame(at, 40, 10);
    set_size(7, 2);
    at = wait_for(at, "gantry\x1b[m");
    at = expect_frame(at, 7, 2);
    assert_null(strstr(live.seen, "\x1b[2J")); /* a cleared screen would flicker */
    type("xq");
    const int result = finish(at);
    assert_true(WIFEXITED(result) && WEXITSTATUS(result) == 0);
}

TEST(control_c_ends_well) {
    start(80, 24);
    const size_t at = wait_for(0, "\nCPU:0");
    type("\x03");
    const int result = finish(at);
    assert_true(WIFEXITED(result) && WEXITSTATUS(result) == 0);
}

TEST(a_signal_restores_the_terminal_and_then_kills) {
    static const int numbers[] = {SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
        start(80, 24);
        const size_t at = wait_for(0, "\nCPU:0");
        assert_int_equal(kill(live.child, numbers[i]), 0);
        const int result = finish(at);
        assert_true(WIFSIGNALED(result) && WTERMSIG(result) == numbers[i]);
    }
}

TEST(control_z_gives_the_terminal_back_until_it_continues) {
    struct termios now;
    pid_t job = 0;
    int ends[2], result = 0;
    assert_int_equal(pipe(ends), 0);
    start_with(80, 24, ends[1]);
    assert_int_equal(read(ends[0], &job, sizeof job), sizeof job);
    size_t at = wait_for(0, "\nCPU:0");
    type("\x1a");
    assert_int_equal(read(ends[0], &result, sizeof result), sizeof result);
    if (!WIFSTOPPED(result)) fail_msg("it does not stop: %d", result);
    at = wait_for(at, LEAVE);
    assert_int_equal(tcgetattr(live.slave, &now), 0);
    assert_int_equal(now.c_lflag, live.before.c_lflag);
    assert_int_equal(kill(job, SIGCONT), 0);
    at = wait_for(at, ENTER);
    at = wait_for(at, "\nCPU:0");
    type("q");
    (void)finish(at);
    assert_int_equal(read(ends[0], &result, sizeof result), sizeof result);
    assert_true(WIFEXITED(result) && WEXITSTATUS(result) == 0);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

TEST(a_terminal_that_goes_away_ends_it) {
    int result;
    start(80, 24);
    (void)wait_for(0, "\nCPU:0");
    (void)close(live.slave);
    (void)close(live.master);
    assert_int_equal(waitpid(live.child, &result, 0), live.child);
    assert_true(WIFSIGNALED(result) ? WTERMSIG(result) == SIGHUP : WEXITSTATUS(result) == 1);
}

int main(void) {
    if (open_folder() != 0) return 1;
    if (!find_opencl(1, &has_opencl)) return 1;
    char claims[96];
    (void)snprintf(claims, sizeof claims, "%s/claims", folder);
    (void)setenv("GANTRY_CLAIMS_DIR", claims, 1);
    const int code = test_main();
    (void)run("rm -rf %s", folder);
    return code;
}
