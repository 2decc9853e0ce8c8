/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Under gantry run, an OpenCL program that does not use Gantry sees the chosen device
 * only, the user's OpenCL layers stay, and Gantry's own numbers of devices are unchanged. */
#define _XOPEN_SOURCE 700

#include "run_case.h"
#include "test.h"

#include <cjson/cJSON.h>

#define SEEN "\"$BIN\"/tests/opencl_seen"
#define LAYER GANTRY_TEST_MODULES "/../gantry/libgantry_opencl_layer.so"
#define NVIDIA_LAYER GANTRY_TEST_MODULES "/cuda/standin_opencl.so"
#define TWIN_LAYER GANTRY_TEST_MODULES "/opencl/twin_layer.so"
#define REFUSED "; no entries: -30\n"

#define NEED_LAYERS  \
    NEED_OPENCL;     \
    if (!has_layers) \
    SKIP_BECAUSE("no Gantry layer is built, or the OpenCL loader here has no layers")

static bool has_layers;

TEST(a_program_sees_the_chosen_device_alone) {
    NEED_LAYERS;
    expect_run(0, SEEN);
    assert_string_equal(output, "1 platforms: 0 1; context: 0 1; default: 0" REFUSED);
    expect_run(0, RUN SEEN);
    assert_string_equal(output, "1 platforms: 0; context: 0; default: 0" REFUSED);
    expect_run(0, "GANTRY_VISIBLE_DEVICES=1 " RUN SEEN);
    assert_string_equal(output, "1 platforms: 1; context: 1; default: 1" REFUSED);
    expect_run(0, RUN "--gpus 2 " SEEN);
    assert_string_equal(output, "1 platforms: 0 1; context: 0 1; default: 0" REFUSED);
}

TEST(without_a_card_a_program_sees_none) {
    NEED_LAYERS;
    expect_run(0, "$BIN/gantry run --or-cpu --gpus 3 " SEEN " 2>/dev/null");
    assert_int_equal(strncmp(output, "0 platforms:; context:; default:; ", 34), 0);
}

/* Every card has its driver's name, so only the address tells them apart. */
TEST(cards_with_addresses_are_told_apart) {
    NEED_LAYERS;
    if (access(NVIDIA_LAYER, R_OK) != 0) SKIP_BECAUSE("the stand-in for NVIDIA is not built");
    expect_run(0, "export BIN GANTRY_BACKENDS=cpu,opencl OPENCL_LAYERS='" NVIDIA_LAYER
                  "'"
                  " GANTRY_STAND_IN_CUDA='devices=2;opencl_obeys=0' GANTRY_VISIBLE_DEVICES=1; " RUN
                  "sh -c 'echo $GANTRY_OPENCL_LAYER_DEVICES; " SEEN "'");
    expect_in_output("pci=0000:1f:00.0\n1 platforms: 1; context: 1; default: 1");
}

TEST(gantry_counts_all_devices_under_the_layer) {
    NEED_LAYERS;
    expect_run(0, "GANTRY_VISIBLE_DEVICES=1 " RUN "$BIN/gantry devices --json 2>/dev/null");
    cJSON *all = cJSON_Parse(output);
    assert_non_null(all);
    const cJSON *device;
    int seen = 0;
    cJSON_ArrayForEach(device, cJSON_GetObjectItem(all, "devices")) {
        const bool is_second =
            strcmp(cJSON_GetObjectItem(device, "alias")->valuestring, "opencl:1") == 0;
        if (strcmp(cJSON_GetObjectItem(device, "type")->valuestring, "GPU") != 0) continue;
        ++seen;
        assert_int_equal(cJSON_IsTrue(cJSON_GetObjectItem(device, "visible")), is_second);
        assert_string_equal(cJSON_GetObjectItem(device, "logical")->valuestring,
                            is_second ? "/GPU:0" : "");
    }
    assert_int_equal(seen, 2);
    cJSON_Delete(all);
    expect_run(0, "GANTRY_VISIBLE_DEVICES=1 " RUN "$BIN/gantry probe /GPU:0");
}

TEST(layers_of_the_user_stay_before_it) {
    NEED_LAYERS;
    expect_run(
        0, "OPENCL_LAYERS='" TWIN_LAYER "' " RUN "sh -c 'echo $OPENCL_LAYERS' | sed 's,:.*/,:,'");
    assert_string_equal(output, TWIN_LAYER ":libgantry_opencl_layer.so\n");
    expect_run(0, RUN RUN "sh -c 'echo $OPENCL_LAYERS' | sed 's,[^:]*/,,g'");
    assert_string_equal(output, "libgantry_opencl_layer.so\n");
    expect_run(0, "OPENCL_LAYERS='" TWIN_LAYER "' " RUN SEEN);
    assert_string_equal(output, "1 platforms: 0; context: 0; default: 0" REFUSED);
}

TEST(the_layer_alone_obeys_its_variable) {
    NEED_LAYERS;
    expect_run(0, "OPENCL_LAYERS='" LAYER "' " SEEN);
    expect_in_output("1 platforms: 0 1; ");
    expect_run(0, "OPENCL_LAYERS='" LAYER "' GANTRY_OPENCL_LAYER_DEVICES='none;cpu' " SEEN);
    expect_in_output("1 platforms: 0 1; ");
    expect_run(0, "OPENCL_LAYERS='" LAYER "' GANTRY_OPENCL_LAYER_DEVICES=pci=0000:00:00 " SEEN);
    expect_in_output("0 platforms:; context:; default:; ");
}

/* The copy of the loader does not know the variable. */
TEST(a_loader_without_layers_is_told) {
    NEED_LAYERS;
    expect_run(
        0,
        "loader=$(ldconfig -p 2>/dev/null | sed -n 's/.* => //p' | grep '/libOpenCL.so.1$' | "
        "head -n 1); [ -r \"$loader\" ] || loader=$(ls /usr/lib/*/libOpenCL.so.1 | head -n 1); "
        "mkdir -p old && LC_ALL=C sed s/OPENCL_LAYERS/OPENCL_LAYERZ/ \"$loader\" >old/libOpenCL.so.1");
    expect_run(0,
               "export GANTRY_OPENCL_LIBRARY=$PWD/old/libOpenCL.so.1; $BIN/gantry run sh -c "
               "'echo layers:$OPENCL_LAYERS.'");
    expect_in_output(
        "gantry run: OpenCL programs without Gantry see all devices: the OpenCL loader ");
    expect_in_output("/old/libOpenCL.so.1 has no layers; ocl-icd 2.3 has\n");
    expect_in_output("layers:.\n");
    expect_run(0,
               "export GANTRY_OPENCL_LIBRARY=$PWD/old/libOpenCL.so.1; $BIN/gantry run --json true");
    expect_in_output("\"is_set\": false,\n    \"reason\": \"the OpenCL loader ");
}

int main(void) {
    if (open_run_folder() != 0) return 1;
    has_layers = access(LAYER, R_OK) == 0 &&
                 run("OPENCL_LAYERS='" LAYER "' GANTRY_OPENCL_LAYER_DEVICES=none " SEEN) == 0 &&
                 strstr(output, "0 platforms:");
    int result = test_main();
    if (result == 0) (void)run("cd / && rm -r %s", folder);
    return result;
}
