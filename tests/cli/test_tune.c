/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: `gantry tune` keeps records that later programs use, also when it is stopped half-way.
 * Promise: `gantry tune` keeps the fastest of cuBLASLt's algorithms for each class of products.
 * Promise: `gantry tune --forms` keeps cuDNN's fastest engine for each convolution that a program
 * logged, and the program then takes it.
 * Promise: `gantry tune` measures and records which of oneDNN, OpenBLAS and Gantry's own loops
 * computes each class of products fastest on the CPU.
 * Promise: `gantry tune` measures what work costs on each device, and placement by crossover uses
 * the record.
 * Promise: A `gantry tune` that is interrupted leaves a sound file, and two that run at once lose
 * no record. */
#define _XOPEN_SOURCE 700

#include "cli_case.h"
#include "test.h"

#include <dirent.h>

#define SMALL "--device cpu:0 --what cpu.matmul.float32.small --seconds 0.1"

static bool has_opencl;

/* ---- helpers ---- */

static int records_in(const char *name) {
    char path[256], line[2048];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    if (!file) return -1;
    int count = 0, number = 0;
    while (fgets(line, sizeof line, file)) {
        size_t length = strlen(line);
        assert_true(length > 0 && line[length - 1] == '\n'); /* whole lines only */
        if (number++ == 0) {
            assert_string_equal(line, "gantry tuning 1\n");
        } else {
            int tabs = 0;
            for (const char *c = line; *c; ++c) tabs += *c == '\t';
            assert_int_equal(tabs, 3);
            ++count;
        }
    }
    (void)fclose(file);
    return count;
}

static size_t names_in(const char *name) {
    char path[256];
    size_t count = 0;
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    DIR *directory = opendir(path);
    assert_non_null(directory);
    while (readdir(directory)) ++count;
    (void)closedir(directory);
    return count - 2;
}

static void use_file(const char *name) {
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    (void)setenv("GANTRY_TUNING_FILE", path, 1);
}

static int make_temporary_folder(void **state) {
    (void)state;
    char path[256];
    (void)run("rm -rf tmp; mkdir tmp");
    (void)snprintf(path, sizeof path, "%s/tmp", folder);
    return setenv("TMPDIR", path, 1);
}

/* ---- kept records ---- */

TEST(cpu_products_are_measured_kept_and_used) {
    use_file("cpu");
    expect_run(0, "$BIN/gantry devices --verbose");
    expect_in_output("not measured, `gantry tune` measures");
    expect_run(0, "$BIN/gantry tune " SMALL);
    expect_in_output("cpu:0: ");
    expect_in_output("cpu.matmul.float32.small.");
    expect_in_output("use=");
    expect_in_output("own=");
    expect_in_output("1 record kept in");
    assert_int_equal(records_in("cpu"), 1);
    expect_run(0, "$BIN/gantry tune " SMALL); /* replaces the first */
    assert_int_equal(records_in("cpu"), 1);
    expect_run(0, "$BIN/gantry devices --verbose");
    expect_in_output("matrix products of float32 in GFLOP/s: thin by rule (not measured), small ");
    expect_in_output("; measured 20");
    /* another number of threads is another machine */
    expect_run(0, "GANTRY_CPU_THREADS=1 $BIN/gantry devices --verbose");
    expect_in_output("not measured, `gantry tune` measures");
    assert_int_equal(names_in("tmp"), 0);
}

TEST(dry_run_keeps_nothing) {
    use_file("dry");
    expect_run(0, "$BIN/gantry tune --dry-run " SMALL);
    expect_in_output("not kept: --dry-run");
    expect_in_output("1 record found");
    expect_run(0, "$BIN/gantry tune --json --dry-run " SMALL " 2>/dev/null");
    assert_int_equal(output[0], '{');
    expect_in_output("\"device\": \"cpu:0\",\n");
    expect_in_output("\"what\": \"cpu.matmul.float32.small.");
    assert_int_equal(records_in("dry"), -1);
}

TEST(time_that_is_over_ends_it_with_what_is_known) {
    use_file("short");
    expect_run(0, "$BIN/gantry tune --device cpu:0 --seconds 0.01");
    expect_in_output("time is up");
    assert_int_equal(records_in("short"), 1);
}

/* Starts as many busy processes as the machine has cores; a quota may allow fewer. */
TEST(busy_machine_is_told) {
    if (run("[ $(nproc) = $(grep -c '^cpu[0-9]' /proc/stat) ] && ! grep -q '^[0-9]' /sys/fs/cgroup/cpu.max 2>/dev/null"))
        SKIP_BECAUSE("a quota keeps the processes here below the machine's cores");
    use_file("busy");
    expect_run(
        0,
        "for i in $(seq $(nproc)); do timeout 60 sh -c 'while :; do :; done' & BUSY=\"$BUSY\n$!\"; done; "
        "$BIN/gantry tune --device cpu:0 --what cpu.matmul.float32.small --seconds 0.5; kill $BUSY");
    expect_in_output("of the cores' time meanwhile: tune again when the machine is idle.");
}

TEST(list_and_reset_go_by_device_and_name) {
    use_file("list");
    write_file("list",
               "gantry tuning 1\n"
               "2026-01-02T03:04:05Z\tanother; 1 units\tcpu.matmul.x\tuse=own\n"
               "broken\n"
               "2026-01-02T03:04:05Z\tanother; 1 units\tclblast.x\ta=1\n");
    expect_run(0, "$BIN/gantry tune --list");
    expect_in_output("another; 1 units  (2026-01-02T03:04:05Z)");
    expect_in_output("2 records in");
    expect_run(0, "$BIN/gantry tune --list --what clblast");
    expect_in_output("1 record in");
    expect_run(0, "$BIN/gantry tune --list --json 2>/dev/null");
    expect_in_output("\"machine\": \"another; 1 units\",\n");
    expect_in_output("\"values\": \"use=own\"\n");
    expect_in_output("  ],\n  \"interrupted\": false\n}\n");
    expect_run(0, "$BIN/gantry tune --list --device cpu:0");
    expect_in_output("0 records in");
    expect_run(0, "$BIN/gantry tune --reset --device cpu:0");
    expect_in_output("0 records removed from");
    expect_run(0, "$BIN/gantry tune --reset --what cpu");
    expect_in_output("1 record removed from");
    expect_run(0, "$BIN/gantry tune --reset");
    expect_in_output("1 record removed from");
    assert_int_equal(records_in("list"), 0);
}

TEST(opencl_blocks_are_measured_kept_and_used) {
    if (!has_opencl) SKIP_BECAUSE("no OpenCL device here");
    use_file("blocks");
    expect_run(0, "$BIN/gantry tune --device opencl:0 --what opencl --seconds 0.5");
    expect_in_output("depth=512 rows=120 columns=1024 direct=24, default");
    expect_in_output("opencl.cpu_matmul.float32  depth=");
    assert_int_equal(records_in("blocks"), 1);
    expect_run(0, "GANTRY_OPENCL_CPU=gpu $BIN/gpu_guide");
    expect_in_output("[[22. 28.]\n [49. 64.]]");
    assert_int_equal(names_in("tmp"), 0);
}

/* What the command writes, a program accepts: one measurement for each device. */
TEST(crossover_is_measured_kept_and_used) {
    use_file("crossover");
    expect_run(0, "$BIN/gantry tune --device cpu:0 --what crossover --seconds 0.5");
    expect_in_output("  crossover  launch_us=");
    if (strstr(output, "to_us=")) fail_msg("the CPU has transfers: %s", output);
    expect_in_output("1 record kept in");
    if (!has_opencl) SKIP_BECAUSE("no OpenCL device here");
    expect_run(0, "GANTRY_OPENCL_CPU=gpu GANTRY_CROSSOVER=1 $BIN/gpu_guide 2>&1");
    expect_in_output("Crossover has no measurement of opencl:0");
    expect_run(0, "$BIN/gantry tune --device opencl:0 --what crossover --seconds 0.5");
    expect_in_output(" to_us=");
    expect_in_output(" from_gbs=");
    assert_int_equal(records_in("crossover"), 2);
    expect_run(0, "GANTRY_OPENCL_CPU=gpu GANTRY_CROSSOVER=1 $BIN/gpu_guide 2>&1");
    if (strstr(output, "has no measurement") || strstr(output, "crossover is not used"))
        fail_msg("%s", output);
    assert_int_equal(names_in("tmp"), 0);
}

TEST(clblast_is_searched_when_it_is_asked_for) {
    if (!has_opencl) SKIP_BECAUSE("no OpenCL device here");
    use_file("clblast");
    expect_run(0, "$BIN/gantry tune --device opencl:0 --what clblast --seconds 0.01 || [ $? = 1 ]");
    if (strstr(output, "nothing to tune"))
        SKIP_BECAUSE("the device has nothing to tune: no CLBlast here");
    expect_in_output("GFLOP/s  default, n ");
    expect_in_output("time is up: 0 of ");
    assert_true(records_in("clblast") <= 2);
    assert_int_equal(names_in("tmp"), 0);
}

/* The stand-in presents PoCL as a card. */
TEST(a_card_has_clblast_searched_by_default) {
    static const char layer[] = GANTRY_TEST_MODULES "/cuda/standin_opencl.so";
    if (!has_opencl || access(layer, R_OK) != 0)
        SKIP_BECAUSE("no OpenCL device here, or the stand-in is not built");
    use_file("card");
    const char *line =
        "OPENCL_LAYERS=" MODULES
        "/cuda/standin_opencl.so GANTRY_STAND_IN_CUDA='devices=1;memory=2G' GANTRY_BACKENDS=cpu,opencl $BIN/gantry tune --device opencl:0 --seconds 1";
    expect_run(0, line);
    expect_in_output("Stand-in for an NVIDIA GPU");
    if (strstr(output, "nothing to tune"))
        SKIP_BECAUSE("the device has nothing to tune: no CLBlast here");
    expect_in_output("default, n ");
}

/* On the stand-in choice 3 of five is much faster than the others: more than products vary, but not
 * more than those of sanitized code do. */
TEST(a_card_keeps_the_fastest_choice_of_cublaslt) {
    static const char driver[] = GANTRY_TEST_MODULES "/cuda/standin_libcuda.so";
    static const char tune[] =
        "GANTRY_BACKENDS=cpu,cuda GANTRY_STAND_IN_CUDA='devices=1;memory=2G;blas_fast=3' "
        "GANTRY_CUDA_LIBRARY=%s/cuda/standin_libcuda.so GANTRY_CUDA_NVRTC=%s/cuda/standin_libnvrtc.so "
        "GANTRY_CUDA_NVML=%s/cuda/standin_libnvml.so GANTRY_CUDA_CUBLAS='%s' $BIN/gantry tune --device cuda:0 "
        "--what cublaslt.matmul.float32.thin --seconds 5";
    static const char cublas[] = GANTRY_TEST_MODULES "/cuda/standin_libcublas.so";
    if (!has_opencl || access(driver, R_OK) != 0)
        SKIP_BECAUSE("no OpenCL device here, or the stand-in is not built");
    if (run("$BIN/gantry devices --verbose | grep -q 'NVIDIA cards through CUDA'") != 0)
        SKIP_BECAUSE("the CUDA backend is not built");
    use_file("cublaslt");
    if (run(tune, MODULES, MODULES, MODULES, cublas) != 0) fail_msg("%s", output);
    expect_in_output(IS_SANITIZED ? "cublaslt.matmul.float32.thin  use="
                                  : "cublaslt.matmul.float32.thin  use=3 version=120900 gflops=");
    expect_in_output("1 record kept in");
    assert_int_equal(records_in("cublaslt"), 1);
    assert_int_equal(names_in("tmp"), 0);
    if (run(tune, MODULES, MODULES, MODULES, "/none") != 0) fail_msg("%s", output);
    expect_in_output("there is nothing to tune here: cuBLASLt is missing");
    assert_int_equal(records_in("cublaslt"), 1);
}

/* ---- convolutions ---- */

#define CARD                                                                             \
    "GANTRY_BACKENDS=cpu,cuda GANTRY_STAND_IN_CUDA='devices=1;memory=2G;cudnn_fast=3' "  \
    "GANTRY_CUDA_LIBRARY=" MODULES "/cuda/standin_libcuda.so GANTRY_CUDA_NVRTC=" MODULES \
    "/cuda/standin_libnvrtc.so GANTRY_CUDA_NVML=" MODULES                                \
    "/cuda/standin_libnvml.so "                                                          \
    "GANTRY_CUDA_CUBLAS=" MODULES "/cuda/standin_libcublas.so "
#define CUDNN "GANTRY_CUDA_CUDNN=" MODULES "/cuda/standin_libcudnn.so "
#define TUNE_CUDNN CARD CUDNN "$BIN/gantry tune --device cuda:0 --what cudnn"
#define PROGRAM CARD CUDNN "GANTRY_LOG=stderr GANTRY_LOG_LEVEL=debug $BIN/tests/convolve_once"
#define FORM "convolve:float32:nhwc:1x4x4x2:3x3x2x4:p1.1.1.1:s1x1:d1x1"
#define GRADIENT "filter_gradient:float32:nhwc:1x4x4x2:3x3x2x4:p1.1.1.1:s1x1:d1x1"

static bool has_stand_in(void) {
    static const char driver[] = GANTRY_TEST_MODULES "/cuda/standin_libcuda.so";
    return has_opencl && access(driver, R_OK) == 0 &&
           run("$BIN/gantry devices --verbose | grep -q 'NVIDIA cards through CUDA'") == 0;
}

/* On the stand-in engine 3 is much faster than the first choice for float32, engine 2. */
TEST(a_card_keeps_the_fastest_engine_of_each_convolution) {
    if (!has_stand_in()) SKIP_BECAUSE("no OpenCL device here, or no CUDA backend or stand-in");
    use_file("cudnn");
    expect_run(0, PROGRAM " >log 2>&1; cat log log >twice; cat log");
    expect_in_output(" form=" FORM " engine=2 knobs=2:7 version=91900 capability=90; ");
    expect_run(0, TUNE_CUDNN " --forms twice --dry-run --seconds 0.01");
    expect_in_output("1 record found");
    const char *other = strstr(output, GRADIENT ": not measured: time is up\n");
    assert_true(other && !strstr(other + 1, GRADIENT)); /* each form once */
    assert_int_equal(records_in("cudnn"), -1);
    expect_run(0, TUNE_CUDNN " --forms log --seconds 0.01");
    expect_in_output(" form=" FORM " engine=3 version=91900 capability=90 us=");
    expect_in_output("  " GRADIENT ": not measured: time is up\n");
    expect_in_output("1 record kept in");
    expect_run(0, TUNE_CUDNN ".filter --forms log --seconds 0.01"); /* only this kind */
    expect_in_output(" form=" GRADIENT " engine=3 version=91900 capability=90 us=");
    expect_in_output("1 record kept in");
    expect_run(0, TUNE_CUDNN ".convolve --forms log --seconds 0.01"); /* measured anew */
    expect_in_output(" form=" FORM " engine=3 version=91900 capability=90 us=");
    assert_int_equal(records_in("cudnn"), 2);
    assert_int_equal(names_in("tmp"), 0);
    expect_run(0, PROGRAM);
    expect_in_output(" engine=3 version=91900 capability=90; 0 bytes; line 3 of the tuning file ");
    expect_in_output(" engine=3 version=91900 capability=90; 0 bytes; line 2 of the tuning file ");
    expect_in_output("sum 10816\n");
}

TEST(convolutions_that_cannot_be_measured_have_a_reason) {
    static const char *const rows[][2] = {
        /* its kernels compute channels last */
        {"image_gradient:float32:nchw:1x4x4x2:3x3x2x4:p1.1.1.1:s1x1:d1x1",
         ": not measured: its form here is image_gradient:float32:nhwc:1x4x4x2:"},
        {FORM ":relu", ": not measured: cuDNN does not compute the convolution of images [1, 4, 4"},
        {FORM ":bias:relu", " form=" FORM ":bias:relu engine="},
        {FORM ":tf32", " form=" FORM ":tf32 engine="}};
    if (!has_stand_in()) SKIP_BECAUSE("no OpenCL device here, or no CUDA backend or stand-in");
    use_file("cudnn_rows");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        char text[256];
        (void)snprintf(text, sizeof text, "form=, form=%s\n", rows[i][0]);
        write_file("forms", text);
        expect_run(0, TUNE_CUDNN " --forms forms --seconds 0.01");
        expect_in_output(rows[i][1]);
    }
    expect_run(0, TUNE_CUDNN);
    expect_in_output("  convolutions are not measured: a program on the card with GANTRY_LOG=");
    expect_run(
        0,
        CARD "GANTRY_CUDA_CUDNN=/none $BIN/gantry tune --device cuda:0 --what cudnn --forms forms");
    expect_in_output("  there is nothing to tune here: convolutions on ");
    expect_in_output("0 records kept in");
    expect_run(0, "$BIN/gantry tune --forms forms " SMALL);
    expect_in_output("No selected device measures the convolutions of --forms.\n");
    assert_int_equal(names_in("tmp"), 0);
}

TEST(wrong_files_of_convolutions_are_refused) {
#define SIZES "2x7x6x5:3x3x5x4:p1.1.1.1:s1x1:d1x1"
    static const char *const rows[][2] = {
        {"convolve", "it is not written so"},
        {"convolve:float64:nhwc:" SIZES, "it is not written so"},
        {"convolve:float32:nhwc:" SIZES ":relu:bias", "it is not written so"},
        {"convolve:float32:nhwc:" SIZES ";", "it is not written so"},
        {"convolve:float32:nhwc:2x07x6x5:3x3x5x4:p1.1.1.1:s1x1:d1x1", "it is not written so"},
        {"convolve:float32:nhwc:0x7x6x5:3x3x5x4:p1.1.1.1:s1x1:d1x1", "it is not written so"},
        {"convolve:float32:nhwc:99999999999999999999x7x6x5:3x3x5x4", "it is not written so"},
        {"image_gradient:float32:nhwc:" SIZES ":bias", "only convolve of float32 has a bias"},
        {"convolve:float16:nhwc:" SIZES ":relu", "only convolve of float32 has a bias"},
        {"convolve:float16:nhwc:" SIZES ":tf32", "only float32 is rounded to TF32"},
        {"convolve:float32:nhwc:2x7x6x5:3x3x4x4:p1.1.1.1:s1x1:d1x1", "not those of whole groups"},
        {"convolve:float32:nhwc:2x7x6x4:3x3x2x3:p1.1.1.1:s1x1:d1x1", "not those of whole groups"},
        {"convolve:float32:nhwc:2x7x6x5:9x3x5x4:p0.1.1.1:s1x1:d1x1", "larger than the padded"},
        {"convolve:float32:nhwc:2x7x6x5:3x2147483647x5x4:p0.1.1.1:s1x1:d1x2147483647",
         "larger than the padded"},
        {"convolve:float32:nhwc:65536x65536x1x1:1x1x1x1:p0.0.0.0:s1x1:d1x1", "2^31 elements"},
        {"convolve:float32:nhwc:1x1x1x1:1x1x1x1:p2147483647.2147483647.0.0:s1x1:d1x1",
         "2^31 elements"}};
    use_file("none");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        char text[256];
        (void)snprintf(text, sizeof text, "form=" FORM " form=%s", rows[i][0]);
        write_file("wrong", text);
        expect_run(1, "$BIN/gantry tune --forms wrong");
        (void)snprintf(text, sizeof text, "'wrong': \"form=%s\" is no convolution: ", rows[i][0]);
        expect_in_output(text);
        expect_in_output(rows[i][1]);
        expect_in_output("; accepted: form=KIND:TYPE:ORDER:NxHxWxC:");
    }
    expect_run(
        1,
        "yes form=convolve | tr -d '\\n' | head -c 100000 >wrong; $BIN/gantry tune --forms wrong");
    expect_in_output("is no convolution: it is not written so");
    expect_run(1, "$BIN/gantry tune --forms missing");
    expect_in_output("cannot read 'missing': No such file");
    expect_run(1, "$BIN/gantry tune --forms .");
    expect_in_output("cannot read '.': ");
    write_file("wrong", "form=, engine=, and no more");
    expect_run(1, "$BIN/gantry tune --forms wrong");
    expect_in_output(
        "'wrong' has no convolution: no word begins with form=; a program on the card");
}

/* Runs on the stand-in for NVIDIA's driver: gantry tune tunes nothing of this backend. */
TEST(a_device_that_has_nothing_to_tune_is_there_all_the_same) {
    static const char driver[] = GANTRY_TEST_MODULES "/cuda/standin_libcuda.so";
    static const char *const lines[][2] = {{"tune --what cublaslt", "nothing to tune"},
                                           {"tune --list", "0 records in"},
                                           {"tune --reset", "0 records removed from"}};
    if (!has_opencl || access(driver, R_OK) != 0)
        SKIP_BECAUSE("no OpenCL device here, or the stand-in is not built");
    use_file("none");
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; ++i) {
        int code = run(
            "GANTRY_BACKEND_PATH=%s/cuda GANTRY_STAND_IN_CUDA='devices=1;memory=2G' GANTRY_CUDA_LIBRARY='%s' $BIN/gantry %s --device cuda:0",
            MODULES, driver, lines[i][0]);
        if (code != 0) fail_msg("exit %d\n%s", code, output);
        expect_in_output(lines[i][1]);
    }
}

/* ---- stopped half-way ---- */

TEST(interrupt_leaves_a_sound_file_and_ends_soon) {
    static const char *const signals[] = {"INT", "TERM", "KILL"};
    for (int i = 0; i < 3; ++i) {
        use_file("stopped");
        (void)run("rm -f stopped");
        /* stopped once the first record is kept, in the middle of the second */
        int code = run(
            "$BIN/gantry tune --device cpu:0 --seconds 8 > said & PID=$!; for i in $(seq 400); do [ -s stopped ] && break; sleep 0.05; done; sleep 0.3; kill -%s $PID; wait $PID",
            signals[i]);
        assert_int_equal(code, i < 2 ? 130 : 137);
        assert_true(records_in("stopped") >= 1 && records_in("stopped") < 4);
        expect_run(0, "cat said");
        if (i < 2) expect_in_output("interrupted; ");
        if (i < 2) assert_int_equal(names_in("tmp"), 0);
        expect_run(0, "$BIN/gantry devices --verbose");
        expect_in_output("; measured 20");
    }
}

/* The first record takes a second at least, and there are forty. */
TEST(interrupt_ends_convolutions_soon) {
    if (!has_stand_in()) SKIP_BECAUSE("no OpenCL device here, or no CUDA backend or stand-in");
    use_file("stopped_cudnn");
    expect_run(
        0,
        "for i in $(seq 40); do "
        "echo form=convolve:float32:nhwc:1x4x${i}x2:3x3x2x4:p1.1.1.1:s1x1:d1x1; done >forty");
    int code = run("export " CARD CUDNN
                   "; $BIN/gantry tune --device cuda:0 --what cudnn --forms forty >said & PID=$!; "
                   "for i in $(seq 400); do [ -s stopped_cudnn ] && break; sleep 0.05; done; "
                   "kill -INT $PID; wait $PID");
    if (code != 130) fail_msg("exit %d\n%s", code, output);
    assert_true(records_in("stopped_cudnn") >= 1 && records_in("stopped_cudnn") < 40);
    expect_run(0, "cat said");
    expect_in_output("interrupted; ");
    assert_int_equal(names_in("tmp"), 0);
}

TEST(two_at_once_lose_nothing) {
    use_file("two");
    expect_run(
        0,
        "$BIN/gantry tune --device cpu:0 --what cpu.matmul.float32.small --seconds 0.2 & $BIN/gantry tune --device cpu:0 --what cpu.matmul.float32.thin --seconds 0.2 && wait $!");
    assert_int_equal(records_in("two"), 2);
}

/* ---- errors ---- */

TEST(file_that_cannot_be_written_is_told) {
    use_file("foreign");
    write_file("foreign", "a poem\n");
    expect_run(1, "$BIN/gantry tune " SMALL);
    expect_in_output("not kept: ");
    expect_in_output("it is no tuning file of Gantry");
    expect_run(0, "cat foreign");
    assert_string_equal(output, "a poem\n");
    expect_run(1, "$BIN/gantry tune --list");
    expect_in_output("it is no tuning file of Gantry");
    expect_run(0, "$BIN/gantry devices --verbose");
    expect_in_output("not measured");
    expect_run(1, "GANTRY_TUNING_FILE=foreign/below $BIN/gantry tune " SMALL);
    expect_in_output("not kept: ");
    expect_run(1, "GANTRY_TUNING_FILE= $BIN/gantry tune " SMALL);
    expect_in_output("there is no tuning file: GANTRY_TUNING_FILE is empty");
    expect_run(1, "unset GANTRY_TUNING_FILE HOME XDG_CACHE_HOME; $BIN/gantry tune " SMALL);
    expect_in_output("neither XDG_CACHE_HOME nor HOME");
}

TEST(wrong_words_and_devices_are_refused) {
    static const struct {
        const char *line, *message;
    } rows[] = {
        {"$BIN/gantry tune nonsense", "\"nonsense\" is not understood"},
        {"$BIN/gantry tune --seconds", "--seconds needs a value: --seconds N"},
        {"$BIN/gantry tune --seconds 0", "--seconds is \"0\"; accepted: a number from 0.001 to"},
        {"$BIN/gantry tune --seconds x", "--seconds is \"x\"; accepted: a number from 0.001 to"},
        {"$BIN/gantry tune --device", "--device needs a value: --device DEVICE"},
        {"$BIN/gantry tune --what nix --dry-run",
         "--what is \"nix\"; accepted: the beginning of cpu.matmul.float32..."},
        {"$BIN/gantry tune --list --reset", "--list and --reset exclude each other"}};
    use_file("none");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        expect_run(2, rows[i].line);
        expect_in_output(rows[i].message);
    }
    expect_run(1, "$BIN/gantry tune --device cpu:99");
    expect_in_output("cpu:99 unknown device. All available devices [");
    expect_run(0, "$BIN/gantry tune --device cpu:0 --what cpu.matmul.float32.none --seconds 0.1");
    expect_in_output("0 records kept in");
}

int main(void) {
    (void)setenv("POCL_DEVICES", "pthread pthread", 1);
    (void)unsetenv("GANTRY_OPENCL_CPU");
    (void)unsetenv("GANTRY_CPU_THREADS");
    (void)unsetenv("GANTRY_CPU_MATMUL");
    if (open_folder() != 0) return 1;
    if (!find_opencl(2, &has_opencl)) return 1;
    int result = test_main_each(make_temporary_folder, NULL);
    if (result == 0) (void)run("cd / && rm -r %s", folder);
    return result;
}
