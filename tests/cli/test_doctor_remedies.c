/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: gantry doctor refers to the checks above in a remedy only if one of them failed.
 * Promise: gantry doctor names a wrong or an incomplete libcuda in the words of gantry devices.
 * Promise: A driver that calls exit at any moment does not end gantry doctor.
 * Promise: What a driver prints while it is opened is not in a command's output, and misleads no
 * check of gantry doctor.
 * Promise: A limit of the sizes of files (ulimit -f) does not end gantry doctor, and leaves none of
 * its files.
 * Promise: gantry doctor finds pip's NVRTC outside an active environment, as the backend does.
 * Promise: gantry doctor follows OCL_ICD_VENDORS=file.icd, and names each library of OPENCL_LAYERS
 * and OCL_ICD_FILENAMES that the loader cannot use: missing, empty, a folder, no library.
 * Promise: The remedy of gantry doctor for a wrong library that a variable names is that variable,
 * not a package.
 * Promise: The remedy for a kind of device that is required and missing names only the checks that
 * concern this kind.
 * Promise: gantry doctor says "install the driver again" of drivers only. */
#define _GNU_SOURCE

#include "cli_case.h"
#include "test.h"

#define DOCTOR "$BIN/gantry doctor "
#define NO_CACHE "GANTRY_KERNEL_CACHE= "
#define CPU "GANTRY_BACKENDS=cpu " NO_CACHE
#define CARDS_LIBRARIES                                                                          \
    NO_CACHE                                                                                     \
    "GANTRY_CUDA_CUBLAS=$CARDS/standin_libcublas.so GANTRY_CUDA_NVML=$CARDS/standin_libnvml.so " \
    "GANTRY_CUDA_CUDNN=$CARDS/standin_libcudnn.so "
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

TEST(remedies_of_wishes_name_what_there_is) {
    expect_run(1, CPU BARE DOCTOR "--require cuda");
    expect_in_output("failed        required: 1 CUDA device: 0 compute right");
    expect_not_in_output("mend the checks above");
    expect_in_output("remedy: see the remedies above: cuda backend"); /* unset GANTRY_BACKENDS */
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
    expect_in_output("remedy: mend the checks above that failed: opencl backend");
    /* what hides OpenCL devices is no remedy for CUDA */
    expect_run(
        1, "POCL_DEVICES=pthread GANTRY_BACKENDS=cpu,opencl,cuda " BARE DOCTOR "--require cuda");
    expect_in_output("not possible  opencl:0 is a GPU: ");
    if (!strstr(output, "neither an NVIDIA card nor NVIDIA's driver")) return;
    expect_in_output("remedy: require what this machine has, or install another device");
    expect_run(1,
               "POCL_DEVICES=pthread GANTRY_BACKENDS=cpu,opencl,cuda " BARE DOCTOR "--require gpu");
    expect_in_output("remedy: see the remedies above: opencl:0 is a GPU");
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

TEST(wrong_and_incomplete_drivers_are_named) {
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

TEST(a_driver_that_calls_exit_does_not_end_the_doctor) {
    if (run("test -d " MODULES "/crashing") != 0)
        SKIP_BECAUSE("no backend whose driver ends the process");
#define EXITING                                                                                    \
    "FAKE_CRASH=exit:7 FAKE_FILES=/none GANTRY_BACKENDS=cpu,crashing GANTRY_BACKEND_PATH=" MODULES \
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

TEST(what_a_driver_prints_is_no_output) {
    if (run("test -d " MODULES "/crashing") != 0) SKIP_BECAUSE("no backend whose driver prints");
    static const char *const ways[] = {"print", "print-late"};
    for (size_t i = 0; i < 2; ++i) {
        char line[1024];
#define PRINTING                                                                               \
    "FAKE_CRASH=%s FAKE_FILES=/none GANTRY_BACKENDS=cpu,crashing GANTRY_BACKEND_PATH=" MODULES \
    "/crashing " NO_CACHE
        (void)snprintf(line, sizeof line, PRINTING DOCTOR "2>/dev/null", ways[i]);
        expect_run(0, line);
        expect_in_output("passed        cpu:0 computes: ");
        expect_not_in_output("spoken");
        (void)snprintf(line, sizeof line, PRINTING "$BIN/gantry devices --json 2>errors", ways[i]);
        expect_run(0, line);
        assert_int_equal(output[0], '{');
        expect_run(0, "grep spoken errors");
    }
}

/* exit(0) looks like success; libraries beside the driver are opened later than it. */
TEST(exits_of_nvidias_libraries_are_told) {
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

TEST(nvrtc_of_python_outside_an_environment_is_found) {
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

TEST(files_of_drivers_are_found_by_the_loaders_rules) {
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

static void expect_listed(const char *variable, const char *name, const char *why) {
    char line[512];
    (void)snprintf(line, sizeof line, ": %s names %s%s, which %s", variable,
                   *name == '/' ? folder : "", name, why);
    expect_in_output(line);
}

/* Each kind of file that a list may name by mistake. */
TEST(what_a_list_names_and_the_loader_cannot_use_is_named) {
    static const char *const variables[] = {"OPENCL_LAYERS", "OCL_ICD_FILENAMES"};
    static const char *const whats[] = {"is no OpenCL layer: it has no function clInitLayer",
                                        "is no OpenCL driver: it has no function clGetExtension"};
    expect_run(0,
               "mkdir -p layers/folder.so && : >layers/empty.so && seq 999 >layers/text.so && "
               "echo 123 >layers/short.so");
    for (int i = 0; i < 2; ++i) {
        char line[1024];
        (void)snprintf(line, sizeof line,
                       "%s=$PWD/layers/empty.so:bare.so:$PWD/none.so:$PWD/layers/text.so:"
                       "$PWD/layers/folder.so::libm.so.6 " CPU DOCTOR,
                       variables[i]);
        expect_run(0, line);
        expect_in_output(i ? "failed        OpenCL drivers: OCL_ICD_FILENAMES names "
                           : "failed        OpenCL layers: OPENCL_LAYERS names ");
        expect_listed(variables[i], "/layers/empty.so", "cannot be opened: ");
        expect_in_output("empty.so: file too short");
        expect_listed(variables[i], "bare.so", "cannot be opened: bare.so: cannot open shared");
        expect_listed(variables[i], "/none.so", "cannot be opened: ");
        expect_listed(variables[i], "/layers/text.so", "cannot be opened: ");
        expect_in_output("text.so: invalid ELF header");
        expect_listed(variables[i], "/layers/folder.so", "cannot be opened: it is no plain file");
        expect_listed(variables[i], "libm.so.6", whats[i]);
        (void)snprintf(line, sizeof line, "remedy: unset %s, or correct the name in it",
                       variables[i]);
        expect_in_output(line);
    }
    expect_run(0, CPU DOCTOR);
    expect_not_in_output("OpenCL layers");
    if (run("test -e " MODULES "/opencl/rough_layer.so") != 0) return;
    expect_run(0, "OPENCL_LAYERS=" MODULES "/opencl/rough_layer.so " CPU DOCTOR);
    expect_not_in_output("OpenCL layers");
}

/* No .icd file has named these drivers, so that none can be removed. */
TEST(a_wrong_file_of_ocl_icd_vendors_is_the_variables_fault) {
    if (!has_opencl) SKIP_BECAUSE("no OpenCL device here");
    static const char *const names[] = {"$PWD/empty.so", "libm.so.6"};
    for (size_t i = 0; i < 2; ++i) {
        char line[256];
        (void)snprintf(line, sizeof line, ": >empty.so && OCL_ICD_VENDORS=%s " NO_CACHE DOCTOR,
                       names[i]);
        expect_run(0, line);
        expect_in_output("no OpenCL platform: OCL_ICD_VENDORS names ");
        expect_in_output("remedy: unset OCL_ICD_VENDORS, or name an OpenCL driver's library, or a");
        expect_not_in_output("remove the .icd file");
        expect_not_in_output("in this file");
    }
}

/* Nothing that is installed helps while a variable names another file. */
TEST(a_variable_that_names_a_wrong_library_is_the_remedy) {
    expect_run(0, ": >module.so && GANTRY_BACKEND_PATH=$PWD/module.so " CPU DOCTOR);
    expect_in_output("module.so cannot be opened: ");
    expect_in_output("or correct GANTRY_BACKEND_PATH if it is set");
    if (!has_cuda) SKIP_BECAUSE("no stand-in for NVIDIA's driver here");
    static const char *const variables[] = {"GANTRY_CUDA_NVRTC", "GANTRY_CUDA_CUBLAS",
                                            "GANTRY_CUDA_NVML", "GANTRY_CUDA_CUDNN"};
    for (size_t i = 0; i < 4; ++i) {
        char line[1024];
        (void)snprintf(line, sizeof line, CUDA NVRTC "%s=/none " DOCTOR, variables[i]);
        expect_run(i == 0, line);
        (void)snprintf(line, sizeof line, "remedy: unset %s, or correct the path in it",
                       variables[i]);
        expect_in_output(line);
    }
}

/* ---- install again ---- */

TEST(the_processor_has_no_driver_to_install) {
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

TEST(limit_of_sizes_does_not_end_the_doctor) {
    (void)run(
        "mkdir -p limited && (ulimit -f 0; HOME=$PWD/limited XDG_CACHE_HOME= GANTRY_BACKENDS=cpu " DOCTOR
        ")");
    expect_in_output("File too large");
    expect_in_output(" failed");
    expect_run(1, "find limited -name '*gantry_doctor*' | grep .");
}

int main(void) {
    if (open_folder() != 0 || setenv("CARDS", GANTRY_TEST_MODULES "/cuda", 1) != 0) return 1;
    if (!find_opencl(1, &has_opencl)) return 1;
    has_cuda = has_opencl && access(GANTRY_TEST_MODULES "/cuda/standin_libcuda.so", R_OK) == 0;
    int failed = test_main();
    (void)run("cd / && rm -rf %s", folder);
    return failed;
}
