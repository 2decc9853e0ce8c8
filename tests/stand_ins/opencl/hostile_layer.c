/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU with limits and habits that PoCL lacks: an OpenCL layer between the loader and PoCL. PoCL's
 * devices report the values of settings, and the layer enforces these values.
 *
 * Settings, of GANTRY_TEST_HOSTILE or of hostile_layer_set, are name=number with ; or , between
 * them:
 *
 *   gpu=1           the type is GPU, and local memory lies on the chip
 *   units=N         compute units
 *   local=N         bytes of local memory
 *   local_global=1  local memory is a part of global memory
 *   device_group=N  work-items of a group, as the device reports
 *   group=N         work-items of a group, as each kernel reports; a larger launch is refused
 *   rusticl=N       the platform is rusticl; each kernel reports N, and larger launches run
 *   double=0        no double precision
 *   round=0         no correctly rounded division
 *   fma=0           no fused multiply-add in single precision
 *   slow_fma=1      the compiler does not call a fused multiply-add fast
 *   memory=N        bytes of global memory
 *   alloc=N         bytes of the largest allocation
 *   vector=N        the native width of a vector of float
 *   intel=N         the platform is Intel's; N > 0 execution units make a sub-slice
 *   dots=1          cl_khr_integer_dot_product, with the product that Gantry uses, in OpenCL C 3.0;
 *                   a program of such products in another version of the language is refused
 *   dots=2          the same, and each product is larger by one, which shows how many there were
 *   dry=1           launches are logged and not run
 *   log=1           launches are logged
 *   withhold=1      commands start at a flush or at a blocking wait, not before
 *
 * A barrier that waits for a user event withholds a command. Thread-safe. */
#define _POSIX_C_SOURCE 200809L
#define CL_TARGET_OPENCL_VERSION 120
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "hostile_layer.h"
#include "opencl_layer.h"

#define EUS_PER_SUB_SLICE_INTEL 0x4254
#define INTEL_VENDOR_ID 0x8086u
#define QUEUES 64

/* ---- settings ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all of the below */
static char settings[512];
static bool are_set;

EXPORT void hostile_layer_set(const char *text);
EXPORT void hostile_layer_take_launches(char *out, size_t out_bytes);
EXPORT void hostile_layer_take_withheld(hostile_layer_withheld_t *out);

void hostile_layer_set(const char *text) {
    pthread_mutex_lock(&lock);
    (void)snprintf(settings, sizeof settings, "%s", text);
    are_set = true;
    pthread_mutex_unlock(&lock);
}

/* False when the setting is absent. */
static bool find_setting(const char *name, unsigned long long *out) {
    size_t length = strlen(name);
    bool is_found = false;
    pthread_mutex_lock(&lock);
    if (!are_set) {
        const char *text = getenv("GANTRY_TEST_HOSTILE");
        (void)snprintf(settings, sizeof settings, "%s", text ? text : "");
        are_set = true;
    }
    for (const char *at = settings; at && !is_found; at = strpbrk(at, ";,")) {
        at += *at == ';' || *at == ',';
        is_found = strncmp(at, name, length) == 0 && at[length] == '=';
        if (is_found) *out = strtoull(at + length + 1, NULL, 10);
    }
    pthread_mutex_unlock(&lock);
    return is_found;
}

static bool is_on(const char *name) {
    unsigned long long value = 0;
    return find_setting(name, &value) && value != 0;
}

/* ---- properties of a device ---- */

static cl_int give_text(const char *text, size_t size, void *value, size_t *needed) {
    return give(text, strlen(text) + 1, size, value, needed);
}

static CL_API_ENTRY cl_int CL_API_CALL layer_clGetPlatformInfo(cl_platform_id platform,
                                                               cl_platform_info name, size_t size,
                                                               void *value, size_t *needed) {
    unsigned long long eus;
    if (name == CL_PLATFORM_NAME && find_setting("intel", &eus))
        return give_text("Intel(R) OpenCL Graphics", size, value, needed);
    if (name == CL_PLATFORM_NAME && is_on("rusticl"))
        return give_text("rusticl", size, value, needed);
    return target->clGetPlatformInfo(platform, name, size, value, needed);
}

static CL_API_ENTRY cl_int CL_API_CALL layer_clGetDeviceIDs(cl_platform_id platform,
                                                            cl_device_type type, cl_uint entries,
                                                            cl_device_id *devices, cl_uint *found) {
    return target->clGetDeviceIDs(platform, is_on("gpu") ? CL_DEVICE_TYPE_ALL : type, entries,
                                  devices, found);
}

static cl_int give_extensions(cl_device_id device, bool is_intel, size_t size, void *value,
                              size_t *needed) {
    static const char own[] = " cl_intel_device_attribute_query",
                      dots[] = " cl_khr_integer_dot_product";
    char text[4096] = "";
    cl_int error = target->clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS,
                                           sizeof text - sizeof own - sizeof dots, text, NULL);
    if (error != CL_SUCCESS) return error;
    if (is_intel) memcpy(text + strlen(text), own, sizeof own);
    if (is_on("dots")) memcpy(text + strlen(text), dots, sizeof dots);
    return give_text(text, size, value, needed);
}

/* The numbers that a setting replaces. */
static const struct {
    cl_device_info name;
    const char *setting;
    size_t bytes;
} numbers[] = {
    {CL_DEVICE_MAX_COMPUTE_UNITS, "units", sizeof(cl_uint)},
    {CL_DEVICE_LOCAL_MEM_SIZE, "local", sizeof(cl_ulong)},
    {CL_DEVICE_MAX_WORK_GROUP_SIZE, "device_group", sizeof(size_t)},
    {CL_DEVICE_GLOBAL_MEM_SIZE, "memory", sizeof(cl_ulong)},
    {CL_DEVICE_MAX_MEM_ALLOC_SIZE, "alloc", sizeof(cl_ulong)},
    {CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, "vector", sizeof(cl_uint)},
};

static cl_int give_number(unsigned long long number, size_t bytes, size_t size, void *value,
                          size_t *needed) {
    cl_uint narrow = (cl_uint)number;
    cl_ulong wide = number;
    return bytes == sizeof narrow ? give(&narrow, bytes, size, value, needed)
                                  : give(&wide, sizeof wide, size, value, needed);
}

/* PoCL's flags without those that a setting takes away. */
static cl_int give_float_flags(cl_device_id device, size_t size, void *value, size_t *needed) {
    unsigned long long number = 1;
    cl_device_fp_config flags = 0;
    cl_int error =
        target->clGetDeviceInfo(device, CL_DEVICE_SINGLE_FP_CONFIG, sizeof flags, &flags, NULL);
    if (error != CL_SUCCESS) return error;
    if (find_setting("round", &number) && number == 0)
        flags &= ~(cl_device_fp_config)CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
    if (find_setting("fma", &number))
        flags = number ? flags | CL_FP_FMA : flags & ~(cl_device_fp_config)CL_FP_FMA;
    return give(&flags, sizeof flags, size, value, needed);
}

static CL_API_ENTRY cl_int CL_API_CALL layer_clGetDeviceInfo(cl_device_id device,
                                                             cl_device_info name, size_t size,
                                                             void *value, size_t *needed) {
    unsigned long long number = 0;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
        if (numbers[i].name == name && find_setting(numbers[i].setting, &number))
            return give_number(number, numbers[i].bytes, size, value, needed);
    }
    bool is_intel = find_setting("intel", &number);
    switch (name) {
        case CL_DEVICE_TYPE:
            if (is_on("gpu"))
                return give_number(CL_DEVICE_TYPE_GPU, sizeof(cl_ulong), size, value, needed);
            break;
        case CL_DEVICE_LOCAL_MEM_TYPE:
            if (is_on("gpu"))
                return give_number(is_on("local_global") ? CL_GLOBAL : CL_LOCAL, sizeof(cl_uint),
                                   size, value, needed);
            break;
        case CL_DEVICE_DOUBLE_FP_CONFIG:
            if (find_setting("double", &number) && number == 0)
                return give_number(0, sizeof(cl_ulong), size, value, needed);
            break;
        case CL_DEVICE_SINGLE_FP_CONFIG: return give_float_flags(device, size, value, needed);
        case CL_DEVICE_EXTENSIONS:
            return give_extensions(device, is_intel && number > 0, size, value, needed);
        case CL_DEVICE_VENDOR_ID:
            if (is_intel) return give_number(INTEL_VENDOR_ID, sizeof(cl_uint), size, value, needed);
            break;
        case EUS_PER_SUB_SLICE_INTEL:
            if (is_intel && number > 0)
                return give_number(number, sizeof(cl_uint), size, value, needed);
            break;
        default: break;
    }
    return target->clGetDeviceInfo(device, name, size, value, needed);
}

/* ---- kernels' own limits, and launches ---- */

static CL_API_ENTRY cl_int CL_API_CALL layer_clGetKernelWorkGroupInfo(
    cl_kernel kernel, cl_device_id device, cl_kernel_work_group_info name, size_t size, void *value,
    size_t *needed) {
    unsigned long long number;
    if (name == CL_KERNEL_WORK_GROUP_SIZE && find_setting("group", &number))
        return give_number(number, sizeof(size_t), size, value, needed);
    if ((name == CL_KERNEL_WORK_GROUP_SIZE ||
         name == CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE) &&
        find_setting("rusticl", &number))
        return give_number(number, sizeof(size_t), size, value, needed);
    return target->clGetKernelWorkGroupInfo(kernel, device, name, size, value, needed);
}

static char launches[1 << 16]; /* under lock */
static size_t launches_length; /* under lock */

void hostile_layer_take_launches(char *out, size_t out_bytes) {
    pthread_mutex_lock(&lock);
    (void)snprintf(out, out_bytes, "%.*s", (int)launches_length, launches);
    launches_length = 0;
    pthread_mutex_unlock(&lock);
}

/* The number of -DGANTRY_MATMUL_EACH in the options of the kernel's program, or 0. */
static int find_each(cl_kernel kernel, cl_command_queue queue) {
    cl_program program = NULL;
    cl_device_id device = NULL;
    char options[512] = "";
    (void)target->clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, NULL);
    (void)target->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
    if (!program || !device) return 0;
    (void)target->clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS,
                                        sizeof options - 1, options, NULL);
    const char *at = strstr(options, "MATMUL_EACH=");
    return at ? atoi(at + strlen("MATMUL_EACH=")) : 0;
}

static void log_launch(cl_kernel kernel, cl_command_queue queue, size_t items, size_t local) {
    char name[128] = "";
    char each[32] = "";
    int number = find_each(kernel, queue);
    (void)target->clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name - 1, name, NULL);
    if (number > 0) (void)snprintf(each, sizeof each, " each %d", number);
    pthread_mutex_lock(&lock);
    size_t room = sizeof launches - launches_length;
    int length = snprintf(launches + launches_length, room, "%s%s %zu x %zu\n", name, each,
                          local > 0 ? items / local : items, local);
    if (length > 0 && (size_t)length < room) launches_length += (size_t)length;
    pthread_mutex_unlock(&lock);
}

/* ---- texts of programs ---- */

/* Writes each program's text to a file of GANTRY_TEST_HOSTILE_TEXTS, the build options in its first
 * line: for compilers of other machines. */
static void keep_text(cl_program program, const char *options) {
    static unsigned number; /* under lock */
    const char *folder = getenv("GANTRY_TEST_HOSTILE_TEXTS");
    size_t bytes = 0;
    char name[512];
    if (!folder) return;
    (void)target->clGetProgramInfo(program, CL_PROGRAM_SOURCE, 0, NULL, &bytes);
    char *text = malloc(bytes + 1);
    if (!text) return;
    text[0] = '\0';
    (void)target->clGetProgramInfo(program, CL_PROGRAM_SOURCE, bytes, text, NULL);
    pthread_mutex_lock(&lock);
    (void)snprintf(name, sizeof name, "%s/%ld_%03u.cl", folder, (long)getpid(), number++);
    pthread_mutex_unlock(&lock);
    FILE *file = fopen(name, "w");
    if (file) {
        fprintf(file, "// %s\n%s", options ? options : "", text);
        (void)fclose(file);
    }
    free(text);
}

#define DOTS(first)                                                                 \
    "#if __OPENCL_C_VERSION__ >= 300\n"                                             \
    "#define __opencl_c_integer_dot_product_input_4x8bit_packed 1\n"                \
    "static int dot_4x8packed_ss_int(uint a, uint b) {\n"                           \
    "    int sum = " first                                                          \
    ";\n"                                                                           \
    "    for (int i = 0; i < 32; i += 8) sum += (char)(a >> i) * (char)(b >> i);\n" \
    "    return sum;\n"                                                             \
    "}\n"                                                                           \
    "#endif\n"                                                                      \
    "#line 1\n"

static CL_API_ENTRY cl_program CL_API_CALL layer_clCreateProgramWithSource(
    cl_context context, cl_uint count, const char **texts, const size_t *lengths, cl_int *code) {
    static const char slow[] = "#undef FP_FAST_FMAF\n#undef FP_FAST_FMA\n#line 1\n";
    unsigned long long number = 0;
    const bool has_dots = find_setting("dots", &number) && number > 0;
    const char *all[64] = {!has_dots ? slow : number == 1 ? DOTS("0") : DOTS("1")};
    size_t bytes[64] = {0}; /* 0: up to its end */
    if ((!is_on("slow_fma") && !has_dots) || count + 1 > sizeof all / sizeof all[0])
        return target->clCreateProgramWithSource(context, count, texts, lengths, code);
    memcpy(all + 1, texts, count * sizeof *all);
    if (lengths) memcpy(bytes + 1, lengths, count * sizeof *bytes);
    return target->clCreateProgramWithSource(context, count + 1, all, bytes, code);
}

static CL_API_ENTRY cl_int CL_API_CALL layer_clBuildProgram(
    cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
    void(CL_CALLBACK *notify)(cl_program, void *), void *user) {
    keep_text(program, options);
    /* a program that would not use the products that this device claims to have */
    if (options && is_on("dots") && strstr(options, "-DGANTRY_DOTS=1") &&
        !strstr(options, "-cl-std=CL3.0"))
        return CL_BUILD_PROGRAM_FAILURE;
    return target->clBuildProgram(program, count, devices, options, notify, user);
}

/* ---- commands that wait for a flush ---- */

typedef struct {
    cl_command_queue queue; /* NULL: free */
    cl_event gate;          /* NULL: nothing is withheld */
    cl_event last;          /* of the last released command; NULL: none */
    uint64_t withheld;
    struct timespec since;
} withheld_t;

static withheld_t queues[QUEUES];       /* under lock */
static hostile_layer_withheld_t counts; /* under lock */

void hostile_layer_take_withheld(hostile_layer_withheld_t *out) {
    pthread_mutex_lock(&lock);
    *out = counts;
    memset(&counts, 0, sizeof counts);
    pthread_mutex_unlock(&lock);
}

/* The queue's record, made where there is none. The lock is held. */
static withheld_t *find_queue(cl_command_queue queue, bool is_made) {
    withheld_t *free_one = NULL;
    for (size_t i = 0; i < QUEUES; ++i) {
        if (queues[i].queue == queue) return &queues[i];
        if (!queues[i].queue && !free_one) free_one = &queues[i];
    }
    if (!is_made || !free_one) return NULL;
    memset(free_one, 0, sizeof *free_one);
    free_one->queue = queue;
    return free_one;
}

static bool has_ended(cl_event event) {
    cl_int status = CL_COMPLETE;
    if (event)
        (void)target->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status,
                                     &status, NULL);
    return status <= CL_COMPLETE;
}

static void close_gate(withheld_t *record) {
    cl_context context = NULL;
    cl_int error = CL_SUCCESS;
    (void)target->clGetCommandQueueInfo(record->queue, CL_QUEUE_CONTEXT, sizeof context, &context,
                                        NULL);
    record->gate = target->clCreateUserEvent(context, &error);
    if (!record->gate) return;
    (void)target->clEnqueueBarrierWithWaitList(record->queue, 1, &record->gate, NULL);
    (void)clock_gettime(CLOCK_MONOTONIC, &record->since);
    record->withheld = 0;
}

/* Withholds a new command together with those already withheld. */
static void withhold(cl_command_queue queue) {
    if (!is_on("withhold")) return;
    pthread_mutex_lock(&lock);
    withheld_t *record = find_queue(queue, true);
    if (record) {
        if (!record->gate) close_gate(record);
        record->withheld += 1;
        counts.commands += 1;
        counts.most_withheld =
            record->withheld > counts.most_withheld ? record->withheld : counts.most_withheld;
        counts.idle += record->withheld > 1 && has_ended(record->last);
    }
    pthread_mutex_unlock(&lock);
}

static void let_go(cl_command_queue queue) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    pthread_mutex_lock(&lock);
    withheld_t *record = find_queue(queue, false);
    if (record && record->gate) {
        counts.starts += 1;
        counts.withheld_ns += (uint64_t)((now.tv_sec - record->since.tv_sec) * 1000000000 +
                                         (now.tv_nsec - record->since.tv_nsec));
        if (record->last) (void)target->clReleaseEvent(record->last);
        record->last = NULL;
        (void)target->clEnqueueMarkerWithWaitList(queue, 0, NULL, &record->last);
        (void)target->clSetUserEventStatus(record->gate, CL_COMPLETE);
        (void)target->clReleaseEvent(record->gate);
        record->gate = NULL;
        record->withheld = 0;
    }
    pthread_mutex_unlock(&lock);
}

static CL_API_ENTRY cl_int CL_API_CALL layer_clFlush(cl_command_queue queue) {
    let_go(queue);
    return target->clFlush(queue);
}

static CL_API_ENTRY cl_int CL_API_CALL layer_clFinish(cl_command_queue queue) {
    let_go(queue);
    return target->clFinish(queue);
}

static CL_API_ENTRY cl_int CL_API_CALL layer_clWaitForEvents(cl_uint count, const cl_event *list) {
    for (cl_uint i = 0; i < count; ++i) {
        cl_command_queue queue = NULL;
        (void)target->clGetEventInfo(list[i], CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, NULL);
        if (queue) let_go(queue);
    }
    return target->clWaitForEvents(count, list);
}

static CL_API_ENTRY cl_int CL_API_CALL layer_clReleaseCommandQueue(cl_command_queue queue) {
    cl_uint references = 0;
    (void)target->clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof references,
                                        &references, NULL);
    let_go(queue);
    pthread_mutex_lock(&lock);
    withheld_t *record = references <= 1 ? find_queue(queue, false) : NULL;
    if (record) {
        if (record->last) (void)target->clReleaseEvent(record->last);
        memset(record, 0, sizeof *record);
    }
    pthread_mutex_unlock(&lock);
    return target->clReleaseCommandQueue(queue);
}

/* ---- commands ---- */

#define WAITS cl_uint waits, const cl_event *wait_list, cl_event *event

/* Releases the commands that the caller waits for, with all commands before them. */
static void come(cl_command_queue queue, cl_bool is_blocking) {
    if (is_blocking) {
        let_go(queue);
    } else {
        withhold(queue);
    }
}

static CL_API_ENTRY cl_int CL_API_CALL layer_clEnqueueNDRangeKernel(
    cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
    const size_t *global, const size_t *local, WAITS) {
    unsigned long long limit;
    size_t items = 1, in_group = local ? 1 : 0;
    for (cl_uint d = 0; d < dimensions; ++d) {
        items *= global[d];
        if (local) in_group *= local[d];
    }
    if (find_setting("group", &limit) && limit > 0 && in_group > limit)
        return CL_INVALID_WORK_GROUP_SIZE;
    if (is_on("log") || is_on("dry")) log_launch(kernel, queue, items, in_group);
    come(queue, CL_FALSE);
    if (is_on("dry")) return target->clEnqueueMarkerWithWaitList(queue, waits, wait_list, event);
    return target->clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, waits,
                                          wait_list, event);
}

#define ENQUEUER(name, is_blocking, declared, passed)              \
    static CL_API_ENTRY cl_int CL_API_CALL layer_##name declared { \
        come(queue, is_blocking);                                  \
        return target->name passed;                                \
    }

ENQUEUER(clEnqueueReadBuffer, blocking,
         (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
          void *data, WAITS),
         (queue, buffer, blocking, offset, size, data, waits, wait_list, event))
ENQUEUER(clEnqueueWriteBuffer, blocking,
         (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
          const void *data, WAITS),
         (queue, buffer, blocking, offset, size, data, waits, wait_list, event))
ENQUEUER(clEnqueueCopyBuffer, CL_FALSE,
         (cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset,
          size_t size, WAITS),
         (queue, from, to, from_offset, to_offset, size, waits, wait_list, event))
ENQUEUER(clEnqueueFillBuffer, CL_FALSE,
         (cl_command_queue queue, cl_mem buffer, const void *pattern, size_t pattern_size,
          size_t offset, size_t size, WAITS),
         (queue, buffer, pattern, pattern_size, offset, size, waits, wait_list, event))
ENQUEUER(clEnqueueMarkerWithWaitList, CL_FALSE, (cl_command_queue queue, WAITS),
         (queue, waits, wait_list, event))
ENQUEUER(clEnqueueBarrierWithWaitList, CL_FALSE, (cl_command_queue queue, WAITS),
         (queue, waits, wait_list, event))

static CL_API_ENTRY void *CL_API_CALL layer_clEnqueueMapBuffer(cl_command_queue queue,
                                                               cl_mem buffer, cl_bool blocking,
                                                               cl_map_flags flags, size_t offset,
                                                               size_t size, WAITS, cl_int *code) {
    come(queue, blocking);
    return target->clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size, waits,
                                      wait_list, event, code);
}

/* clang-format off */
LAYER("a hostile GPU for Gantry's tests",
    TAKE(clGetPlatformInfo) TAKE(clGetDeviceIDs) TAKE(clGetDeviceInfo)
    TAKE(clGetKernelWorkGroupInfo) TAKE(clCreateProgramWithSource) TAKE(clBuildProgram)
    TAKE(clFlush) TAKE(clFinish) TAKE(clWaitForEvents) TAKE(clReleaseCommandQueue)
    TAKE(clEnqueueNDRangeKernel) TAKE(clEnqueueReadBuffer) TAKE(clEnqueueWriteBuffer)
    TAKE(clEnqueueCopyBuffer) TAKE(clEnqueueFillBuffer) TAKE(clEnqueueMarkerWithWaitList)
    TAKE(clEnqueueBarrierWithWaitList) TAKE(clEnqueueMapBuffer))
/* clang-format on */
