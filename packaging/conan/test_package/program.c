/* SPDX-License-Identifier: Apache-2.0 */
/* 1 + 2 on the CPU, a call of each library, and the version of the headers. */
#include <stdio.h>
#include <string.h>

#include <gantry/gantry.h>
#include <gantry_onnx/onnx.h>
#include <gantry_train/train.h>

int main(void) {
    gantry_runtime_t *runtime;
    if (strcmp(gantry_version(), GANTRY_VERSION) != 0) return 1;
    if (gantry_dataset_take(NULL, 1)) return 1;
    gantry_onnx_model_release(NULL);
    const gantry_runtime_options_t options = {.struct_size = sizeof options, .backends = "cpu"};
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK) return 1;
    gantry_scope_t *scope = gantry_scope_begin(runtime, "CPU:0");
    const gantry_tensor_t *three =
        gantry_add(scope, gantry_scalar_f32(scope, 1), gantry_scalar_f32(scope, 2));
    float sum = 0;
    if (!three || gantry_tensor_read(three, &sum, sizeof sum) != GANTRY_OK) sum = 0;
    printf("Gantry %s: 1 + 2 = %g\n", gantry_version(), (double)sum);
    const gantry_status_t status = gantry_scope_end(scope);
    gantry_runtime_release(runtime);
    return status == GANTRY_OK && (int)sum == 3 ? 0 : 1;
}
