/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Every public struct that begins with struct_size works with every size, or the call is
 * InvalidArgument.
 *
 * The library reads and writes no byte beyond the size. The rows below name every struct of the
 * headers; structs for callbacks have no struct_size. */

#include "api/dlpack_abi.h"
#include "struct_size.h"
#include "test.h"

#include "saved_file.h"

struct world_t {
    gantry_runtime_t *runtime;
    gantry_scope_t *scope;
    const gantry_tensor_t *x; /* float32[1,2,2,1] */
    const gantry_physical_device_t *device;
    gantry_function_t *function;
    gantry_graph_t *graph; /* with an input */
};

static const float elements[4] = {1, 2, 3, 4};

static void body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                 const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_exp(scope, inputs[0]);
}

static gantry_status_t make_function(gantry_runtime_t *runtime,
                                     const gantry_function_options_t *options,
                                     gantry_function_t **out_function) {
    const gantry_input_spec_t input = {"x", GANTRY_FLOAT32, {.rank = 1, .dims = {4}}};
    return gantry_function_trace(runtime, "f", body, NULL, &input, 1, 1, options, out_function);
}

static int open_world(void **state) {
    static world_t w;
    const gantry_runtime_options_t options = {
        .struct_size = sizeof options, .backends = "cpu", .kernel_cache = ""};
    const gantry_shape_t shape = {.rank = 4, .dims = {1, 2, 2, 1}};
    size_t count = 0;
    assert_int_equal(gantry_runtime_create(&options, &w.runtime), GANTRY_OK);
    w.scope = gantry_scope_begin(w.runtime, NULL);
    w.x = gantry_constant(w.scope, GANTRY_FLOAT32, shape, elements, sizeof elements);
    assert_non_null(gantry_exp(w.scope, w.x));
    assert_int_equal(gantry_list_physical_devices(w.runtime, "CPU", 1, &w.device, &count),
                     GANTRY_OK);
    assert_int_equal(gantry_profile_start(w.runtime, GANTRY_PROFILE_ON), GANTRY_OK);
    assert_int_equal(make_function(w.runtime, NULL, &w.function), GANTRY_OK);
    gantry_graph_value_t value;
    const gantry_input_spec_t input = {"x", GANTRY_FLOAT32, {.rank = 1, .dims = {4}}};
    assert_int_equal(gantry_graph_create(w.runtime, NULL, &w.graph), GANTRY_OK);
    assert_int_equal(gantry_graph_add_input(w.graph, &input, &value), GANTRY_OK);
    *state = &w;
    return 0;
}

static int close_world(void **state) {
    world_t *w = *state;
    gantry_function_release(w->function);
    gantry_graph_release(w->graph);
    (void)gantry_scope_end(w->scope);
    gantry_runtime_release(w->runtime);
    return 0;
}

/* ---- structs that the library fills ---- */

static gantry_status_t fill_backend(const world_t *w, void *p) {
    return gantry_backend_status(w->runtime, 0, p);
}
static gantry_status_t fill_setting(const world_t *w, void *p) {
    return gantry_get_setting(w->runtime, "memory_growth", NULL, p);
}
static gantry_status_t fill_details(const world_t *w, void *p) {
    return gantry_get_device_details(w->runtime, w->device, p);
}
static gantry_status_t fill_claim(const world_t *w, void *p) {
    return gantry_get_claim(w->runtime, w->device, p);
}
static gantry_status_t fill_memory(const world_t *w, void *p) {
    return gantry_get_memory_info(w->runtime, "CPU:0", p);
}
static gantry_status_t fill_op(const world_t *w, void *p) {
    return w ? gantry_op_info(0, p) : GANTRY_UNKNOWN;
}
static gantry_status_t fill_programs(const world_t *w, void *p) {
    return gantry_get_program_stats(w->runtime, p);
}
static gantry_status_t fill_profile(const world_t *w, void *p) {
    return gantry_profile_read(w->runtime, GANTRY_PROFILE_TOTAL, p);
}
static gantry_status_t fill_record(const world_t *w, void *p) {
    size_t count;
    return gantry_get_placements(w->runtime, 1, p, &count);
}
static gantry_status_t fill_count(const world_t *w, void *p) {
    size_t count;
    return gantry_get_placement_counts(w->runtime, 1, p, &count);
}
static gantry_status_t fill_config(const world_t *w, void *p) {
    size_t count;
    return gantry_get_logical_device_configuration(w->runtime, w->device, 1, p, &count);
}
static gantry_status_t fill_telemetry(const world_t *w, void *p) {
    return gantry_get_device_telemetry(w->runtime, w->device, p);
}

static gantry_status_t fill_function(const world_t *w, void *p) {
    size_t count;
    return gantry_function_get_memory(w->function, 1, p, &count);
}

static gantry_status_t fill_value(const world_t *w, void *p) {
    return gantry_function_get_input(w->function, 0, p);
}

static gantry_status_t fill_node(const world_t *w, void *p) {
    return gantry_graph_get_node(w->graph, 0, p);
}

static gantry_status_t fill_tensor_memory(const world_t *w, void *p) {
    return gantry_get_tensor_memory(w->x, p);
}

/* previous: the size before the last field was added. */
#define FILLED(type, last, call) \
    { #type, sizeof(type), offsetof(type, last), call }
static const struct {
    const char *name;
    size_t size, previous;
    gantry_status_t (*fill)(const world_t *w, void *p);
} filled[] = {
    FILLED(gantry_backend_status_t, untried, fill_backend),
    FILLED(gantry_setting_t, frozen, fill_setting),
    FILLED(gantry_device_details_t, other_view, fill_details),
    FILLED(gantry_claim_info_t, command, fill_claim),
    FILLED(gantry_memory_info_t, foreign_bytes, fill_memory),
    FILLED(gantry_tensor_memory_t, map_count, fill_tensor_memory),
    FILLED(gantry_op_info_t, version, fill_op),
    FILLED(gantry_program_stats_t, build_ns, fill_programs),
    FILLED(gantry_profile_row_t, elapsed_ns, fill_profile),
    FILLED(gantry_placement_record_t, part_of, fill_record),
    FILLED(gantry_placement_count_t, count, fill_count),
    FILLED(gantry_logical_device_config_t, max_work_group_size, fill_config),
    FILLED(gantry_function_memory_t, result_bytes, fill_function),
    FILLED(gantry_function_value_t, shape, fill_value),
    FILLED(gantry_graph_node_info_t, most_steps, fill_node),
    FILLED(gantry_device_telemetry_t, reason, fill_telemetry),
};
#define FILLED_ROWS (sizeof filled / sizeof filled[0])

/* The number of bytes from `from` on that still hold the canary. */
static size_t untouched(const unsigned char *bytes, size_t from, size_t size) {
    size_t count = 0;
    for (size_t i = from; i < size; ++i) count += bytes[i] == CANARY;
    return count;
}

static void fill_with_size(const world_t *w, size_t row, uint32_t struct_size) {
    const size_t room = filled[row].size + BEHIND;
    unsigned char *bytes = malloc(room); /* sanitizers check accesses behind it */
    assert_non_null(bytes);
    memset(bytes, CANARY, room);
    memcpy(bytes, &struct_size, sizeof struct_size);
    const bool fits = struct_size >= sizeof struct_size && struct_size <= filled[row].size;
    const gantry_status_t status = filled[row].fill(w, bytes);
    const size_t written = fits ? struct_size : sizeof struct_size;
    if (status != (fits ? GANTRY_OK : GANTRY_INVALID_ARGUMENT))
        fail_msg("%s with struct_size %u: %s", filled[row].name, struct_size,
                 gantry_status_name(status));
    if (!fits) assert_non_null(strstr(gantry_last_message(), "struct_size is "));
    if (untouched(bytes, written, room) != room - written)
        fail_msg("%s with struct_size %u: bytes behind it are written", filled[row].name,
                 struct_size);
    assert_memory_equal(bytes, &struct_size, sizeof struct_size); /* the caller keeps it */
    free(bytes);
}

TEST(filled_struct_is_written_up_to_its_size) {
    const world_t *w = *state;
    for (size_t i = 0; i < FILLED_ROWS; ++i) {
        for (uint32_t size = 0; size <= filled[i].size + BEHIND; ++size) fill_with_size(w, i, size);
        fill_with_size(w, i, (uint32_t)filled[i].previous);
        fill_with_size(w, i, UINT32_MAX);
        /* no setting has this value */
        fill_with_size(w, i, (uint32_t)CANARY << 24 | CANARY << 16 | CANARY << 8 | CANARY);
    }
}

TEST(filled_struct_of_this_version_is_filled) {
    const world_t *w = *state;
    unsigned char bytes[4096];
    for (size_t i = 0; i < FILLED_ROWS; ++i) {
        const uint32_t struct_size = (uint32_t)filled[i].size;
        if (filled[i].fill == fill_config) continue; /* the list is empty */
        assert_true(sizeof bytes >= filled[i].size);
        memset(bytes, CANARY, sizeof bytes);
        memcpy(bytes, &struct_size, sizeof struct_size);
        assert_int_equal(filled[i].fill(w, bytes), GANTRY_OK);
        if (untouched(bytes, sizeof struct_size, filled[i].size) > filled[i].size / 4)
            fail_msg("%s is not filled", filled[i].name);
    }
}

/* ---- lists: the first struct's size holds for all ---- */

TEST(list_is_written_in_the_callers_steps) {
    const world_t *w = *state;
    unsigned char bytes[3 * sizeof(gantry_placement_record_t)];
    gantry_placement_record_t whole[2] = {{.struct_size = sizeof whole[0]}};
    size_t count = 0;
    assert_int_equal(gantry_get_placements(w->runtime, 2, whole, &count), GANTRY_OK);
    assert_int_equal(count, 2);
    assert_int_equal(whole[1].struct_size, sizeof whole[1]);
    assert_string_equal(whole[1].op, "Exp");
    const uint32_t steps[] = {4, 8, offsetof(gantry_placement_record_t, asked),
                              offsetof(gantry_placement_record_t, part_of)};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; ++i) {
        const uint32_t step = steps[i];
        memset(bytes, CANARY, sizeof bytes);
        memcpy(bytes, &step, sizeof step);
        assert_int_equal(gantry_get_placements(w->runtime, 2,
                                               (gantry_placement_record_t *)(void *)bytes, &count),
                         GANTRY_OK);
        assert_int_equal(untouched(bytes, 2 * step, sizeof bytes), sizeof bytes - 2 * step);
        for (size_t k = 0; k < 2; ++k) {
            assert_memory_equal(bytes + k * step, &step, sizeof step);
            assert_memory_equal(bytes + k * step + 4, (const char *)&whole[k] + 4, step - 4);
        }
    }
}

static gantry_status_t configure(gantry_runtime_t *runtime, uint32_t struct_size, size_t step) {
    const gantry_physical_device_t *device;
    unsigned char bytes[3 * sizeof(gantry_logical_device_config_t)];
    size_t count;
    assert_int_equal(gantry_list_physical_devices(runtime, "CPU", 1, &device, &count), GANTRY_OK);
    memset(bytes, 0, sizeof bytes);
    for (uint64_t i = 0; i < 2; ++i) {
        const uint64_t limit = (i + 1) << 20;
        memcpy(bytes + i * step + offsetof(gantry_logical_device_config_t, memory_limit_bytes),
               &limit, sizeof limit);
    }
    memset(bytes + 2 * step, CANARY, sizeof bytes - 2 * step);
    memcpy(bytes, &struct_size, sizeof struct_size);
    return gantry_set_logical_device_configuration(
        runtime, device, (gantry_logical_device_config_t *)(void *)bytes, 2);
}

TEST(list_is_read_in_the_callers_steps) {
    const gantry_runtime_options_t options = {
        .struct_size = sizeof options, .backends = "cpu", .kernel_cache = ""};
    const size_t whole = sizeof(gantry_logical_device_config_t),
                 old = offsetof(gantry_logical_device_config_t, has_ordinal);
    gantry_runtime_t *runtime;
    assert_int_equal(gantry_runtime_create(&options, &runtime), GANTRY_OK);
    assert_int_equal(configure(runtime, (uint32_t)old, old), GANTRY_OK);
    assert_int_equal(configure(runtime, (uint32_t)whole, whole), GANTRY_OK);
    assert_int_equal(configure(runtime, 0, whole), GANTRY_OK);
    assert_int_equal(configure(runtime, 3, whole), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(configure(runtime, (uint32_t)whole + 1, whole), GANTRY_INVALID_ARGUMENT);
    gantry_memory_info_t info = {.struct_size = sizeof info};
    assert_int_equal(gantry_get_memory_info(runtime, "CPU:1", &info), GANTRY_OK);
    assert_int_equal(info.limit_bytes, 2 << 20);
    gantry_runtime_release(runtime);
}

/* ---- options, which the library reads ---- */

static gantry_status_t of_scope(const world_t *w, const gantry_tensor_t *result) {
    const gantry_status_t status = gantry_scope_status(w->scope);
    assert_true((result != NULL) == (status == GANTRY_OK));
    if (status != GANTRY_OK && !strstr(gantry_scope_message(w->scope), "struct_size is "))
        fail_msg("%s", gantry_scope_message(w->scope));
    gantry_scope_clear(w->scope);
    return status;
}

static gantry_status_t read_runtime(const world_t *w, const void *p) {
    gantry_runtime_t *runtime = NULL;
    const gantry_status_t status = gantry_runtime_create(p, &runtime);
    gantry_runtime_release(runtime);
    return w ? status : GANTRY_UNKNOWN;
}
static gantry_status_t read_format(const world_t *w, const void *p) {
    return gantry_tensor_format(w->x, p, NULL, 0, NULL);
}
static gantry_status_t read_memory(const world_t *w, const void *p) {
    static float one[1];
    return of_scope(w, gantry_tensor_from_memory(w->scope, GANTRY_FLOAT32, GANTRY_SHAPE(1), one,
                                                 sizeof one, p));
}
static gantry_status_t read_from_dlpack(const world_t *w, const void *p) {
    int64_t empty[1] = {0}; /* copied, so that the struct is given back */
    struct DLManagedTensorVersioned managed = {
        .version = {1, 0},
        .dl_tensor = {.device_type = 1, .ndim = 1, .dtype = {2, 32, 1}, .shape = empty}};
    return of_scope(w, gantry_tensor_from_dlpack(w->scope, &managed, p));
}
static gantry_status_t read_to_dlpack(const world_t *w, const void *p) {
    struct DLManagedTensorVersioned *managed = NULL;
    const gantry_status_t status = gantry_tensor_to_dlpack(w->x, p, &managed);
    if (managed) managed->deleter(managed);
    return status;
}
static gantry_status_t read_reduce(const world_t *w, const void *p) {
    return of_scope(w, gantry_sum(w->scope, w->x, p));
}
static gantry_status_t read_matmul(const world_t *w, const void *p) {
    const gantry_tensor_t *square =
        gantry_reshape(w->scope, w->x, (gantry_shape_t){.rank = 2, .dims = {2, 2}});
    return of_scope(w, gantry_matmul(w->scope, square, square, p));
}
static gantry_status_t read_scan(const world_t *w, const void *p) {
    return of_scope(w, gantry_cumsum(w->scope, w->x, 0, p));
}
static gantry_status_t read_slice(const world_t *w, const void *p) {
    static const int64_t zero = 0, one = 1;
    return of_scope(w, gantry_strided_slice(w->scope, w->x, &zero, &one, NULL, 1, p));
}
static gantry_status_t read_pad(const world_t *w, const void *p) {
    static const int64_t none[8];
    return of_scope(w, gantry_pad(w->scope, w->x, none, p));
}
static gantry_status_t read_window(const world_t *w, const void *p) {
    return of_scope(w, gantry_max_pool2d(w->scope, w->x, 1, 1, p));
}
static gantry_status_t read_resize(const world_t *w, const void *p) {
    static const int64_t sizes[4] = {1, 2, 2, 1};
    return of_scope(w, gantry_resize(w->scope, w->x, sizes, 4, p));
}
static gantry_status_t read_attention(const world_t *w, const void *p) {
    const gantry_tensor_t *outputs[4];
    (void)gantry_scaled_dot_product_attention(w->scope, w->x, w->x, w->x, p, outputs);
    return of_scope(w, outputs[0]);
}
static gantry_status_t read_rotary(const world_t *w, const void *p) {
    const gantry_tensor_t *x =
        gantry_reshape(w->scope, w->x, (gantry_shape_t){.rank = 4, .dims = {1, 1, 2, 2}});
    const gantry_tensor_t *cache =
        gantry_ones(w->scope, GANTRY_FLOAT32, (gantry_shape_t){.rank = 2, .dims = {2, 1}});
    return of_scope(w, gantry_rotary_embedding(w->scope, x, cache, cache, NULL, p));
}
static gantry_status_t read_diagonal(const world_t *w, const void *p) {
    return of_scope(w, gantry_matrix_diag(w->scope, w->x, p));
}
static gantry_status_t read_batch_norm(const world_t *w, const void *p) {
    const gantry_tensor_t *outputs[3],
        *one = gantry_ones(w->scope, GANTRY_FLOAT32, (gantry_shape_t){.rank = 1, .dims = {1}});
    (void)gantry_fused_batch_norm(w->scope, w->x, one, one, one, one, p, outputs);
    return of_scope(w, outputs[0]);
}

static gantry_status_t read_function(const world_t *w, const void *p) {
    gantry_function_t *function = NULL;
    const gantry_status_t status = make_function(w->runtime, p, &function);
    gantry_function_release(function);
    return status;
}

static gantry_status_t read_save(const world_t *w, const void *p) {
    saved_file_t file;
    saved_file_init(&file);
    const gantry_status_t status = gantry_function_save(w->function, file.path, p);
    saved_file_deinit(&file);
    return status;
}

static gantry_status_t read_load(const world_t *w, const void *p) {
    saved_file_t file;
    saved_file_init(&file);
    gantry_function_t *loaded = NULL;
    gantry_status_t status = gantry_function_save(w->function, file.path, NULL);
    if (status == GANTRY_OK) status = gantry_function_load(w->runtime, file.path, p, &loaded);
    gantry_function_release(loaded);
    saved_file_deinit(&file);
    return status;
}

/* A node of zeros has no op, which is what is refused once it was read. */
static gantry_status_t read_node(const world_t *w, const void *p) {
    gantry_graph_value_t value;
    size_t room = 1;
    const gantry_status_t status = gantry_graph_add_node(w->graph, p, &value, &room);
    const bool is_read = strstr(gantry_last_message(), "the op's name is NULL") != NULL;
    return status == GANTRY_INVALID_ARGUMENT && is_read ? GANTRY_OK : status;
}

static gantry_status_t read_clone(const world_t *w, const void *p) {
    gantry_function_t *clone = NULL;
    const gantry_status_t status = gantry_function_clone(w->function, p, &clone);
    gantry_function_release(clone);
    return status;
}

static gantry_status_t read_start(const world_t *w, const void *p) {
    gantry_scope_t *scope = gantry_scope_begin(w->runtime, NULL);
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(4), elements, sizeof elements);
    gantry_call_t *call = NULL;
    (void)gantry_function_start(scope, w->function, &x, 1, p, &call);
    gantry_call_release(call);
    return gantry_scope_end(scope);
}

static void never(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                  const gantry_tensor_t **outputs, void *user) {
    const unsigned char no = 0;
    (void)inputs, (void)user;
    outputs[0] = gantry_constant(scope, GANTRY_BOOL, (gantry_shape_t){.rank = 0}, &no, sizeof no);
}
static gantry_status_t read_while(const world_t *w, const void *p) {
    const gantry_tensor_t *result;
    (void)gantry_while(w->scope, never, body, NULL, &w->x, 1, p, &result);
    return of_scope(w, result);
}

static const gantry_tensor_t *join_scalar(const world_t *w) {
    return gantry_scalar_f32(w->scope, 1);
}
static gantry_status_t read_reduce_body(const world_t *w, const void *p) {
    const gantry_tensor_t *result, *init = join_scalar(w);
    (void)gantry_reduce_with_body(w->scope, &w->x, &init, 1, body, NULL, p, &result);
    return of_scope(w, result);
}
static gantry_status_t read_window_body(const world_t *w, const void *p) {
    static const int64_t window[4] = {1, 2, 1, 1};
    const gantry_tensor_t *result, *init = join_scalar(w);
    (void)gantry_reduce_window_with_body(w->scope, &w->x, &init, 1, body, NULL, window, p, &result);
    return of_scope(w, result);
}
static gantry_status_t read_scan_body(const world_t *w, const void *p) {
    const gantry_tensor_t *result, *init = join_scalar(w);
    (void)gantry_scan_with_body(w->scope, &w->x, &init, 1, 1, body, NULL, p, &result);
    return of_scope(w, result);
}
static gantry_status_t read_scatter_body(const world_t *w, const void *p) {
    const gantry_tensor_t *result,
        *rows = gantry_zeros(w->scope, GANTRY_INT32, (gantry_shape_t){.rank = 2, .dims = {1, 1}});
    (void)gantry_scatter_with_body(w->scope, &w->x, rows, &w->x, 1, body, NULL, p, &result);
    return of_scope(w, result);
}

static const read_row_t read_rows[] = {
    READ(gantry_runtime_options_t, false, read_runtime),
    READ(gantry_format_options_t, false, read_format),
    READ(gantry_from_memory_options_t, false, read_memory),
    READ(gantry_from_dlpack_options_t, false, read_from_dlpack),
    READ(gantry_to_dlpack_options_t, false, read_to_dlpack),
    READ(gantry_reduce_options_t, true, read_reduce),
    READ(gantry_matmul_options_t, true, read_matmul),
    READ(gantry_scan_options_t, true, read_scan),
    READ(gantry_strided_slice_options_t, true, read_slice),
    READ(gantry_pad_options_t, true, read_pad),
    READ(gantry_window_options_t, true, read_window),
    READ(gantry_resize_options_t, true, read_resize),
    READ(gantry_scaled_attention_options_t, true, read_attention),
    READ(gantry_rotary_options_t, true, read_rotary),
    READ(gantry_diagonal_options_t, true, read_diagonal),
    READ(gantry_fused_batch_norm_options_t, true, read_batch_norm),
    READ(gantry_function_options_t, false, read_function),
    READ(gantry_clone_options_t, false, read_clone),
    READ(gantry_start_options_t, false, read_start),
    READ(gantry_function_save_options_t, false, read_save),
    READ(gantry_function_load_options_t, false, read_load),
    READ(gantry_while_options_t, false, read_while),
    READ(gantry_reduce_body_options_t, false, read_reduce_body),
    READ(gantry_window_body_options_t, false, read_window_body),
    READ(gantry_scan_body_options_t, false, read_scan_body),
    READ(gantry_scatter_body_options_t, false, read_scatter_body),
    READ(gantry_graph_node_t, false, read_node),
};
#define READ_ROWS (sizeof read_rows / sizeof read_rows[0])

TEST(options_are_read_up_to_their_size) { read_with_every_size(*state, read_rows, READ_ROWS); }

/* ---- the list of structs ---- */

static bool has_row(const char *name) {
    for (size_t i = 0; i < FILLED_ROWS; ++i)
        if (strcmp(filled[i].name, name) == 0) return true;
    for (size_t i = 0; i < READ_ROWS; ++i)
        if (strcmp(read_rows[i].name, name) == 0) return true;
    /* a callback gets them; test_observe.c tells observations of each size. The CPU has no list of
     * processes: test_telemetry.c has a backend that lists some. It shares no device memory:
     * test_interop_opencl_faults.c has a backend that does. */
    static const char *const elsewhere[] = {"gantry_tuning_record_t",
                                            "gantry_observation_t",
                                            "gantry_device_process_t",
                                            "gantry_native_t",
                                            "gantry_adopted_context_t",
                                            "gantry_device_memory_t",
                                            "gantry_from_device_memory_options_t"};
    for (size_t i = 0; i < sizeof elsewhere / sizeof elsewhere[0]; ++i)
        if (strcmp(name, elsewhere[i]) == 0) return true;
    return false;
}

TEST(every_struct_has_a_size_or_is_a_plain_value) {
    assert_true(public_struct_count > 20);
    static const char *const plain[] = {
        "gantry_shape_t",    "gantry_attr_value_t", "gantry_input_spec_t", "gantry_device_choice_t",
        "gantry_observer_t", "gantry_new_file_t",   "gantry_metadata_t",   "gantry_bound_input_t"};
    expect_rows_of_all(has_row, plain, sizeof plain / sizeof *plain);
}

int main(void) { return test_main_with(open_world, close_world, NULL, NULL); }
