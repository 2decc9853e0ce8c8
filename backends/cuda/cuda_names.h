/* SPDX-License-Identifier: Apache-2.0 */
/* The names that files of NVIDIA's libraries have on each system. Owner: nothing is kept. Threads:
 * thread-safe, because they are constant. */
#ifndef GANTRY_BACKENDS_CUDA_CUDA_NAMES_H
#define GANTRY_BACKENDS_CUDA_CUDA_NAMES_H

/* The driver has one name; libcuda.so belongs to toolkits, whose copy is a stub. Windows has no
 * NCCL. */
#if defined(_WIN32)
#define GANTRY__CUDA_DRIVER "nvcuda.dll"
#define GANTRY__CUDA_NVML "nvml.dll"
#define GANTRY__CUDA_NCCL "nccl.dll"
#define GANTRY__CUDA_CUDNN "cudnn_graph64_9.dll"
#define GANTRY__CUDA_CUBLAS_13 "cublasLt64_13.dll"
#define GANTRY__CUDA_CUBLAS_12 "cublasLt64_12.dll"
#define GANTRY__CUDA_NVRTC_13 "nvrtc64_130_0.dll"
#define GANTRY__CUDA_NVRTC_12 "nvrtc64_120_0.dll"
#define GANTRY__CUDA_NVRTC_11 "nvrtc64_112_0.dll"
#else
#define GANTRY__CUDA_DRIVER "libcuda.so.1"
#define GANTRY__CUDA_NVML "libnvidia-ml.so.1"
#define GANTRY__CUDA_NCCL "libnccl.so.2"
#define GANTRY__CUDA_CUDNN "libcudnn_graph.so.9"
#define GANTRY__CUDA_CUBLAS_13 "libcublasLt.so.13"
#define GANTRY__CUDA_CUBLAS_12 "libcublasLt.so.12"
#define GANTRY__CUDA_NVRTC_13 "libnvrtc.so.13"
#define GANTRY__CUDA_NVRTC_12 "libnvrtc.so.12"
#define GANTRY__CUDA_NVRTC_11 "libnvrtc.so.11.2"
#endif

#endif
