/* SPDX-License-Identifier: Apache-2.0 */
/* TensorFlow's guide "Use a GPU", in C: its steps in its order, each with the guide's output.
 *
 * It also runs on a machine without a GPU: this program lets OpenCL CPU devices (PoCL) count as
 * GPUs. Two steps are other programs: memory_control.c splits a GPU into several virtual devices,
 * and `digits --replicas 2` trains with a distribution strategy. */
#include "example.h"

static void heading(const char *text) { (void)printf("\n== %s ==\n", text); }

/* Each chapter that changes settings must have its own runtime, because settings freeze with the
 * first operation. */
static gantry_runtime_t *open_runtime(void) {
    gantry_runtime_options_t options = {
        .struct_size = sizeof options, .log = example_log, .opencl_cpu_as_gpu = GANTRY_ON};
    gantry_runtime_t *runtime;
    example_check(gantry_runtime_create(&options, &runtime), "gantry_runtime_create");
    return runtime;
}

static size_t list_gpus(gantry_runtime_t *runtime, const gantry_physical_device_t *gpus[8]) {
    size_t count;
    example_check(gantry_list_physical_devices(runtime, "GPU", 8, gpus, &count),
                  "gantry_list_physical_devices");
    return count < 8 ? count : 8;
}

static size_t list_logical_gpus(gantry_runtime_t *runtime, const gantry_logical_device_t *gpus[8]) {
    size_t count;
    example_check(gantry_list_logical_devices(runtime, "GPU", 8, gpus, &count),
                  "gantry_list_logical_devices");
    return count < 8 ? count : 8;
}

static const float values[] = {1, 2, 3, 4, 5, 6};

static const gantry_tensor_t *matrix_a(gantry_scope_t *scope) {
    return gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 3), values, sizeof values);
}

static const gantry_tensor_t *matrix_b(gantry_scope_t *scope) {
    return gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(3, 2), values, sizeof values);
}

static void show_devices(void) {
    heading("Setup");
    gantry_runtime_t *runtime = open_runtime();
    const gantry_physical_device_t *gpus[8];
    (void)printf("Num GPUs Available:  %zu\n", list_gpus(runtime, gpus));
    gantry_runtime_release(runtime);
}

static void log_placement(gantry_runtime_t *runtime) {
    heading("Logging device placement");
    example_check(gantry_set_log_device_placement(runtime, true),
                  "gantry_set_log_device_placement");
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    example_print(gantry_matmul(scope, matrix_a(scope), matrix_b(scope), NULL));
    example_check(gantry_scope_end(scope), "matmul");
}

static void place_by_hand(gantry_runtime_t *runtime) {
    heading("Manual device placement");
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    gantry_scope_t *cpu = gantry_scope_begin_in(scope, "/CPU:0");
    const gantry_tensor_t *a = gantry_scope_keep(cpu, matrix_a(cpu)),
                          *b = gantry_scope_keep(cpu, matrix_b(cpu));
    example_check(gantry_scope_end(cpu), "constants on the CPU");
    example_print(gantry_matmul(scope, a, b, NULL)); /* this copies a and b to the GPU */
    example_check(gantry_scope_end(scope), "matmul");
}

/* The guide's try/except. The used runtime is initialized and refuses the setting; a fresh one
 * accepts it. */
static void limit_visible(gantry_runtime_t *used) {
    heading("Limiting GPU memory growth: one visible GPU");
    const gantry_physical_device_t *gpus[8];
    size_t count = list_gpus(used, gpus);
    if (gantry_set_visible_devices(used, gpus, 1, "GPU") != GANTRY_OK)
        (void)printf("%s\n", gantry_last_message());
    gantry_runtime_t *fresh = open_runtime();
    count = list_gpus(fresh, gpus);
    example_check(gantry_set_visible_devices(fresh, gpus, 1, "GPU"), "gantry_set_visible_devices");
    const gantry_logical_device_t *logical[8];
    (void)printf("%zu Physical GPUs, %zu Logical GPU\n", count, list_logical_gpus(fresh, logical));
    gantry_runtime_release(fresh);
}

static void set_growth(gantry_runtime_t *used) {
    heading("Limiting GPU memory growth: growth");
    const gantry_physical_device_t *gpus[8];
    size_t count = list_gpus(used, gpus);
    if (gantry_set_memory_growth(used, gpus[0], false) != GANTRY_OK)
        (void)printf("%s\n", gantry_last_message());
    gantry_runtime_t *fresh = open_runtime();
    count = list_gpus(fresh, gpus);
    for (size_t i = 0; i < count; ++i)
        example_check(gantry_set_memory_growth(fresh, gpus[i], true), "gantry_set_memory_growth");
    const gantry_logical_device_t *logical[8];
    (void)printf("%zu Physical GPUs, %zu Logical GPUs\n", count, list_logical_gpus(fresh, logical));
    gantry_runtime_release(fresh);
}

static void limit_memory(gantry_runtime_t *used) {
    heading("Limiting GPU memory growth: a limit of 1 GB");
    const gantry_logical_device_config_t config = {.memory_limit_bytes = UINT64_C(1024) << 20};
    const gantry_physical_device_t *gpus[8];
    size_t count = list_gpus(used, gpus);
    if (gantry_set_logical_device_configuration(used, gpus[0], &config, 1) != GANTRY_OK)
        (void)printf("%s\n", gantry_last_message());
    gantry_runtime_t *fresh = open_runtime();
    count = list_gpus(fresh, gpus);
    example_check(gantry_set_logical_device_configuration(fresh, gpus[0], &config, 1),
                  "gantry_set_logical_device_configuration");
    const gantry_logical_device_t *logical[8];
    (void)printf("%zu Physical GPUs, %zu Logical GPUs\n", count, list_logical_gpus(fresh, logical));
    gantry_memory_info_t info = {.struct_size = sizeof info};
    example_check(gantry_get_memory_info(fresh, "GPU:0", &info), "gantry_get_memory_info");
    (void)printf("GPU:0: limit %llu MB, %llu bytes in use\n",
                 (unsigned long long)(info.limit_bytes >> 20),
                 (unsigned long long)info.current_bytes);
    gantry_runtime_release(fresh);
}

static void ask_for_missing_device(gantry_runtime_t *runtime) {
    heading("Using a single GPU on a multi-GPU system: a device that does not exist");
    example_check(gantry_set_soft_device_placement(runtime, false),
                  "gantry_set_soft_device_placement");
    const gantry_logical_device_t *device;
    if (gantry_find_logical_device(runtime, "/device:GPU:9", &device) != GANTRY_OK)
        (void)printf("%s\n", gantry_last_message());
    gantry_scope_t *scope = gantry_scope_begin(runtime, "/device:GPU:9");
    (void)gantry_matmul(scope, matrix_a(scope), matrix_b(scope), NULL);
    if (gantry_scope_end(scope) != GANTRY_OK) (void)printf("%s\n", gantry_last_message());
}

static void place_softly(gantry_runtime_t *runtime) {
    heading("Soft placement");
    example_check(gantry_set_soft_device_placement(runtime, true),
                  "gantry_set_soft_device_placement");
    gantry_scope_t *scope = gantry_scope_begin(runtime, "/device:GPU:9");
    example_print(gantry_matmul(scope, matrix_a(scope), matrix_b(scope), NULL));
    example_check(gantry_scope_end(scope), "matmul");
    gantry_placement_record_t record = {.struct_size = sizeof record};
    size_t count;
    example_check(gantry_get_placements(runtime, 1, &record, &count), "gantry_get_placements");
    if (count == 1)
        (void)printf("%s asked for %s, ran on %s: %s\n", record.op, record.asked, record.device,
                     gantry_placement_reason_text(record.reason));
}

/* Runs a tower on each GPU, and adds them on the CPU. */
static void run_towers(gantry_runtime_t *runtime) {
    heading("Using multiple GPUs: manual");
    const gantry_logical_device_t *gpus[8];
    size_t count = list_logical_gpus(runtime, gpus);
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    const gantry_tensor_t *products[8];
    for (size_t i = 0; i < count; ++i) {
        gantry_scope_t *gpu = gantry_scope_begin_in(scope, gantry_logical_device_name(gpus[i]));
        products[i] =
            gantry_scope_keep(gpu, gantry_matmul(gpu, matrix_a(gpu), matrix_b(gpu), NULL));
        example_check(gantry_scope_end(gpu), gantry_logical_device_name(gpus[i]));
    }
    gantry_scope_t *cpu = gantry_scope_begin_in(scope, "/CPU:0");
    example_print(gantry_add_n(cpu, products, count));
    example_check(gantry_scope_end(cpu), "add_n");
    example_check(gantry_scope_end(scope), "towers");
}

int main(void) {
    show_devices();
    gantry_runtime_t *runtime = open_runtime();
    const gantry_physical_device_t *gpus[8];
    if (list_gpus(runtime, gpus) == 0) {
        (void)printf(
            "No GPU and no OpenCL device: the rest of the guide needs one. Install pocl-opencl-icd for CPU devices.\n");
        gantry_runtime_release(runtime);
        return 2;
    }
    log_placement(runtime);
    place_by_hand(runtime);
    limit_visible(runtime);
    set_growth(runtime);
    limit_memory(runtime);
    ask_for_missing_device(runtime);
    place_softly(runtime);
    run_towers(runtime);
    gantry_runtime_release(runtime);
    return 0;
}
