/* SPDX-License-Identifier: Apache-2.0 */
/* The names that files of OpenCL's libraries and programs have on each system. Owner: nothing is
 * kept. Threads: thread-safe, because they are constant. */
#ifndef GANTRY_BACKENDS_OPENCL_OPENCL_NAMES_H
#define GANTRY_BACKENDS_OPENCL_OPENCL_NAMES_H

/* GANTRY__OPENCL_LOADER: the loader's name; _LOADER_BEGINS: how each of its names begins;
 * _LOADERS, _CLBLAST: names in the order in which they are opened. The versioned name comes first,
 * because the bare one belongs to development packages. _LAYER: the layer of `gantry run`.
 * _VENDORS: the loader's folder of drivers; "" where the system itself has their list. _HAS_LD:
 * PoCL links each kernel with the program ld. _SOURCE: where a missing loader comes from. */
#if defined(_WIN32)
#define GANTRY__OPENCL_LOADER "OpenCL.dll"
#define GANTRY__OPENCL_LOADER_BEGINS "OpenCL"
#define GANTRY__OPENCL_LOADERS GANTRY__OPENCL_LOADER
#define GANTRY__OPENCL_CLBLAST "clblast.dll"
#define GANTRY__OPENCL_LAYER "libgantry_opencl_layer.dll"
#define GANTRY__OPENCL_VENDORS ""
#define GANTRY__OPENCL_HAS_LD 0
#define GANTRY__OPENCL_SOURCE "it comes with the driver of a card"
#else
#define GANTRY__OPENCL_LOADER "libOpenCL.so.1"
#define GANTRY__OPENCL_LOADER_BEGINS "libOpenCL"
#define GANTRY__OPENCL_LOADERS GANTRY__OPENCL_LOADER, "libOpenCL.so"
#define GANTRY__OPENCL_CLBLAST "libclblast.so.1", "libclblast.so"
#define GANTRY__OPENCL_LAYER "libgantry_opencl_layer.so"
#define GANTRY__OPENCL_VENDORS "/etc/OpenCL/vendors"
#define GANTRY__OPENCL_HAS_LD 1
#define GANTRY__OPENCL_SOURCE "install ocl-icd-libopencl1"
#endif

#endif
