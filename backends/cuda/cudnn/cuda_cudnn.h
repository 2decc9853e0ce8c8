/* SPDX-License-Identifier: Apache-2.0 */
/* cuDNN, NVIDIA's library of neural networks' ops, opened at run time: convolutions and their
 * gradients.
 *
 * It is the graph library that is opened, where cuDNN 9 keeps its version and the descriptors.
 * libcudnn.so.9 itself only passes calls on, and ends the process when the library to which they
 * belong is missing.
 *
 * Owner: the instance holds the table; the library stays loaded. Threads: externally synchronised;
 * the caller's lock must guard the opening. */
#ifndef GANTRY_CUDA_CUDNN_H
#define GANTRY_CUDA_CUDNN_H

#include <gantry/backend_abi.h>

#include "cuda/cuda_driver.h"
#include "cuda/cudnn/cuda_cudnn_api.h"

/* Opens option GANTRY_CUDA_CUDNN when set, else libcudnn_graph.so.9, on the first call. cudnn then
 * says whether it can be used with the driver cu, and if not, why. */
void gantry__cudnn_open(const gantry_host_t *host, const gantry__cuda_symbols_t *cu,
                        gantry__cudnn_t *cudnn);

#define GANTRY__CUDNN_OPS 4
/* ConvolveImages, the same with a bias and a Relu, the gradients of its images and its filter. */
extern const gantry_kernel_def_t gantry__cudnn_kernels[GANTRY__CUDNN_OPS];
#define GANTRY__CONV_PLAIN_OPS 4
/* These with groups, where cuDNN fails at a run (cuda_conv_plain.c). */
extern const gantry_kernel_def_t gantry__conv_plain_kernels[GANTRY__CONV_PLAIN_OPS];

#endif
