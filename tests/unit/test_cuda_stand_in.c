/* The stand-in for NVIDIA's driver, called directly: what it runs has right results, and it is as strict as a driver. Skipped, with the
 * reason printed, where PoCL is missing. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda/stand_in_control.h"

#define FOLDER GANTRY_TEST_MODULES "/cuda/"
#define COUNT 1000

typedef uint64_t address_t;

/* library, name, parameters */
#define FUNCTIONS(X)                                                                                                   \
    X(0, cuInit, (unsigned))                                                                                           \
    X(0, cuDriverGetVersion, (int *))                                                                                  \
    X(0, cuDeviceGetCount, (int *))                                                                                    \
    X(0, cuDeviceGetName, (char *, int, int))                                                                          \
    X(0, cuDeviceGetPCIBusId, (char *, int, int))                                                                      \
    X(0, cuDeviceGetAttribute, (int *, int, int))                                                                      \
    X(0, cuDevicePrimaryCtxRetain, (void **, int))                                                                     \
    X(0, cuDevicePrimaryCtxRelease_v2, (int))                                                                          \
    X(0, cuCtxCreate_v2, (void **, unsigned, int))                                                                     \
    X(0, cuCtxDestroy_v2, (void *))                                                                                    \
    X(0, cuCtxPushCurrent_v2, (void *))                                                                                \
    X(0, cuCtxPopCurrent_v2, (void **))                                                                                \
    X(0, cuMemAlloc_v2, (address_t *, size_t))                                                                         \
    X(0, cuMemFree_v2, (address_t))                                                                                    \
    X(0, cuMemHostAlloc, (void **, size_t, unsigned))                                                                  \
    X(0, cuMemFreeHost, (void *))                                                                                      \
    X(0, cuMemGetInfo_v2, (size_t *, size_t *))                                                                        \
    X(0, cuMemcpyHtoDAsync_v2, (address_t, const void *, size_t, void *))                                              \
    X(0, cuMemcpyDtoHAsync_v2, (void *, address_t, size_t, void *))                                                    \
    X(0, cuMemcpyDtoDAsync_v2, (address_t, address_t, size_t, void *))                                                 \
    X(0, cuMemcpyPeerAsync, (address_t, void *, address_t, void *, size_t, void *))                                    \
    X(0, cuMemsetD8Async, (address_t, unsigned char, size_t, void *))                                                  \
    X(0, cuMemsetD32Async, (address_t, unsigned, size_t, void *))                                                      \
    X(0, cuStreamCreateWithPriority, (void **, unsigned, int))                                                         \
    X(0, cuStreamDestroy_v2, (void *))                                                                                 \
    X(0, cuStreamSynchronize, (void *))                                                                                \
    X(0, cuStreamQuery, (void *))                                                                                      \
    X(0, cuStreamWaitEvent, (void *, void *, unsigned))                                                                \
    X(0, cuLaunchHostFunc, (void *, void (*)(void *), void *))                                                         \
    X(0, cuEventCreate, (void **, unsigned))                                                                           \
    X(0, cuEventDestroy_v2, (void *))                                                                                  \
    X(0, cuEventRecord, (void *, void *))                                                                              \
    X(0, cuEventQuery, (void *))                                                                                       \
    X(0, cuEventSynchronize, (void *))                                                                                 \
    X(0, cuModuleLoadDataEx, (void **, const void *, unsigned, int *, void **))                                        \
    X(0, cuModuleUnload, (void *))                                                                                     \
    X(0, cuModuleGetFunction, (void **, void *, const char *))                                                         \
    X(0, cuFuncGetAttribute, (int *, int, void *))                                                                     \
    X(0, cuFuncSetAttribute, (void *, int, int))                                                                       \
    X(0, cuFuncGetParamInfo, (void *, size_t, size_t *, size_t *))                                                     \
    X(0, cuLaunchKernel,                                                                                               \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **))        \
    X(0, cuGetErrorName, (int, const char **))                                                                         \
    X(1, nvrtcVersion, (int *, int *))                                                                                 \
    X(1, nvrtcCreateProgram, (void **, const char *, const char *, int, const char *const *, const char *const *))     \
    X(1, nvrtcCompileProgram, (void *, int, const char *const *))                                                      \
    X(1, nvrtcGetCUBINSize, (void *, size_t *))                                                                        \
    X(1, nvrtcGetCUBIN, (void *, char *))                                                                              \
    X(1, nvrtcGetPTXSize, (void *, size_t *))                                                                          \
    X(1, nvrtcGetProgramLogSize, (void *, size_t *))                                                                   \
    X(1, nvrtcGetProgramLog, (void *, char *))                                                                         \
    X(1, nvrtcDestroyProgram, (void **))                                                                               \
    X(2, cublasLtCreate, (void **))                                                                                    \
    X(2, cublasLtDestroy, (void *))                                                                                    \
    X(2, cublasLtMatmulDescCreate, (void **, int, int))                                                                \
    X(2, cublasLtMatmulDescSetAttribute, (void *, int, const void *, size_t))                                          \
    X(2, cublasLtMatmulDescDestroy, (void *))                                                                          \
    X(2, cublasLtMatrixLayoutCreate, (void **, int, uint64_t, uint64_t, int64_t))                                      \
    X(2, cublasLtMatrixLayoutSetAttribute, (void *, int, const void *, size_t))                                        \
    X(2, cublasLtMatrixLayoutDestroy, (void *))                                                                        \
    X(2, cublasLtMatmulPreferenceCreate, (void **))                                                                    \
    X(2, cublasLtMatmulPreferenceSetAttribute, (void *, int, const void *, size_t))                                    \
    X(2, cublasLtMatmulPreferenceDestroy, (void *))                                                                    \
    X(2, cublasLtMatmulAlgoGetHeuristic, (void *, void *, void *, void *, void *, void *, void *, int, void *, int *)) \
    X(2, cublasLtMatmul,                                                                                               \
      (void *, void *, const void *, address_t, void *, address_t, void *, const void *, address_t, void *, address_t, \
       void *, const void *, address_t, size_t, void *))                                                               \
    X(3, nvmlInit_v2, (void))                                                                                          \
    X(3, nvmlShutdown, (void))                                                                                         \
    X(3, nvmlDeviceGetCount_v2, (unsigned *))                                                                          \
    X(3, nvmlDeviceGetHandleByPciBusId_v2, (const char *, void **))                                                    \
    X(3, nvmlDeviceGetMemoryInfo, (void *, unsigned long long *))

static struct {
#define SLOT(library, name, parameters) int(*name) parameters;
    FUNCTIONS(SLOT)
#undef SLOT
} cu;

static const struct {
    int library;
    const char *name;
    size_t offset;
} symbols[] = {
#define SYMBOL(library, name, parameters) {library, #name, offsetof(__typeof__(cu), name)},
    FUNCTIONS(SYMBOL)
#undef SYMBOL
};

static const stand_in_control_t *control;

#define assert_code(code, call) assert_int_equal(call, code)
#define assert_done(call) assert_int_equal(call, 0)

static int open_libraries(void) {
    static const char *const names[] = {FOLDER "standin_libcuda.so", FOLDER "standin_libnvrtc.so",
                                        FOLDER "standin_libcublas.so", FOLDER "standin_libnvml.so"};
    void *libraries[4];
    stand_in_control_fn get;
    void *address;

    for (int i = 0; i < 4; i++) {
        libraries[i] = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (libraries[i] == NULL) {
            printf("%s\n", dlerror());
            return -1;
        }
    }
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        address = dlsym(libraries[symbols[i].library], symbols[i].name);
        if (address == NULL) {
            printf("no %s in %s\n", symbols[i].name, names[symbols[i].library]);
            return -1;
        }
        memcpy((char *)&cu + symbols[i].offset, &address, sizeof address);
    }
    address = dlsym(libraries[0], "stand_in_control");
    memcpy(&get, &address, sizeof get);
    control = get();
    return 0;
}

/* ---- which cards CUDA_VISIBLE_DEVICES leaves: read once in a process, so each case is a process ---- */

typedef struct visible_case_t {
    const char *text; /* of three cards, the second being GPU-aa000000-..., the third GPU-ab000000-... */
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

/* 0: as the case says. */
static int check_visible(const visible_case_t *c) {
    int count = 0;
    int bus = 0;

    setenv("GANTRY_STAND_IN_CUDA",
           "devices=3;pci=0000:65:00.0,0000:b3:00.0,0000:c1:00.0;uuid=GPU-10000000-0000-0000-0000-000000000000,"
           "GPU-aa000000-0000-0000-0000-000000000000,GPU-ab000000-0000-0000-0000-000000000000",
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
    for (size_t i = 0; i < VISIBLE_CASES; i++) {
        pid_t child = fork();

        if (child == 0) _exit(check_visible(&visible_cases[i]));
        waitpid(child, &visible_result[i], 0);
    }
}

static void visible_devices_are_those_the_driver_would_show(void **state) {
    (void)state;
    for (size_t i = 0; i < VISIBLE_CASES; i++) {
        if (visible_result[i] != 0) fail_msg("case %zu: %d", i, visible_result[i]);
    }
}

/* ---- what the tests share: the first card's primary context current, one stream ---- */

static void *context;
static void *stream;
static uint64_t expected_complaints;

static int begin(void **state) {
    (void)state;
    control->reset();
    expected_complaints = 0;
    assert_done(cu.cuDevicePrimaryCtxRetain(&context, 0));
    assert_done(cu.cuCtxPushCurrent_v2(context));
    assert_done(cu.cuStreamCreateWithPriority(&stream, 1, 0));
    return 0;
}

/* After each test nothing lives, and nothing happened that a driver would not have survived. */
static int end(void **state) {
    char text[256];

    (void)state;
    assert_int_equal(control->complaints(text, sizeof text), expected_complaints);
    control->reset();
    assert_done(cu.cuStreamDestroy_v2(stream));
    assert_done(cu.cuCtxPopCurrent_v2(NULL));
    assert_done(cu.cuDevicePrimaryCtxRelease_v2(0));
    for (int kind = 0; kind < STAND_IN_KINDS; kind++) {
        assert_int_equal(control->live(kind), 0);
    }
    assert_int_equal(control->used_bytes(0), 0);
    return 0;
}

static address_t make_memory(size_t bytes) {
    address_t address = 0;

    assert_done(cu.cuMemAlloc_v2(&address, bytes));
    return address;
}

static address_t make_floats(const float *values, size_t count) {
    address_t address = make_memory(count * sizeof *values);

    assert_done(cu.cuMemcpyHtoDAsync_v2(address, values, count * sizeof *values, stream));
    return address;
}

static void read_floats(address_t address, float *values, size_t count) {
    assert_done(cu.cuMemcpyDtoHAsync_v2(values, address, count * sizeof *values, stream));
    assert_done(cu.cuStreamSynchronize(stream));
}

/* The texts of the portable kernels that others build upon. The caller frees it. */
static char *read_texts(const char *own) {
    static const char *const names[] = {"dialect.cl", "launch.cl"};
    char *text = calloc(1, 200000);
    size_t length = 0;

    assert_non_null(text);
    for (int i = 0; i < 2; i++) {
        char path[1024];
        FILE *file;

        snprintf(path, sizeof path, "%s/backends/portable/kernels/%s", GANTRY_TEST_SOURCE_DIR, names[i]);
        file = fopen(path, "rb");
        assert_non_null(file);
        length += fread(text + length, 1, 90000, file);
        fclose(file);
    }
    strcat(text, own);
    return text;
}

/* The image of a program; NULL and the log when it is refused. The caller frees both. */
static char *compile(const char *own, const char *architecture, int *out_code, char **out_log) {
    const char *options[] = {architecture, "--fmad=false", "-default-device", "-DPLUS=+"};
    char *text = read_texts(own);
    char *image = NULL;
    void *program = NULL;
    size_t bytes = 0;

    assert_done(cu.nvrtcCreateProgram(&program, text, "test.cu", 0, NULL, NULL));
    free(text);
    *out_code = cu.nvrtcCompileProgram(program, 4, options);
    if (*out_code == 0) {
        assert_done(cu.nvrtcGetCUBINSize(program, &bytes));
        if (bytes > 0) {
            image = malloc(bytes);
            assert_non_null(image);
            assert_done(cu.nvrtcGetCUBIN(program, image));
        }
    } else if (out_log != NULL) {
        assert_done(cu.nvrtcGetProgramLogSize(program, &bytes));
        *out_log = malloc(bytes);
        assert_done(cu.nvrtcGetProgramLog(program, *out_log));
    }
    assert_done(cu.nvrtcDestroyProgram(&program));
    return image;
}

static void *load(const char *own, const char *name, void **out_function) {
    void *module = NULL;
    int code = 0;
    char *image = compile(own, "--gpu-architecture=sm_90", &code, NULL);

    assert_int_equal(code, 0);
    assert_non_null(image);
    assert_done(cu.cuModuleLoadDataEx(&module, image, 0, NULL, NULL));
    assert_done(cu.cuModuleGetFunction(out_function, module, name));
    free(image);
    return module;
}

static const char add_text[] =
    "\ntypedef struct { GANTRY_LONG count; float scale; int rest[3]; } plan_t;\n"
    "GANTRY_KERNEL add(GANTRY_SPAN_IN(x), GANTRY_SPAN_IN(y), GANTRY_SPAN_OUT(out), const plan_t p, const float more)\n"
    "{ GANTRY_LONG i = GANTRY_GLOBAL_ID(0);\n"
    "  if (i < p.count) GANTRY_OUT(float, out)[i] = GANTRY_IN(float, x)[i] PLUS GANTRY_IN(float, y)[i] * p.scale + "
    "more; }\n";

static const char group_text[] =
    "\nGANTRY_KERNEL last_of_group(GANTRY_SPAN_OUT(out), GANTRY_SPAN_LOCAL(room))\n"
    "{ GANTRY_LOCAL(float, room)[GANTRY_LOCAL_ID(0)] = (float)GANTRY_GLOBAL_ID(0);\n"
    "  GANTRY_BARRIER();\n"
    "  if (GANTRY_LOCAL_ID(0) == 0) GANTRY_OUT(float, out)[GANTRY_GROUP_ID(0)] = GANTRY_LOCAL(float, "
    "room)[GANTRY_LOCAL_SIZE(0) - 1]; }\n";

/* ---- what it says of itself ---- */

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
    assert_code(1, cu.nvmlDeviceGetCount_v2(&count)); /* not begun */
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
    for (int i = 0; i < COUNT; i++) {
        values[i] = (float)i;
    }
    a = make_floats(values, COUNT);
    assert_done(cu.cuMemsetD8Async(b, 0, sizeof values, stream));
    assert_done(cu.cuMemcpyDtoDAsync_v2(b + 40, a + 40, 400, stream));
    assert_done(cu.cuMemsetD32Async(b + 4, 0x3f800000, 2, stream));
    read_floats(b, back, COUNT);
    for (int i = 0; i < COUNT; i++) {
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
    for (int i = 0; i < COUNT; i++) {
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
    memset(&plan, 0xff, sizeof plan); /* taken when the call returned */
    more = -1;
    read_floats(out + 64, back, COUNT);
    for (int i = 0; i < COUNT; i++) {
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
    for (int i = 0; i < 4; i++) {
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

/* d[2,2] = a[2,3] b[3,2]: with is_row_major all in rows, else in columns with a given as its transpose. */
static void open_blas(blas_t *blas, int32_t is_row_major, uint64_t workspace) {
    int32_t transposed = 1;

    assert_done(cu.cublasLtCreate(&blas->handle));
    assert_done(cu.cublasLtMatmulDescCreate(&blas->description, 68, 0));
    assert_done(cu.cublasLtMatmulPreferenceCreate(&blas->preference));
    assert_done(cu.cublasLtMatmulPreferenceSetAttribute(blas->preference, 1, &workspace, sizeof workspace));
    assert_done(cu.cublasLtMatrixLayoutCreate(&blas->a, 0, is_row_major ? 2 : 3, is_row_major ? 3 : 2, 3));
    assert_done(cu.cublasLtMatrixLayoutCreate(&blas->b, 0, 3, 2, is_row_major ? 2 : 3));
    assert_done(cu.cublasLtMatrixLayoutCreate(&blas->d, 0, 2, 2, 2));
    if (is_row_major) {
        assert_done(cu.cublasLtMatrixLayoutSetAttribute(blas->a, 1, &is_row_major, sizeof is_row_major));
        assert_done(cu.cublasLtMatrixLayoutSetAttribute(blas->b, 1, &is_row_major, sizeof is_row_major));
        assert_done(cu.cublasLtMatrixLayoutSetAttribute(blas->d, 1, &is_row_major, sizeof is_row_major));
    } else {
        assert_done(cu.cublasLtMatmulDescSetAttribute(blas->description, 3, &transposed, sizeof transposed));
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
    for (int32_t is_row_major = 0; is_row_major < 2; is_row_major++) {
        uint64_t result[12] = {0};
        address_t a = make_floats(a_values, 6);
        address_t b = make_floats(is_row_major ? row_b : column_b, 6);
        address_t d = make_memory(16);
        address_t workspace = make_memory(1 << 20);
        blas_t blas;
        int count = 0;
        float back[4];

        open_blas(&blas, is_row_major, 1 << 20);
        assert_done(cu.cublasLtMatmulAlgoGetHeuristic(blas.handle, blas.description, blas.a, blas.b, blas.d, blas.d,
                                                      blas.preference, 1, result, &count));
        assert_int_equal(count, 1);
        assert_true(result[8] > 0 && result[8] <= 1 << 20);
        assert_code(7, cu.cublasLtMatmul(blas.handle, blas.description, &one, a, blas.a, b, blas.b, &zero, d, blas.d, d,
                                         blas.d, result, workspace, result[8] - 1, stream));
        assert_done(cu.cublasLtMatmul(blas.handle, blas.description, &one, a, blas.a, b, blas.b, &zero, d, blas.d, d,
                                      blas.d, result, workspace, result[8], stream));
        read_floats(d, back, 4);
        assert_true(back[0] == 14 && back[3] == 320 && back[1] == (is_row_major ? 140 : 32) &&
                    back[2] == (is_row_major ? 32 : 140));
        close_blas(&blas);
        assert_done(cu.cuMemFree_v2(a));
        assert_done(cu.cuMemFree_v2(b));
        assert_done(cu.cuMemFree_v2(d));
        assert_done(cu.cuMemFree_v2(workspace));
    }
    expected_complaints = 2; /* the two workspaces that were too small */
}

/* ---- strictness ---- */

static void programs_that_are_wrong_are_refused(void **state) {
    void *module = NULL;
    char *log = NULL;
    char *image;
    int code = 0;

    (void)state;
    assert_null(compile("\nGANTRY_KERNEL broken(GANTRY_SPAN_OUT(out)) { GANTRY_OUT(float, out)[0] = nothing_known; }\n",
                        "--gpu-architecture=sm_90", &code, &log));
    assert_int_equal(code, 6);
    assert_non_null(strstr(log, "nothing_known"));
    free(log);
    assert_null(compile(add_text, "--gpu-architecture=sm_77", &code, &log));
    assert_int_equal(code, 5);
    free(log);
    assert_null(compile(add_text, "--gpu-architecture=compute_90", &code, NULL)); /* PTX only */
    assert_int_equal(code, 0);
    assert_code(200, cu.cuModuleLoadDataEx(&module, "no image", 0, NULL, NULL));
    image = compile(add_text, "--gpu-architecture=sm_80", &code, NULL);
    assert_code(209, cu.cuModuleLoadDataEx(&module, image, 0, NULL, NULL));
    image[strlen(image) - 3] ^= 1;
    assert_code(200, cu.cuModuleLoadDataEx(&module, image, 0, NULL, NULL));
    free(image);
}

static void wrong_calls_have_the_drivers_codes(void **state) {
    address_t memory = make_memory(100);
    void *other = NULL;
    float value = 0;

    (void)state;
    assert_code(1, cu.cuMemcpyHtoDAsync_v2(memory + 99, &value, 4, stream));
    assert_code(1, cu.cuMemsetD32Async(memory + 2, 0, 1, stream));
    assert_code(400, cu.cuStreamSynchronize(&value));
    assert_code(1, cu.cuMemFree_v2(memory + 4));
    assert_done(cu.cuMemFree_v2(memory));
    assert_code(1, cu.cuMemFree_v2(memory));
    assert_code(1, cu.cuMemcpyHtoDAsync_v2(memory, &value, 4, stream));
    assert_done(cu.cuCtxCreate_v2(&other, 0, 1));
    assert_code(201, cu.cuStreamSynchronize(stream)); /* of another context */
    assert_done(cu.cuCtxDestroy_v2(other));
    assert_code(201, cu.cuCtxPushCurrent_v2(other));
    assert_done(cu.cuCtxPopCurrent_v2(NULL));
    assert_code(201, cu.cuMemAlloc_v2(&memory, 4));
    assert_code(201, cu.cuCtxPopCurrent_v2(NULL));
    assert_done(cu.cuCtxPushCurrent_v2(context));
}

static void address_of_nothing_loses_the_card(void **state) {
    void *function = NULL;
    void *module = load(group_text, "last_of_group", &function);
    address_t out = make_memory(64);
    address_t wrong = out + 4096;
    uint64_t zero = 0;
    void *parameters[3] = {&wrong, &zero, &zero};
    address_t more = 0;
    char text[256];

    (void)state;
    assert_done(cu.cuLaunchKernel(function, 1, 1, 1, 16, 1, 1, 64, stream, parameters, NULL));
    assert_code(700, cu.cuStreamSynchronize(stream));
    assert_code(700, cu.cuMemAlloc_v2(&more, 4));
    assert_code(700, cu.cuModuleUnload(module)); /* ends, all the same */
    assert_code(700, cu.cuMemFree_v2(out));
    control->complaints(text, sizeof text);
    assert_non_null(strstr(text, "no memory of its device"));
    expected_complaints = 1;
    assert_int_equal(control->live(STAND_IN_MODULES), 0);
}

static void bytes_outside_an_allocation_are_noticed(void **state) {
    void *function = NULL;
    void *module = load(group_text, "last_of_group", &function);
    address_t out = make_memory(3 * sizeof(float));
    uint64_t zero = 0;
    void *parameters[3] = {&out, &zero, &zero};
    char text[256];

    (void)state;
    assert_done(cu.cuLaunchKernel(function, 4, 1, 1, 16, 1, 1, 64, stream, parameters, NULL));
    assert_done(cu.cuMemFree_v2(out));
    control->complaints(text, sizeof text);
    assert_non_null(strstr(text, "written behind"));
    expected_complaints = 1;
    assert_done(cu.cuModuleUnload(module));
}

/* ---- control ---- */

static void fault_hits_the_call_that_was_named(void **state) {
    address_t memory[3] = {0, 0, 0};

    (void)state;
    assert_int_equal(control->set("fail=cuMemAlloc_v2:2:2"), 0);
    assert_done(cu.cuMemAlloc_v2(&memory[0], 16));
    assert_code(2, cu.cuMemAlloc_v2(&memory[1], 16));
    assert_done(cu.cuMemAlloc_v2(&memory[2], 16));
    assert_int_equal(control->calls("cuMemAlloc_v2"), 3);
    assert_int_equal(control->live(STAND_IN_MEMORY), 2);
    assert_int_equal(control->set("colour=red"), -1);
    assert_done(cu.cuMemFree_v2(memory[0]));
    assert_done(cu.cuMemFree_v2(memory[2]));
}

static void card_is_lost_after_so_many_calls(void **state) {
    address_t memory[8];
    int made = 0;
    int code = 0;

    (void)state;
    control->reset();
    assert_int_equal(control->set("lost_after=5"), 0);
    while (code == 0 && made < 8) {
        code = cu.cuMemAlloc_v2(&memory[made], 16);
        made += code == 0;
    }
    assert_int_equal(code, 719);
    assert_int_equal(made, 5);
    assert_code(719, cu.cuStreamSynchronize(stream));
    for (int i = 0; i < made; i++) {
        assert_code(719, cu.cuMemFree_v2(memory[i]));
    }
}

static void objects_that_end_with_their_context_are_counted(void **state) {
    void *other = NULL;
    void *event = NULL;
    address_t memory = 0;
    long before = control->abandoned(STAND_IN_MEMORY);

    (void)state;
    assert_done(cu.cuCtxCreate_v2(&other, 0, 0));
    assert_done(cu.cuEventCreate(&event, 2));
    assert_done(cu.cuMemAlloc_v2(&memory, 16));
    assert_int_equal(control->live(STAND_IN_MEMORY), 1);
    assert_done(cu.cuCtxDestroy_v2(other));
    assert_int_equal(control->live(STAND_IN_MEMORY), 0);
    assert_int_equal(control->live(STAND_IN_EVENTS), 0);
    assert_int_equal(control->abandoned(STAND_IN_MEMORY), before + 1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

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
        TEST(programs_that_are_wrong_are_refused),
        TEST(wrong_calls_have_the_drivers_codes),
        TEST(address_of_nothing_loses_the_card),
        TEST(bytes_outside_an_allocation_are_noticed),
        TEST(fault_hits_the_call_that_was_named),
        TEST(card_is_lost_after_so_many_calls),
        TEST(objects_that_end_with_their_context_are_counted),
    };
    char text[256] = "";

    unsetenv("CUDA_VISIBLE_DEVICES");
    run_visible_cases();
    setenv("GANTRY_STAND_IN_CUDA", "devices=2;memory=256M;other=16M;driver=12040;pci=0000:65:00.0,0000:b3:00.0", 1);
    if (open_libraries() != 0) return 1;
    if (cu.cuInit(0) != 0) {
        control->complaints(text, sizeof text);
        printf("SKIP: %s\n", text);
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
