/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA backend's own device text: convolutions where cuDNN fails at a run. */
#include "cuda/cuda_backend.h"
#include "cuda/cudnn/cuda_cudnn.h"
#include "cuda_text.h"

size_t cuda_text_list_conv_plain(const gantry_kernel_def_t **out_list) {
    for (size_t i = 0; i < GANTRY__CONV_PLAIN_OPS; ++i)
        out_list[i] = &gantry__conv_plain_kernels[i];
    return GANTRY__CONV_PLAIN_OPS;
}

gantry_backend_device_t *cuda_text_conv_plain_card(const gantry_kernel_def_t *def) {
    static gantry_backend_instance_t instance;
    static gantry_backend_device_t card = {.instance = &instance};
    const gantry_kernel_def_t *first = gantry__conv_plain_kernels;
    return def >= first && def < first + GANTRY__CONV_PLAIN_OPS ? &card : NULL;
}
