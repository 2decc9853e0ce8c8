/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: CUDA reports a state and a reason on machines with missing, old, refused or broken
 * parts, and the other devices keep working.
 * Promise: The CUDA backend builds again a program whose binary the driver refuses, and copies
 * between cards through the host where the driver refuses peer access.
 *
 * Each machine is a process of its own on the stand-in for NVIDIA's driver, which reads its
 * settings once. */
#define _GNU_SOURCE
#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "cuda_machine.h"
#include "sanitized.h"
#include "test.h"

/* ---- no CUDA at all ---- */

static void expect_no_cuda(machine_t *m, const char *part) {
    machine_open(m);
    EXPECT(m->cuda.state == GANTRY_BACKEND_UNAVAILABLE, "state %d", (int)m->cuda.state);
    EXPECT_TEXT(m->cuda.reason, part);
    expect_refuses(m, "GPU:0", GANTRY_INVALID_ARGUMENT, "GPU:0");
    expect_computes(m, "CPU:0");
}

static void has_no_driver(machine_t *m) {
    m->extra[0] = "GANTRY_CUDA_LIBRARY=/nonexistent/libcuda.so.1";
    expect_no_cuda(m, "/nonexistent/libcuda.so.1: cannot open shared object file");
}

static void has_old_driver(machine_t *m) {
    expect_no_cuda(m, "supports CUDA 11.8, and 12.0 or newer is needed");
}
static void has_broken_driver(machine_t *m) {
    expect_no_cuda(m, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)");
}
static void has_no_card(machine_t *m) { expect_no_cuda(m, "it sees no card"); }

TEST(no_driver_leaves_the_cpu_and_a_reason) {
    on_machine("devices=1", has_no_driver);
    on_machine("driver=11080", has_old_driver);
    on_machine("fail=cuInit:*:803", has_broken_driver);
    on_machine("devices=0", has_no_card);
}

/* ---- no programs ---- */

/* Matrix products need no program. An op that needs one runs on the CPU if soft placement allows
 * it, and the record gives the reason. */
static void runs_no_programs(machine_t *m) {
    static const float values[] = {1, 2, 3, 4};
    float got[4] = {0};
    gantry_placement_record_t record = {.struct_size = sizeof record};
    size_t count = 0;
    machine_open(m);
    EXPECT(m->cuda.state == GANTRY_BACKEND_USABLE, "%s", m->cuda.reason);
    gantry_scope_t *scope = gantry_scope_begin(m->runtime, "GPU:0");
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 2), values, sizeof values);
    const gantry_tensor_t *product = gantry_matmul(scope, x, x, NULL);
    EXPECT(product && gantry_tensor_read(product, got, sizeof got) == GANTRY_OK, "%s",
           gantry_last_message());
    EXPECT((int)got[3] == 22, "%g", (double)got[3]);
    EXPECT(gantry_scope_end(scope) == GANTRY_OK, "%s", gantry_last_message());
    expect_refuses(m, "GPU:0", GANTRY_INVALID_ARGUMENT, "Could not satisfy device specification");
    EXPECT(gantry_set_soft_device_placement(m->runtime, true) == GANTRY_OK, "%s",
           gantry_last_message());
    expect_computes(m, "GPU:0");
    EXPECT(gantry_get_placements(m->runtime, 1, &record, &count) == GANTRY_OK && count == 1, "%zu",
           count);
    EXPECT_TEXT(record.device, "CPU:0");
    EXPECT(record.refusal_count > 0 && record.refusals[0].why == GANTRY_REFUSED_NO_KERNEL,
           "%u refusals", record.refusal_count);
}

/* ---- no memory for the compiler ---- */

static void compiler_has_no_memory(machine_t *m, const char *error) {
    gantry_placement_record_t record = {.struct_size = sizeof record};
    size_t count = 0;
    machine_open(m);
    expect_refuses(m, "GPU:0", GANTRY_RESOURCE_EXHAUSTED, error);
    machine_close(m);
    m->options.oom_fallback = GANTRY_ON;
    machine_open(m);
    expect_computes(m, "GPU:0");
    EXPECT(gantry_get_placements(m->runtime, 1, &record, &count) == GANTRY_OK && count == 1, "%zu",
           count);
    EXPECT_TEXT(record.device, "CPU:0");
    EXPECT(record.reason == GANTRY_PLACED_OUT_OF_MEMORY, "reason %d", (int)record.reason);
}

static void has_no_memory_for_nvrtc(machine_t *m) {
    compiler_has_no_memory(m, "NVRTC_ERROR_OUT_OF_MEMORY (1)");
}
static void has_no_memory_for_loading(machine_t *m) {
    compiler_has_no_memory(m, "CUDA_ERROR_OUT_OF_MEMORY (2)");
}

static void has_a_limit(machine_t *m) {
    struct rlimit limit;
    EXPECT(getrlimit(RLIMIT_AS, &limit) == 0, "no limits");
    limit.rlim_cur = UINT64_C(1) << 46; /* 64 TiB: sanitizers reserve some */
    EXPECT(setrlimit(RLIMIT_AS, &limit) == 0, "no limit");
    machine_open(m);
    EXPECT_TEXT(
        m->cuda.reason,
        "CUDA_ERROR_OUT_OF_MEMORY (2); the address space (ulimit -v) of this process is limited to");
    expect_computes(m, "CPU:0");
}

TEST(compilers_lack_of_memory_is_exhausted_and_falls_back) {
    on_machine("fail=nvrtcCompileProgram:*:1", has_no_memory_for_nvrtc);
    on_machine("fail=cuModuleLoadDataEx:*:2", has_no_memory_for_loading);
    if (HAS_THREAD_SANITIZER)
        print_message("no limit of the address space: ThreadSanitizer takes nearly all\n");
    else
        on_machine("fail=cuInit:*:2", has_a_limit);
}

static void has_no_nvrtc(machine_t *m) {
    m->extra[1] = "GANTRY_CUDA_NVRTC=/nonexistent/libnvrtc.so.12";
    runs_no_programs(m);
    EXPECT_TEXT(m->cuda.libraries,
                "NVRTC missing (NVRTC cannot be opened: /nonexistent/libnvrtc.so.12");
    EXPECT(
        log_lines_with(&lines, "CUDA devices run no programs", "/nonexistent/libnvrtc.so.12") == 1,
        "no warning");
}

static void has_old_card(machine_t *m) {
    runs_no_programs(m);
    EXPECT(
        log_lines_with(&lines, "runs no programs", "compute capability 5.0 is older than any") == 1,
        "no warning");
}

static void has_new_card(machine_t *m) {
    machine_open(m);
    expect_computes(m, "GPU:0"); /* compiled to PTX */
    EXPECT(log_lines_with(&lines, "is 7 % busy as it is opened", "GPU-") == 1,
           "NVML was not asked, or not heard");
}

TEST(no_compiler_for_the_card_leaves_products_and_the_cpu) {
    on_machine("devices=1", has_no_nvrtc);
    on_machine("cc=5.0;nvrtc=13000;driver=13000", has_old_card);
    on_machine("cc=12.0;nvrtc=12040", has_new_card);
}

/* NVRTC is newer than the driver accepts: the message has both versions. */
static void driver_refuses_programs(machine_t *m) {
    machine_open(m);
    expect_refuses(m, "GPU:0", GANTRY_INVALID_ARGUMENT, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222)");
    EXPECT_TEXT(gantry_last_message(), "CUDA 12.0");
    EXPECT_TEXT(gantry_last_message(), "(12.9)");
    expect_refuses(m, "GPU:1", GANTRY_INVALID_ARGUMENT, "222");
    expect_computes(m, "CPU:0");
}

TEST(driver_older_than_the_compiler_is_told_with_both_versions) {
    on_machine("devices=2;driver=12000;fail=cuModuleLoadDataEx:*:222", driver_refuses_programs);
}

/* ---- cached binaries ---- */

static void remove_files(const char *folder) {
    char path[512];
    DIR *opened = opendir(folder);
    for (struct dirent *entry = opened ? readdir(opened) : NULL; entry; entry = readdir(opened)) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        (void)unlink(path);
    }
    if (opened) (void)closedir(opened);
    (void)rmdir(folder);
}

static gantry_program_stats_t compute_and_count(machine_t *m) {
    gantry_program_stats_t stats = {.struct_size = sizeof stats};
    machine_open(m);
    expect_computes(m, "GPU:0");
    EXPECT(gantry_get_program_stats(m->runtime, &stats) == GANTRY_OK, "%s", gantry_last_message());
    machine_close(m);
    return stats;
}

/* The driver refuses the cached binary: it is for another card, damaged inside, or too new. */
static void cache_is_refused(machine_t *m) {
    static const char *const refusals[] = {"fail=cuModuleLoadDataEx:1:209",
                                           "fail=cuModuleLoadDataEx:1:200",
                                           "fail=cuModuleLoadDataEx:1:218"};
    (void)snprintf(m->folder, sizeof m->folder, "/tmp/gantry_bad_input_XXXXXX");
    EXPECT(mkdtemp(m->folder), "no folder");
    m->options.kernel_cache = m->folder;
    gantry_program_stats_t first = compute_and_count(m), warm = compute_and_count(m);
    EXPECT(first.built > 1 && warm.built == 0 && warm.loaded == first.built,
           "%d built, then %d, %d loaded", (int)first.built, (int)warm.built, (int)warm.loaded);
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; ++i) {
        control()->reset();
        set(refusals[i]);
        gantry_program_stats_t stats = compute_and_count(m);
        EXPECT(stats.built == 1 && stats.bad_entries == 1, "%s: %d built, %d bad", refusals[i],
               (int)stats.built, (int)stats.bad_entries);
    }
    remove_files(m->folder);
}

TEST(binary_that_the_driver_refuses_is_built_again) { on_machine("devices=1", cache_is_refused); }

/* ---- memory ---- */

/* Two matrices and the result leave less under the limit than cuBLASLt requests. */
static void has_little_memory(machine_t *m) {
    static float values[128 * 128], got[128 * 128];
    gantry_memory_info_t info = {.struct_size = sizeof info};
    for (size_t i = 0; i < 128 * 128; ++i) values[i] = (float)(i % 3);
    m->options.memory_limit_bytes = 3 * sizeof values + 32768;
    machine_open(m);
    gantry_scope_t *scope = gantry_scope_begin(m->runtime, "GPU:0");
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(128, 128), values, sizeof values);
    const gantry_tensor_t *y =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(128, 128), values, sizeof values);
    const gantry_tensor_t *product = gantry_matmul(scope, x, y, NULL);
    EXPECT(product && gantry_tensor_read(product, got, sizeof got) == GANTRY_OK, "%s",
           gantry_last_message());
    double wanted = 0;
    for (size_t k = 0; k < 128; ++k) wanted += (double)values[k] * (double)values[k * 128];
    EXPECT((int)got[0] == (int)wanted, "%g, not %g", (double)got[0], wanted);
    EXPECT(gantry_get_memory_info(m->runtime, "GPU:0", &info) == GANTRY_OK, "%s",
           gantry_last_message());
    EXPECT(info.peak_bytes <= info.limit_bytes, "%llu of %llu", (unsigned long long)info.peak_bytes,
           (unsigned long long)info.limit_bytes);
    EXPECT(gantry_scope_end(scope) == GANTRY_OK, "%s", gantry_last_message());
    expect_computes(m, "CPU:0");
}

TEST(product_without_room_for_a_workspace_is_right) { on_machine("devices=1", has_little_memory); }

/* ---- loss ---- */

static void loses_a_card(machine_t *m) {
    static const float values[] = {1, 2, 3, 4};
    gantry_placement_record_t record = {.struct_size = sizeof record};
    size_t count = 0;
    float got[4];
    m->options.soft_placement = GANTRY_ON;
    machine_open(m);
    expect_computes(m, "GPU:0");
    gantry_scope_t *scope = gantry_scope_begin(m->runtime, "GPU:0");
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(4), values, sizeof values);
    EXPECT(x, "%s", gantry_last_message());
    set("fail=cuLaunchKernel:1:214");
    expect_refuses(m, "GPU:0", GANTRY_UNAVAILABLE, "CUDA_ERROR_ECC_UNCORRECTABLE (214)");
    EXPECT(gantry_tensor_read(x, got, sizeof got) == GANTRY_UNAVAILABLE, "a lost tensor was read");
    EXPECT_TEXT(gantry_last_message(), "GPU:0 was lost");
    EXPECT_TEXT(gantry_last_message(), "CUDA_ERROR_ECC_UNCORRECTABLE");
    (void)gantry_scope_end(scope);
    EXPECT(log_lines_with(&lines, "GPU:0", "was lost and is not used any more") == 1,
           "no line of the loss");
    expect_computes(m, "GPU:1");
    expect_computes(m, "CPU:0");
    expect_computes(m, "");
    EXPECT(gantry_get_placements(m->runtime, 1, &record, &count) == GANTRY_OK && count == 1, "%zu",
           count);
    EXPECT_TEXT(record.device, "GPU:1");
    expect_computes(m, "GPU:0"); /* soft placement chooses another device */
    EXPECT(gantry_get_placements(m->runtime, 1, &record, &count) == GANTRY_OK && count == 1, "%zu",
           count);
    EXPECT(record.refusal_count > 0 && record.refusals[0].why == GANTRY_REFUSED_DEVICE_LOST,
           "%u refusals, %s", record.refusal_count, gantry_refusal_text(record.refusals[0].why));
}

/* A long message keeps the driver's error at its end. */
static void loses_a_card_as_it_loads_a_program(machine_t *m) {
    machine_open(m);
    expect_refuses(m, "GPU:0", GANTRY_UNAVAILABLE, "CUDA_ERROR_LAUNCH_FAILED (719)");
    expect_refuses(m, "GPU:0", GANTRY_INVALID_ARGUMENT, "CUDA_ERROR_LAUNCH_FAILED (719)");
    expect_computes(m, "GPU:1");
}

static void has_busy_card(machine_t *m) {
    machine_open(m);
    expect_refuses(m, "GPU:0", GANTRY_UNAVAILABLE, "CUDA_ERROR_DEVICE_UNAVAILABLE (46)");
    expect_computes(m, "GPU:1");
    expect_computes(m, "CPU:0");
}

TEST(lost_or_busy_card_is_told_and_the_others_go_on) {
    on_machine("devices=2", loses_a_card);
    on_machine("devices=2;fail=cuModuleLoadDataEx:1:719", loses_a_card_as_it_loads_a_program);
    on_machine("devices=2;busy=1,0", has_busy_card);
}

/* ---- peers ---- */

static void copies_between_cards(machine_t *m) {
    static const float values[] = {1, 2, 3, 4};
    float got[4] = {0};
    machine_open(m);
    gantry_scope_t *scope = gantry_scope_begin(m->runtime, "GPU:0"),
                   *other = gantry_scope_begin_in(scope, "GPU:1");
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(4), values, sizeof values);
    for (int i = 0; i < 2; ++i) {
        const gantry_tensor_t *y = gantry_add(other, x, x);
        EXPECT(y && gantry_tensor_read(y, got, sizeof got) == GANTRY_OK, "%s",
               gantry_last_message());
        EXPECT((int)got[3] == 8, "%g", (double)got[3]);
    }
    EXPECT(gantry_scope_end(other) == GANTRY_OK, "%s", gantry_last_message());
    EXPECT(gantry_scope_end(scope) == GANTRY_OK, "%s", gantry_last_message());
}

static void has_no_peers(machine_t *m) {
    copies_between_cards(m);
    EXPECT(log_lines_with(&lines, "has no direct access to the memory of",
                          "reach each other's memory") == 1,
           "the way is not told");
}

static void refuses_peers(machine_t *m) {
    copies_between_cards(m);
    EXPECT(log_lines_with(&lines, "has no direct access to the memory of",
                          "CUDA_ERROR_TOO_MANY_PEERS (711)") == 1,
           "the way is not told");
}

TEST(refused_peer_access_is_told_and_copies_arrive) {
    on_machine("devices=2;peer=0", has_no_peers);
    on_machine("devices=2;fail=cuCtxEnablePeerAccess:*:711", refuses_peers);
}

/* ---- the module's file ---- */

/* Writes the first bytes of the real module, or random bytes for a negative number. */
static void write_module(const char *file, long bytes) {
    static char content[1 << 20];
    (void)unlink(file); /* the loader knows a file by its inode: each file needs another one */
    FILE *source = fopen(MODULES "/libgantry_backend_cuda.so", "rb"), *target = fopen(file, "wb");
    EXPECT(source && target, "%s cannot be written", file);
    if (!source || !target) _exit(1);
    size_t size = fread(content, 1, sizeof content, source);
    for (size_t i = 0; bytes < 0 && i < sizeof content; ++i) content[i] = (char)(i * i * 31 >> 3);
    EXPECT(size > 20000, "the module has %zu bytes", size);
    size = (size_t)(bytes < 0 ? -bytes : bytes);
    EXPECT(fwrite(content, 1, size, target) == size, "%s", file);
    (void)fclose(source);
    (void)fclose(target);
}

static void has_damaged_module(machine_t *m) {
    /* each cut lies within the loaded part, in every build */
    static const long cuts[] = {1, 64, 1000, 8192, 20000, -4096};
    char file[128];
    (void)snprintf(m->folder, sizeof m->folder, "/tmp/gantry_bad_input_XXXXXX");
    EXPECT(mkdtemp(m->folder), "no folder");
    (void)snprintf(file, sizeof file, "%s/libgantry_backend_cuda.so", m->folder);
    m->options.backend_path = file;
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; ++i) {
        write_module(file, cuts[i]);
        machine_open(m);
        EXPECT(
            m->cuda.state == GANTRY_BACKEND_REFUSED || m->cuda.state == GANTRY_BACKEND_UNAVAILABLE,
            "%ld bytes: state %d", cuts[i], (int)m->cuda.state);
        EXPECT_TEXT(m->cuda.reason, file);
        expect_computes(m, "CPU:0");
        machine_close(m);
    }
    remove_files(m->folder);
    /* a library without a module */
    m->options.backend_path = GANTRY_TEST_MODULES "/cuda/standin_libnvml.so";
    m->options.backends = NULL;
    EXPECT(gantry_runtime_create(&m->options, &m->runtime) == GANTRY_OK, "%s",
           gantry_last_message());
    expect_computes(m, "CPU:0");
}

TEST(damaged_module_is_refused_and_the_cpu_works) { on_machine("devices=1", has_damaged_module); }

/* ---- CUDA_VISIBLE_DEVICES ---- */

static const char *wanted_cards; /* "20": the machine's third card, then its first */

static void shows_cards(machine_t *m) {
    const gantry_physical_device_t *cards[8];
    size_t count = 0;
    machine_open(m);
    EXPECT(gantry_get_visible_devices(m->runtime, "GPU", 8, cards, &count) == GANTRY_OK, "%s",
           gantry_last_message());
    EXPECT(count == strlen(wanted_cards), "%zu cards, not %zu", count, strlen(wanted_cards));
    for (size_t i = 0; i < count && i < strlen(wanted_cards); ++i) {
        gantry_device_details_t details = {.struct_size = sizeof details};
        char address[24];
        EXPECT(gantry_get_device_details(m->runtime, cards[i], &details) == GANTRY_OK, "%s",
               gantry_last_message());
        (void)snprintf(address, sizeof address, "0000:%02x:00.0",
                       0x17 + 8 * (wanted_cards[i] - '0'));
        EXPECT(strcmp(details.pci_address, address) == 0, "GPU:%zu is %s, not %s", i,
               details.pci_address, address);
    }
    if (count > 0) {
        expect_computes(m, "GPU:0");
    } else {
        EXPECT_TEXT(m->cuda.reason,
                    "it sees no card: CUDA_ERROR_NO_DEVICE (100) (CUDA_VISIBLE_DEVICES=\"");
        EXPECT_TEXT(m->cuda.reason, getenv("CUDA_VISIBLE_DEVICES"));
        expect_computes(m, "CPU:0");
    }
}

TEST(visible_devices_are_numbered_as_the_variable_says) {
    /* UUIDs: "stand-in card 0" in ASCII, with the card's number as last digit */
    static const char *const forms[][2] = {
        {NULL, "012"},
        {"0", "0"},
        {"2,0", "20"},
        {"1,2", "12"},
        {"-1", ""},
        {"", ""},
        {"7", ""},
        {"0,9,1", "0"},
        {"0,-1,1", "0"},
        {"1,1", ""},
        {"none", ""},
        {"abc", ""},
        {"0, 1", "01"},
        {"GPU-7374616e-642d-696e-2063-617264202032", "2"},
        {"GPU-7374616e-642d-696e-2063-617264202031,GPU-7374616e-642d-696e-2063-617264202030", "10"},
        {"GPU-7374616e", ""}, /* visible of all three */
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; ++i) {
        if (forms[i][0]) (void)setenv("CUDA_VISIBLE_DEVICES", forms[i][0], 1);
        wanted_cards = forms[i][1];
        on_machine("devices=3", shows_cards);
    }
    (void)unsetenv("CUDA_VISIBLE_DEVICES");
}

int main(void) {
    (void)setenv("POCL_DEVICES", "pthread", 1);
    (void)unsetenv("CUDA_VISIBLE_DEVICES");
    return test_main_with(set_up, NULL, NULL, NULL);
}
