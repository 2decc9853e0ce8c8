/* SPDX-License-Identifier: Apache-2.0 */
/* A short consumer.c in C++: the headers compile, the library links, 1 + 2 = 3. */
#include <gantry/gantry.h>

#include <cstdio>
#include <cstring>

int main() {
    if (std::strcmp(gantry_version(), GANTRY_VERSION) != 0) return 3;
    gantry_runtime_t *runtime = nullptr;
    if (gantry_runtime_create(nullptr, &runtime) != GANTRY_OK) {
        std::fprintf(stderr, "%s\n", gantry_last_message());
        return 1;
    }
    gantry_scope_t *scope = gantry_scope_begin(runtime, "CPU:0");
    float sum = 0;
    const gantry_tensor_t *three = gantry_add(scope, gantry_scalar_f32(scope, 1), gantry_scalar_f32(scope, 2));
    bool good = three != nullptr && gantry_tensor_read(three, &sum, sizeof sum) == GANTRY_OK && sum == 3.0f;
    good = gantry_scope_end(scope) == GANTRY_OK && good;
    gantry_runtime_release(runtime);
    if (good) std::puts("1 + 2 = 3");
    return good ? 0 : 1;
}
