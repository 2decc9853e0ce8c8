/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: GANTRY_TRACE and `gantry trace` work on the CPU, PoCL and the stand-in for CUDA, as
 * text, JSON and a page, also with broken and hostile files.
 * Promise: The page of gantry trace --html draws memory as steps that keep their peaks, over an
 * axis of round times.
 * Promise: gantry trace --html keeps an existing page until the new one is whole, and a page that
 * cannot be written ends no process by a signal. */
#define _XOPEN_SOURCE 700

#include "cli_case.h"
#include "test.h"

#include <cjson/cJSON.h>

static bool has_opencl;

/* ---- reading ---- */

static cJSON *parse_output(void) {
    cJSON *all = cJSON_Parse(output);
    if (!all) fail_msg("not JSON: %.300s", output);
    return all;
}

static double number_of(const cJSON *object, const char *name) {
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);
    assert_true(cJSON_IsNumber(member));
    return member->valuedouble;
}

static const char *text_of(const cJSON *object, const char *name) {
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);
    assert_true(cJSON_IsString(member));
    return member->valuestring;
}

/* The row of a table whose member has this value. */
static const cJSON *find_row(const cJSON *all, const char *table, const char *member,
                             const char *value) {
    const cJSON *row;
    cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(all, table)) {
        if (strcmp(text_of(row, member), value) == 0) return row;
    }
    fail_msg("no row %s \"%s\" in %s of %.2000s", member, value, table, output);
    return NULL;
}

/* Trains the language identifier on a few made-up words with a timeline, and reads the report. */
static cJSON *trace_example(const char *setting, const char *device) {
    char line[1024];
    expect_run(
        0,
        "for w in abc bad cafe deed fade; do echo $w; echo $w$w; done >low; tr a-m n-z <low >high");
    (void)snprintf(
        line, sizeof line,
        "%s GANTRY_TRACE=t.json $BIN/language_id --device %s --epochs 2 --batch 4 --features 64 low=low high=high >/dev/null",
        setting, device);
    expect_run(0, line);
    expect_run(0, "$BIN/gantry trace t.json --json");
    cJSON *all = parse_output();
    assert_true(number_of(all, "events") > 10);
    assert_false(cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(all, "ended_early")));
    return all;
}

/* A device whose driver has times, with kernels and copies in both directions. */
static void expect_device_times(const cJSON *all, const char *backend) {
    const cJSON *gpu = find_row(all, "devices", "device", "/device:GPU:0");
    assert_string_equal(text_of(gpu, "backend"), backend);
    assert_string_equal(text_of(gpu, "times"), "device");
    assert_true(number_of(gpu, "busy_ns") > 0);
    assert_true(number_of(gpu, "busy_ns") + number_of(gpu, "idle_ns") <=
                number_of(all, "duration_ns"));
    assert_true(number_of(gpu, "most_in_use_bytes") > 0);
    const cJSON *copy = find_row(all, "copies", "device", "/device:GPU:0");
    assert_true(number_of(copy, "moved_bytes") > 0);
    const cJSON *row;
    double device_ns = 0;
    cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(all, "ops")) {
        if (strcmp(text_of(row, "device"), "/device:GPU:0") == 0)
            device_ns += number_of(row, "device_ns");
    }
    assert_true(device_ns > 0);
}

/* ---- examples ---- */

TEST(cpu_example_gives_text_json_and_a_page) {
    cJSON *all = trace_example("GANTRY_BACKENDS=cpu", "CPU:0");
    const cJSON *cpu = find_row(all, "devices", "device", "/device:CPU:0");
    assert_string_equal(text_of(cpu, "times"), "host");
    assert_true(number_of(cpu, "works") > 0);
    assert_string_equal(text_of(all, "program"), "language_id");
    cJSON_Delete(all);
    expect_run(0, "$BIN/gantry trace t.json --top 3");
    expect_in_output("Top ops by time");
    expect_in_output("Longest idle gaps");
    expect_in_output("Placements that fell back");
    expect_in_output("CPU:0");
    expect_run(0, "$BIN/gantry trace t.json --html page.html");
    expect_run(0, "test -s page.html");
}

TEST(page_works_in_an_engine_of_javascript) {
    if (run("command -v node >/dev/null") != 0)
        SKIP_BECAUSE("no JavaScript engine (node) here: the page is made, but not run");
    cJSON *all = trace_example("GANTRY_BACKENDS=cpu", "CPU:0");
    const cJSON *op = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(all, "ops"), 0);
    char line[512];
    (void)snprintf(line, sizeof line,
                   "$BIN/gantry trace t.json --html page.html && node '" GANTRY_TRACE_PAGE_TEST
                   "'"
                   " page.html '%s'",
                   text_of(op, "op"));
    expect_run(0, line);
    expect_in_output("page ok");
    cJSON_Delete(all);
}

TEST(pocl_example_has_the_times_of_the_device) {
    if (!has_opencl) SKIP_BECAUSE("no OpenCL device here");
    cJSON *all = trace_example("GANTRY_BACKENDS=cpu,opencl", "GPU:0");
    expect_device_times(all, "opencl");
    cJSON_Delete(all);
}

TEST(cuda_example_has_the_times_of_the_device) {
    if (!has_opencl || access(GANTRY_TEST_MODULES "/cuda/standin_libcuda.so", R_OK) != 0)
        SKIP_BECAUSE("no stand-in for NVIDIA's driver here: it needs PoCL and its headers");
#define STAND_IN(what, file) "GANTRY_CUDA_" what "=" MODULES "/cuda/standin_" file ".so "
    cJSON *all = trace_example(
        "GANTRY_BACKENDS=cpu,cuda GANTRY_STAND_IN_CUDA='devices=1;memory=2G' " STAND_IN(
            "LIBRARY", "libcuda") STAND_IN("NVRTC", "libnvrtc") STAND_IN("CUBLAS", "libcublas")
            STAND_IN("NVML", "libnvml"),
        "GPU:0");
    expect_device_times(all, "cuda");
    cJSON_Delete(all);
}

/* ---- files that others made ---- */

#define X(rest) "{\"name\":\"Add\",\"ph\":\"X\",\"pid\":1,\"tid\":1," rest "}"

TEST(broken_files_are_refused_with_the_line) {
    static const char *const cases[][2] = {
        {"", "line 1: the file is empty"},
        {"hello", "'[' or '{' is expected at the beginning"},
        {"{}", "no array \"traceEvents\""},
        {"{\"a\":[1,2],\"traceEvents\":7}", "no array \"traceEvents\""},
        {"[\n" X("\"ts\":1,\"dur\":1") "\n" X("\"ts\":1,\"dur\":1") "]", "line 3: ',' or ']'"},
        {"[\n\n" X("\"ts\":1,\"dur\":1") ",\n{\"name\":tru}]", "line 4: not JSON"},
        {"[{\"name\":\"A\"", "line 1: the file ends inside an event"},
        {"[\n" X("\"dur\":1") "]", "line 2: the event's \"ts\" is missing"},
        {"[" X("\"ts\":1e999,\"dur\":1") "]", "\"ts\" is out of range"},
        {"[" X("\"ts\":1e17,\"dur\":1") "]", "\"ts\" is out of range"},
        {"[" X("\"ts\":1,\"dur\":-1") "]", "\"dur\" is out of range"},
        {"[" X("\"ts\":\"1\",\"dur\":1") "]", "\"ts\" is missing or no number"},
        {"[{\"name\":\"A\",\"ph\":\"X\",\"ts\":1,\"dur\":1}]", "\"pid\" is missing"},
        {"[{\"name\":7,\"ph\":\"X\",\"pid\":1,\"ts\":1,\"dur\":1}]", "has no \"name\""},
        {"[{\"name\":\"A\"}]", "has no \"ph\""},
        {"[] []", "goes on after its last bracket"},
        {"[7]", "an event, '{', is expected here"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        write_file("bad.json", cases[i][0]);
        expect_run(1, "$BIN/gantry trace bad.json");
        expect_in_output("gantry: bad.json: line ");
        expect_in_output(cases[i][1]);
    }
    expect_run(1, "$BIN/gantry trace none.json");
    expect_in_output("gantry: none.json: No such file");
    expect_run(1, "$BIN/gantry trace .");
    expect_in_output("it is a directory");
    expect_run(
        0,
        "awk 'BEGIN { printf \"[\"; for (i = 0; i < 100000; ++i) printf \"{\\\"a\\\":\" }' >deep.json");
    expect_run(1, "$BIN/gantry trace deep.json");
    expect_in_output("nested deeper than 32");
    expect_run(
        0,
        "awk 'BEGIN { printf \"[{\\\"name\\\":\\\"\"; for (i = 0; i < 200000; ++i) printf \"xxxxxxxx\" }' >long.json");
    expect_run(1, "$BIN/gantry trace long.json");
    expect_in_output("longer than 1 MiB");
    expect_run(0, "printf '[{\"name\":\"a\\000b\",\"ph\":\"X\"}]' >zero.json");
    expect_run(1, "$BIN/gantry trace zero.json");
    expect_in_output("a zero byte");
}

/* Blocks of a valid file are changed, cut and doubled: an error or a report, never a crash. */
TEST(damaged_files_never_crash) {
    static const char good[] =
        "[{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":2,\"tid\":1,\"args\":{\"name\":\"/device:GPU:0\",\"backend\":\"x\"}},\n" X(
            "\"ts\":1.5,\"dur\":2,\"args\":{\"bytes\":4,\"reason\":\"a\"}")
    ",\n" X("\"ts\":9,\"dur\":0")
    ",\n{\"name\":\"m\",\"ph\":\"C\",\"pid\":2,\"ts\":3,\"args\":{\"bytes\":1}}\n]\n";
    static const char letters[] = "{}[],:\"\\09e-x \n";
    char text[2 * sizeof good];
    uint32_t random = 12345;
    for (int i = 0; i < 30; ++i) {
        memcpy(text, good, sizeof good);
        for (int k = 0; k <= i % 4; ++k) {
            random = random * 1664525u + 1013904223u;
            const size_t at = (random >> 8) % (sizeof good - 1);
            text[at] = letters[(random >> 4) % (sizeof letters - 1)];
            if (i % 5 == 0) text[at] = '\0';
            if (i % 7 == 0) memcpy(text + at, good, sizeof good);
        }
        write_file("damaged.json", text);
        const int code = run("$BIN/gantry trace damaged.json --html damaged.html");
        if (code != 0 && code != 1) fail_msg("exit %d for %s", code, text);
        if (code == 1) expect_in_output("damaged.json: line ");
    }
}

TEST(file_without_its_end_is_read_and_told) {
    write_file("open.json", "[\n" X("\"ts\":1,\"dur\":5") ",\n");
    expect_run(0, "$BIN/gantry trace open.json");
    expect_in_output("1 events in 0.005 ms; the file has no end");
    write_file("cut.json", "[\n" X("\"ts\":1,\"dur\":5") ",\n{\"name\":\"Mu");
    expect_run(0, "$BIN/gantry trace cut.json");
    expect_in_output("1 events in 0.005 ms; the file has no end");
    write_file("object.json", "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[" X(
                                  "\"ts\":1,\"dur\":5") ",{\"ph\":\"B\"}],\"other\":[}");
    expect_run(0, "$BIN/gantry trace object.json");
    expect_in_output("1 events of other kinds are left out");
}

/* A work without a length divides the time between two others, which counts once. */
TEST(idle_time_is_counted_once) {
    write_file(
        "idle.json",
        "[{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"args\":{\"name\":\"/device:GPU:0\","
        "\"backend\":\"x\"}}," X("\"ts\":0,\"dur\":1") "," X("\"ts\":5,\"dur\":0") "," X(
            "\"ts\":9,\"dur\":1") "]");
    expect_run(0, "$BIN/gantry trace idle.json --json");
    cJSON *all = parse_output();
    const cJSON *gpu = find_row(all, "devices", "device", "/device:GPU:0");
    assert_int_equal((int)number_of(gpu, "idle_ns"), 8000);
    assert_int_equal((int)number_of(gpu, "busy_ns"), 2000);
    assert_int_equal((int)number_of(gpu, "gaps"), 2);
    cJSON_Delete(all);
}

TEST(hostile_names_are_shown_harmlessly) {
    write_file("names.json",
               "[{\"name\":\"</script><script>alert(1)</script>\",\"ph\":\"X\",\"pid\":1,\"tid\":1,"
               "\"ts\":1,\"dur\":5},\n{\"name\":\"\\u001b[31mred\\u0007\",\"ph\":\"X\",\"pid\":1,"
               "\"tid\":1,\"ts\":7,\"dur\":5,\"args\":{\"device\":\"<!--\"}}]");
    expect_run(0, "$BIN/gantry trace names.json");
    expect_in_output("?[31mred?");
    assert_null(strchr(output, '\033'));
    expect_run(0, "$BIN/gantry trace names.json --html names.html && cat names.html");
    assert_null(strstr(output, "alert(1)</script>"));
    assert_null(strstr(strstr(output, "id=\"data\""), "<!--"));
    expect_in_output("\\u003c/script>\\u003cscript>alert(1)");
    if (run("command -v node >/dev/null") != 0)
        SKIP_BECAUSE("no JavaScript engine (node) here: the page is made, but not run");
    expect_run(0, "node '" GANTRY_TRACE_PAGE_TEST
                  "'"
                  " names.html '</script><script>alert(1)</script>' || true");
    expect_in_output("no table Devices"); /* all else is well: the file has no device */
}

TEST(wrong_usage_is_told) {
    write_file("one.json", "[" X("\"ts\":1,\"dur\":5") "]");
    expect_run(2, "$BIN/gantry trace");
    expect_run(2, "$BIN/gantry trace one.json other.json");
    expect_run(2, "$BIN/gantry trace one.json --top 0");
    expect_run(2, "$BIN/gantry trace one.json --nonsense");
    expect_run(1, "$BIN/gantry trace one.json --html /nowhere/page.html");
    expect_in_output("cannot write '/nowhere/page.html': No such file");
    if (access("/dev/full", W_OK) != 0) SKIP_BECAUSE("no /dev/full here");
    expect_run(1, "ln -s /dev/full full.html && $BIN/gantry trace one.json --html full.html");
    expect_in_output("cannot write 'full.html': No space left on device");
}

/* The limit of sizes (ulimit -f) sends a signal that ends a process. */
TEST(page_stays_until_the_new_one_is_whole) {
    write_file("one.json", "[" X("\"ts\":1,\"dur\":5") "]");
    expect_run(1, "echo old >kept.html; ulimit -f 1; $BIN/gantry trace one.json --html kept.html");
    expect_in_output("kept.html': File too large");
    expect_run(0, "cat kept.html; ls kept.html*");
    assert_string_equal(output, "old\nkept.html\n");
    expect_run(0, "$BIN/gantry trace one.json --html kept.html && head -c 5 kept.html");
    expect_in_output("<!");
}

int main(void) {
    (void)setenv("GANTRY_OPENCL_CPU", "gpu", 1);
    if (open_folder() != 0) return 1;
    if (!find_opencl(1, &has_opencl)) return 1;
    const int failed = test_main();
    (void)run("rm -rf '%s'", folder);
    return failed;
}
