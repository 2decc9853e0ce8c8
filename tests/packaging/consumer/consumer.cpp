/* SPDX-License-Identifier: Apache-2.0 */
/* A short consumer.c in C++: the headers compile, the library links, 1 + 2 = 3. */
#include <gantry/gantry.hpp>

#include <cstdio>
#include <cstring>

int main() {
    if (std::strcmp(gantry_version(), GANTRY_VERSION) != 0) return 3;
    try {
        gantry::owned<gantry_runtime_t> runtime;
        gantry::check(gantry_runtime_create(nullptr, gantry::out(runtime)));
        gantry::scope scope(gantry_scope_begin(runtime.get(), "CPU:0"));
        const gantry_tensor_t *one = gantry::constant(scope, GANTRY_SHAPE(1), {1.0f});
        const gantry_tensor_t *three = gantry_add(scope, one, gantry_scalar_f32(scope, 2));
        if (gantry::read<float>(three) != std::vector<float>(1, 3.0f)) return 1;
        scope.end();
    } catch (const gantry::error &e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
    std::puts("1 + 2 = 3");
    return 0;
}
