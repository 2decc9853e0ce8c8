/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The gantry command and the examples gpu_guide, memory_control, functions and language_id
 * print the right results and end with the right exit codes.
 * Promise: Without an OpenCL loader the library computes on the CPU only, and `gantry devices`
 * gives the reason.
 * Promise: `gantry devices` lists backends and devices, the parts of a split device among them, and
 * says the same as text and as JSON.
 * Promise: The example memory_control prints the same on the CPU backend and on PoCL.
 * Promise: `gantry settings` lists every variable with its value and who set it, and unknown
 * variables are warned of.
 * Promise: The example language_id trains as a function to the bits of a training whose ops run one
 * by one.
 * Promise: The example language_id ends with exit code 1 and names the list and its package where a
 * list of words is missing.
 *
 * Needs two PoCL devices, like every test that names GPUs here, unless GANTRY_TEST_ALLOW_NO_OPENCL
 * is set. */
#define _XOPEN_SOURCE 700

#include "cli_case.h"
#include "test.h"

#include <math.h>

#include <cjson/cJSON.h>

static bool has_opencl;

/* ---- gantry ---- */

TEST(devices_lists_backends_and_devices) {
    expect_run(0, "$BIN/gantry devices --verbose");
    expect_in_output("cpu        usable");
    expect_in_output("/CPU:0");
    expect_in_output("/physical_device:CPU:0, cpu:0");
    if (!has_opencl) SKIP_BECAUSE("no OpenCL device here");
    expect_in_output("opencl     usable");
    expect_in_output("opencl:0");
    expect_in_output("opencl:1");
}

TEST(devices_as_json_parses) {
    expect_run(0, "$BIN/gantry devices --json 2>/dev/null");
    cJSON *all = cJSON_Parse(output);
    assert_non_null(all);
    const cJSON *backends = cJSON_GetObjectItemCaseSensitive(all, "backends"),
                *devices = cJSON_GetObjectItemCaseSensitive(all, "devices");
    assert_true(cJSON_IsArray(backends) && cJSON_GetArraySize(backends) >= 1);
    assert_true(cJSON_IsArray(devices) && cJSON_GetArraySize(devices) >= 1);
    const cJSON *item;
    cJSON_ArrayForEach(item, backends) {
        assert_true(cJSON_IsString(cJSON_GetObjectItemCaseSensitive(item, "name")));
        assert_true(cJSON_IsString(cJSON_GetObjectItemCaseSensitive(item, "state")));
        assert_true(cJSON_IsString(cJSON_GetObjectItemCaseSensitive(item, "reason")));
    }
    cJSON_ArrayForEach(item, devices) {
        static const char *const texts[] = {"alias", "backend", "note", "other_view", "error"};
        for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i)
            assert_true(cJSON_IsString(cJSON_GetObjectItemCaseSensitive(item, texts[i])));
    }
    cJSON_Delete(all);
}

TEST(ops_lists_every_op) {
    expect_run(0, "$BIN/gantry ops");
    expect_in_output("MatMul");
    expect_in_output("StatelessRandomNormal");
    expect_run(0, "$BIN/gantry ops --json 2>/dev/null");
    cJSON *all = cJSON_Parse(output);
    assert_non_null(all);
    cJSON_Delete(all);
    expect_run(0, "$BIN/gantry version");
    expect_in_output("gantry 0.");
}

TEST(settings_tell_values_and_who_set_them) {
    expect_run(
        0,
        "GANTRY_MEMORY_LIMIT=CPU:0=64M,*=1G TF_GPU_HOST_MEM_LIMIT_IN_MB=32 $BIN/gantry settings");
    expect_in_output("memory_limit");
    expect_in_output("64M                      GANTRY_MEMORY_LIMIT");
    expect_in_output("32M                      TF_GPU_HOST_MEM_LIMIT_IN_MB");
    expect_run(0, "GANTRY_MEMORY_LIMIT=64M $BIN/gantry settings --json 2>/dev/null");
    cJSON *array = cJSON_Parse(output);
    assert_true(cJSON_IsArray(array));
    const cJSON *entry;
    int found = 0;
    cJSON_ArrayForEach(entry, array) {
        if (strcmp(cJSON_GetObjectItem(entry, "name")->valuestring, "memory_limit") != 0) continue;
        ++found;
        assert_string_equal(cJSON_GetObjectItem(entry, "value")->valuestring, "64M");
        assert_string_equal(cJSON_GetObjectItem(entry, "source")->valuestring, "environment");
        assert_string_equal(cJSON_GetObjectItem(entry, "set_by")->valuestring,
                            "GANTRY_MEMORY_LIMIT");
        assert_true(cJSON_IsFalse(cJSON_GetObjectItem(entry, "frozen")));
    }
    assert_true(found >= 2); /* the rest, and the CPU */
    cJSON_Delete(array);
    expect_run(1, "GANTRY_MEMORY_LIMIT=2X $BIN/gantry settings");
    expect_in_output("GANTRY_MEMORY_LIMIT is \"2X\"");
}

/* Each variable of docs/environment.md, as text and as JSON, with its default value. */
TEST(settings_list_every_variable) {
    static const struct {
        const char *name, *fallback;
    } rows[] = {
#define GANTRY__ENVIRONMENT_ROW(name, values, default_value, meaning) {name, default_value},
#include "base/environment.def"
#undef GANTRY__ENVIRONMENT_ROW
    };
    static char text[sizeof output];
    expect_run(0, ALONE "HOME=/proc/none $BIN/gantry settings 2>/dev/null");
    memcpy(text, output, sizeof text);
    expect_run(0, ALONE "HOME=/proc/none $BIN/gantry settings --json 2>/dev/null");
    cJSON *array = cJSON_Parse(output);
    assert_non_null(array);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        char line[128];
        const cJSON *entry, *found = NULL;
        (void)snprintf(line, sizeof line, " default (%s)\n", rows[i].name);
        if (!strstr(text, line)) fail_msg("\"%s\" is not in\n%s", line, text);
        cJSON_ArrayForEach(entry, array) {
            if (strcmp(cJSON_GetObjectItem(entry, "variable")->valuestring, rows[i].name) == 0)
                found = entry;
        }
        if (!found) fail_msg("%s is not in\n%s", rows[i].name, output);
        assert_string_equal(cJSON_GetObjectItem(found, "source")->valuestring, "default");
        assert_string_equal(cJSON_GetObjectItem(found, "fallback")->valuestring, rows[i].fallback);
        const char *value = cJSON_GetObjectItem(found, "value")->valuestring;
        if (!strstr(text, *value ? value : rows[i].fallback))
            fail_msg("%s is %s, not in\n%s", rows[i].name, value, text);
    }
    cJSON_Delete(array);
}

TEST(unknown_settings_and_backends_are_warned_of) {
    static const char *const commands[] = {"devices", "settings", "ops", "devices --json",
                                           "tune --list"};
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; ++i) {
        assert_int_not_equal(
            run("GANTRY_OPENCL_CPUS=gpu GANTRY_BACKENDS=opncl,opencl GANTRY_TEST_ANY=1 $BIN/gantry %s",
                commands[i]),
            2);
        expect_in_output(
            "warning: GANTRY_OPENCL_CPUS is no setting of Gantry and does nothing; did you mean GANTRY_OPENCL_CPU?");
        expect_in_output("warning: GANTRY_BACKENDS names the unknown backend \"opncl\"");
        if (strstr(output, "GANTRY_TEST_ANY")) fail_msg("%s", output);
    }
    /* standard output is JSON alone */
    expect_run(0, "GANTRY_OPENCL_CPUS=gpu $BIN/gantry devices --json 2>/dev/null");
    assert_int_equal(output[0], '{');
}

/* ---- text and JSON ---- */

/* The lines of `gantry devices --verbose` about the device with that alias. */
static const char *text_about(const char *text, const char *alias) {
    static char lines[8192];
    char names[96];
    (void)snprintf(names, sizeof names, "%s, ", alias);
    const char *at = strstr(text, "\nDevices\n");
    assert_non_null(at);
    for (at = strchr(at + 1, '\n') + 1; *at;) {
        const char *end = at;
        do { /* one device: a line that begins with two blanks, then lines that begin with more */
            end = strchr(end, '\n') + 1;
        } while (strncmp(end, "   ", 3) == 0);
        (void)snprintf(lines, sizeof lines, "%.*s", (int)(end - at), at);
        if (strstr(lines, names)) return lines;
        at = end;
    }
    fail_msg("%s is not in\n%s", alias, text);
    return NULL;
}

static double number(const cJSON *object, const char *key) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!cJSON_IsNumber(item)) fail_msg("%s is no number", key);
    return item->valuedouble;
}

static void expect_number(const char *lines, const char *format, double value) {
    char text[128];
    (void)snprintf(text, sizeof text, format, value);
    if (!strstr(lines, text)) fail_msg("\"%s\" is not in\n%s", text, lines);
}

static void expect_text(const char *lines, const cJSON *object, const char *key) {
    const char *text = cJSON_GetObjectItemCaseSensitive(object, key)->valuestring;
    if (!strstr(lines, text)) fail_msg("%s \"%s\" is not in\n%s", key, text, lines);
}

static void expect_part_told(const char *lines, const cJSON *part) {
    char line[512], begin[96];
    (void)snprintf(begin, sizeof begin,
                   "part %s: ", cJSON_GetObjectItem(part, "logical")->valuestring);
    const char *at = strstr(lines, begin);
    if (!at) fail_msg("\"%s\" is not in\n%s", begin, lines);
    (void)snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
    if (number(part, "memory_limit_bytes") > 0) {
        expect_number(line, "limit ", 0);
        expect_number(line, "%.0f bytes", number(part, "memory_limit_bytes"));
    }
    if (cJSON_GetObjectItem(part, "ordinal"))
        expect_number(line, "ordinal %.0f", number(part, "ordinal"));
    if (number(part, "max_work_group_size") > 0)
        expect_number(line, "work-groups of %.0f", number(part, "max_work_group_size"));
    if (number(part, "local_memory_bytes") > 0)
        expect_number(line, "%.0f bytes", number(part, "local_memory_bytes"));
    if (number(part, "largest_allocation_bytes") > 0)
        expect_number(line, "%.0f bytes", number(part, "largest_allocation_bytes"));
}

#define SPLIT                                                                                         \
    "GANTRY_LOGICAL_DEVICES='CPU:0=64M,;GPU:0=512M/ordinal=1,256M/ordinal=0/work_group=64/local=16K/" \
    "allocation=8M' GANTRY_VISIBLE_DEVICES=0 "

TEST(devices_say_the_same_as_text_and_as_json) {
    static const char *const keys[] = {"hardware", "alias",    "physical", "uuid",
                                       "vendor",   "platform", "driver",   "hidden_by"};
    static char text[sizeof output];
    expect_run(0, SPLIT "$BIN/gantry devices --verbose 2>/dev/null");
    memcpy(text, output, sizeof text);
    expect_run(0, SPLIT "$BIN/gantry devices --json 2>/dev/null");
    cJSON *all = cJSON_Parse(output);
    const cJSON *device, *part;
    cJSON_ArrayForEach(device, cJSON_GetObjectItem(all, "devices")) {
        const char *lines = text_about(text, cJSON_GetObjectItem(device, "alias")->valuestring);
        for (size_t i = 0; i < sizeof keys / sizeof keys[0]; ++i)
            expect_text(lines, device, keys[i]);
        expect_text(lines, device, "logical");
        expect_number(lines, "(%.0f bytes), largest", number(device, "total_bytes"));
        expect_number(lines, "(%.0f bytes); local", number(device, "largest_allocation_bytes"));
        expect_number(lines, "%.0f bytes", number(device, "local_memory_bytes"));
        expect_number(lines, " %.0f compute units", number(device, "compute_units"));
        expect_number(lines, "work-groups of %.0f", number(device, "max_work_group_size"));
        expect_number(lines, "alignment %.0f", number(device, "alignment_bytes"));
        /* the figures themselves change between two runs */
        const bool has_memory = cJSON_IsNumber(cJSON_GetObjectItem(device, "used_bytes")),
                   has_heat = cJSON_IsNumber(cJSON_GetObjectItem(device, "temperature_celsius"));
        assert_int_equal(strstr(lines, " in use, ") != NULL, has_memory);
        assert_int_equal(strstr(lines, " C, ") || strstr(lines, " C\n"), has_heat);
        bool is_double = cJSON_IsTrue(cJSON_GetObjectItem(device, "float64"));
        assert_non_null(strstr(lines, is_double ? "with float64" : "without float64"));
        cJSON_ArrayForEach(part, cJSON_GetObjectItem(device, "parts"))
            expect_part_told(lines, part);
    }
    cJSON_ArrayForEach(device, cJSON_GetObjectItem(all, "backends")) {
        char line[64];
        double count = number(device, "devices");
        (void)snprintf(line, sizeof line, " %.0f device%s", count,
                       count < 1.5 && count > 0.5 ? " " : "s");
        if (!strstr(text, line)) fail_msg("\"%s\" is not in\n%s", line, text);
    }
    cJSON_Delete(all);
}

TEST(devices_show_the_parts_of_a_split_device) {
    expect_run(0, SPLIT "$BIN/gantry devices --verbose");
    expect_in_output("part /CPU:0: limit 64.0 MiB (67108864 bytes)\n");
    expect_in_output("part /CPU:1: limit ");
    if (!has_opencl) skip();
    expect_in_output(
        "part /GPU:0: limit 256.0 MiB (268435456 bytes), ordinal 0, work-groups of 64, local memory 16.0 KiB (16384 bytes), largest allocation 8.0 MiB (8388608 bytes)\n");
    expect_in_output("part /GPU:1: limit 512.0 MiB (536870912 bytes), ordinal 1\n");
    expect_in_output("hidden by GANTRY_VISIBLE_DEVICES\n");
    expect_run(0, "GANTRY_LOGICAL_DEVICES=GPU:0=1G,1G $BIN/gantry devices --verbose");
    expect_in_output("\n  /GPU:2     "); /* the second card follows two parts */
}

/* ---- every program takes every spelling ---- */

/* The sanitizers see each program with some spellings, and each spelling with a program. */
enum { STEP = FEWER_FOR_SANITIZERS(1, 5) };

TEST(programs_take_every_spelling_of_a_device) {
    static const char *const spellings[] = {"GPU:0",
                                            "gpu:0",
                                            "/GPU:0",
                                            "/gpu:0",
                                            "/device:GPU:0",
                                            "/job:localhost/replica:0/task:0/device:GPU:0",
                                            "/physical_device:GPU:0",
                                            "opencl:0",
                                            "OpenCL:0",
                                            "/opencl:0",
                                            "GPU:0@opencl",
                                            "UUID:%s"};
    static const char *const cpu_spellings[] = {"CPU:0",
                                                "cpu:0",
                                                "/CPU:0",
                                                "/cpu:0",
                                                "cpu",
                                                "/device:CPU:0",
                                                "/job:localhost/replica:0/task:0/device:CPU:0",
                                                "/physical_device:CPU:0"};
    static const struct {
        const char *line, *filter; /* appended to a line that must succeed */
    } programs[] = {
        /* without memory its first chapter fails, after the device's name */
        {"GANTRY_MEMORY_LIMIT=1M $BIN/memory_control --device %s",
         " 2>&1 | grep 'this did not hold'"},
        {"$BIN/language_id --epochs 0 --features 16 --device %s low=low high=high", ""},
        {"$BIN/cpu_vs_gpu --size 16 --repeat 1 --devices %s", ""},
        {"GANTRY_TUNING_FILE=none $BIN/gantry tune --list --device %s", ""},
        {"$BIN/gantry_conformance --device %s --only nothing",
         " | grep 'the filters leave no case'"},
        {"$BIN/gantry_bench --device %s --quick --repeat 1 --case reduce --max-bytes 4096", ""},
        {"$BIN/gantry_bench_curves --device %s --case to_device --max-bytes 16 --seconds 0.01",
         ""}};
    char uuid[64] = "GPU", spelling[128], line[512], command[512];
    write_file("low", "abcde\nbcdea\ncdeab\ndeabc\neabcd\nabced\nbacde\nacbde\nabdce\nbcade\n");
    write_file("high", "vwxyz\nwxyzv\nxyzvw\nyzvwx\nzvwxy\nvwxzy\nwvxyz\nvxwyz\nvwyxz\nwxvyz\n");
    if (has_opencl) {
        expect_run(0, "$BIN/gantry devices --json 2>/dev/null");
        cJSON *all = cJSON_Parse(output);
        const cJSON *card = cJSON_GetArrayItem(cJSON_GetObjectItem(all, "devices"), 1);
        (void)snprintf(uuid, sizeof uuid, "%.12s", cJSON_GetObjectItem(card, "uuid")->valuestring);
        cJSON_Delete(all);
    }
    for (size_t p = 0; p < sizeof programs / sizeof programs[0]; ++p) {
        (void)snprintf(line, sizeof line, "test -x %.*s",
                       (int)strcspn(strstr(programs[p].line, "$BIN"), " "),
                       strstr(programs[p].line, "$BIN"));
        if (run("%s", line) != 0) {
            print_message("not built, and left out: %s\n", programs[p].line);
            continue;
        }
        size_t count = sizeof spellings / sizeof spellings[0],
               cpus = sizeof cpu_spellings / sizeof cpu_spellings[0];
        for (size_t i = (has_opencl ? 0 : count) + p % STEP; i < count + cpus; i += STEP) {
            (void)snprintf(spelling, sizeof spelling,
                           i < count ? spellings[i] : cpu_spellings[i - count], uuid);
            (void)snprintf(command, sizeof command, programs[p].line, spelling);
            (void)strncat(command, programs[p].filter, sizeof command - strlen(command) - 1);
            expect_run(0, command);
        }
        static const char *const bad[] = {"GPU:x", "/GPU:0/", "nobody:0"};
        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
            (void)snprintf(command, sizeof command, programs[p].line, bad[i]);
            assert_int_not_equal(run("%s", command), 0);
            expect_in_output("Malformed device specification");
        }
    }
    expect_run(0, "$BIN/memory_control --device /CPU:0");
    if (has_opencl)
        expect_run(0, "$BIN/memory_control --device /job:localhost/replica:0/task:0/device:GPU:0");
    for (size_t i = 0; i < 2; ++i) {
        expect_run(i ? 1 : 2, i ? "$BIN/gantry tune --list --device /GPU:77"
                                : "$BIN/memory_control --device /GPU:77");
        expect_in_output(
            "/GPU:77 unknown device. All available devices [/physical_device:CPU:0 = cpu:0");
    }
}

TEST(wrong_arguments_exit_with_two) {
    static const char *const lines[] = {"$BIN/gantry nonsense",
                                        "$BIN/gantry devices --nonsense",
                                        "$BIN/gantry devices --markdown",
                                        "$BIN/language_id --nonsense",
                                        "$BIN/language_id --epochs many en=x",
                                        "$BIN/language_id --epochs",
                                        "$BIN/language_id no_equals_sign"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; ++i) {
        expect_run(2, lines[i]);
        expect_in_output("is not understood");
        expect_in_output("usage: ");
    }
    expect_run(0, "$BIN/language_id --help");
    expect_in_output("usage: language_id [--device NAME]");
    expect_run(2, "$BIN/gantry");
    expect_in_output("usage: gantry COMMAND");
}

TEST(without_opencl_the_cpu_serves_alone_and_says_why) {
    expect_run(0, "GANTRY_OPENCL_LIBRARY=/nonexistent/libOpenCL.so $BIN/gantry devices");
    expect_in_output("/CPU:0     ");
    if (has_opencl) {
        expect_in_output("opencl     unavailable");
        expect_in_output("/nonexistent/libOpenCL.so");
        expect_run(0, "OCL_ICD_VENDORS=/nonexistent/vendors $BIN/gantry devices");
        expect_in_output("OCL_ICD_VENDORS is \"/nonexistent/vendors\", which does not exist");
    }
    write_file("a", "aba\nabba\nabab\nbaba\nbab\nbabb\naabb\nbbaa\nabaab\nbabba\n");
    write_file("z", "zyz\nzyyz\nzyzy\nyzyz\nyzy\nyzyy\nzzyy\nyyzz\nzyzzy\nyzyyz\n");
    expect_run(
        0,
        "GANTRY_OPENCL_LIBRARY=/nonexistent/libOpenCL.so $BIN/language_id --epochs 1 --device /GPU:0 a=a z=z");
    /* soft placement */
    expect_in_output("weights on /job:localhost/replica:0/task:0/device:CPU:0");
}

/* ---- the guide ---- */

TEST(guide_prints_its_results_in_order) {
    if (!has_opencl) SKIP_BECAUSE("no OpenCL device here");
    expect_run(0, "$BIN/gpu_guide");
    static const char *const texts[] = {
        "Num GPUs Available:  2",
        "Executing op MatMul in device /job:localhost/replica:0/task:0/device:GPU:0",
        "[[22. 28.]\n [49. 64.]]",
        "Executing op _EagerConst in device /job:localhost/replica:0/task:0/device:CPU:0",
        "[[22. 28.]\n [49. 64.]]",
        "Visible devices cannot be modified after being initialized",
        "2 Physical GPUs, 1 Logical GPU",
        "Physical devices cannot be modified after being initialized",
        "2 Physical GPUs, 2 Logical GPUs",
        "Virtual devices cannot be modified after being initialized",
        "GPU:0: limit 1024 MB",
        "unknown device.",
        "Could not satisfy device specification",
        "[[22. 28.]\n [49. 64.]]",
        "soft placement: another device of the requested type",
        "Executing op MatMul in device /job:localhost/replica:0/task:0/device:GPU:1",
        "Executing op AddN in device /job:localhost/replica:0/task:0/device:CPU:0",
        "[[ 44.  56.]\n [ 98. 128.]]"};
    const char *at = output;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
        const char *found = strstr(at, texts[i]);
        if (!found) fail_msg("\"%s\" is not, in this place, in\n%s", texts[i], output);
        at = found + strlen(texts[i]);
    }
}

/* ---- the memory chapter ---- */

TEST(memory_chapter_reads_the_same_on_every_backend) {
    expect_run(0, "$BIN/memory_control --device CPU:0 > cpu.txt && cat cpu.txt");
    expect_in_output("OOM when allocating tensor with shape");
    expect_in_output("All expectations were met.");
    expect_run(2, "$BIN/memory_control --device GPU:99");
    if (!has_opencl) SKIP_BECAUSE("no OpenCL device here");
    expect_run(0, "$BIN/memory_control --device GPU:0 | sed s/GPU/CPU/g | diff - cpu.txt");
    expect_run(
        0,
        "$BIN/memory_control --device GPU:1 | sed -e s/GPU_1/CPU_0/g -e s/GPU:2/CPU:1/g -e s/GPU:1/CPU:0/g | diff - cpu.txt");
}

/* ---- functions ---- */

TEST(functions_give_the_results_of_the_guides) {
    static const char *const texts[] = {
        "== Nodes on chosen devices ==\ngantry.Tensor(\n12.0, ",
        "\na/read ",
        " CPU:0   where its variable lives\n",
        "\nmul ",
        "\nbytes  ",
        "== A device function ==\ngantry.Tensor(\n12.0, ",
        "== Control dependencies ==\ngantry.Tensor(\n7.0, ",
        "\nz ",
        "\n    after b\n",
        "\nat_once\n",
        "ResourceExhausted: function at_once: Allocator (",
        "\nin_order\n  a call takes 32.0 MiB",
        "gantry.Tensor(\n3.7748736e+07, ",
        "inside an op 1, between ops -1\ngantry.Tensor(\n-1.4522238e+06, ",
        "inside an op 2, between ops 2\ngantry.Tensor(\n-1.4522238e+06, "};
    static const char *const devices[] = {"CPU:0", "GPU:0"};
    for (size_t d = 0; d < 2; ++d) {
        char line[128];
        if (d == 1 && !has_opencl) SKIP_BECAUSE("no OpenCL device here");
        (void)snprintf(line, sizeof line, "$BIN/functions --device %s", devices[d]);
        expect_run(0, line);
        const char *at = output;
        for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
            const char *found = strstr(at, texts[i]);
            if (!found) fail_msg("\"%s\" is not, in this place, in\n%s", texts[i], output);
            at = found + strlen(texts[i]);
        }
        (void)snprintf(line, sizeof line, "$BIN/functions --device %s --drawing place", devices[d]);
        expect_run(0, line);
        assert_int_equal(strncmp(output, "digraph \"c\" {\n", 14), 0);
        if (d == 1) expect_in_output("label=\" 4 bytes to GPU:0\"");
    }
    expect_run(2, "$BIN/functions --device CPU:0 --drawing nothing");
    expect_in_output("usage: functions");
    expect_run(2, "$BIN/functions --drawing");
    expect_in_output("usage: functions");
    expect_run(2, "$BIN/functions --device GPU:99");
    expect_in_output("--device: GPU:99 unknown device");
}

/* ---- the language identifier ---- */

/* Words of two made-up languages: one of letters a to m, one of n to z. */
static void write_languages(void) {
    static char words[2][64 * 1024];
    uint64_t random = 5;
    for (int language = 0; language < 2; ++language) {
        size_t used = 0;
        for (int word = 0; word < 600; ++word) {
            random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            uint64_t letters = random >> 20;
            for (int i = 0; i < 4 + (int)(letters % 5); ++i) {
                random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
                words[language][used++] =
                    (char)((language ? 'n' : 'a') + (int)((random >> 33) % 13));
            }
            words[language][used++] = '\n';
        }
        words[language][used] = '\0';
    }
    write_file("low", words[0]);
    write_file("high", words[1]);
}

static int read_losses(double *losses, int most) {
    int count = 0;
    for (const char *at = strstr(output, "loss "); at && count < most; at = strstr(at + 1, "loss "))
        losses[count++] = strtod(at + 5, NULL);
    return count;
}

static double held_out_accuracy(void) {
    const char *at = strstr(output, "held-out accuracy: ");
    if (!at) fail_msg("there is no accuracy in\n%s", output);
    return strtod(at + strlen("held-out accuracy: "), NULL);
}

TEST(identifier_learns_and_losses_agree_between_devices) {
    write_languages();
    double on_cpu[3], on_gpu[3];
    expect_run(
        0,
        "$BIN/language_id --device /CPU:0 --epochs 3 --batch 64 --features 512 low=low high=high");
    expect_in_output("of 2 languages");
    expect_in_output("weights on /job:localhost/replica:0/task:0/device:CPU:0");
    assert_int_equal(read_losses(on_cpu, 3), 3);
    assert_true(on_cpu[2] < on_cpu[0]);
    assert_true(held_out_accuracy() > 0.95);
    if (!has_opencl) SKIP_BECAUSE("no OpenCL device here");
    expect_run(
        0,
        "$BIN/language_id --device /GPU:0 --epochs 3 --batch 64 --features 512 low=low high=high");
    expect_in_output("weights on /job:localhost/replica:0/task:0/device:GPU:0");
    assert_int_equal(read_losses(on_gpu, 3), 3);
    for (int i = 0; i < 3; ++i) {
        /* printed with four digits, so the tolerance grows by half a unit of the last digit */
        if (fabs(on_cpu[i] - on_gpu[i]) > 1e-4 + 1e-6)
            fail_msg("epoch %d: loss %.4f and %.4f", i + 1, on_cpu[i], on_gpu[i]);
    }
    assert_true(held_out_accuracy() > 0.95);
}

/* One training step called as a function has the bits of its ops run one by one. */
TEST(identifier_trains_as_a_function_to_the_same_bits) {
    static const char *const devices[] = {"/CPU:0", "/GPU:0"};
    write_languages();
    for (size_t i = 0; i < 2; ++i) {
        char line[256];
        double op_by_op[2], called[2];
        if (i == 1 && !has_opencl) SKIP_BECAUSE("no OpenCL device here");
        for (size_t k = 0; k < 2; ++k) {
            (void)snprintf(
                line, sizeof line,
                "$BIN/language_id --device %s --epochs 2 --batch 64 --features 512 %slow=low high=high",
                devices[i], k ? "--function " : "");
            expect_run(0, line);
            assert_int_equal(read_losses(k ? called : op_by_op, 2), 2);
        }
        assert_memory_equal(op_by_op, called, sizeof called);
        (void)snprintf(
            line, sizeof line,
            "$BIN/language_id --device %s --compare --batch 64 --features 512 low=low high=high",
            devices[i]);
        expect_run(0, line);
        expect_in_output("losses and weights after each of 20 steps: equal bit for bit");
    }
}

TEST(saved_model_classifies_when_it_is_loaded) {
    write_languages();
    expect_run(
        0,
        "$BIN/language_id --device /CPU:0 --epochs 4 --batch 64 --features 512 --save model low=low high=high");
    expect_in_output("saved model.w.npy and model.b.npy");
    expect_run(
        0,
        "printf 'abcabc\\nzyxzyx\\n' | $BIN/language_id --device /CPU:0 --features 512 --load model --classify low=low high=high");
    const char *first = strstr(output, "abcabc"), *second = strstr(output, "zyxzyx");
    assert_true(first && second && first < second);
    assert_int_equal(strncmp(first + 20 + 1, "low", 3), 0);
    assert_int_equal(strncmp(second + 20 + 1, "high", 4), 0);
    expect_run(
        /* another shape */
        1, "$BIN/language_id --features 256 --load model --classify low=low high=high </dev/null");
    expect_in_output("shapes must be equal");
    expect_run(
        1,
        "$BIN/language_id --features 512 --load missing --classify low=low high=high </dev/null");
    expect_in_output("missing.w.npy");
    expect_run(0, "head -c 100 model.w.npy >cut.w.npy; cp model.b.npy cut.b.npy");
    expect_run(
        1, "$BIN/language_id --features 512 --load cut --classify low=low high=high </dev/null");
    expect_in_output("cut.w.npy");
}

TEST(missing_word_list_is_named) {
    write_languages();
    expect_run(1, "$BIN/language_id low=low xx=no/such/list");
    expect_in_output("no/such/list");
    write_file("tiny", "abcde\nbcdea\n");
    expect_run(1, "$BIN/language_id a=tiny");
    expect_in_output("longer lists are needed");
    write_file("empty", "");
    expect_run(1, "$BIN/language_id low=low e=empty");
    expect_in_output("word list empty: ");
    expect_run(1, "$BIN/language_id --device /GPU:x low=low high=high");
    expect_in_output("Malformed device specification");
}

int main(void) {
    (void)setenv("POCL_DEVICES", "pthread pthread", 1);
    (void)setenv("GANTRY_OPENCL_CPU", "gpu", 1);
    if (open_folder() != 0) return 1;
    if (!find_opencl(2, &has_opencl)) return 1;
    int result = test_main();
    if (result == 0) (void)run("cd / && rm -r %s", folder);
    return result;
}
