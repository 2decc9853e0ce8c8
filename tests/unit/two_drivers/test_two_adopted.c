/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A card of two drivers is served by the driver of the program's context, under the card's
 * number, whichever driver would serve it otherwise. */
#define _XOPEN_SOURCE 700

#include "two_drivers.h"

/* X(return type, name, arguments): no header of OpenCL is needed */
#define ADOPTED_SYMBOLS(X)                                                        \
    X(int32_t, clGetPlatformIDs, (uint32_t, void **, uint32_t *))                 \
    X(int32_t, clGetDeviceIDs, (void *, uint64_t, uint32_t, void **, uint32_t *)) \
    X(void *, clCreateContext,                                                    \
      (const intptr_t *, uint32_t, void *const *, void *, void *, int32_t *))     \
    X(int32_t, clReleaseContext, (void *))                                        \
    X(void *, clCreateBuffer, (void *, uint64_t, size_t, void *, int32_t *))      \
    X(int32_t, clReleaseMemObject, (void *))

#define ADOPTED_SLOT(result, name, arguments) result(*name) arguments;
static struct { ADOPTED_SYMBOLS(ADOPTED_SLOT) } cl;

static void load_opencl(void) {
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
#define ADOPTED_FIND(result, name, arguments)     \
    {                                             \
        void *symbol = dlsym(library, #name);     \
        assert_non_null(symbol);                  \
        memcpy(&cl.name, &symbol, sizeof symbol); \
    }
    ADOPTED_SYMBOLS(ADOPTED_FIND)
}

static void card_is_served_by_the_contexts_driver(void **state) {
    float ones[64], got[64];
    void *platform = NULL, *devices[2] = {NULL, NULL};
    int32_t error = 0;
    two_drivers_t t;
    (void)state;
    load_opencl();
    assert_int_equal(cl.clGetPlatformIDs(1, &platform, NULL), 0);
    assert_int_equal(cl.clGetDeviceIDs(platform, 0xffffffff, 2, devices, NULL), 0);
    void *context = cl.clCreateContext(NULL, 1, devices, NULL, NULL, &error);
    assert_non_null(context);
    for (int i = 0; i < 64; ++i) ones[i] = 1;
    void *buffer = cl.clCreateBuffer(context, 1 | 32, sizeof ones, ones, &error); /* a copy */
    assert_non_null(buffer);

    const gantry_adopted_context_t adopted = {
        .struct_size = sizeof adopted, .backend = "opencl", .context = context};
    const gantry_adopted_context_t *const list[] = {&adopted};
    gantry_runtime_options_t options = two_drivers_options(&t);
    options.adopted = list;
    options.adopted_count = 1;
    two_drivers_open_with(&t, &options);
    two_drivers_expect_served(&t, "/physical_device:GPU:0", "opencl:0",
                              REASONS("the program's context is of it"));
    const gantry_logical_device_t *gpu;
    gantry_native_t native = {.struct_size = sizeof native};
    assert_int_equal(gantry_find_logical_device(t.runtime, "GPU:0", &gpu), GANTRY_OK);
    assert_int_equal(gantry_device_get_native(gpu, &native), GANTRY_OK);
    assert_string_equal(native.backend, "opencl");
    assert_ptr_equal(native.context, context);
    gantry_scope_t *scope = two_drivers_scope(&t, "GPU:0");
    const gantry_tensor_t *x = gantry_tensor_from_device_memory(scope, gpu, GANTRY_FLOAT32,
                                                                GANTRY_SHAPE(64), buffer, 0, NULL);
    assert_int_equal(gantry_tensor_read(gantry_neg(scope, x), got, sizeof got), GANTRY_OK);
    for (int i = 0; i < 64; ++i) assert_float_equal(got[i], -1, 0);
    two_drivers_end_scope(scope);
    /* the other card is CUDA's */
    two_drivers_expect_product(&t, "GPU:1", "/device:GPU:1");
    assert_int_equal(gantry_find_logical_device(t.runtime, "GPU:1", &gpu), GANTRY_OK);
    assert_int_equal(gantry_device_get_native(gpu, &native), GANTRY_OK);
    assert_string_equal(native.backend, "cuda");
    gantry_runtime_release(t.runtime);
    assert_int_equal(t.heap.inner.live_blocks, 0);
    locked_heap_deinit(&t.heap);
    assert_int_equal(cl.clReleaseMemObject(buffer), 0);
    assert_int_equal(cl.clReleaseContext(context), 0);
    two_drivers_expect_nothing_lives();
}

int main(void) {
    const two_drivers_case_t cases[] = {
        {"card_is_served_by_the_contexts_driver", card_is_served_by_the_contexts_driver,
         "devices=2;memory=64M", NULL, NULL, NULL},
    };
    return two_drivers_run(cases, sizeof cases / sizeof cases[0]);
}
