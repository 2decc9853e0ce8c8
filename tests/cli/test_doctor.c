/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: `gantry doctor` says on machines with one fault each what is wrong, gives the remedy and
 * returns the right exit code.
 * Promise: `gantry doctor` reports a card without a device node, also in a container, a node that
 * the user may not open, and a driver without an .icd file, each with its remedy.
 * Promise: `gantry doctor` names the devices on which CUDA_VISIBLE_DEVICES has no effect, and the
 * variable that has one.
 *
 * PoCL's two devices are presented as GPUs. NVIDIA's driver is the stand-in. Device nodes, PCI bus
 * and vendors' libraries are files below GANTRY_TEST_ROOT. */
#define _GNU_SOURCE

#include "cli_case.h"
#include "test.h"

#include <cjson/cJSON.h>

#define TWO "GANTRY_OPENCL_CPU=gpu POCL_DEVICES='pthread pthread' "
/* The CPU alone, which starts at once, on a machine of files. */
#define MACHINE(name) "GANTRY_BACKENDS=cpu GANTRY_TEST_ROOT=$PWD/" name " "
#define CUDA                                                                                                            \
    "GANTRY_BACKENDS=cpu,cuda GANTRY_KERNEL_CACHE= POCL_DEVICES=pthread GANTRY_CUDA_LIBRARY=$CARDS/standin_libcuda.so " \
    "GANTRY_CUDA_CUBLAS=$CARDS/standin_libcublas.so GANTRY_CUDA_NVML=$CARDS/standin_libnvml.so "                        \
    "GANTRY_CUDA_CUDNN=$CARDS/standin_libcudnn.so "
#define NVRTC "GANTRY_CUDA_NVRTC=$CARDS/standin_libnvrtc.so "
#define DOCTOR "$BIN/gantry doctor "
#define TWO_DRIVERS \
    CUDA NVRTC "GANTRY_BACKENDS=cpu,cuda,opencl OPENCL_LAYERS=$CARDS/standin_opencl.so "

static bool has_opencl, has_cuda;

static void expect_not_in_output(const char *text) {
    if (strstr(output, text)) fail_msg("\"%s\" is in\n%s", text, output);
}

/* ---- devices that compute ---- */

TEST(two_gpus_pass) {
    if (!has_opencl) SKIP_BECAUSE("no OpenCL device here");
    expect_run(0, TWO DOCTOR "--strict --require 2,opencl");
    expect_in_output("passed        cpu:0 computes: Add, MatMul and Sum are right on ");
    expect_in_output("passed        opencl backend: 2 devices, ");
    expect_in_output("passed        opencl:0 computes: Add, MatMul and Sum are right on ");
    expect_in_output("passed        opencl:1 computes: ");
    expect_in_output("passed        required: 2 GPUs: 2 compute right");
    expect_in_output("passed        required: 1 OpenCL device: 2 compute right");
}

TEST(missing_gpu_fails_and_json_says_so) {
    if (!has_opencl) SKIP_BECAUSE("no OpenCL device here");
    expect_run(1, TWO "GANTRY_VISIBLE_DEVICES=0 " DOCTOR "--require 2 --json 2>/dev/null");
    cJSON *all = cJSON_Parse(output);
    assert_non_null(all);
    const cJSON *checks = cJSON_GetObjectItem(all, "checks"), *check, *hidden = NULL,
                *needed = NULL;
    cJSON_ArrayForEach(check, checks) {
        const char *name = cJSON_GetObjectItem(check, "name")->valuestring;
        if (strcmp(name, "opencl:1 is visible") == 0) hidden = check;
        if (strcmp(name, "required: 2 GPUs") == 0) needed = check;
        assert_true(cJSON_IsString(cJSON_GetObjectItem(check, "kind")));
        assert_true(cJSON_IsString(cJSON_GetObjectItem(check, "text")));
    }
    assert_non_null(hidden);
    assert_string_equal(cJSON_GetObjectItem(hidden, "state")->valuestring, "not_possible");
    assert_string_equal(cJSON_GetObjectItem(hidden, "remedy")->valuestring,
                        "unset GANTRY_VISIBLE_DEVICES, or add this device to it");
    assert_non_null(needed);
    assert_string_equal(cJSON_GetObjectItem(needed, "state")->valuestring, "failed");
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(needed, "required")));
    assert_int_equal(cJSON_GetObjectItem(all, "required_not_passed")->valueint, 1);
    cJSON_Delete(all);
}

TEST(processor_is_no_gpu_until_it_is_presented) {
    if (!has_opencl) SKIP_BECAUSE("no OpenCL device here");
    expect_run(1, "POCL_DEVICES=pthread " DOCTOR "--strict");
    expect_in_output("not possible  opencl:0 is a GPU: ");
    expect_in_output("remedy: export GANTRY_OPENCL_CPU=gpu");
    expect_in_output("passed        opencl:0 computes: ");
    expect_in_output("failed        required: 1 GPU: 0 compute right");
}

/* The states and names of checks; the rest of a line depends on the machine. */
TEST(wrong_results_and_crashes_are_told_for_their_device) {
    if (!has_opencl) SKIP_BECAUSE("no OpenCL device here");
    if (run("test -e " MODULES "/opencl/rough_layer.so") != 0)
        SKIP_BECAUSE("no layer that gives a driver bad habits: it needs CL/cl_layer.h");
#define ROUGH(habit) TWO "OPENCL_LAYERS=" MODULES "/opencl/rough_layer.so ROUGH=" habit " "
    expect_run(1, ROUGH("idle") DOCTOR);
    if (!strstr(output, "wrong result") && strstr(output, "passed        opencl:1 computes"))
        SKIP_BECAUSE("this OpenCL loader takes no layers");
    expect_in_output("passed        opencl:0 computes: ");
    expect_in_output("failed        opencl:1 computes: Add gives a wrong result: element ");
    expect_in_output(
        "remedy: export GANTRY_VISIBLE_DEVICES=^opencl:1 leaves it out; install its driver again");
    expect_run(1, ROUGH("crash") DOCTOR);
    expect_in_output("passed        opencl:0 computes: ");
    expect_in_output(
        "failed        opencl:1 computes: a process that computed on it ended by signal 6");
    expect_in_output("remedy: `gantry probe opencl:1` shows the driver's own messages");
}

TEST(card_that_counts_twice_is_told) {
    if (!has_opencl) SKIP_BECAUSE("no OpenCL device here");
    if (run("test -e " MODULES "/opencl/twin_layer.so") != 0)
        SKIP_BECAUSE("no layer that shows one card twice: it needs CL/cl_layer.h");
    expect_run(0, TWO "TWIN_0='- - 1024 Acme' TWIN_1='- - 1024 Acme' OPENCL_LAYERS=" MODULES
                      "/opencl/twin_layer.so " DOCTOR);
    if (!strstr(output, "Acme 3000")) SKIP_BECAUSE("this OpenCL loader takes no layers");
    expect_in_output("failed        one driver for each card: opencl:0 (");
    expect_in_output("seem to be one card, which counts as two");
    expect_in_output("remedy: export GANTRY_VISIBLE_DEVICES=^opencl:1");
}

TEST(driver_that_crashes_at_its_opening_is_told) {
    if (run("test -d " MODULES "/crashing") != 0) SKIP_BECAUSE("no backend whose driver crashes");
#define CRASHING                                                                                  \
    "FAKE_CRASH=abort FAKE_FILES=/none GANTRY_BACKENDS=cpu,crashing GANTRY_BACKEND_PATH=" MODULES \
    "/crashing "
    expect_run(1, CRASHING "GANTRY_KERNEL_CACHE=$PWD/kernels " DOCTOR);
    expect_in_output("failed        drivers: a process that opened the drivers ended by signal 6");
    expect_in_output("failed        crashing backend: left out: ");
    expect_in_output("remedy: rm '/");
    expect_in_output("passed        cpu:0 computes: ");
    expect_run(1, CRASHING "GANTRY_KERNEL_CACHE= " DOCTOR);
    expect_in_output(
        "not possible  crashing backend: not opened: a process that opened the drivers");
    expect_in_output("passed        cpu:0 computes: ");
    expect_run(1,
               CRASHING "FAKE_CRASH=hang GANTRY_TEST_DOCTOR_MS=100 GANTRY_KERNEL_CACHE= " DOCTOR);
    expect_in_output(
        "failed        drivers: a process that opened the drivers did not answer in time");
}

/* ---- backends and settings ---- */

TEST(folder_without_drivers_is_named) {
    if (!has_opencl) SKIP_BECAUSE("no OpenCL device here");
    expect_run(0, "mkdir -p none && OCL_ICD_VENDORS=$PWD/none " DOCTOR);
    expect_in_output("failed        opencl backend: no OpenCL platform: OCL_ICD_VENDORS is \"");
    expect_in_output("which holds no .icd file");
    expect_in_output("remedy: unset OCL_ICD_VENDORS, or name a folder with .icd files in it");
    expect_run(0, "mkdir -p blank && : >blank/x.icd && OCL_ICD_VENDORS=$PWD/blank " DOCTOR
                  "; rm -r blank");
    expect_in_output("remedy: name an OpenCL driver in this file, or remove the file");
    expect_run(
        0,
        "mkdir -p bad && : >bad/libOpenCL.so.1 && : >bad/libOpenCL.so && LD_LIBRARY_PATH=$PWD/bad " DOCTOR);
    expect_in_output("opencl backend: no OpenCL loader: ");
    expect_in_output("remedy: apt-get install ocl-icd-libopencl1");
    expect_run(1, "OCL_ICD_VENDORS=$PWD/none " DOCTOR "--require opencl");
    expect_in_output("failed        required: 1 OpenCL device: 0 compute right");
}

TEST(backends_that_are_left_out_are_told) {
    expect_run(0, "GANTRY_BACKENDS=cpu " DOCTOR);
    if (has_opencl) {
        expect_in_output(
            "not possible  opencl backend: left out: the list of wanted backends is \"cpu\"");
        expect_in_output("remedy: unset GANTRY_BACKENDS, or add the backend to it");
    }
    expect_run(1, "GANTRY_BACKENDS=cpu " DOCTOR "--strict");
    expect_in_output("1 of the required checks did not pass");
    expect_run(1, "GANTRY_MEMORY_LIMIT=2X " DOCTOR);
    expect_in_output("failed        settings: GANTRY_MEMORY_LIMIT is \"2X\"");
    expect_run(0, "GANTRY_BACKENDS=cpu GANTRY_OPENCL_CPUS=gpu " DOCTOR);
    expect_in_output("failed        log: GANTRY_OPENCL_CPUS is no setting of Gantry");
    expect_run(0, "GANTRY_BACKENDS=cpu GANTRY_LOG=$PWD/missing/log " DOCTOR);
    expect_in_output("failed        log: GANTRY_LOG=");
    expect_in_output("is not written: No such file or directory");
    expect_in_output("remedy: name a plain file that this user may write by its absolute path");
    expect_run(0, "GANTRY_BACKENDS=cpu GANTRY_LOG=/dev/full " DOCTOR);
    expect_in_output("failed        log: GANTRY_LOG=/dev/full has lost a line: No space left");
    expect_in_output("remedy: make room for the log, raise the limit of file sizes");
    expect_run(1, "GANTRY_BACKENDS=cpu GANTRY_LOG=log " DOCTOR);
    expect_in_output("failed        settings: GANTRY_LOG is \"log\"; stderr and the absolute path");
    expect_run(2, DOCTOR "--require tpu");
    expect_in_output("gpu, opencl, cuda, or a number of GPUs from 1 to 1024");
}

TEST(module_that_is_missing_is_told) {
    if (!GANTRY_TEST_OPENCL_IS_BUILT) SKIP_BECAUSE("built without OpenCL");
    if (run("mkdir -p alone && cp $BIN/../lib/libgantry.so* alone/") != 0)
        SKIP_BECAUSE("the library is linked into the program");
    expect_run(0, "LD_LIBRARY_PATH=$PWD/alone " DOCTOR);
    if (!strstr(output, "its module")) SKIP_BECAUSE("LD_LIBRARY_PATH does not choose the library");
    expect_in_output(
        "failed        opencl backend: its module libgantry_backend_opencl is neither");
    expect_in_output("remedy: install Gantry again (cmake --install)");
}

TEST(folders_that_cannot_be_written_are_named) {
    expect_run(
        0,
        "GANTRY_BACKENDS=cpu XDG_CACHE_HOME=/proc/none GANTRY_TUNING_FILE=/etc/passwd/x " DOCTOR);
    expect_in_output("failed        kernel cache: /proc/none/gantry/kernels cannot be written: ");
    expect_in_output("remedy: export GANTRY_KERNEL_CACHE=/a/folder/that/you/may/write");
    expect_in_output("failed        tuning records: /etc/passwd cannot be written: ");
    expect_run(0, "GANTRY_BACKENDS=cpu XDG_CACHE_HOME=$PWD " DOCTOR);
    expect_in_output("passed        kernel cache: ");
    expect_run(
        0,
        "(ulimit -f 0; GANTRY_BACKENDS=cpu XDG_CACHE_HOME=$PWD/limited GANTRY_LOG=$PWD/log " DOCTOR
        ")");
    expect_in_output("failed        kernel cache: ");
    expect_in_output("File too large");
    expect_in_output("failed        log: GANTRY_LOG=");
    expect_run(0, "ls -A | grep -c gantry_doctor || true");
    assert_string_equal(output, "0\n");
    if (!has_opencl) SKIP_BECAUSE("no OpenCL device here");
    expect_run(0, "POCL_CACHE_DIR=/proc/none " DOCTOR);
    expect_in_output("failed        opencl backend: ");
    expect_in_output("remedy: export POCL_CACHE_DIR=/a/folder/that/you/may/write");
}

/* ---- NVIDIA's driver: the stand-in ---- */

TEST(cards_and_their_libraries_pass) {
    if (!has_cuda) SKIP_BECAUSE("no stand-in for NVIDIA's driver here");
    expect_run(0, CUDA NVRTC DOCTOR "--require cuda --strict");
    expect_in_output("passed        cuda backend: 1 device, ");
    expect_in_output("passed        NVRTC: ");
    expect_in_output("passed        cuBLASLt: ");
    expect_in_output("passed        cuDNN: ");
    expect_in_output("passed        NVML: ");
    expect_in_output(
        "failed        cuda:0 clocks and power: slowed down by the power limit: 1755 of 1980 MHz, 118 of 700 W");
    expect_in_output("remedy: sudo nvidia-smi -pl WATTS raises the power limit");
    expect_in_output("passed        cuda:0 memory: no memory error that ECC could not correct");
    expect_in_output("passed        cuda:0 computes: ");
    expect_in_output("passed        required: 1 CUDA device: 1 computes right");
    expect_not_in_output("NCCL");
}

TEST(faults_of_cards_are_told_with_their_remedies) {
    if (!has_cuda) SKIP_BECAUSE("no stand-in for NVIDIA's driver here");
    expect_run(
        1, CUDA
        "GANTRY_CUDA_NVRTC=/none GANTRY_CUDA_CUBLAS=/none GANTRY_CUDA_CUDNN=/none GANTRY_CUDA_NVML=/none " DOCTOR);
    expect_in_output("failed        cuBLASLt: cuBLASLt cannot be opened: /none");
    expect_in_output("failed        cuDNN: cuDNN cannot be opened: /none");
    expect_in_output("remedy: unset GANTRY_CUDA_CUDNN, or correct the path in it");
    expect_in_output("remedy: unset GANTRY_CUDA_CUBLAS, or correct the path in it");
    expect_in_output("failed        NVML: NVML cannot be opened: /none");
    expect_in_output("not possible  cuda:0 clocks and power: no monitor reports what limits them");
    expect_in_output("failed        NVRTC: ");
    expect_in_output("failed        cuda:0 computes: Add does not run there: no kernel for the op");
    expect_in_output("remedy: mend NVRTC, which a check above names");
    expect_run(0, CUDA NVRTC "GANTRY_STAND_IN_CUDA='driver=11080' " DOCTOR);
    expect_in_output("failed        cuda backend: the NVIDIA driver ");
    expect_in_output("remedy: install NVIDIA's driver 525 or newer");
    expect_run(1, CUDA NVRTC "GANTRY_STAND_IN_CUDA='busy=1' " DOCTOR);
    expect_in_output("failed        cuda:0 computes: ");
    expect_in_output("remedy: end the process that has the card for itself");
    expect_run(1, CUDA NVRTC "GANTRY_STAND_IN_CUDA='fail=nvrtcCompileProgram:*:6' " DOCTOR);
    expect_in_output("failed        cuda:0 computes: ");
    expect_in_output("cannot be built");
    expect_run(0, CUDA NVRTC "CUDA_VISIBLE_DEVICES=-1 " DOCTOR);
    expect_in_output("remedy: unset CUDA_VISIBLE_DEVICES, or name a card of nvidia-smi -L");
}

TEST(variable_without_effect_is_named) {
    expect_run(0, "CUDA_VISIBLE_DEVICES=0 GANTRY_BACKENDS=cpu " DOCTOR);
    expect_in_output(
        "not possible  visible devices: CUDA_VISIBLE_DEVICES=\"0\" has no effect on "
        "cpu:0: it selects NVIDIA cards");
    expect_in_output(
        "remedy: unset CUDA_VISIBLE_DEVICES; GANTRY_VISIBLE_DEVICES chooses among the GPUs of every driver");
    expect_run(0, "GANTRY_BACKENDS=cpu " DOCTOR);
    expect_not_in_output("has no effect on");
    if (!has_opencl) SKIP_BECAUSE("no OpenCL device here");
    expect_run(0, "CUDA_VISIBLE_DEVICES=0 " TWO DOCTOR "--strict --require 2,opencl");
    expect_in_output("has no effect on cpu:0, opencl:0, opencl:1: it selects NVIDIA cards");
    expect_in_output("passed        required: 2 GPUs: 2 compute right");
    if (!has_cuda) SKIP_BECAUSE("no stand-in for NVIDIA's driver here");
    expect_run(0, CUDA NVRTC "CUDA_VISIBLE_DEVICES=0 " DOCTOR);
    expect_not_in_output("has no effect on");
}

TEST(card_of_two_drivers_is_told_once) {
    if (!has_cuda || access(GANTRY_TEST_MODULES "/cuda/standin_opencl.so", R_OK) != 0)
        SKIP_BECAUSE("no stand-in for NVIDIA's two drivers here");
    expect_run(0, TWO_DRIVERS DOCTOR "--require gpu,opencl,cuda");
    expect_in_output(
        "passed        one driver for each card: cuda:0 and opencl:0 are one card, which cuda:0 serves");
    expect_in_output("passed        cuda:0 computes: ");
    expect_in_output("passed        opencl:0 computes: ");
    expect_run(0, TWO_DRIVERS "GANTRY_STAND_IN_CUDA='busy=1' " DOCTOR "--require gpu");
    expect_in_output("failed        cuda:0 computes: ");
    expect_in_output("remedy: end the process that has the card for itself");
    expect_in_output("passed        required: 1 GPU: 1 computes right");
}

/* ---- the machine ---- */

/* One card of a vendor on the PCI bus. */
#define CARD(machine, vendor)                                        \
    "mkdir -p " machine "/sys/bus/pci/devices/0000:01:00.0 " machine \
    "/dev/dri && "                                                   \
    "echo 0x030000 >" machine                                        \
    "/sys/bus/pci/devices/0000:01:00.0/class && "                    \
    "echo " vendor " >" machine "/sys/bus/pci/devices/0000:01:00.0/vendor"

TEST(card_without_node_is_told) {
    expect_run(0, CARD("nvidia", "0x10de") " && " MACHINE("nvidia") DOCTOR);
    expect_in_output("failed        NVIDIA device nodes: the machine has an NVIDIA card, but");
    expect_in_output("then sudo modprobe nvidia");
    expect_run(0, "touch nvidia/.dockerenv && " MACHINE("nvidia") DOCTOR);
    expect_in_output("failed        NVIDIA device nodes: this container has no /dev/nvidia*");
    expect_in_output("docker run --gpus all");
    expect_run(0, CARD("amd", "0x1002") " && " MACHINE("amd") DOCTOR);
    expect_in_output("failed        render nodes: the machine has a GPU, but there is no /dev/dri");
    expect_in_output("remedy: sudo modprobe amdgpu");
    expect_run(0, "touch amd/.dockerenv && " MACHINE("amd") DOCTOR);
    expect_in_output("remedy: start the container with docker run --device /dev/dri");
    expect_run(0, "touch amd/dev/dri/renderD128 && " MACHINE("amd") DOCTOR);
    expect_in_output("passed        render nodes: 1 of them, and each opens");
}

TEST(node_of_another_group_is_told) {
    const char *nobody = "";
    if (geteuid() == 0) {
        nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups ";
        if (run("%s test -x $BIN/gantry", nobody) != 0)
            SKIP_BECAUSE("no unprivileged user that can run the program");
    }
    char line[512];
    expect_run(
        0,
        CARD(
            "node",
            "0x1002") " && touch node/dev/dri/renderD128 && chmod 000 node/dev/dri/renderD128 && chmod 755 .");
    (void)snprintf(line, sizeof line, "HOME=/ " MACHINE("node") "%s" DOCTOR, nobody);
    expect_run(0, line);
    expect_in_output("failed        render nodes: this user may not open ");
    expect_in_output("renderD128: Permission denied");
    expect_in_output("remedy: sudo chmod 666 ");
    if (geteuid() != 0) SKIP_BECAUSE("only root gives a file to another group");
    expect_run(0, "chgrp daemon node/dev/dri/renderD128 && chmod 660 node/dev/dri/renderD128");
    expect_run(0, line);
    expect_in_output("remedy: sudo usermod -aG daemon $USER, then log in again");
}

TEST(library_without_icd_file_is_told) {
    expect_run(
        0,
        "mkdir -p icd/usr/lib/x86_64-linux-gnu icd/etc/OpenCL/vendors && touch icd/usr/lib/x86_64-linux-gnu/libnvidia-opencl.so.1 && "
        "unset OCL_ICD_VENDORS OPENCL_VENDOR_PATH && " MACHINE("icd") DOCTOR);
    expect_in_output("failed        OpenCL drivers: NVIDIA's OpenCL library ");
    expect_in_output("libnvidia-opencl.so.1 is installed, but no .icd file names it");
    expect_in_output(
        "remedy: apt-get install nvidia-opencl-icd, or echo libnvidia-opencl.so.1 >/etc/OpenCL/vendors/nvidia.icd");
    expect_run(
        0,
        "echo libnvidia-opencl.so.1 >icd/etc/OpenCL/vendors/nvidia.icd && unset OCL_ICD_VENDORS OPENCL_VENDOR_PATH && " MACHINE(
            "icd") DOCTOR);
    expect_in_output("passed        OpenCL drivers: 1 listed; ");
    expect_run(0, "mkdir -p none && OCL_ICD_VENDORS=$PWD/none " MACHINE("icd") DOCTOR);
    expect_in_output("not possible  OpenCL drivers: OCL_ICD_VENDORS=");
    expect_in_output("remedy: unset OCL_ICD_VENDORS, or add nvidia.icd to it");
}

int main(void) {
    if (open_folder() != 0 || setenv("CARDS", GANTRY_TEST_MODULES "/cuda", 1) != 0) return 1;
    if (!find_opencl(1, &has_opencl)) return 1;
    has_cuda = has_opencl && access(GANTRY_TEST_MODULES "/cuda/standin_libcuda.so", R_OK) == 0;
    int failed = test_main();
    (void)run("cd / && rm -rf %s", folder);
    return failed;
}
