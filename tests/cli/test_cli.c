/* SPDX-License-Identifier: Apache-2.0 */
/* The programs as a user runs them: the gantry command, the guide, the language identifier. Needs two PoCL devices, like every test that
 * names GPUs here, unless GANTRY_TEST_ALLOW_NO_OPENCL is set. */
#define _XOPEN_SOURCE 700

#include "cli_case.h"

#include <math.h>

#include <cjson/cJSON.h>

static bool has_opencl;

/* ---- gantry ---- */

static void devices_lists_backends_and_devices(void **state) {
    (void)state;
    expect_run(0, "$BIN/gantry devices");
    expect_in_output("cpu        usable");
    expect_in_output("/CPU:0");
    expect_in_output("/physical_device:CPU:0, cpu:0");
    if (!has_opencl) SKIP_BECAUSE("no OpenCL device here");
    expect_in_output("opencl     usable");
    expect_in_output("opencl:0");
    expect_in_output("opencl:1");
}

static void devices_as_json_parses(void **state) {
    (void)state;
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

static void ops_lists_every_op(void **state) {
    (void)state;
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

static void settings_tell_values_and_who_set_them(void **state) {
    (void)state;
    expect_run(0, "GANTRY_MEMORY_LIMIT=CPU:0=64M,*=1G TF_GPU_HOST_MEM_LIMIT_IN_MB=32 $BIN/gantry settings");
    expect_in_output("memory_limit");
    expect_in_output("64M                      GANTRY_MEMORY_LIMIT");
    expect_in_output("32M                      TF_GPU_HOST_MEM_LIMIT_IN_MB");
    expect_run(0, "GANTRY_MEMORY_LIMIT=64M $BIN/gantry settings --json");
    cJSON *array = cJSON_Parse(output);
    assert_true(cJSON_IsArray(array));
    const cJSON *entry;
    int found = 0;
    cJSON_ArrayForEach(entry, array) {
        if (strcmp(cJSON_GetObjectItem(entry, "name")->valuestring, "memory_limit") != 0) continue;
        ++found;
        assert_string_equal(cJSON_GetObjectItem(entry, "value")->valuestring, "64M");
        assert_string_equal(cJSON_GetObjectItem(entry, "source")->valuestring, "environment");
        assert_string_equal(cJSON_GetObjectItem(entry, "set_by")->valuestring, "GANTRY_MEMORY_LIMIT");
        assert_true(cJSON_IsFalse(cJSON_GetObjectItem(entry, "frozen")));
    }
    assert_true(found >= 2); /* the rest, and the CPU */
    cJSON_Delete(array);
    expect_run(1, "GANTRY_MEMORY_LIMIT=2X $BIN/gantry settings");
    expect_in_output("GANTRY_MEMORY_LIMIT is \"2X\"");
}

static void wrong_arguments_exit_with_two(void **state) {
    (void)state;
    static const char *const lines[] = {"$BIN/gantry",
                                        "$BIN/gantry nonsense",
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
}

static void without_opencl_the_cpu_serves_alone_and_says_why(void **state) {
    (void)state;
    expect_run(0, "GANTRY_OPENCL_LIBRARY=/nonexistent/libOpenCL.so $BIN/gantry devices");
    expect_in_output("cpu        usable");
    if (has_opencl) {
        expect_in_output("opencl     unavailable");
        expect_in_output("/nonexistent/libOpenCL.so");
    }
    write_file("a", "aba\nabba\nabab\nbaba\nbab\nbabb\naabb\nbbaa\nabaab\nbabba\n");
    write_file("z", "zyz\nzyyz\nzyzy\nyzyz\nyzy\nyzyy\nzzyy\nyyzz\nzyzzy\nyzyyz\n");
    expect_run(0,
               "GANTRY_OPENCL_LIBRARY=/nonexistent/libOpenCL.so $BIN/language_id --epochs 1 --device /GPU:0 a=a z=z");
    expect_in_output("weights on /job:localhost/replica:0/task:0/device:CPU:0"); /* soft placement */
}

/* ---- the guide ---- */

static void guide_prints_its_results_in_order(void **state) {
    (void)state;
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
        "soft placement: another device of the type asked for",
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

static void memory_chapter_reads_the_same_on_every_backend(void **state) {
    (void)state;
    expect_run(0, "$BIN/memory_control --device CPU:0 > cpu.txt && cat cpu.txt");
    expect_in_output("OOM when allocating tensor with shape");
    expect_in_output("Every step did what it says.");
    expect_run(2, "$BIN/memory_control --device GPU:99");
    if (!has_opencl) SKIP_BECAUSE("no OpenCL device here");
    expect_run(0, "$BIN/memory_control --device GPU:0 | sed s/GPU/CPU/g | diff - cpu.txt");
    expect_run(0,
               "$BIN/memory_control --device GPU:1 | sed -e s/GPU_1/CPU_0/g -e s/GPU:2/CPU:1/g -e s/GPU:1/CPU:0/g | "
               "diff - cpu.txt");
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
                words[language][used++] = (char)((language ? 'n' : 'a') + (int)((random >> 33) % 13));
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

static void identifier_learns_and_losses_agree_between_devices(void **state) {
    (void)state;
    write_languages();
    double on_cpu[3], on_gpu[3];
    expect_run(0, "$BIN/language_id --device /CPU:0 --epochs 3 --batch 64 --features 512 low=low high=high");
    expect_in_output("of 2 languages");
    expect_in_output("weights on /job:localhost/replica:0/task:0/device:CPU:0");
    assert_int_equal(read_losses(on_cpu, 3), 3);
    assert_true(on_cpu[2] < on_cpu[0]);
    assert_true(held_out_accuracy() > 0.95);
    if (!has_opencl) SKIP_BECAUSE("no OpenCL device here");
    expect_run(0, "$BIN/language_id --device /GPU:0 --epochs 3 --batch 64 --features 512 low=low high=high");
    expect_in_output("weights on /job:localhost/replica:0/task:0/device:GPU:0");
    assert_int_equal(read_losses(on_gpu, 3), 3);
    for (int i = 0; i < 3; ++i) {
        /* printed with four digits: half a unit of the last may be added to the tolerance */
        if (fabs(on_cpu[i] - on_gpu[i]) > 1e-4 + 1e-6)
            fail_msg("epoch %d: loss %.4f and %.4f", i + 1, on_cpu[i], on_gpu[i]);
    }
    assert_true(held_out_accuracy() > 0.95);
}

static void saved_model_classifies_when_it_is_loaded(void **state) {
    (void)state;
    write_languages();
    expect_run(0,
               "$BIN/language_id --device /CPU:0 --epochs 4 --batch 64 --features 512 --save model low=low high=high");
    expect_in_output("saved model.w.npy and model.b.npy");
    expect_run(0,
               "printf 'abcabc\\nzyxzyx\\n' | $BIN/language_id --device /CPU:0 --features 512 --load model --classify "
               "low=low high=high");
    const char *first = strstr(output, "abcabc"), *second = strstr(output, "zyxzyx");
    assert_true(first && second && first < second);
    assert_int_equal(strncmp(first + 20 + 1, "low", 3), 0);
    assert_int_equal(strncmp(second + 20 + 1, "high", 4), 0);
    expect_run(
        1, "$BIN/language_id --features 256 --load model --classify low=low high=high </dev/null"); /* another shape */
    expect_in_output("shapes must be equal");
    expect_run(1, "$BIN/language_id --features 512 --load missing --classify low=low high=high </dev/null");
    expect_in_output("missing.w.npy");
    expect_run(0, "head -c 100 model.w.npy >cut.w.npy; cp model.b.npy cut.b.npy");
    expect_run(1, "$BIN/language_id --features 512 --load cut --classify low=low high=high </dev/null");
    expect_in_output("cut.w.npy");
}

static void missing_word_list_is_named(void **state) {
    (void)state;
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
    has_opencl = run("$BIN/gantry devices") == 0 && strstr(output, "opencl:1");
    if (!has_opencl && !getenv("GANTRY_TEST_ALLOW_NO_OPENCL")) {
        (void)fprintf(stderr,
                      "two PoCL devices are needed; set GANTRY_TEST_ALLOW_NO_OPENCL to leave out what needs them\n%s",
                      output);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_lists_backends_and_devices),
        cmocka_unit_test(devices_as_json_parses),
        cmocka_unit_test(ops_lists_every_op),
        cmocka_unit_test(settings_tell_values_and_who_set_them),
        cmocka_unit_test(wrong_arguments_exit_with_two),
        cmocka_unit_test(without_opencl_the_cpu_serves_alone_and_says_why),
        cmocka_unit_test(memory_chapter_reads_the_same_on_every_backend),
        cmocka_unit_test(guide_prints_its_results_in_order),
        cmocka_unit_test(identifier_learns_and_losses_agree_between_devices),
        cmocka_unit_test(saved_model_classifies_when_it_is_loaded),
        cmocka_unit_test(missing_word_list_is_named),
    };
    int result = cmocka_run_group_tests(tests, NULL, NULL);
    if (result == 0) (void)run("cd / && rm -r %s", folder);
    return result;
}
