/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: gantry doctor sends nobody to checks above that did not fail.
 * Promise: gantry doctor names a wrong or an incomplete libcuda with the words of gantry devices.
 * Promise: A driver that calls exit does not end gantry doctor, whenever it does.
 * Promise: gantry doctor finds pip's NVRTC outside an active environment, as the backend does.
 * Promise: gantry doctor follows OCL_ICD_VENDORS=file.icd, and names what OPENCL_LAYERS lacks.
 * Promise: gantry doctor says "install the driver again" of drivers alone. */
#define _GNU_SOURCE

#include "cli_case.h"

#define DOCTOR "$BIN/gantry doctor "
#define NO_CACHE "GANTRY_KERNEL_CACHE= "
#define CPU "GANTRY_BACKENDS=cpu " NO_CACHE
#define CARDS_LIBRARIES \
    NO_CACHE            \
    "GANTRY_CUDA_CUBLAS=$CARDS/standin_libcublas.so GANTRY_CUDA_NVML=$CARDS/standin_libnvml.so "
#define CUDA                                         \
    CARDS_LIBRARIES                                  \
    "GANTRY_BACKENDS=cpu,cuda POCL_DEVICES=pthread " \
    "GANTRY_CUDA_LIBRARY=$CARDS/standin_libcuda.so "
#define NVRTC "GANTRY_CUDA_NVRTC=$CARDS/standin_libnvrtc.so "
/* A machine of files without a card. */
#define BARE "GANTRY_TEST_ROOT=$PWD/bare "

static bool has_opencl, has_cuda;

static void expect_not_in_output(const char *text) {
    if (strstr(output, text)) fail_msg("\"%s\" is in\n%s", text, output);
}

/* ---- checks above ---- */

static void remedies_of_wishes_name_what_there_is(void **state) {
    (void)state;
    expect_run(1, CPU BARE DOCTOR "--require cuda");
    expect_in_output("failed        required: 1 CUDA device: 0 compute right");
    expect_not_in_output("mend the checks above");
    expect_in_output("remedy: see the remedies above"); /* unset GANTRY_BACKENDS */
    if (!has_opencl) SKIP_BECAUSE("no OpenCL device here");
    expect_run(1, "GANTRY_OPENCL_CPU=gpu POCL_DEVICES=pthread GANTRY_BACKENDS=cpu,opencl " DOCTOR
                  "--require 3,opencl");
    expect_in_output("failed        required: 3 GPUs: 1 computes right");
    expect_not_in_output("mend the checks above");
    /* a folder of records is no reason why a device is missing */
    expect_run(1,
               "GANTRY_OPENCL_CPU=gpu POCL_DEVICES=pthread GANTRY_TUNING_FILE=/etc/passwd/x " DOCTOR
               "--require 3");
    expect_in_output("failed        tuning records: ");
    expect_not_in_output("mend the checks above");
    expect_run(1, "mkdir -p none && OCL_ICD_VENDORS=$PWD/none " DOCTOR "--require opencl");
    expect_in_output("failed        opencl backend: no OpenCL platform");
    expect_in_output("remedy: mend the checks above that failed");
}

/* The words of both commands about the CUDA backend. */
static void expect_cuda_reason(const char *reason) {
    expect_run(0, NO_CACHE BARE "GANTRY_BACKENDS=cpu,cuda LD_LIBRARY_PATH=$PWD/wrong " DOCTOR);
    expect_in_output("failed        cuda backend: ");
    expect_in_output(reason);
    expect_not_in_output("neither an NVIDIA card nor NVIDIA's driver");
    expect_run(0,
               NO_CACHE "GANTRY_BACKENDS=cpu,cuda LD_LIBRARY_PATH=$PWD/wrong $BIN/gantry devices");
    expect_in_output(reason);
}

static void wrong_and_incomplete_drivers_are_named(void **state) {
    (void)state;
    if (run("%s", "GANTRY_BACKENDS=cpu,cuda " NO_CACHE
                  "$BIN/gantry devices | grep 'no NVIDIA driver'") != 0)
        SKIP_BECAUSE("this machine has NVIDIA's driver, or this build no CUDA backend");
    expect_run(0, "mkdir -p wrong bare && echo text >wrong/libcuda.so.1");
    expect_cuda_reason("no NVIDIA driver: libcuda.so.1: ");
    expect_in_output("file too short");
    /* another library with this name has none of its functions */
    if (run("%s",
            "for f in /usr/lib/*/libz.so.1 /lib/*/libz.so.1 /usr/lib64/libz.so.1; do "
            "test -e $f && cp -L $f wrong/libcuda.so.1 && exit 0; done; exit 1") != 0)
        SKIP_BECAUSE("no libz to stand in for an incomplete driver");
    expect_cuda_reason(
        "libcuda.so.1 is no NVIDIA driver for CUDA 12.0 or newer: it has no function");
    expect_run(0, "rm -r wrong && " NO_CACHE BARE "GANTRY_BACKENDS=cpu,cuda " DOCTOR);
    expect_in_output("not possible  cuda backend: this machine has neither an NVIDIA card nor");
}

/* ---- drivers that call exit ---- */

static void a_driver_that_calls_exit_does_not_end_the_doctor(void **state) {
    (void)state;
    if (run("test -d " GANTRY_TEST_MODULES "/crashing") != 0)
        SKIP_BECAUSE("no backend whose driver ends the process");
#define EXITING                                                                                              \
    "FAKE_CRASH=exit FAKE_FILES=/none GANTRY_BACKENDS=cpu,crashing GANTRY_BACKEND_PATH=" GANTRY_TEST_MODULES \
    "/crashing "
    expect_run(1, EXITING NO_CACHE DOCTOR);
    expect_in_output(
        "failed        drivers: a process that opened the drivers ended with exit code 7");
    expect_in_output("remedy: install the driver again");
    expect_in_output("passed        cpu:0 computes: ");
    expect_run(1, EXITING "GANTRY_KERNEL_CACHE=$PWD/kernels " DOCTOR);
    expect_in_output(
        "failed        drivers: a process that opened the drivers ended with exit code 7");
    expect_in_output("passed        cpu:0 computes: ");
}

/* exit(0) looks like success; libraries beside the driver are opened later than it. */
static void exits_of_nvidias_libraries_are_told(void **state) {
    (void)state;
    if (!has_cuda) SKIP_BECAUSE("no stand-in for NVIDIA's driver here");
    static const char *const calls[] = {"cuInit", "cuDeviceGetName", "nvmlInit_v2", "nvrtcVersion"};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; ++i) {
        char line[1024];
        (void)snprintf(line, sizeof line, CUDA NVRTC "GANTRY_STAND_IN_CUDA='fail=%s:1:-1' " DOCTOR,
                       calls[i]);
        expect_run(1, line);
        expect_in_output("failed        drivers: a process that opened the drivers ended with");
        expect_in_output("passed        cpu:0 computes: ");
    }
    expect_run(1, CUDA NVRTC "GANTRY_STAND_IN_CUDA='fail=cuLaunchKernel:1:-1' " DOCTOR);
    expect_in_output(
        "failed        cuda:0 computes: a process that computed on it ended with exit code 0");
    expect_in_output("passed        cpu:0 computes: ");
}

/* ---- NVRTC of pip ---- */

static void nvrtc_of_python_outside_an_environment_is_found(void **state) {
    (void)state;
    if (!has_cuda) SKIP_BECAUSE("no stand-in for NVIDIA's driver here");
    if (run("ldconfig -p 2>/dev/null | grep libnvrtc.so.12") == 0)
        SKIP_BECAUSE("the loader finds NVRTC 12 itself");
#define WHEEL "lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib"
    expect_run(0, "mkdir -p env/bin env/" WHEEL " home/.local/" WHEEL
                  " empty && "
                  "ln -s /bin/sh env/bin/python3 && "
                  "ln -s $CARDS/standin_libnvrtc.so env/" WHEEL
                  "/libnvrtc.so.12 && "
                  "ln -s $CARDS/standin_libnvrtc.so home/.local/" WHEEL "/libnvrtc.so.12");
    expect_run(
        0, "unset VIRTUAL_ENV CONDA_PREFIX CUDA_HOME CUDA_PATH; " CUDA "HOME=$PWD/home " DOCTOR);
    expect_in_output("passed        NVRTC: ");
    expect_in_output("passed        cuda:0 computes: ");
    expect_run(0, "unset VIRTUAL_ENV CONDA_PREFIX CUDA_HOME CUDA_PATH; " CUDA
                  "HOME=$PWD/empty PATH=$PWD/env/bin:$PATH " DOCTOR);
    expect_in_output("passed        NVRTC: ");
}

/* ---- OpenCL's variables ---- */

static void files_of_drivers_are_found_by_the_loaders_rules(void **state) {
    (void)state;
    expect_run(0,
               "mkdir -p icd/usr/lib/x86_64-linux-gnu icd/etc/OpenCL/vendors && "
               "touch icd/usr/lib/x86_64-linux-gnu/libpocl.so.2 && "
               "echo libpocl.so.2 >icd/etc/OpenCL/vendors/pocl.icd && "
               "echo libother.so >icd/other.icd");
#define MACHINE CPU "GANTRY_TEST_ROOT=$PWD/icd "
    expect_run(0, "OCL_ICD_VENDORS=pocl.icd " MACHINE DOCTOR);
    expect_in_output("passed        OpenCL drivers: 1 listed; every installed driver");
    expect_run(0, "OCL_ICD_VENDORS=$PWD/icd/etc/OpenCL/vendors/pocl.icd " MACHINE DOCTOR);
    expect_in_output("passed        OpenCL drivers: 1 listed; every installed driver");
    expect_run(0, "OCL_ICD_VENDORS=$PWD/icd/other.icd " MACHINE DOCTOR);
    expect_in_output("not possible  OpenCL drivers: OCL_ICD_VENDORS=");
    expect_in_output("remedy: unset OCL_ICD_VENDORS, or name a folder that has pocl.icd, too");
    expect_run(0, "OCL_ICD_VENDORS=missing.icd " MACHINE DOCTOR);
    expect_not_in_output("listed; every installed driver");
}

static void a_missing_layer_is_named(void **state) {
    (void)state;
    expect_run(0,
               "touch layer.so && OPENCL_LAYERS=$PWD/layer.so:/none/other.so:bare.so " CPU DOCTOR);
    expect_in_output(
        "failed        OpenCL layers: OPENCL_LAYERS names /none/other.so, which cannot "
        "be opened: No such file or directory");
    expect_in_output("remedy: unset OPENCL_LAYERS, or correct the path in it");
    expect_not_in_output("names bare.so");
    expect_not_in_output("layer.so, which");
    expect_run(0, CPU DOCTOR);
    expect_not_in_output("OpenCL layers");
}

/* ---- install again ---- */

static void the_processor_has_no_driver_to_install(void **state) {
    (void)state;
    expect_run(1, "GANTRY_MEMORY_LIMIT=CPU:0=4096 " CPU DOCTOR);
    expect_in_output("failed        cpu:0 computes: OOM when allocating");
    expect_in_output("remedy: free memory of this device");
    expect_not_in_output("install its driver");
    if (!has_cuda) SKIP_BECAUSE("no stand-in for NVIDIA's driver here");
    expect_run(1, CUDA NVRTC "GANTRY_STAND_IN_CUDA='fail=nvrtcCompileProgram:*:6' " DOCTOR);
    expect_in_output("remedy: pip install nvidia-cuda-nvrtc-cu12");
    expect_not_in_output("install the driver again");
    expect_run(1, CUDA "GANTRY_CUDA_NVRTC=/none " DOCTOR);
    expect_in_output("remedy: mend NVRTC, which a check above names");
}

int main(void) {
    if (open_folder() != 0 || setenv("CARDS", GANTRY_TEST_MODULES "/cuda", 1) != 0) return 1;
    if (!find_opencl(1, &has_opencl)) return 1;
    has_cuda = has_opencl && access(GANTRY_TEST_MODULES "/cuda/standin_libcuda.so", R_OK) == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remedies_of_wishes_name_what_there_is),
        cmocka_unit_test(wrong_and_incomplete_drivers_are_named),
        cmocka_unit_test(a_driver_that_calls_exit_does_not_end_the_doctor),
        cmocka_unit_test(exits_of_nvidias_libraries_are_told),
        cmocka_unit_test(nvrtc_of_python_outside_an_environment_is_found),
        cmocka_unit_test(files_of_drivers_are_found_by_the_loaders_rules),
        cmocka_unit_test(a_missing_layer_is_named),
        cmocka_unit_test(the_processor_has_no_driver_to_install),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)run("cd / && rm -rf %s", folder);
    return failed;
}
