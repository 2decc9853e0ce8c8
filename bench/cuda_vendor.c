/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "cuda_vendor.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vendor.h"

enum {
    ATTRIBUTE_PCI_BUS = 33,
    ATTRIBUTE_PCI_DEVICE = 34,
    ATTRIBUTE_PCI_DOMAIN = 50,
    ATTRIBUTE_MAJOR = 75,
    ATTRIBUTE_MINOR = 76
};
enum { STREAM_NON_BLOCKING = 1 };

static bool is_ok(int code, const char *what) {
    if (code != 0) (void)fprintf(stderr, "raw CUDA: %s: code %d\n", what, code);
    return code == 0;
}

/* ---- libraries ---- */

static bool is_open(void *library, const char *what) {
    if (!library) (void)fprintf(stderr, "raw CUDA: %s: %s\n", what, dlerror());
    return library;
}

#define FIND(name, arguments)                                              \
    if (!bench_library_find(library, #name, &table->name)) {               \
        (void)fprintf(stderr, "raw CUDA: the library has no " #name "\n"); \
        return false;                                                      \
    }

bool bench_cuda_open(bench_cuda_t *table) {
    void *library =
        bench_library_open("GANTRY_CUDA_LIBRARY", (const char *const[]){"libcuda.so.1", NULL});
    if (!is_open(library, "the driver")) return false;
    BENCH_CUDA_SYMBOLS(FIND)
    return is_ok(table->cuInit(0), "cuInit") &&
           is_ok(table->cuDriverGetVersion(&table->driver_version), "cuDriverGetVersion");
}

/* Opens NVRTC as Gantry does: for a driver of CUDA 12, the library of CUDA 12 first. */
bool bench_nvrtc_open(bench_nvrtc_t *table, int driver_version) {
    static const char *const for_13[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                         NULL};
    static const char *const for_12[] = {"libnvrtc.so.12", "libnvrtc.so.13", "libnvrtc.so.11.2",
                                         NULL};
    void *library =
        bench_library_open("GANTRY_CUDA_NVRTC", driver_version < 13000 ? for_12 : for_13);
    if (!is_open(library, "NVRTC")) return false;
    BENCH_NVRTC_SYMBOLS(FIND)
    return true;
}

bool bench_cublas_open(bench_cublas_t *table, int driver_version) {
    static const char *const for_13[] = {"libcublasLt.so.13", "libcublasLt.so.12", NULL};
    static const char *const for_12[] = {"libcublasLt.so.12", "libcublasLt.so.13", NULL};
    void *library =
        bench_library_open("GANTRY_CUDA_CUBLAS", driver_version < 13000 ? for_12 : for_13);
    if (!is_open(library, "cuBLASLt")) return false;
    BENCH_CUBLAS_SYMBOLS(FIND)
    return true;
}

static bool open_nvml(bench_nvml_t *table) {
    void *library =
        bench_library_open("GANTRY_CUDA_NVML", (const char *const[]){"libnvidia-ml.so.1", NULL});
    if (!is_open(library, "NVML")) return false;
    BENCH_NVML_SYMBOLS(FIND)
    return is_ok(table->nvmlInit_v2(), "nvmlInit");
}

/* Finds a card or a part of one (MIG), which has another prefix in NVML than in bench_cuda_uuid. */
static bool find_by_uuid(const bench_nvml_t *nvml, const char *uuid, void **card) {
    char part[BENCH_UUID_BYTES];
    if (nvml->nvmlDeviceGetHandleByUUID(uuid, card) == 0) return true;
    (void)snprintf(part, sizeof part, "MIG-%s", strlen(uuid) > 4 ? uuid + 4 : "");
    return is_ok(nvml->nvmlDeviceGetHandleByUUID(part, card), "nvmlDeviceGetHandleByUUID");
}

int64_t bench_card_used_bytes(const char *uuid) {
    bench_nvml_t nvml;
    uint64_t total_free_used[3] = {0};
    void *card = NULL;
    if (!open_nvml(&nvml)) return -1;
    bool ok = find_by_uuid(&nvml, uuid, &card) &&
              is_ok(nvml.nvmlDeviceGetMemoryInfo(card, total_free_used), "nvmlDeviceGetMemoryInfo");
    (void)nvml.nvmlShutdown();
    return ok ? (int64_t)total_free_used[2] : -1;
}

/* ---- names of a card ---- */

void bench_cuda_uuid(const bench_cuda_t *cuda, int device, char out[BENCH_UUID_BYTES]) {
    unsigned char id[16] = {0};
    out[0] = '\0';
    if (cuda->cuDeviceGetUuid_v2(id, device) != 0) return;
    size_t length = (size_t)snprintf(out, BENCH_UUID_BYTES, "GPU");
    for (size_t i = 0; i < sizeof id; ++i) {
        bool begins_a_group = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
        length += (size_t)snprintf(out + length, BENCH_UUID_BYTES - length, "%s%02x",
                                   begins_a_group ? "-" : "", id[i]);
    }
}

static int attribute(const bench_cuda_t *cuda, int device, int number) {
    int value = 0;
    return cuda->cuDeviceGetAttribute(&value, number, device) == 0 ? value : 0;
}

void bench_cuda_pci(const bench_cuda_t *cuda, int device, char out[32]) {
    (void)snprintf(out, 32, "%04x:%02x:%02x.0",
                   (unsigned)attribute(cuda, device, ATTRIBUTE_PCI_DOMAIN),
                   (unsigned)attribute(cuda, device, ATTRIBUTE_PCI_BUS),
                   (unsigned)attribute(cuda, device, ATTRIBUTE_PCI_DEVICE));
}

/* ---- a card ---- */

static bool find_card(bench_card_t *card, const char *uuid) {
    int count = 0;
    if (!is_ok(card->cuda.cuDeviceGetCount(&count), "cuDeviceGetCount")) return false;
    for (int i = 0; i < count; ++i) {
        char found[BENCH_UUID_BYTES];
        if (card->cuda.cuDeviceGet(&card->device, i) != 0) continue;
        bench_cuda_uuid(&card->cuda, card->device, found);
        if (!uuid || strcmp(found, uuid) == 0) return true;
    }
    (void)fprintf(stderr, "raw CUDA: none of the driver's %d cards is %s\n", count,
                  uuid ? uuid : "there");
    return false;
}

bool bench_card_open(bench_card_t *card, const char *uuid) {
    memset(card, 0, sizeof *card);
    if (!bench_cuda_open(&card->cuda) || !find_card(card, uuid)) return false;
    const bench_cuda_t *cuda = &card->cuda;
    card->compute_capability = 10 * attribute(cuda, card->device, ATTRIBUTE_MAJOR) +
                               attribute(cuda, card->device, ATTRIBUTE_MINOR);
    if (!is_ok(cuda->cuDevicePrimaryCtxRetain(&card->context, card->device),
               "cuDevicePrimaryCtxRetain")) {
        card->context = NULL;
        return false;
    }
    if (is_ok(cuda->cuCtxPushCurrent_v2(card->context), "cuCtxPushCurrent") &&
        is_ok(cuda->cuStreamCreateWithPriority(&card->stream, STREAM_NON_BLOCKING, 0),
              "cuStreamCreateWithPriority"))
        return true;
    bench_card_close(card);
    return false;
}

void bench_card_close(bench_card_t *card) {
    void *context;
    if (!card->context) return;
    if (card->stream) (void)card->cuda.cuStreamDestroy_v2(card->stream);
    (void)card->cuda.cuCtxPopCurrent_v2(&context);
    (void)card->cuda.cuDevicePrimaryCtxRelease_v2(card->device);
    card->context = NULL;
}

bench_address_t bench_card_alloc(const bench_card_t *card, size_t bytes) {
    bench_address_t address = 0;
    if (card->cuda.cuMemAlloc_v2(&address, bytes) == 0) return address;
    (void)fprintf(stderr, "raw CUDA: no %zu MiB of the card's memory\n", bytes >> 20);
    return 0;
}

void bench_card_free(const bench_card_t *card, bench_address_t address) {
    if (address) (void)card->cuda.cuMemFree_v2(address);
}

bool bench_card_wait(const bench_card_t *card) {
    return is_ok(card->cuda.cuStreamSynchronize(card->stream), "cuStreamSynchronize");
}

bool bench_card_write(const bench_card_t *card, bench_address_t target, const void *source,
                      size_t bytes) {
    return is_ok(card->cuda.cuMemcpyHtoDAsync_v2(target, source, bytes, card->stream),
                 "cuMemcpyHtoDAsync") &&
           bench_card_wait(card);
}

bool bench_card_read(const bench_card_t *card, void *target, bench_address_t source, size_t bytes) {
    return is_ok(card->cuda.cuMemcpyDtoHAsync_v2(target, source, bytes, card->stream),
                 "cuMemcpyDtoHAsync") &&
           bench_card_wait(card);
}

/* ---- the small kernel ---- */

/* This text is also OpenCL C, which the stand-in for NVIDIA's driver compiles. The arguments are
 * those of Gantry's add: three regions, and a struct with the offsets of the tensors. */
static const char small_add_text[] =
    "typedef struct { long count, run, stream; unsigned long offsets[3], y; } numbers_t;\n"
    "#if defined(__OPENCL_VERSION__)\n"
    "#define REGION(type) global type *\n"
    "kernel void add(REGION(const char) x, REGION(const char) y, REGION(char) out, numbers_t n) {\n"
    "    int i = (int)get_global_id(0);\n"
    "#else\n"
    "#define REGION(type) type *\n"
    "extern \"C\" __global__ void add(const char *x, const char *y, char *out, numbers_t n) {\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "#endif\n"
    "    if (i >= n.count) return;\n"
    "    ((REGION(float))(out + n.offsets[2]))[i] = ((REGION(const float))(x + n.offsets[0]))[i] +\n"
    "                                               ((REGION(const float))(y + n.offsets[1]))[i];\n"
    "}\n";

typedef struct numbers_t {
    int64_t count, run, stream;
    uint64_t offsets[3], y;
} numbers_t;

enum { TENSOR = 4, TENSOR_BYTES = TENSOR * sizeof(float) };
enum { GROUP = 64 }; /* work-items, as Gantry's add of so few elements has */

enum { MOST_CAPABILITIES = 64 };

/* NVRTC's target: the card, or the newest one that NVRTC knows, as PTX, if the card is newer. 0: no
 * target. */
static int target_of(const bench_nvrtc_t *nvrtc, int capability) {
    int known[MOST_CAPABILITIES], count = 0, newest = 0;
    if (nvrtc->nvrtcGetNumSupportedArchs(&count) != 0 || count > MOST_CAPABILITIES ||
        nvrtc->nvrtcGetSupportedArchs(known) != 0)
        return 0;
    for (int i = 0; i < count; ++i) {
        if (known[i] <= capability && known[i] > newest) newest = known[i];
    }
    return newest;
}

/* The binary, which the caller frees; NULL after a failure. */
static char *compile_small_add(const bench_card_t *card) {
    bench_nvrtc_t nvrtc;
    char architecture[40];
    const char *const options[] = {architecture};
    void *program = NULL;
    char *image = NULL;
    size_t bytes = 0;
    if (!bench_nvrtc_open(&nvrtc, card->cuda.driver_version)) return NULL;
    int target = target_of(&nvrtc, card->compute_capability);
    bool is_ptx = target != card->compute_capability;
    (void)snprintf(architecture, sizeof architecture, "--gpu-architecture=%s_%d",
                   is_ptx ? "compute" : "sm", target);
    if (is_ok(nvrtc.nvrtcCreateProgram(&program, small_add_text, "small_add", 0, NULL, NULL),
              "nvrtcCreateProgram") &&
        is_ok(nvrtc.nvrtcCompileProgram(program, 1, options), "nvrtcCompileProgram") &&
        is_ok((is_ptx ? nvrtc.nvrtcGetPTXSize : nvrtc.nvrtcGetCUBINSize)(program, &bytes),
              "nvrtcGetCUBINSize"))
        image = malloc(bytes + 1);
    if (image && !is_ok((is_ptx ? nvrtc.nvrtcGetPTX : nvrtc.nvrtcGetCUBIN)(program, image),
                        "nvrtcGetCUBIN")) {
        free(image);
        image = NULL;
    }
    if (image) image[bytes] = '\0';
    if (program) (void)nvrtc.nvrtcDestroyProgram(&program);
    return image;
}

bool bench_small_add_open(bench_small_add_t *add, const bench_card_t *card) {
    const float x[4 * TENSOR] = {1, 2, 3, 4, 5, 6, 7, 8};
    const bench_cuda_t *cuda = &card->cuda;
    *add = (bench_small_add_t){.card = card};
    char *image = compile_small_add(card);
    bool ok =
        image &&
        is_ok(cuda->cuModuleLoadDataEx(&add->module, image, 0, NULL, NULL), "cuModuleLoadDataEx") &&
        is_ok(cuda->cuModuleGetFunction(&add->function, add->module, "add"), "cuModuleGetFunction");
    free(image);
    add->x = ok ? bench_card_alloc(card, sizeof x) : 0;
    return add->x && bench_card_write(card, add->x, x, sizeof x);
}

void bench_small_add_close(bench_small_add_t *add) {
    bench_card_free(add->card, add->x);
    if (add->module) (void)add->card->cuda.cuModuleUnload(add->module);
}

/* to = from + the first tensor; both by number */
static bool launch(const bench_small_add_t *add, int from, int to) {
    bench_address_t region = add->x;
    numbers_t numbers = {
        .count = TENSOR,
        .run = TENSOR,
        .offsets = {0, (uint64_t)from * TENSOR_BYTES, (uint64_t)to * TENSOR_BYTES}};
    void *arguments[] = {&region, &region, &region, &numbers};
    return add->card->cuda.cuLaunchKernel(add->function, 1, 1, 1, GROUP, 1, 1, 0, add->card->stream,
                                          arguments, NULL) == 0;
}

/* Whether the tensor is the second one and `times` the first. */
static bool is_sum(const bench_small_add_t *add, int tensor, int times) {
    float out[TENSOR] = {0};
    if (!bench_card_read(add->card, out, add->x + (bench_address_t)tensor * TENSOR_BYTES,
                         sizeof out))
        return false;
    for (int i = 0; i < TENSOR; ++i) {
        if (out[i] != (float)(5 + i + times * (1 + i))) return false;
    }
    return true;
}

bool bench_small_add_launch(const bench_small_add_t *add) { return launch(add, 1, 2); }
bool bench_small_add_is_right(const bench_small_add_t *add) { return is_sum(add, 2, 1); }

/* ---- a graph of it ---- */

bool bench_small_graph_open(bench_small_graph_t *graph, const bench_small_add_t *add, int count) {
    enum { RELAXED = 2 };
    const bench_cuda_t *cuda = &add->card->cuda;
    void *stream = add->card->stream, *captured = NULL;
    *graph = (bench_small_graph_t){.add = add, .count = count};
    if (!is_ok(cuda->cuStreamBeginCapture_v2(stream, RELAXED), "cuStreamBeginCapture"))
        return false;
    bool ok = true;
    for (int i = 0; i < count; ++i) ok = launch(add, i == 0 ? 1 : 3 - i % 2, 2 + i % 2) && ok;
    ok = is_ok(cuda->cuStreamEndCapture(stream, &captured), "cuStreamEndCapture") && ok &&
         is_ok(cuda->cuGraphInstantiateWithFlags(&graph->exec, captured, 0), "cuGraphInstantiate");
    if (captured) (void)cuda->cuGraphDestroy(captured);
    return ok;
}

void bench_small_graph_close(bench_small_graph_t *graph) {
    if (graph->exec) (void)graph->add->card->cuda.cuGraphExecDestroy(graph->exec);
    graph->exec = NULL;
}

bool bench_small_graph_launch(const bench_small_graph_t *graph) {
    const bench_card_t *card = graph->add->card;
    return card->cuda.cuGraphLaunch(graph->exec, card->stream) == 0;
}

bool bench_small_graph_is_right(const bench_small_graph_t *graph) {
    return is_sum(graph->add, 2 + (graph->count - 1) % 2, graph->count);
}
