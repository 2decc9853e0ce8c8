/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Every #include of the tree follows the table of docs/architecture.md.
 * Promise: No file of kernels/ includes one of backends/, and a family of kernels includes another
 * only where the test's table has the pair.
 * Promise: No .c file of src/ has a vendor's name in a text, except for the list of Gantry's own
 * backends.
 *
 * include/gantry <- base <- {backend, claim, io} <- memory <- device <- kernel <- op <- place
 *     <- run <- {compose, api, function}
 * include/gantry/abi_{types,telemetry}.h <- backend_abi.h <- kernels/common <- kernels/math
 *     <- kernels/<family> <- backends/driver <- the other backends
 * ops <- src/op, src/api, kernels, tests: rows of ops, which include nothing
 * ops/type_rows.h <- src, kernels, train, tests: element types; includes abi_types.h and ops/
 * host <- src, backends, kernels, train, tests: the processor's mode, which includes nothing
 * include/gantry/backend_abi.h <- tests/stand_ins
 * include/gantry <- examples, bench, tools, tests/conformance, tests/packaging
 * include/gantry <- include/gantry_train <- train: the training library, on public calls only
 * any header of src/ <- tests/unit, tests/faults, tests/fuzz, bench/internal
 *
 * A quoted name without a folder is a file of the same folder. Only the backends include vendors'
 * headers. */
#define _XOPEN_SOURCE 700

#include <dirent.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

/* Layers of src/ with their height; layers of one height do not include each other. */
static const struct {
    const char *name;
    int height;
} layers[] = {{"base", 0},    {"backend", 1}, {"claim", 1},   {"io", 1},    {"memory", 2},
              {"device", 3},  {"kernel", 4},  {"op", 5},      {"place", 6}, {"run", 7},
              {"compose", 8}, {"api", 8},     {"function", 8}};

/* Families of kernels that use another family, besides common and math: the first includes the
 * second. */
static const char *const family_uses[][2] = {
    {"norm", "reduce"}, {"elementwise", "reduce"}, /* fused programs */
    {"index", "sort"},  {"matmul", "window"},      {"matmul", "elementwise"},
};

/* The height of text's first folder, -1 if it is no layer; *out_length is the folder's length. */
static int layer_of(const char *text, size_t *out_length) {
    *out_length = strcspn(text, "/");
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; ++i) {
        if (strlen(layers[i].name) == *out_length &&
            strncmp(text, layers[i].name, *out_length) == 0)
            return layers[i].height;
    }
    return -1;
}

static bool begins_with(const char *text, const char *start) {
    return strncmp(text, start, strlen(start)) == 0;
}

static bool is_vendor_header(const char *name) {
    static const char *const starts[] = {"CL/",  "cuda",    "nvrtc", "cublas", "cudnn",  "nccl",
                                         "nvml", "clblast", "dnnl",  "cblas",  "oneapi/"};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; ++i) {
        if (begins_with(name, starts[i])) return true;
    }
    return false;
}

static bool is_public(const char *name) { return begins_with(name, "gantry/"); }

static bool may_core_include(const char *file, const char *name, bool quoted) {
    if (!quoted) return !is_vendor_header(name);
    size_t own_length, length;
    int own = layer_of(file, &own_length), height = layer_of(name, &length);
    /* the form is always "layer/file" */
    if (own < 0 || height < 0 || name[length] != '/') return false;
    bool is_same = own_length == length && strncmp(file, name, length) == 0;
    return is_same || height < own;
}

/* Finds the family of "kernels/<family>/..." in text: *out_family, of *out_length characters. */
static bool is_kernel_path(const char *text, const char **out_family, size_t *out_length) {
    if (!begins_with(text, "kernels/")) return false;
    *out_family = text + strlen("kernels/");
    *out_length = strcspn(*out_family, "/");
    return (*out_family)[*out_length] == '/';
}

static bool is_family(const char *text, size_t length, const char *name) {
    return strlen(name) == length && strncmp(text, name, length) == 0;
}

static bool is_only_abi(const char *name) {
    return !is_public(name) || strcmp(name, "gantry/backend_abi.h") == 0 ||
           strcmp(name, "gantry/abi_types.h") == 0;
}

static bool may_kernel_include(const char *file, const char *name, bool quoted) {
    const char *own, *other;
    size_t own_length, length;
    if (!quoted) return is_only_abi(name) && !is_vendor_header(name);
    if (!is_kernel_path(file, &own, &own_length) || !is_kernel_path(name, &other, &length))
        return false;
    if (is_family(other, length, "common")) return true;
    if (is_family(own, own_length, "common")) return false;
    if (is_family(other, length, "math")) return true;
    if (own_length == length && strncmp(own, other, length) == 0) return true;
    for (size_t i = 0; i < sizeof family_uses / sizeof family_uses[0]; ++i) {
        if (is_family(own, own_length, family_uses[i][0]) &&
            is_family(other, length, family_uses[i][1]))
            return true;
    }
    return false;
}

static bool may_backend_include(const char *file, const char *name, bool quoted) {
    if (!quoted) return is_only_abi(name);
    size_t own_length = strcspn(file, "/");
    bool is_own = strncmp(file, name, own_length) == 0 && name[own_length] == '/';
    return is_own || begins_with(name, "driver/") || begins_with(name, "kernels/") ||
           !strchr(name, '/');
}

static bool is_plain(const char *name, bool quoted) { return !quoted || !strchr(name, '/'); }

static bool is_type_rows(const char *name) { return strcmp(name, "ops/type_rows.h") == 0; }

/* Whether the file (a path below the root) may have this #include. */
static bool may_include(const char *file, const char *name, bool quoted) {
    if (begins_with(file, "include/gantry/")) {
        if (begins_with(file, "include/gantry/abi_")) return strcmp(name, "stdint.h") == 0;
        if (strcmp(file, "include/gantry/backend_abi.h") == 0 && is_public(name))
            return begins_with(name, "gantry/abi_");
        return !quoted && !is_vendor_header(name);
    }
    if (begins_with(file, "ops/"))
        return is_type_rows(file) &&
               (quoted ? begins_with(name, "ops/")
                       : !is_vendor_header(name) &&
                             (!is_public(name) || strcmp(name, "gantry/abi_types.h") == 0));
    if (quoted && is_type_rows(name))
        return begins_with(file, "src/") || begins_with(file, "train/") ||
               begins_with(file, "kernels/") || begins_with(file, "tests/");
    if (begins_with(file, "host/")) return !quoted && !is_public(name) && !is_vendor_header(name);
    if (quoted && begins_with(name, "host/"))
        return begins_with(file, "src/") || begins_with(file, "kernels/") ||
               begins_with(file, "backends/") || begins_with(file, "train/") ||
               (begins_with(file, "tests/") && !begins_with(file, "tests/conformance/"));
    if (quoted && begins_with(name, "ops/"))
        return begins_with(file, "src/op/") || begins_with(file, "src/api/") ||
               begins_with(file, "kernels/") || begins_with(file, "tests/");
    if (begins_with(file, "src/")) return may_core_include(file + 4, name, quoted);
    if (begins_with(file, "kernels/")) return may_kernel_include(file, name, quoted);
    if (begins_with(file, "backends/")) return may_backend_include(file + 9, name, quoted);
    if (begins_with(file, "tests/stand_ins/")) return is_plain(name, quoted) && is_only_abi(name);
    if (begins_with(file, "tests/conformance/") || begins_with(file, "tests/packaging/"))
        return is_plain(name, quoted);
    if (begins_with(file, "tests/") || begins_with(file, "bench/internal/")) return true;
    if (begins_with(file, "train/"))
        return quoted ? begins_with(name, "train/") : !is_vendor_header(name);
    return is_plain(name, quoted); /* examples, bench, tools, include/gantry_train */
}

/* ---- vendors ---- */

/* The core's code has no vendor's name in a text: rows of .def files do. Messages use the one list
 * of Gantry's own backends. */
static bool names_a_vendor(const char *file, const char *line) {
    static const char *const words[] = {"\"cuda", "\"CUDA", "NVIDIA"};
    const char *dot = strrchr(file, '.');
    if (!begins_with(file, "src/") || !dot || strcmp(dot, ".c") != 0) return false;
    if (strstr(line, "own[] = {\"cpu\", \"cuda\", \"opencl\"}")) return false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; ++i) {
        if (strstr(line, words[i])) return true;
    }
    return false;
}

static void vendor_in_the_core_is_found(void **state) {
    (void)state;
    assert_true(names_a_vendor("src/device/visible.c", "    strcmp(backend->name, \"cuda\") == 0"));
    assert_true(names_a_vendor("src/device/visible.c", "    strstr(info.vendor, \"NVIDIA\")"));
    assert_false(names_a_vendor("src/device/vendor.def", "ROW(\"NVIDIA\", \"cuda\")"));
    assert_false(names_a_vendor("backends/cuda/cuda_backend.c", ".name = \"cuda\""));
}

/* ---- the rules themselves ---- */

static const struct {
    const char *file, *name;
    bool quoted, allowed;
} rules[] = {
    {"src/base/heap.c", "base/heap.h", true, true},
    {"src/base/heap.c", "stdlib.h", false, true},
    {"src/base/heap.c", "gantry/status.h", false, true},
    {"src/base/heap.c", "heap.h", true, false}, /* without its folder */
    {"src/base/heap.c", "backend/module.h", true, false},
    {"src/base/heap.c", "CL/cl.h", false, false},
    {"src/backend/module.c", "base/files.h", true, true},
    {"src/backend/module.c", "io/npy.h", true, false},
    {"src/io/npy.c", "backend/module.h", true, false},
    {"src/memory/bfc.c", "io/npy.h", true, true},
    {"src/memory/bfc.c", "device/stream.h", true, false},
    {"src/device/stream.c", "memory/bfc.h", true, true},
    {"src/run/eager.c", "place/placer.h", true, true},
    {"src/place/placer.c", "run/eager.h", true, false},
    {"src/run/eager.c", "../place/placer.h", true, false},
    {"src/run/eager.c", "cpu/cpu_backend.h", true, false},
    {"src/device/logical.c", "fake_backend.h", true, false},
    {"backends/opencl/opencl_memory.c", "gantry/backend_abi.h", false, true},
    {"backends/opencl/opencl_memory.c", "gantry/status.h", false, false},
    {"backends/opencl/opencl_memory.c", "CL/cl.h", false, true},
    {"backends/opencl/opencl_memory.c", "opencl/opencl_backend.h", true, true},
    {"backends/opencl/opencl_memory.c", "kernels/common/kernel_types.h", true, true},
    {"backends/opencl/opencl_memory.c", "driver/host_call.h", true, true},
    {"backends/opencl/opencl_memory.c", "cpu/cpu_pool.h", true, false},
    {"backends/driver/library_open.c", "kernels/common/kernel_types.h", true, true},
    {"backends/driver/library_open.c", "cuda/cuda_driver.h", true, false},
    {"kernels/common/launch.h", "gantry/backend_abi.h", false, true},
    {"kernels/common/launch.h", "gantry/status.h", false, false},
    {"kernels/common/launch.h", "kernels/math/math_float32.cl", true, false},
    {"kernels/common/launch.h", "kernels/scan/scan_items.h", true, false},
    {"kernels/scan/scan_items.c", "kernels/common/launch.h", true, true},
    {"kernels/scan/scan_items.c", "kernels/math/math_float32.cl", true, true},
    {"kernels/scan/scan_items.c", "kernels/scan/scan_items.h", true, true},
    {"kernels/scan/scan_items.c", "kernels/sort/sort_items.h", true, false},
    {"kernels/scan/scan_items.c", "scan_items.h", true, false}, /* without its folder */
    {"kernels/index/scatter_items.c", "kernels/sort/sort_items.h", true, true},
    {"kernels/sort/sort_items.c", "kernels/index/scatter_items.h", true, false},
    {"kernels/scan/scan_cpu_simd.c", "cpu/cpu_pool.h", true, false},
    {"kernels/scan/scan_items.c", "driver/host_call.h", true, false},
    {"src/kernel/call.c", "kernels/common/launch.h", true, false},
    {"backends/cpu/cpu_pool.c", "base/heap.h", true, false},
    {"src/op/op_rows.def", "ops/elementwise.def", true, true},
    {"src/api/ops_elementwise.c", "ops/elementwise.def", true, true},
    {"src/run/eager.c", "ops/elementwise.def", true, false},
    {"kernels/elementwise/elementwise_cpu.c", "ops/elementwise.def", true, true},
    {"backends/opencl/opencl_memory.c", "ops/elementwise.def", true, false},
    {"ops/elementwise.def", "gantry/backend_abi.h", false, false},
    {"ops/type_rows.h", "gantry/abi_types.h", false, true},
    {"ops/type_rows.h", "gantry/types.h", false, false},
    {"ops/type_rows.h", "ops/type_sets.inc", true, true},
    {"src/base/types.c", "ops/type_rows.h", true, true},
    {"train/checkpoint/safetensors_types.c", "ops/type_rows.h", true, true},
    {"train/checkpoint/safetensors_types.c", "ops/elementwise.def", true, false},
    {"tools/gantry/gantry_ops.c", "ops/type_rows.h", true, false},
    {"src/base/fp_mode.h", "host/fp_mode.h", true, true},
    {"train/base/fp_mode.h", "host/fp_mode.h", true, true},
    {"backends/cpu/cpu_pool.c", "host/fp_mode.h", true, true},
    {"tools/gantry/gantry_run.c", "host/fp_mode.h", true, false},
    {"include/gantry/runtime.h", "host/fp_mode.h", true, false},
    {"host/fp_mode.h", "stdint.h", false, true},
    {"host/fp_mode.h", "base/heap.h", true, false},
    {"host/fp_mode.h", "gantry/status.h", false, false},
    {"include/gantry/device.h", "gantry/runtime.h", false, true},
    {"include/gantry/device.h", "base/heap.h", true, false},
    {"include/gantry/backend_abi.h", "stdint.h", false, true},
    {"include/gantry/backend_abi.h", "gantry/status.h", false, false},
    {"include/gantry/backend_abi.h", "gantry/abi_telemetry.h", false, true},
    {"include/gantry/abi_types.h", "stdint.h", false, true},
    {"include/gantry/abi_types.h", "gantry/export.h", false, false},
    {"kernels/common/dialect.cl", "gantry/abi_types.h", false, true},
    {"tests/stand_ins/fake_stream.c", "gantry/backend_abi.h", false, true},
    {"examples/gpu_guide.c", "gantry/gantry.h", false, true},
    {"examples/gpu_guide.c", "example.h", true, true},
    {"examples/gpu_guide.c", "base/heap.h", true, false},
    {"tests/conformance/golden.c", "../../src/base/heap.h", true, false},
    {"tests/unit/base/test_heap.c", "base/heap.h", true, true},
    {"bench/internal/bench_bfc.c", "memory/bfc.h", true, true},
    {"bench/bench_add.c", "memory/bfc.h", true, false},
    {"tests/stand_ins/fake_stream.c", "base/heap.h", true, false},
    {"tests/stand_ins/fake_stream.c", "gantry/runtime.h", false, false},
    {"tests/stand_ins/fake_stream.c", "fake_internal.h", true, true},
};

static void rules_refuse_what_they_should(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; ++i) {
        if (may_include(rules[i].file, rules[i].name, rules[i].quoted) != rules[i].allowed) {
            fail_msg("%s includes %s: %s", rules[i].file, rules[i].name,
                     rules[i].allowed ? "refused" : "allowed");
        }
    }
}

/* ---- circles ---- */

/* A header and its .c file are one room, named like both. The name is unique in the tree. Rooms of
 * src, kernels and backends do not include each other in a circle. */
#define MOST_ROOMS 1024
#define ROOM_BYTES 64

typedef struct rooms_t {
    char names[MOST_ROOMS][ROOM_BYTES];
    bool reaches[MOST_ROOMS][MOST_ROOMS]; /* this room includes it */
    size_t count;
} rooms_t;

/* Two rooms that may include each other, with the reason. */
static const char *const pairs[][2] = {
    {"cpu_copy", "cpu_transfer"}, /* the slow path, out of line */
    {"bfc", "bfc_bins"},          /* one data structure in two files */
    /* the allocator holds its lock while it climbs the ladder */
    {"ladder", "allocator"},
    {"module", "backend_set"},            /* the set's modules */
    {"fault", "fault_text"},              /* a fault's text */
    {"sort_items", "radix_items"},        /* radix sort is one kind of sort */
    {"cuda_backend", "cuda_cublas_plan"}, /* libraries are opened for a device */
    {"cuda_backend", "cuda_cublas_tuned"},
    {"opencl_backend", "opencl_clblast"},
    {"opencl_backend", "opencl_clblast_parameters"},
    /* a failure needs the table, and opening the table may fail */
    {"opencl_status", "opencl_symbols"},
};

static bool is_pair(const char *a, const char *b) {
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; ++i) {
        if (strcmp(pairs[i][0], a) == 0 && strcmp(pairs[i][1], b) == 0) return true;
        if (strcmp(pairs[i][0], b) == 0 && strcmp(pairs[i][1], a) == 0) return true;
    }
    return false;
}

static size_t room_of(rooms_t *rooms, const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t length = strcspn(name, "."), i = 0;
    while (i < rooms->count &&
           (strncmp(rooms->names[i], name, length) != 0 || strlen(rooms->names[i]) != length))
        ++i;
    if (i < rooms->count) return i;
    assert_true(i < MOST_ROOMS && length < ROOM_BYTES);
    memcpy(rooms->names[i], name, length);
    ++rooms->count;
    return i;
}

static void note_include(rooms_t *rooms, const char *file, const char *name) {
    size_t from = room_of(rooms, file), to = room_of(rooms, name);
    if (from != to && !is_pair(rooms->names[from], rooms->names[to]))
        rooms->reaches[from][to] = true;
}

/* Prints each circle once; returns their number. */
static int find_circles(rooms_t *rooms) {
    int circles = 0;
    for (size_t k = 0; k < rooms->count; ++k) {
        for (size_t i = 0; i < rooms->count; ++i) {
            if (!rooms->reaches[i][k]) continue;
            for (size_t j = 0; j < rooms->count; ++j) rooms->reaches[i][j] |= rooms->reaches[k][j];
        }
    }
    for (size_t i = 0; i < rooms->count; ++i) {
        size_t first = 0;
        while (first < i && !(rooms->reaches[i][first] && rooms->reaches[first][i])) ++first;
        if (first < i || !rooms->reaches[i][i]) continue;
        ++circles;
        print_error("a circle:");
        for (size_t j = i; j < rooms->count; ++j) {
            if (rooms->reaches[i][j] && rooms->reaches[j][i]) print_error(" %s", rooms->names[j]);
        }
        print_error("\n");
    }
    return circles;
}

static void circles_are_found(void **state) {
    (void)state;
    static const char *const includes[][2] = {
        {"src/a/one.c", "a/one.h"},
        {"src/a/one.c", "a/two.h"},
        {"src/a/two.c", "b/three.h"},
        {"src/b/three.c", "b/three.h"},
        {"src/memory/bfc.c", "memory/bfc_bins.h"},
        {"src/memory/bfc_bins.c", "memory/bfc.h"},
    };
    rooms_t *rooms = calloc(1, sizeof *rooms);
    assert_non_null(rooms);
    for (size_t i = 0; i < sizeof includes / sizeof includes[0]; ++i)
        note_include(rooms, includes[i][0], includes[i][1]);
    assert_int_equal(find_circles(rooms), 0);
    note_include(rooms, "src/b/three.c", "a/one.h");
    assert_int_equal(find_circles(rooms), 1);
    free(rooms);
}

/* ---- the tree ---- */

typedef struct walk_t {
    int files, includes, breaches;
    rooms_t *rooms; /* NULL: not these folders */
} walk_t;

/* The name in an #include line; false for any other line. */
static bool read_include(const char *line, char name[256], bool *out_quoted) {
    line += strspn(line, " \t");
    if (*line++ != '#') return false;
    line += strspn(line, " \t");
    if (!begins_with(line, "include")) return false;
    line += strlen("include");
    line += strspn(line, " \t");
    if (*line != '"' && *line != '<') return false;
    *out_quoted = *line == '"';
    size_t length = strcspn(line + 1, *out_quoted ? "\"" : ">");
    if (length >= 256) return false;
    memcpy(name, line + 1, length);
    name[length] = '\0';
    return true;
}

static void check_file(walk_t *walk, const char *path) {
    char full[PATH_MAX], line[4096], name[256];
    bool quoted;
    (void)snprintf(full, sizeof full, "%s/%s", GANTRY_TEST_SOURCE_DIR, path);
    FILE *file = fopen(full, "r");
    if (!file) fail_msg("%s cannot be read", full);
    ++walk->files;
    for (int number = 1; fgets(line, sizeof line, file); ++number) {
        if (names_a_vendor(path, line)) {
            ++walk->breaches;
            print_error("%s:%d names a vendor: rows of .def files do\n", path, number);
        }
        if (!read_include(line, name, &quoted)) continue;
        ++walk->includes;
        if (walk->rooms && quoted) note_include(walk->rooms, path, name);
        if (may_include(path, name, quoted)) continue;
        ++walk->breaches;
        print_error("%s:%d may not include %s\n", path, number, name);
    }
    (void)fclose(file);
}

static bool is_source(const char *name) {
    static const char *const endings[] = {".c", ".h", ".cl", ".def", ".inc"};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof endings / sizeof endings[0]; ++i) {
        if (strcmp(dot, endings[i]) == 0) return true;
    }
    return false;
}

static void walk_folder(walk_t *walk, const char *path) {
    char full[PATH_MAX];
    (void)snprintf(full, sizeof full, "%s/%s", GANTRY_TEST_SOURCE_DIR, path);
    DIR *folder = opendir(full);
    if (!folder) return; /* this folder does not exist yet */
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        struct stat info;
        char below[PATH_MAX / 2];
        if (entry->d_name[0] == '.') continue;
        if (snprintf(below, sizeof below, "%s/%s", path, entry->d_name) >= (int)sizeof below)
            continue;
        (void)snprintf(full, sizeof full, "%s/%s", GANTRY_TEST_SOURCE_DIR, below);
        if (stat(full, &info) != 0) continue;
        if (S_ISDIR(info.st_mode)) {
            walk_folder(walk, below);
        } else if (is_source(entry->d_name)) {
            check_file(walk, below);
        }
    }
    (void)closedir(folder);
}

static void tree_keeps_the_directions(void **state) {
    (void)state;
    static const char *const folders[] = {"include",  "host",  "ops",      "src",   "kernels",
                                          "backends", "tools", "examples", "bench", "tests"};
    walk_t walk = {0, 0, 0, NULL};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; ++i) walk_folder(&walk, folders[i]);
    print_message("%d files with %d includes\n", walk.files, walk.includes);
    assert_true(walk.files > 100 && walk.includes > 500); /* otherwise the tree was not found */
    assert_int_equal(walk.breaches, 0);
}

static void rooms_include_each_other_in_no_circle(void **state) {
    (void)state;
    walk_t walk = {.rooms = calloc(1, sizeof *walk.rooms)};
    assert_non_null(walk.rooms);
    walk_folder(&walk, "src");
    walk_folder(&walk, "kernels");
    walk_folder(&walk, "backends");
    print_message("%zu rooms\n", walk.rooms->count);
    assert_true(walk.rooms->count > 100);
    int circles = find_circles(walk.rooms);
    free(walk.rooms);
    assert_int_equal(circles, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vendor_in_the_core_is_found),
        cmocka_unit_test(rules_refuse_what_they_should),
        cmocka_unit_test(tree_keeps_the_directions),
        cmocka_unit_test(circles_are_found),
        cmocka_unit_test(rooms_include_each_other_in_no_circle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
