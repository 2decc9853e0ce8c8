/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: NVIDIA's own cuDNN 9 accepts the descriptors of each convolution and gradient, with
 * and without groups, and plans an engine for an H100 that keeps Gantry's promises, without a card.
 * Promise: NVIDIA's own cuDNN 9 makes a plan again from the numbers that the tuning file keeps.
 *
 * Engines are the library's choice and differ between its versions, so no number of one is
 * expected. */
#define _GNU_SOURCE /* RTLD_NODELETE */
#include <dlfcn.h>

#include "cuda_fixture.h"
#include "test.h"

#include "cuda/cudnn/cuda_cudnn.h"
#include "cuda/cudnn/cuda_cudnn_choose.h"

#define MEBIBYTES(n) (UINT64_C(1048576) * (n))

/* What cuDNN 9.9 and later asks a driver of a card for. */
static const char h100[] =
    "{\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64],"
    "\"regsPerBlock\":65536,\"multiProcessorCount\":132,\"smClockRateKHz\":1980000,"
    "\"memClockRateKHz\":2619000,\"l2CacheSize\":52428800,\"warpSize\":32,"
    "\"maxSharedMemoryPerBlock\":49152,\"maxSharedMemoryPerBlockOptin\":232448,"
    "\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":65536,\"pciDeviceId\":6,"
    "\"maxCtasPerSM\":32,\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":2048,"
    "\"isTccDriver\":0,\"supportCoopLaunch\":1,\"deviceVer\":900,\"driverVer\":13000,"
    "\"cudaDeviceId\":0,\"totalGlobalMem\":85017493504,\"maxSharedMemoryPerSM\":233472,"
    "\"deviceName\":\"NVIDIA H100 80GB HBM3\"}";

/* cuDNN opens NVRTC and closes it, whose C++ library never frees a pool. AddressSanitizer finds the
 * pool, which is no leak of Gantry's, only while NVRTC is loaded. */
static void keep_nvrtc(void) {
    (void)dlopen("libnvrtc.so.13", RTLD_NOW | RTLD_NODELETE);
    (void)dlopen("libnvrtc.so.12", RTLD_NOW | RTLD_NODELETE);
}

static const gantry__cudnn_t *open_library(fixture_t *fixture) {
    static gantry__cudnn_t cudnn;
    static gantry__cuda_symbols_t cu = {.version = 99000};
    fixture_init_host(fixture, gantry_backend_query_cuda);
    gantry__cudnn_open(&fixture->host, &cu, &cudnn);
    if (!cudnn.library.is_usable) {
        print_message("skipped, there is no cuDNN here: %s\n", cudnn.library.reason);
        return NULL;
    }
    print_message("%s\n", cudnn.library.name);
    keep_nvrtc();
    return &cudnn;
}

static void try_form(const gantry__cudnn_t *cudnn, const gantry__cudnn_form_t *form) {
    gantry__cudnn_parts_t of_device, parts;
    gantry__cudnn_choice_t choice, again;
    char reason[200];
    gantry__cudnn_parts_begin(cudnn, &of_device);
    gantry__cudnn_parts_begin(cudnn, &parts);
    gantry__cudnn_desc_t device = gantry__cudnn_make(&of_device, GANTRY__CUDNN_DEVICE);
    gantry__cudnn_set(&of_device, device, GANTRY__CUDNN_DEVICE_JSON, GANTRY__CUDNN_TYPE_CHAR,
                      sizeof h100, h100);
    gantry__cudnn_finalize(&of_device, device);
    gantry__cudnn_desc_t graph = gantry__cudnn_graph(&parts, NULL, form);
    if (!graph) fail_msg("no graph: %u %s", parts.status, parts.reason);
    const gantry__cudnn_wanted_t wanted = {.form = form, .graph = graph, .device = device};
    gantry__cudnn_choose(&parts, &wanted, &choice);
    print_message("  %s %d%s%s%s%s: engine %lld, %llu bytes, number %d of the list, %d allowed\n",
                  gantry_dtype_name((gantry_dtype_t)form->dtype), form->what,
                  form->image_is_planar ? " NCHW" : " NHWC", form->has_bias ? " bias" : "",
                  form->has_relu ? " relu" : "", form->may_round ? " tf32" : "",
                  (long long)choice.engine, (unsigned long long)choice.workspace_bytes,
                  choice.offered, choice.allowed);
    if (!choice.plan) fail_msg("no plan: %u %s", parts.status, parts.reason);
    assert_true(choice.workspace_bytes <= form->most_workspace_bytes);
    assert_int_equal(choice.recipe.engine, choice.engine);
    if (!gantry__cudnn_restore(&parts, &wanted, &choice.recipe, &again, reason))
        fail_msg("engine %lld with %d knobs cannot be made again: %s", (long long)choice.engine,
                 choice.recipe.knob_count, reason);
    assert_int_equal(again.workspace_bytes, choice.workspace_bytes);
    gantry__cudnn_parts_end(&parts);
    gantry__cudnn_parts_end(&of_device);
}

/* The forms of one convolution whose filter has so many channels for a group. */
static void try_forms(const gantry__cudnn_t *cudnn, int64_t depth) {
    static const int32_t dtypes[] = {GANTRY_FLOAT32, GANTRY_FLOAT16, GANTRY_BFLOAT16};
    for (uint32_t i = 0; i < 3 * 3 * 2; ++i) {
        gantry__cudnn_form_t form = {.what = (int32_t)(i / 3 % 3),
                                     .dtype = dtypes[i % 3],
                                     .image_is_planar = i / 9 == 1,
                                     .result_is_planar = i / 9 == 1,
                                     .image = {8, 64, 56, 56},
                                     .filter = {32, depth, 3, 3},
                                     .result = {8, 32, 28, 28},
                                     .after = {1, 1},
                                     .steps = {2, 2},
                                     .spreads = {1, 1},
                                     .most_workspace_bytes = MEBIBYTES(64)};
        try_form(cudnn, &form);
        if (form.what != GANTRY__CUDNN_CONVOLVES || form.dtype != GANTRY_FLOAT32) continue;
        form.may_round = 1;
        try_form(cudnn, &form);
        form.may_round = 0;
        form.has_bias = 1;
        try_form(cudnn, &form);
        form.has_relu = 1;
        try_form(cudnn, &form);
        form.most_workspace_bytes = 0;
        try_form(cudnn, &form);
    }
}

TEST(real_library_plans_each_form) {
    fixture_t fixture;
    const gantry__cudnn_t *cudnn = open_library(&fixture);
    if (!cudnn) return;
    if (cudnn->cudnnGetVersion() < 90900) {
        print_message("skipped, versions before 9.9 plan for the machine's card only\n");
        return;
    }
    try_forms(cudnn, 64);
    print_message("  with 4 groups:\n");
    try_forms(cudnn, 16);
}

/* The library checks what it is given: a result of another shape is no graph. */
TEST(real_library_refuses_a_wrong_shape) {
    const gantry__cudnn_form_t form = {.dtype = GANTRY_FLOAT32,
                                       .image = {8, 64, 56, 56},
                                       .filter = {32, 64, 3, 3},
                                       .result = {8, 32, 27, 28},
                                       .after = {1, 1},
                                       .steps = {2, 2},
                                       .spreads = {1, 1}};
    fixture_t fixture;
    gantry__cudnn_parts_t parts;
    const gantry__cudnn_t *cudnn = open_library(&fixture);
    if (!cudnn) return;
    gantry__cudnn_parts_begin(cudnn, &parts);
    assert_null(gantry__cudnn_graph(&parts, NULL, &form));
    assert_true(parts.status != GANTRY__CUDNN_SUCCESS && parts.reason[0] != '\0');
    gantry__cudnn_parts_end(&parts);
}

/* float32 keeps its precision and its order of sums; no form takes unknown notes. */
TEST(notes_of_engines_are_judged) {
    gantry__cudnn_form_t form = {.dtype = GANTRY_FLOAT32};
    assert_false(gantry__cudnn_note_is_allowed(&form, GANTRY__CUDNN_NOTE_TENSOR_CORE));
    assert_false(gantry__cudnn_note_is_allowed(&form, GANTRY__CUDNN_NOTE_NONDETERMINISTIC));
    assert_true(gantry__cudnn_note_is_allowed(&form, GANTRY__CUDNN_NOTE_STRICT_NAN));
    form.any_order = form.may_round = 1;
    assert_true(gantry__cudnn_note_is_allowed(&form, GANTRY__CUDNN_NOTE_TENSOR_CORE));
    assert_true(gantry__cudnn_note_is_allowed(&form, GANTRY__CUDNN_NOTE_NONDETERMINISTIC));
    form.may_round = 0;
    form.dtype = GANTRY_BFLOAT16;
    assert_true(gantry__cudnn_note_is_allowed(&form, GANTRY__CUDNN_NOTE_TENSOR_CORE));
    for (int note = 1; note < 32; ++note) {
        if (note == GANTRY__CUDNN_NOTE_NONDETERMINISTIC || note == GANTRY__CUDNN_NOTE_STRICT_NAN)
            continue;
        assert_false(gantry__cudnn_note_is_allowed(&form, note));
    }
}

int main(void) { return test_main(); }
