/* SPDX-License-Identifier: Apache-2.0 */
/* A program outside the source tree: adds two numbers and prints each backend's origin, or the
 * reason why the backend is missing.
 *
 *   consumer OPENCL CUDA   fails when the path or the reason of one of these backends does not
 *                          contain the text ("" accepts any) */
#include <stdio.h>
#include <string.h>

#include <gantry/gantry.h>

static int check_backend(const gantry_runtime_t *runtime, const char *name, const char *text) {
    int found = *text == '\0';
    for (size_t i = 0; i < gantry_backend_status_count(runtime); ++i) {
        gantry_backend_status_t backend = {.struct_size = sizeof backend};
        if (gantry_backend_status(runtime, i, &backend) != GANTRY_OK) return 1;
        if (strcmp(backend.name, name) != 0) continue;
        printf("%s %d %s %s\n", backend.name, (int)backend.state, backend.path, backend.reason);
        if (strstr(backend.path, text) || strstr(backend.reason, text)) found = 1;
    }
    if (!found) (void)fprintf(stderr, "no backend %s with \"%s\"\n", name, text);
    return !found;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    if (strcmp(gantry_version(), GANTRY_VERSION) != 0) return 3;
    gantry_runtime_t *runtime;
    if (gantry_runtime_create(NULL, &runtime) != GANTRY_OK) {
        (void)fprintf(stderr, "%s\n", gantry_last_message());
        return 1;
    }
    int result = check_backend(runtime, "opencl", argv[1]);
    if (check_backend(runtime, "cuda", argv[2])) result = 1;
    gantry_scope_t *scope = gantry_scope_begin(runtime, "CPU:0");
    float sum = 0;
    const gantry_tensor_t *three =
        gantry_add(scope, gantry_scalar_f32(scope, 1), gantry_scalar_f32(scope, 2));
    if (!three || gantry_tensor_read(three, &sum, sizeof sum) != GANTRY_OK || (int)sum != 3)
        result = 1;
    if (gantry_scope_end(scope) != GANTRY_OK) result = 1;
    gantry_runtime_release(runtime);
    if (result == 0) puts("1 + 2 = 3");
    return result;
}
