/* SPDX-License-Identifier: Apache-2.0 */
/* The lock around PoCL's compilations, and the checks before them (opencl_compile.h). */
#include "opencl/opencl_compile.h"

#include <stdio.h>

#include "driver/process_limit.h"

static int32_t begin_alone(const gantry_host_t *host, gantry__opencl_compiler_t *compiler,
                           const char *what, gantry__opencl_compile_t *out_compile) {
    gantry__mutex_lock(&compiler->lock);
    int32_t status =
        gantry__pocl_check_compiling(host, &compiler->folder, compiler->grown_bytes, what);
    if (status != GANTRY_OK) {
        gantry__mutex_unlock(&compiler->lock);
        return status;
    }
    *out_compile = (gantry__opencl_compile_t){compiler, gantry__process_counted_bytes()};
    return GANTRY_OK;
}

int32_t gantry__opencl_compile_begin(const gantry_host_t *host, gantry__opencl_compiler_t *compiler,
                                     gantry__opencl_compile_t *out_compile) {
    *out_compile = (gantry__opencl_compile_t){NULL, 0};
    return gantry__pocl_is_tight(&compiler->folder)
               ? begin_alone(host, compiler, "", out_compile)
               : gantry__pocl_check_compiling(host, &compiler->folder, 0, "");
}

int32_t gantry__opencl_compile_begin_launch(const gantry_host_t *host,
                                            gantry__opencl_compiler_t *compiler, const char *kernel,
                                            const char *program,
                                            gantry__opencl_compile_t *out_compile) {
    char what[256];
    *out_compile = (gantry__opencl_compile_t){NULL, 0};
    if (!gantry__pocl_is_tight(&compiler->folder)) return GANTRY_OK;
    (void)snprintf(what, sizeof what, "launch of \"%.100s\" of \"%.100s\": ", kernel, program);
    return begin_alone(host, compiler, what, out_compile);
}

void gantry__opencl_compile_end(gantry__opencl_compile_t *compile) {
    gantry__opencl_compiler_t *compiler = compile->compiler;
    if (!compiler) return;
    const uint64_t after = gantry__process_counted_bytes();
    if (after > compile->before) compiler->grown_bytes += after - compile->before;
    gantry__mutex_unlock(&compiler->lock);
}

bool gantry__opencl_compile_keep_out(gantry__opencl_compiler_t *compiler) {
    if (!gantry__process_is_limited()) return false;
    gantry__mutex_lock(&compiler->lock);
    return true;
}

void gantry__opencl_compile_let_in(gantry__opencl_compiler_t *compiler, bool is_kept_out) {
    if (is_kept_out) gantry__mutex_unlock(&compiler->lock);
}
