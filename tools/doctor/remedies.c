/* SPDX-License-Identifier: Apache-2.0 */
/* Reasons of the library and of drivers, each with its remedy: a package or a command. */
#include <string.h>

#include "doctor/doctor.h"

/* Packages are named for Debian and Ubuntu. The first row whose part is in a reason counts, so
 * special reasons must come before general ones. */
static const struct {
    const char *part, *remedy;
} remedies[] = {
    /* which backends */
    {"the list of wanted backends is", "unset GANTRY_BACKENDS, or add the backend to it"},
    {"not built: CL/cl.h was not found",
     "apt-get install opencl-headers, then configure and build Gantry again"},
    {"GANTRY_OPENCL=OFF", "configure Gantry with -DGANTRY_OPENCL=ON and build it again"},
    {"-DGANTRY_CUDA=", "configure Gantry with -DGANTRY_CUDA=ON on Linux and build it again"},
    {"is neither in the folder gantry next to libgantry",
     "install Gantry again (cmake --install), or name the module's folder in GANTRY_BACKEND_PATH"},
    {"not built in: this static library",
     "configure Gantry with -DGANTRY_STATIC_BACKENDS=AUTO, which is all, and build it again"},
    {"the file is truncated", "install Gantry again (cmake --install)"},
    {"refuses ABI version", "install the module and libgantry from one build of Gantry"},
    {"backend module ",
     "install Gantry again (cmake --install), or correct GANTRY_BACKEND_PATH if it is set"},
    {"a backend named", "leave one of the two modules out of GANTRY_BACKEND_PATH"},

    /* PoCL */
    {"mounted noexec", "export POCL_CACHE_DIR=/a/folder/on/a/file/system/mounted/with/exec"},
    {"KiB are free", "make room in this folder, or export POCL_CACHE_DIR=/another/folder"},
    {"PoCL keeps what it compiles", "export POCL_CACHE_DIR=/a/folder/that/you/may/write"},
    {"can keep what it compiles", "export POCL_CACHE_DIR=/a/folder/that/you/may/write"},
    {"install binutils", "apt-get install binutils, or add the folder of ld to PATH"},
    {"install libc6-dev", "apt-get install libc6-dev"},
    {"install gcc", "apt-get install gcc"},
    {"ulimit -u", "raise the limit of processes: ulimit -u, or pids.max of the container"},
    {"ulimit -v", "raise the limit of address space: ulimit -v unlimited"},
    {"ulimit -d", "raise the limit of data: ulimit -d unlimited"},
    {"ulimit -f", "raise the limit of file sizes: ulimit -f unlimited"},
    {"POCL_DEVICES, which names them, is", "unset POCL_DEVICES"},

    /* OpenCL */
    {"no OpenCL loader", "apt-get install ocl-icd-libopencl1"},
    {"GANTRY_OPENCL_LIBRARY", "unset GANTRY_OPENCL_LIBRARY"},
    {"is no OpenCL 1.2 library",
     "apt-get install --reinstall ocl-icd-libopencl1; unset GANTRY_OPENCL_LIBRARY if it is set"},
    {"RUSTICL_ENABLE, which names them",
     "export RUSTICL_ENABLE=radeonsi (AMD), iris (Intel), nouveau (NVIDIA) or llvmpipe (no card)"},
    {"OpenCL 1.2 or newer is needed", "install this card's newest driver: OpenCL 1.2 is needed"},
    {"the driver says that it is not available",
     "end the programs that use this device, or restart the machine"},
    {"whose file ends before its content does", "install this driver's package again"},
    {"OCL_ICD_VENDORS names",
     "unset OCL_ICD_VENDORS, or name an OpenCL driver's library, or a folder with .icd files"},
    {"which cannot be opened",
     "install this driver's package again, or remove the .icd file that names it"},
    {"which is no OpenCL driver", "name an OpenCL driver in this file, or remove the file"},
    {"is empty: its first line", "name an OpenCL driver in this file, or remove the file"},
    {"OCL_ICD_VENDORS", "unset OCL_ICD_VENDORS, or name a folder with .icd files in it"},
    {"no OpenCL platform", "apt-get install pocl-opencl-icd, or the driver of your card"},

    /* CUDA; one reason may have "device 0: ..." of several cards */
    {"is too old: it supports CUDA",
     "install NVIDIA's driver 525 or newer: apt-get install nvidia-driver (Ubuntu: nvidia-driver-580)"},
    {"for CUDA 12.0 or newer: it has no function",
     "unset GANTRY_CUDA_LIBRARY if it is set, or install NVIDIA's driver 525 or newer: apt-get install nvidia-driver (Ubuntu: nvidia-driver-580)"},
    {"GANTRY_CUDA_LIBRARY cannot be opened", "unset GANTRY_CUDA_LIBRARY"},
    {"no NVIDIA driver", "apt-get install nvidia-driver libcuda1 (Ubuntu: nvidia-driver-580)"},
    {"SYSTEM_DRIVER_MISMATCH",
     "restart the machine: the kernel module and libcuda.so.1 are of different versions"},
    {"COMPAT_NOT_SUPPORTED", "take the folder cuda/compat out of LD_LIBRARY_PATH"},
    {"STUB_LIBRARY", "take the folder stubs of the CUDA toolkit out of LD_LIBRARY_PATH"},
    {"SYSTEM_NOT_READY", "start NVIDIA's fabric manager: systemctl start nvidia-fabricmanager"},
    {"MPS_", "restart CUDA's MPS: echo quit | nvidia-cuda-mps-control; nvidia-cuda-mps-control -d"},
    {"compute mode \"prohibited\"", "nvidia-smi -c DEFAULT"},
    {"DEVICE_UNAVAILABLE",
     "end the process that has the card for itself (nvidia-smi shows it), or nvidia-smi -c DEFAULT"},
    {"DEVICE_NOT_LICENSED", "give the virtual machine a vGPU licence: nvidia-smi -q -d LICENSE"},
    {"ECC_UNCORRECTABLE", "nvidia-smi --gpu-reset, and watch nvidia-smi -q -d ECC"},
    {"OUT_OF_MEMORY", "free memory of the card: nvidia-smi shows the processes that use it"},
    {DOCTOR_NO_EFFECT,
     "unset CUDA_VISIBLE_DEVICES; GANTRY_VISIBLE_DEVICES chooses among the GPUs of every driver"},
    {"(CUDA_VISIBLE_DEVICES=", "unset CUDA_VISIBLE_DEVICES, or name a card of nvidia-smi -L"},
    {"sees no card", "modprobe nvidia; in a container: docker run --gpus all"},
    {"a newer driver", "install NVIDIA's newest driver, or the library of its CUDA version"},
    {"NVRTC", DOCTOR_NVRTC_REMEDY},
    {"JIT_COMPILER_NOT_FOUND", "apt-get install libnvidia-ptxjitcompiler1"},
    {"compute capability", "pip install nvidia-cuda-nvrtc-cu12, of the newest version"},

    /* devices */
    {"a process of its own that tried this driver first",
     "install the driver again; GANTRY_DEVICE_PROBE=off opens it without a try"},
    {"cannot be built",
     "install the driver again; GANTRY_LOG_LEVEL=debug shows its compiler's log"},
    {"ran out of memory",
     "free memory of this device, which gantry top shows, or raise its GANTRY_MEMORY_LIMIT"},
    {"Tuning file", "gantry tune --reset, then gantry tune"},
    {"has lost a line: ",
     "make room for the log, raise the limit of file sizes (ulimit -f), or name another file"},
    {"GANTRY_LOG=", "name a plain file that this user may write by its absolute path, or stderr"},
    {"is no setting of Gantry", "correct the variable's name, or unset it"},
    {"names the unknown backend", "correct the variable's value"},
};

const char *doctor_remedy(const char *reason) {
    for (size_t i = 0; i < sizeof remedies / sizeof remedies[0]; ++i) {
        if (strstr(reason, remedies[i].part)) return remedies[i].remedy;
    }
    return NULL;
}
