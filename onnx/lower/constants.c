/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/lower/constants.h"

#include <string.h>

#include <gantry/gantry.h>

#include "shared/memory.h"
#include "onnx/lower/chains.h"

/* ---- the file ---- */

struct gantry__onnx_held_file_t {
    gantry__onnx_file_t *file;
    atomic_size_t uses;
    atomic_size_t computed_bytes; /* Of constants that are no elements of the file. */
};

static void file_drop(void *user) {
    gantry__onnx_held_file_t *held = user;
    if (atomic_fetch_sub(&held->uses, 1) != 1) return;
    gantry__onnx_file_release(held->file);
    gantry__free(held);
}

/* Elements of the file that a tensor uses in place. */
typedef struct used_span_t {
    gantry__onnx_held_file_t *held;
    const void *data;
    size_t bytes;
} used_span_t;

static void span_drop(void *user) {
    used_span_t *span = user;
    gantry__onnx_file_forget(span->held->file, span->data, span->bytes);
    file_drop(span->held);
    gantry__free(span);
}

static gantry_status_t file_hold(gantry__onnx_file_t *file, gantry__onnx_held_file_t **out_held) {
    gantry__onnx_held_file_t *held = gantry__alloc(1, sizeof *held);
    if (!held) {
        gantry__onnx_file_release(file);
        return GANTRY_RESOURCE_EXHAUSTED;
    }
    held->file = file;
    atomic_init(&held->uses, 1);
    *out_held = held;
    return GANTRY_OK;
}

/* Bytes for each byte of the model's tensors, and more. Integers of 4 bits become float32, and then
 * another form. */
#define COMPUTED_BYTES_EACH 16
#define COMPUTED_BYTES_MORE (256 << 20)

static double stored_bytes(const gantry__onnx_tensor_t *tensor) {
    if (!tensor || tensor->data == GANTRY__ONNX_SPARSE) return 0;
    return (double)tensor->count *
           (double)gantry_dtype_size(gantry__onnx_stored_dtype(tensor->type));
}

static double find_most_computed(const gantry__onnx_plan_t *plan) {
    const gantry__onnx_graph_t *graph = plan->model->graph;
    double bytes = 0;
    for (size_t v = 0; v < plan->model->value_count; ++v)
        bytes += stored_bytes(plan->model->values[v].tensor);
    for (size_t n = 0; n < graph->node_count; ++n) {
        const gantry__onnx_attr_t *attr = gantry__onnx_find_attr(&graph->nodes[n], "value");
        if (attr && attr->kind == GANTRY__ONNX_TENSOR_ATTR && attr->count > 0)
            bytes += stored_bytes(attr->tensors[0]);
    }
    return COMPUTED_BYTES_EACH * bytes + COMPUTED_BYTES_MORE;
}

gantry_status_t gantry__onnx_constants_init(gantry__onnx_constants_t *constants,
                                            gantry_runtime_t *runtime, gantry__onnx_file_t *file) {
    *constants = (gantry__onnx_constants_t){.runtime = runtime};
    (void)gantry__mutex_init(&constants->mutex);
    GANTRY__TRY(file_hold(file, &constants->file));
    const gantry__onnx_graph_model_t *model = gantry__onnx_file_model(file);
    GANTRY__TRY(gantry__onnx_plan_init(&constants->plan, model));
    GANTRY__TRY(gantry__onnx_find_chains(&constants->plan));
    constants->most_computed = find_most_computed(&constants->plan);
    constants->is_left = gantry__alloc(model->value_count, sizeof *constants->is_left);
    constants->tensors = gantry__alloc(model->value_count, sizeof *constants->tensors);
    constants->first_prepared =
        gantry__alloc(model->value_count, sizeof *constants->first_prepared);
    return constants->is_left && constants->tensors && constants->first_prepared
               ? GANTRY_OK
               : GANTRY_RESOURCE_EXHAUSTED;
}

void gantry__onnx_constants_deinit(gantry__onnx_constants_t *constants) {
    for (size_t i = 0; i < constants->prepared_count; ++i)
        gantry_tensor_release(constants->prepared[i].tensor);
    gantry__free(constants->prepared);
    gantry__free(constants->first_prepared);
    if (constants->tensors) {
        const size_t count = constants->plan.model->value_count;
        for (size_t v = 0; v < count; ++v) gantry_tensor_release(constants->tensors[v]);
    }
    gantry__free(constants->tensors);
    gantry__free(constants->is_left);
    gantry__onnx_plan_deinit(&constants->plan);
    if (constants->file) file_drop(constants->file);
    gantry__mutex_deinit(&constants->mutex);
}

/* ---- constants that each run computes ---- */

/* Each one that a trace within a branch or a loop meets begins that trace again. */
#define MOST_LEFT 64

bool gantry__onnx_constants_has(const gantry__onnx_constants_t *constants,
                                gantry__onnx_value_t value) {
    return constants->plan.is_constant[value] && !atomic_load(&constants->is_left[value]);
}

static bool takes_any(const gantry__onnx_node_t *node, const uint8_t *marks) {
    for (size_t i = 0; i < node->input_count; ++i) {
        if (node->inputs[i] != GANTRY__ONNX_NO_VALUE && marks[node->inputs[i]]) return true;
    }
    return false;
}

static void mark_results(const gantry__onnx_plan_t *plan, const gantry__onnx_node_t *node,
                         uint8_t *marks) {
    for (size_t i = 0; i < node->output_count; ++i) {
        const gantry__onnx_value_t value = node->outputs[i];
        if (value != GANTRY__ONNX_NO_VALUE && plan->is_constant[value]) marks[value] = 1;
    }
}

/* Marks the values that are made of a node's results and of constants. False: a convolution has one
 * of them folded in. The results of a node come before their readers. */
static bool mark_left(const gantry__onnx_plan_t *plan, const gantry__onnx_node_t *node,
                      uint8_t *marks) {
    mark_results(plan, node, marks);
    for (size_t g = 0; g < plan->graph_count; ++g) {
        const onnx_plan_graph_t *place = &plan->graphs[g];
        for (size_t n = 0; n < place->graph->node_count; ++n) {
            const size_t position = place->first_node + n;
            if (!takes_any(&place->graph->nodes[n], marks)) continue;
            if (plan->is_folded[position] || plan->next_folded[position] != 0) return false;
            mark_results(plan, &place->graph->nodes[n], marks);
        }
    }
    return true;
}

bool gantry__onnx_constants_leave(gantry__onnx_constants_t *constants,
                                  const gantry__onnx_node_t *node) {
    const size_t count = constants->plan.model->value_count;
    uint8_t *marks = gantry__alloc(count, 1);
    if (!marks) return false;
    gantry__mutex_lock(&constants->mutex);
    const bool is_left =
        atomic_load(&constants->left_count) < MOST_LEFT && mark_left(&constants->plan, node, marks);
    if (is_left) atomic_fetch_add(&constants->left_count, 1);
    for (size_t v = 0; is_left && v < count; ++v) {
        if (marks[v]) atomic_store(&constants->is_left[v], 1);
    }
    gantry__mutex_unlock(&constants->mutex);
    gantry__free(marks);
    return is_left;
}

/* ---- elements of the file ---- */

/* A tensor over memory that owner's release frees; a failure frees it here. */
static const gantry_tensor_t *tensor_over(gantry_scope_t *scope, gantry_dtype_t dtype,
                                          gantry_shape_t shape, void *data, size_t bytes,
                                          gantry_release_fn release, void *user) {
    const gantry_from_memory_options_t options = {
        .struct_size = sizeof options, .release = release, .user = user};
    const gantry_tensor_t *made =
        gantry_tensor_from_memory(scope, dtype, shape, data, bytes, &options);
    if (!made) release(user);
    return made;
}

/* ---- memory of constants ---- */

/* Memory of a cache line's alignment follows. */
#define LINE_BYTES 64
typedef struct own_memory_t {
    gantry__onnx_held_file_t *held;
    size_t computed_bytes;
} own_memory_t;

static void own_memory_drop(void *user) {
    own_memory_t *own = user;
    (void)atomic_fetch_sub(&own->held->computed_bytes, own->computed_bytes);
    file_drop(own->held);
    gantry__free(own);
}

static void *own_memory_data(own_memory_t *own) {
    return (char *)own + LINE_BYTES + (LINE_BYTES - (uintptr_t)own % LINE_BYTES) % LINE_BYTES;
}

/* What a small file makes large, by ConstantOfShape, Concat or as sparse tensors, may take as much
 * as the host device's pool. */
static gantry_status_t check_computed(const gantry__onnx_constants_t *constants, size_t bytes) {
    gantry_memory_info_t info = {.struct_size = sizeof info};
    const size_t computed = atomic_load(&constants->file->computed_bytes);
    GANTRY__TRY(gantry_get_memory_info(constants->runtime, "/CPU:0", &info));
    if (bytes <= info.limit_bytes && computed <= info.limit_bytes - bytes) return GANTRY_OK;
    return gantry__fail(GANTRY_RESOURCE_EXHAUSTED,
                        "the constants that %s computes take %zu bytes and %zu more; the memory "
                        "limit of /CPU:0, %llu, is accepted",
                        constants->plan.model->path, computed, bytes,
                        (unsigned long long)info.limit_bytes);
}

double gantry__onnx_constants_room(const gantry__onnx_constants_t *constants) {
    const double room =
        constants->most_computed - (double)atomic_load(&constants->file->computed_bytes);
    return room > 0 ? room : 0;
}

/* NULL after a failure, which is reported. */
static own_memory_t *own_memory_make(const gantry__onnx_constants_t *constants, size_t bytes,
                                     bool is_computed) {
    if (is_computed && check_computed(constants, bytes) != GANTRY_OK) return NULL;
    own_memory_t *own =
        gantry__alloc_bytes(bytes <= SIZE_MAX / 2 ? 2 * LINE_BYTES + bytes : SIZE_MAX);
    if (!own) return NULL;
    *own = (own_memory_t){constants->file, is_computed ? bytes : 0};
    atomic_fetch_add(&constants->file->uses, 1);
    atomic_fetch_add(&constants->file->computed_bytes, own->computed_bytes);
    return own;
}

/* Nobody writes to the memory: is_writable is false. NULL after a failure, which may be the
 * scope's. */
static const gantry_tensor_t *tensor_in_place(gantry__onnx_constants_t *constants,
                                              gantry_scope_t *scope, gantry_dtype_t dtype,
                                              gantry_shape_t shape, const void *data,
                                              size_t bytes) {
    used_span_t *span = gantry__alloc(1, sizeof *span);
    if (!span) return NULL;
    *span = (used_span_t){constants->file, data, bytes};
    atomic_fetch_add(&constants->file->uses, 1);
    void *memory;
    memcpy(&memory, &data, sizeof memory);
    return tensor_over(scope, dtype, shape, memory, bytes, span_drop, span);
}

static const gantry_tensor_t *tensor_of_copy(gantry__onnx_constants_t *constants,
                                             gantry_scope_t *scope, gantry_dtype_t dtype,
                                             gantry_shape_t shape,
                                             const gantry__onnx_tensor_t *tensor, size_t bytes) {
    const gantry__onnx_file_t *file = constants->file->file;
    own_memory_t *own = own_memory_make(constants, bytes, tensor->data == GANTRY__ONNX_SPARSE);
    if (!own) return NULL;
    void *data = own_memory_data(own);
    const gantry_status_t status = gantry__onnx_tensor_data(file, tensor, data, bytes);
    gantry__onnx_file_forget(file, tensor->raw.data, tensor->raw.size);
    if (status == GANTRY_OK)
        return tensor_over(scope, dtype, shape, data, bytes, own_memory_drop, own);
    own_memory_drop(own);
    (void)gantry_scope_fail(scope, status, gantry_last_message());
    return NULL;
}

gantry_status_t gantry__onnx_constants_read(gantry__onnx_constants_t *constants,
                                            gantry_scope_t *scope,
                                            const gantry__onnx_tensor_t *tensor,
                                            const gantry_tensor_t **out_tensor) {
    const char *name;
    const gantry_dtype_t dtype = gantry__onnx_stored_dtype(tensor->type);
    if (dtype == GANTRY_DTYPE_NONE) {
        (void)gantry__onnx_dtype(tensor->type, &name);
        return gantry__fail(GANTRY_UNIMPLEMENTED, "tensor '%.200s' has elements of %s",
                            tensor->name, name);
    }
    gantry_shape_t shape = {.rank = (int32_t)tensor->rank};
    for (uint32_t i = 0; i < tensor->rank; ++i) shape.dims[i] = tensor->dims[i];
    const size_t bytes = (size_t)tensor->count * gantry_dtype_size(dtype);
    const void *data = gantry__onnx_tensor_span(constants->file->file, tensor);
    *out_tensor = data ? tensor_in_place(constants, scope, dtype, shape, data, bytes)
                       : tensor_of_copy(constants, scope, dtype, shape, tensor, bytes);
    if (*out_tensor) return GANTRY_OK;
    if (gantry_scope_status(scope) == GANTRY_OK) return GANTRY_RESOURCE_EXHAUSTED;
    return gantry_fail(gantry_scope_status(scope), gantry_scope_message(scope));
}

/* The least size that is worth the copy. */
#define LEAST_SETTLED_BYTES 4096

gantry_status_t gantry__onnx_constants_settle(const gantry__onnx_constants_t *constants,
                                              gantry_scope_t *scope, const gantry_tensor_t *tensor,
                                              gantry_tensor_t **out_settled) {
    const size_t bytes = gantry_tensor_bytes(tensor);
    gantry_tensor_memory_t memory = {.struct_size = sizeof memory};
    if (bytes < LEAST_SETTLED_BYTES ||
        (gantry_get_tensor_memory(tensor, &memory) == GANTRY_OK && memory.is_foreign)) {
        *out_settled = gantry_tensor_retain(tensor);
        return GANTRY_OK;
    }
    own_memory_t *own = own_memory_make(constants, bytes, true);
    if (!own) return GANTRY_RESOURCE_EXHAUSTED;
    void *data = own_memory_data(own);
    const gantry_status_t status = gantry_tensor_read(tensor, data, bytes);
    if (status != GANTRY_OK) {
        own_memory_drop(own);
        return status;
    }
    const gantry_tensor_t *made =
        tensor_over(scope, gantry_tensor_dtype(tensor), *gantry_tensor_shape(tensor), data, bytes,
                    own_memory_drop, own);
    if (!made) return gantry_scope_status(scope);
    *out_settled = gantry_tensor_retain(made);
    return GANTRY_OK;
}

#define TILE 32

/* Transposes tile by tile, so that lines of both sides stay in the cache. Each call has its size as
 * a number, so that an element is one load and one store. */
static inline __attribute__((always_inline)) void turn_tiles(const char *from, char *to,
                                                             size_t rows, size_t columns,
                                                             size_t size) {
    for (size_t row = 0; row < rows; row += TILE) {
        const size_t last_row = rows - row < TILE ? rows : row + TILE;
        for (size_t column = 0; column < columns; column += TILE) {
            const size_t last_column = columns - column < TILE ? columns : column + TILE;
            for (size_t k = column; k < last_column; ++k)
                for (size_t i = row; i < last_row; ++i)
                    memcpy(to + (k * rows + i) * size, from + (i * columns + k) * size, size);
        }
    }
}

static void turn_by_size(const char *from, char *to, const gantry_shape_t *shape, size_t size) {
    const size_t rows = (size_t)shape->dims[0], columns = (size_t)shape->dims[1];
    switch (size) {
        case 2: turn_tiles(from, to, rows, columns, 2); break;
        case 4: turn_tiles(from, to, rows, columns, 4); break;
        case 8: turn_tiles(from, to, rows, columns, 8); break;
        default: turn_tiles(from, to, rows, columns, size);
    }
}

const gantry_tensor_t *gantry__onnx_constants_turn(const gantry__onnx_constants_t *constants,
                                                   gantry_scope_t *scope,
                                                   const gantry_tensor_t *tensor) {
    const gantry_shape_t *shape = gantry_tensor_shape(tensor);
    const gantry_dtype_t dtype = gantry_tensor_dtype(tensor);
    const size_t bytes = gantry_tensor_bytes(tensor);
    const void *from;
    if (bytes == 0 || gantry_tensor_map(tensor, &from) != GANTRY_OK)
        return gantry_matrix_transpose(scope, tensor);
    own_memory_t *own = own_memory_make(constants, bytes, true);
    if (own) turn_by_size(from, own_memory_data(own), shape, gantry_dtype_size(dtype));
    (void)gantry_tensor_unmap(tensor);
    if (own)
        return tensor_over(scope, dtype, GANTRY_SHAPE(shape->dims[1], shape->dims[0]),
                           own_memory_data(own), bytes, own_memory_drop, own);
    (void)gantry_scope_fail(scope, GANTRY_RESOURCE_EXHAUSTED, gantry_last_message());
    return NULL;
}

/* Smaller ones leave little in the pool. */
#define LEAST_TRIMMED_BYTES (4 << 20)

void gantry__onnx_constants_trim(gantry_runtime_t *runtime, size_t bytes) {
    if (bytes >= LEAST_TRIMMED_BYTES) (void)gantry_trim_memory(runtime, "/CPU:0", 0, NULL);
}

/* ---- values ---- */

/* Smaller ones are copied by each trace. */
#define LEAST_MOVED_BYTES (64 << 10)

void gantry__onnx_constants_note_device(gantry__onnx_constants_t *constants,
                                        const gantry_logical_device_t *device) {
    if (!device || strcmp(gantry_logical_device_type(device), "CPU") == 0) return;
    gantry__mutex_lock(&constants->mutex);
    if (!constants->device) constants->device = device;
    gantry__mutex_unlock(&constants->mutex);
}

/* The tensor on the device of constants, or itself if it stays where it is, or nothing fits there.
 * The caller's reference becomes that of the result. */
static gantry_tensor_t *move_constant(gantry__onnx_constants_t *constants,
                                      const gantry_logical_device_t *device,
                                      gantry_tensor_t *tensor) {
    if (!device || gantry_tensor_bytes(tensor) < LEAST_MOVED_BYTES ||
        gantry_tensor_device(tensor) == device)
        return tensor;
    gantry_scope_t *scope = gantry_scope_begin_on(constants->runtime, device);
    const gantry_tensor_t *moved = gantry_identity(scope, tensor);
    if (moved && gantry_tensor_device(moved) == device) {
        gantry_tensor_release(tensor);
        tensor = gantry_tensor_retain(moved);
    }
    if (scope) (void)gantry_scope_end(scope);
    return tensor;
}

/* The caller gets a reference to what is in a place, moved; NULL: it is empty. */
static gantry_tensor_t *take_moved(gantry__onnx_constants_t *constants, gantry_tensor_t **place) {
    if (!*place) return NULL;
    gantry_tensor_t *moved =
        move_constant(constants, constants->device, gantry_tensor_retain(*place));
    if (moved != *place) {
        gantry_tensor_release(*place);
        *place = gantry_tensor_retain(moved);
    }
    return moved;
}

gantry_tensor_t *gantry__onnx_constants_kept(gantry__onnx_constants_t *constants,
                                             gantry__onnx_value_t value) {
    gantry__mutex_lock(&constants->mutex);
    gantry_tensor_t **place = &constants->tensors[value];
    gantry_tensor_t *kept = take_moved(constants, place);
    gantry__mutex_unlock(&constants->mutex);
    return kept;
}

void gantry__onnx_constants_keep(gantry__onnx_constants_t *constants, gantry__onnx_value_t value,
                                 const gantry_tensor_t *tensor) {
    gantry__mutex_lock(&constants->mutex);
    if (!constants->tensors[value]) constants->tensors[value] = gantry_tensor_retain(tensor);
    gantry__mutex_unlock(&constants->mutex);
}

/* ---- prepared forms ---- */

/* The lock is held. */
static gantry_tensor_t *find_prepared(gantry__onnx_constants_t *constants,
                                      const gantry__onnx_node_t *node, uint32_t input,
                                      uint32_t key) {
    for (size_t i = constants->first_prepared[node->inputs[input]]; i > 0;) {
        onnx_prepared_t *at = &constants->prepared[i - 1];
        if (at->node == node && at->input == input && at->key == key)
            return take_moved(constants, &at->tensor);
        i = at->next;
    }
    return NULL;
}

gantry_tensor_t *gantry__onnx_constants_find(gantry__onnx_constants_t *constants,
                                             const gantry__onnx_node_t *node, uint32_t input,
                                             uint32_t key) {
    gantry__mutex_lock(&constants->mutex);
    gantry_tensor_t *found = find_prepared(constants, node, input, key);
    gantry__mutex_unlock(&constants->mutex);
    return found;
}

gantry_status_t gantry__onnx_constants_add(gantry__onnx_constants_t *constants,
                                           const gantry__onnx_node_t *node, uint32_t input,
                                           uint32_t key, gantry_tensor_t **tensor) {
    gantry__mutex_lock(&constants->mutex);
    gantry_tensor_t *found = find_prepared(constants, node, input, key);
    const bool has_room =
        found || gantry__grow(&constants->prepared, constants->prepared_count,
                              &constants->prepared_capacity, sizeof *constants->prepared);
    if (!found && has_room) {
        size_t *first = &constants->first_prepared[node->inputs[input]];
        constants->prepared[constants->prepared_count++] =
            (onnx_prepared_t){node, input, key, gantry_tensor_retain(*tensor), *first};
        *first = constants->prepared_count;
    }
    gantry__mutex_unlock(&constants->mutex);
    if (found) {
        gantry_tensor_release(*tensor);
        *tensor = found;
    }
    return has_room ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
}
