/* SPDX-License-Identifier: Apache-2.0 */
/* The names that files of OpenCL's libraries have on each system. Owner: nothing is kept. Threads:
 * thread-safe, because they are constant. */
#ifndef GANTRY_BACKENDS_OPENCL_OPENCL_NAMES_H
#define GANTRY_BACKENDS_OPENCL_OPENCL_NAMES_H

/* GANTRY__OPENCL_LOADER: the loader's name; _LOADER_BEGINS: how each of its names begins;
 * _LOADERS, _CLBLAST: names in the order in which they are opened. The versioned name comes first,
 * because the bare one belongs to development packages. _LAYER: the layer of `gantry run`. */
#if defined(_WIN32)
#define GANTRY__OPENCL_LOADER "OpenCL.dll"
#define GANTRY__OPENCL_LOADER_BEGINS "OpenCL"
#define GANTRY__OPENCL_LOADERS GANTRY__OPENCL_LOADER
#define GANTRY__OPENCL_CLBLAST "clblast.dll"
#define GANTRY__OPENCL_LAYER "libgantry_opencl_layer.dll"
#else
#define GANTRY__OPENCL_LOADER "libOpenCL.so.1"
#define GANTRY__OPENCL_LOADER_BEGINS "libOpenCL"
#define GANTRY__OPENCL_LOADERS GANTRY__OPENCL_LOADER, "libOpenCL.so"
#define GANTRY__OPENCL_CLBLAST "libclblast.so.1", "libclblast.so"
#define GANTRY__OPENCL_LAYER "libgantry_opencl_layer.so"
#endif

#endif
