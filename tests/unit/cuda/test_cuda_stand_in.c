/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The stand-in for NVIDIA's driver computes right results when tests call it directly.
 *
 * The tests are skipped, with the reason printed, if PoCL is missing. */
#define _POSIX_C_SOURCE 200809L
#include <sys/wait.h>
#include <unistd.h>

#include "stand_in_fixture.h"

#define COUNT 1000

/* ---- cards that CUDA_VISIBLE_DEVICES leaves: the driver reads it once, so each case is a process
 * ---- */

typedef struct visible_case_t {
    /* of three cards; the second is GPU-aa000000-..., the third GPU-ab000000-... */
    const char *text;
    int count;
    int first_bus;
} visible_case_t;

static const visible_case_t visible_cases[] = {
    {NULL, 3, 0x65},  {"", 0, 0},
    {"2,1", 2, 0xc1}, {"0,2,-1,1", 2, 0x65},
    {"-1", 0, 0},     {"1,7", 1, 0xb3},
    {"1,1", 0, 0},    {"GPU-aa,GPU-ab", 2, 0xb3},
    {"GPU-a", 0, 0},  {"GPU-aa0000000000000000000000000000000", 0, 0},
};

/* 0: as in the case. */
static int check_visible(const visible_case_t *c) {
    int count = 0;
    int bus = 0;

    setenv(
        "GANTRY_STAND_IN_CUDA",
        "devices=3;pci=0000:65:00.0,0000:b3:00.0,0000:c1:00.0;uuid=GPU-10000000-0000-0000-0000-000000000000,GPU-aa000000-0000-0000-0000-000000000000,GPU-ab000000-0000-0000-0000-000000000000",
        1);
    if (c->text != NULL) {
        setenv("CUDA_VISIBLE_DEVICES", c->text, 1);
    }
    if (open_libraries() != 0) return 2;
    if (cu.cuInit(0) != (c->count == 0 ? 100 : 0)) return 3;
    if (c->count == 0) return 0;
    if (cu.cuDeviceGetCount(&count) != 0 || count != c->count) return 4;
    return cu.cuDeviceGetAttribute(&bus, 33, 0) == 0 && bus == c->first_bus ? 0 : 5;
}

#define VISIBLE_CASES (sizeof visible_cases / sizeof visible_cases[0])
static int visible_result[VISIBLE_CASES];

static void run_visible_cases(void) {
    for (size_t i = 0; i < VISIBLE_CASES; ++i) {
        pid_t child = fork();

        if (child == 0) _exit(check_visible(&visible_cases[i]));
        waitpid(child, &visible_result[i], 0);
    }
}

static void visible_devices_are_those_the_driver_would_show(void **state) {
    (void)state;
    for (size_t i = 0; i < VISIBLE_CASES; ++i) {
        if (visible_result[i] != 0) fail_msg("case %zu: %d", i, visible_result[i]);
    }
}

/* ---- properties ---- */

static void cards_of_the_settings_are_shown(void **state) {
    char text[32];
    int number = 0;
    unsigned count = 0;

    (void)state;
    assert_done(cu.cuDriverGetVersion(&number));
    assert_int_equal(number, 12040);
    assert_done(cu.cuDeviceGetCount(&number));
    assert_int_equal(number, 2);
    assert_done(cu.cuDeviceGetName(text, sizeof text, 1));
    assert_string_equal(text, "Stand-in for an NVIDIA GPU");
    assert_done(cu.cuDeviceGetPCIBusId(text, sizeof text, 1));
    assert_string_equal(text, "0000:B3:00.0");
    assert_done(cu.cuDeviceGetAttribute(&number, 75, 0));
    assert_int_equal(number, 9);
    assert_code(101, cu.cuDeviceGetName(text, sizeof text, 2));
    assert_code(1, cu.cuDeviceGetAttribute(&number, 9999, 0));
    assert_code(1, cu.nvmlDeviceGetCount_v2(&count)); /* no capture has begun */
}

static void memory_report_counts_contexts_and_others(void **state) {
    address_t memory = make_memory(1 << 20);
    address_t more = 0;
    unsigned long long seen[3];
    size_t free_bytes = 0;
    size_t total = 0;
    void *card = NULL;

    (void)state;
    assert_done(cu.cuMemGetInfo_v2(&free_bytes, &total));
    assert_int_equal(total, 256 << 20);
    assert_int_equal(free_bytes, (256 - 8 - 16 - 1) << 20);
    assert_done(cu.nvmlInit_v2());
    assert_done(cu.nvmlDeviceGetHandleByPciBusId_v2("00000000:65:00.0", &card));
    assert_done(cu.nvmlDeviceGetMemoryInfo(card, seen));
    assert_int_equal(seen[1], free_bytes);
    assert_done(cu.nvmlShutdown());
    assert_code(2, cu.cuMemAlloc_v2(&more, 300u << 20));
    assert_done(cu.cuMemFree_v2(memory));
}

/* ---- work ---- */

static void copies_and_fills_arrive(void **state) {
    float values[COUNT];
    float back[COUNT];
    address_t a;
    address_t b = make_memory(sizeof values);

    (void)state;
    for (int i = 0; i < COUNT; ++i) {
        values[i] = (float)i;
    }
    a = make_floats(values, COUNT);
    assert_done(cu.cuMemsetD8Async(b, 0, sizeof values, stream));
    assert_done(cu.cuMemcpyDtoDAsync_v2(b + 40, a + 40, 400, stream));
    assert_done(cu.cuMemsetD32Async(b + 4, 0x3f800000, 2, stream));
    read_floats(b, back, COUNT);
    for (int i = 0; i < COUNT; ++i) {
        assert_true(back[i] == (i == 1 || i == 2 ? 1.0f : i >= 10 && i < 110 ? (float)i : 0.0f));
    }
    assert_done(cu.cuMemFree_v2(a));
    assert_done(cu.cuMemFree_v2(b));
}

static void kernel_from_portable_text_adds(void **state) {
    struct {
        long long count;
        float scale;
        int rest[3];
    } plan = {COUNT, 2.0f, {0, 0, 0}};
    float values[COUNT];
    float back[COUNT];
    void *function = NULL;
    void *module = load(add_text, "add", &function);
    address_t x;
    address_t out = make_memory(sizeof values + 64);
    address_t base = out + 32; /* a pointer into an allocation */
    uint64_t none = 0;
    uint64_t offset = 32;
    size_t at = 0;
    size_t bytes = 0;
    float more = 0.5f;
    void *parameters[8] = {&x, &none, &x, &none, &base, &offset, &plan, &more};

    (void)state;
    for (int i = 0; i < COUNT; ++i) {
        values[i] = (float)i;
    }
    x = make_floats(values, COUNT);
    assert_done(cu.cuFuncGetParamInfo(function, 6, &at, &bytes));
    assert_int_equal(at, 48);
    assert_int_equal(bytes, sizeof plan);
    assert_done(cu.cuFuncGetParamInfo(function, 7, &at, NULL));
    assert_int_equal(at, 48 + sizeof plan);
    assert_code(1, cu.cuFuncGetParamInfo(function, 8, &at, NULL));
    assert_done(cu.cuLaunchKernel(function, 8, 1, 1, 128, 1, 1, 0, stream, parameters, NULL));
    memset(&plan, 0xff, sizeof plan); /* copied when the call returned */
    more = -1;
    read_floats(out + 64, back, COUNT);
    for (int i = 0; i < COUNT; ++i) {
        assert_true(back[i] == (float)i * 3.0f + 0.5f);
    }
    assert_done(cu.cuModuleUnload(module));
    assert_code(400, cu.cuLaunchKernel(function, 8, 1, 1, 128, 1, 1, 0, stream, parameters, NULL));
    assert_done(cu.cuMemFree_v2(x));
    assert_done(cu.cuMemFree_v2(out));
}

static void kernel_with_shared_memory_runs(void **state) {
    void *function = NULL;
    void *module = load(group_text, "last_of_group", &function);
    address_t out = make_memory(4 * sizeof(float));
    uint64_t offset = 0;
    uint64_t bytes = 64 * sizeof(float);
    void *parameters[3] = {&out, &offset, &bytes};
    float back[4];
    int number = -1;

    (void)state;
    assert_done(cu.cuFuncGetAttribute(&number, 0, function));
    assert_int_equal(number, 1024);
    assert_code(1, cu.cuLaunchKernel(function, 4, 1, 1, 2048, 1, 1, 256, stream, parameters, NULL));
    assert_code(1, cu.cuLaunchKernel(function, 4, 1, 1, 64, 1, 1, 60000, stream, parameters, NULL));
    assert_done(cu.cuFuncSetAttribute(function, 8, 60000));
    assert_done(cu.cuLaunchKernel(function, 4, 1, 1, 64, 1, 1, 256, stream, parameters, NULL));
    read_floats(out, back, 4);
    for (int i = 0; i < 4; ++i) {
        assert_true(back[i] == (float)(64 * i + 63));
    }
    assert_done(cu.cuModuleUnload(module));
    assert_done(cu.cuMemFree_v2(out));
}

static void wait_for_gate(void *data) {
    const volatile int *is_open = data;

    while (!__atomic_load_n(is_open, __ATOMIC_ACQUIRE)) {
    }
}

static void event_holds_another_stream_back(void **state) {
    static int is_open;
    address_t memory = make_memory(4);
    void *other = NULL;
    void *event = NULL;
    void *pinned = NULL;

    (void)state;
    is_open = 0;
    assert_done(cu.cuMemHostAlloc(&pinned, 4, 0));
    assert_done(cu.cuStreamCreateWithPriority(&other, 1, -5));
    assert_done(cu.cuEventCreate(&event, 2));
    assert_done(cu.cuEventQuery(event)); /* never recorded */
    assert_done(cu.cuLaunchHostFunc(stream, wait_for_gate, &is_open));
    assert_done(cu.cuMemsetD32Async(memory, 42, 1, stream));
    assert_done(cu.cuEventRecord(event, stream));
    assert_done(cu.cuStreamWaitEvent(other, event, 0));
    assert_done(cu.cuMemcpyDtoHAsync_v2(pinned, memory, 4, other));
    assert_code(600, cu.cuEventQuery(event));
    assert_code(600, cu.cuStreamQuery(other));
    __atomic_store_n(&is_open, 1, __ATOMIC_RELEASE);
    assert_done(cu.cuStreamSynchronize(other));
    assert_done(cu.cuEventSynchronize(event));
    assert_int_equal(*(int *)pinned, 42);
    assert_done(cu.cuEventDestroy_v2(event));
    assert_code(400, cu.cuEventDestroy_v2(event));
    assert_done(cu.cuStreamDestroy_v2(other));
    assert_done(cu.cuMemFreeHost(pinned));
    assert_done(cu.cuMemFree_v2(memory));
}

/* ---- cublasLt ---- */

typedef struct blas_t {
    void *handle;
    void *description;
    void *preference;
    void *a;
    void *b;
    void *d;
} blas_t;

/* d[2,2] = a[2,3] b[3,2]: with is_row_major all are row-major; otherwise all are column-major, and
 * a is given as its transpose. */
static void open_blas(blas_t *blas, int32_t is_row_major, uint64_t workspace) {
    int32_t transposed = 1;

    assert_done(cu.cublasLtCreate(&blas->handle));
    assert_done(cu.cublasLtMatmulDescCreate(&blas->description, 68, 0));
    assert_done(cu.cublasLtMatmulPreferenceCreate(&blas->preference));
    assert_done(
        cu.cublasLtMatmulPreferenceSetAttribute(blas->preference, 1, &workspace, sizeof workspace));
    assert_done(
        cu.cublasLtMatrixLayoutCreate(&blas->a, 0, is_row_major ? 2 : 3, is_row_major ? 3 : 2, 3));
    assert_done(cu.cublasLtMatrixLayoutCreate(&blas->b, 0, 3, 2, is_row_major ? 2 : 3));
    assert_done(cu.cublasLtMatrixLayoutCreate(&blas->d, 0, 2, 2, 2));
    if (is_row_major) {
        assert_done(
            cu.cublasLtMatrixLayoutSetAttribute(blas->a, 1, &is_row_major, sizeof is_row_major));
        assert_done(
            cu.cublasLtMatrixLayoutSetAttribute(blas->b, 1, &is_row_major, sizeof is_row_major));
        assert_done(
            cu.cublasLtMatrixLayoutSetAttribute(blas->d, 1, &is_row_major, sizeof is_row_major));
    } else {
        assert_done(cu.cublasLtMatmulDescSetAttribute(blas->description, 3, &transposed,
                                                      sizeof transposed));
    }
}

static void close_blas(blas_t *blas) {
    assert_done(cu.cublasLtMatrixLayoutDestroy(blas->a));
    assert_done(cu.cublasLtMatrixLayoutDestroy(blas->b));
    assert_done(cu.cublasLtMatrixLayoutDestroy(blas->d));
    assert_done(cu.cublasLtMatmulPreferenceDestroy(blas->preference));
    assert_done(cu.cublasLtMatmulDescDestroy(blas->description));
    assert_done(cu.cublasLtDestroy(blas->handle));
}

static void product_has_the_right_values(void **state) {
    static const float a_values[] = {1, 2, 3, 4, 5, 6};
    static const float row_b[] = {1, 10, 2, 20, 3, 30};
    static const float column_b[] = {1, 2, 3, 10, 20, 30};
    const float one = 1;
    const float zero = 0;

    (void)state;
    for (int32_t is_row_major = 0; is_row_major < 2; ++is_row_major) {
        uint64_t result[12] = {0};
        address_t a = make_floats(a_values, 6);
        address_t b = make_floats(is_row_major ? row_b : column_b, 6);
        address_t d = make_memory(16);
        address_t workspace = make_memory(1 << 20);
        blas_t blas;
        int count = 0;
        float back[4];

        open_blas(&blas, is_row_major, 1 << 20);
        assert_done(cu.cublasLtMatmulAlgoGetHeuristic(blas.handle, blas.description, blas.a, blas.b,
                                                      blas.d, blas.d, blas.preference, 1, result,
                                                      &count));
        assert_int_equal(count, 1);
        assert_true(result[8] > 0 && result[8] <= 1 << 20);
        assert_code(
            7, cu.cublasLtMatmul(blas.handle, blas.description, &one, a, blas.a, b, blas.b, &zero,
                                 d, blas.d, d, blas.d, result, workspace, result[8] - 1, stream));
        assert_done(cu.cublasLtMatmul(blas.handle, blas.description, &one, a, blas.a, b, blas.b,
                                      &zero, d, blas.d, d, blas.d, result, workspace, result[8],
                                      stream));
        read_floats(d, back, 4);
        assert_true(back[0] == 14 && back[3] == 320 && back[1] == (is_row_major ? 140 : 32) &&
                    back[2] == (is_row_major ? 32 : 140));
        close_blas(&blas);
        assert_done(cu.cuMemFree_v2(a));
        assert_done(cu.cuMemFree_v2(b));
        assert_done(cu.cuMemFree_v2(d));
        assert_done(cu.cuMemFree_v2(workspace));
    }
    expected_complaints = 2; /* the two too small workspaces */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(visible_devices_are_those_the_driver_would_show),
        TEST(cards_of_the_settings_are_shown),
        TEST(memory_report_counts_contexts_and_others),
        TEST(copies_and_fills_arrive),
        TEST(kernel_from_portable_text_adds),
        TEST(kernel_with_shared_memory_runs),
        TEST(event_holds_another_stream_back),
        TEST(product_has_the_right_values),
    };
    int result;

    unsetenv("CUDA_VISIBLE_DEVICES");
    run_visible_cases();
    result = start();
    return result != 0 ? result : cmocka_run_group_tests(tests, NULL, NULL);
}
