/* SPDX-License-Identifier: Apache-2.0 */
/* Batches.
 *
 * Where the input gives rows, the numbers of a batch's rows are pulled first, then each component
 * is gathered, row by row, from the arrays into one buffer, which the next batch reuses. Rows that
 * follow each other in the arrays are not copied: the batch points at them.
 *
 *     rows   7 2 9 4        gather:   x[7] x[2] x[9] x[4]  |  y[7] y[2] y[9] y[4]
 *
 * Where the input gives elements, each is pulled and appended to the buffers, which grow to a
 * batch's size once. One that cannot be appended is an error; in a batch that may be dropped, only
 * when the batch is full. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "train/base/fail.h"
#include "shared/memory.h"
#include "train/data/stage.h"

#define FIRST_ROWS 1024 /* of a buffer, where the number of elements is unknown */

typedef struct batch_t {
    gantry_dataset_t base;
    int64_t size;
    bool drops_remainder;
} batch_t;

typedef struct batch_stage_t {
    gantry__train_stage_t base;
    int64_t *rows; /* numbers, when the input gives rows */
    size_t capacity;
    gantry_element_t element; /* the input's, when it gives elements */
    gantry_status_t refusal;  /* of a batch that may be dropped: an element does not fit, with: */
    char text[GANTRY__TRAIN_MESSAGE_BYTES];
    int64_t element_index; /* of the input, for messages */
} batch_stage_t;

static const batch_t *batch_of(const batch_stage_t *self) {
    return (const batch_t *)self->base.dataset;
}

/* The number of rows that a batch can have; a guess where that is unknown. */
static int64_t expected_rows(const batch_stage_t *self) {
    const int64_t known = self->base.dataset->input->cardinality, size = batch_of(self)->size;
    const int64_t most = known >= 0                             ? known
                         : known == GANTRY_INFINITE_CARDINALITY ? size
                                                                : FIRST_ROWS;
    return size < most ? size : most;
}

static gantry_status_t give_shape(gantry_element_t *out, size_t component, int64_t rows,
                                  gantry_dtype_t dtype, const gantry_shape_t *row_shape,
                                  size_t *out_bytes) {
    gantry_array_t *array = &out->components[component];
    if (row_shape->rank == GANTRY_MAX_RANK) {
        return gantry__train_refuse(
            NULL,
            "gantry_dataset_batch: component %zu has %d dimensions; at most %d are accepted, because a batch has one more",
            component, GANTRY_MAX_RANK, GANTRY_MAX_RANK - 1);
    }
    array->dtype = dtype;
    array->shape.rank = row_shape->rank + 1;
    array->shape.dims[0] = rows;
    memcpy(array->shape.dims + 1, row_shape->dims,
           (size_t)row_shape->rank * sizeof row_shape->dims[0]);
    if (gantry__train_array_bytes(dtype, &array->shape, out_bytes)) return GANTRY_OK;
    return gantry__train_refuse(
        NULL,
        "gantry_dataset_batch: component %zu of a batch is %s; a size that fits into memory is accepted",
        component, gantry__train_array_text(dtype, &array->shape).text);
}

/* Returns whether a batch of so many elements, at the input's end, must be left out. */
static bool dataset_batch_is_left_out(const batch_stage_t *self, size_t count) {
    const batch_t *batch = batch_of(self);
    return batch->drops_remainder ? (int64_t)count < batch->size : count == 0;
}

/* ---- of rows ---- */

static gantry_status_t pull_rows(batch_stage_t *self, size_t *out_count, bool *out_end) {
    *out_count = 0;
    *out_end = false;
    while (!*out_end && (int64_t)*out_count < batch_of(self)->size) {
        if (!gantry__grow(&self->rows, *out_count, &self->capacity, sizeof self->rows[0]))
            return GANTRY_RESOURCE_EXHAUSTED;
        gantry__train_item_t item;
        GANTRY__TRY(gantry__train_stage_next(self->base.input, &item, out_end));
        if (!*out_end) self->rows[(*out_count)++] = item.row;
    }
    return GANTRY_OK;
}

static bool rows_are_consecutive(const int64_t *rows, size_t count) {
    for (size_t i = 1; i < count; ++i) {
        if (rows[i] != rows[i - 1] + 1) return false;
    }
    return true;
}

static void dataset_batch_gather(const unsigned char *from, size_t row_bytes, const int64_t *rows,
                                 size_t count, unsigned char *to) {
    if (row_bytes == 4) {
        for (size_t i = 0; i < count; ++i) memcpy(to + 4 * i, from + 4 * (size_t)rows[i], 4);
    } else if (row_bytes == 8) {
        for (size_t i = 0; i < count; ++i) memcpy(to + 8 * i, from + 8 * (size_t)rows[i], 8);
    } else {
        for (size_t i = 0; i < count; ++i)
            memcpy(to + row_bytes * i, from + row_bytes * (size_t)rows[i], row_bytes);
    }
}

static gantry_status_t gather_component(batch_stage_t *self, size_t component, size_t count,
                                        bool consecutive, gantry_element_t *out) {
    const gantry__train_rows_t *source = self->base.dataset->input->rows;
    const gantry_array_t *array = &source->arrays[component];
    const size_t row_bytes = source->row_bytes[component];
    size_t bytes;
    GANTRY__TRY(give_shape(out, component, (int64_t)count, array->dtype,
                           &source->row_shapes[component], &bytes));
    const unsigned char *data = array->data;
    if (consecutive && bytes > 0) {
        out->components[component].data = data + row_bytes * (size_t)self->rows[0];
        return GANTRY_OK;
    }
    gantry__train_buffer_t *buffer = &out->buffers[component];
    GANTRY__TRY(gantry__train_buffer_reserve(buffer, bytes, 0));
    if (bytes > 0) dataset_batch_gather(data, row_bytes, self->rows, count, buffer->bytes);
    out->components[component].data = buffer->bytes;
    return GANTRY_OK;
}

static gantry_status_t batch_rows(batch_stage_t *self, gantry_element_t *out, size_t *out_count,
                                  bool *out_end) {
    const gantry__train_rows_t *source = self->base.dataset->input->rows;
    GANTRY__TRY(pull_rows(self, out_count, out_end));
    if (dataset_batch_is_left_out(self, *out_count)) return GANTRY_OK;
    const bool consecutive = rows_are_consecutive(self->rows, *out_count);
    GANTRY__TRY(gantry__train_element_resize(out, source->count));
    for (size_t i = 0; i < source->count; ++i)
        GANTRY__TRY(gather_component(self, i, *out_count, consecutive, out));
    return GANTRY_OK;
}

/* ---- of elements ---- */

static gantry_status_t check_like_first(const batch_stage_t *self, const gantry_element_t *batch) {
    const gantry_element_t *element = &self->element;
    if (element->count != batch->count) {
        return gantry__train_refuse(
            NULL,
            "gantry_dataset_batch: element %" PRId64
            " has %zu components, and the first of its batch has %zu; elements with the same components are accepted",
            self->element_index, element->count, batch->count);
    }
    for (size_t i = 0; i < element->count; ++i) {
        const gantry_array_t *array = &element->components[i];
        gantry_shape_t first = {.rank = batch->components[i].shape.rank - 1};
        memcpy(first.dims, batch->components[i].shape.dims + 1,
               (size_t)first.rank * sizeof first.dims[0]);
        if (array->dtype == batch->components[i].dtype && gantry_shape_equal(&array->shape, &first))
            continue;
        return gantry__train_refuse(
            NULL,
            "gantry_dataset_batch: component %zu of element %" PRId64
            " is %s, and in the first element of its batch it is %s; elements with the same types and shapes are accepted",
            i, self->element_index, gantry__train_array_text(array->dtype, &array->shape).text,
            gantry__train_array_text(batch->components[i].dtype, &first).text);
    }
    return GANTRY_OK;
}

/* Gives the batch the types and shapes of its first element. */
static gantry_status_t batch_begin(const batch_stage_t *self, gantry_element_t *out) {
    const gantry_element_t *element = &self->element;
    GANTRY__TRY(gantry__train_element_resize(out, element->count));
    for (size_t i = 0; i < element->count; ++i) {
        const gantry_array_t *array = &element->components[i];
        size_t bytes;
        GANTRY__TRY(give_shape(out, i, expected_rows(self), array->dtype, &array->shape, &bytes));
        GANTRY__TRY(gantry__train_buffer_reserve(&out->buffers[i], bytes, 0));
    }
    return GANTRY_OK;
}

/* Appends row `at`; doubles a buffer that is full. */
static gantry_status_t batch_append(const batch_stage_t *self, size_t at, gantry_element_t *out) {
    for (size_t i = 0; i < out->count; ++i) {
        const gantry_array_t *array = &self->element.components[i];
        gantry__train_buffer_t *buffer = &out->buffers[i];
        size_t bytes;
        (void)gantry__train_array_bytes(array->dtype, &array->shape, &bytes);
        if (bytes == 0) continue;
        if (bytes * (at + 1) > buffer->capacity) {
            const size_t doubled =
                buffer->capacity > SIZE_MAX / 2 ? SIZE_MAX : buffer->capacity * 2;
            GANTRY__TRY(gantry__train_buffer_reserve(buffer, doubled, bytes * at));
        }
        memcpy(buffer->bytes + bytes * at, array->data, bytes);
    }
    return GANTRY_OK;
}

static gantry_status_t add_element(batch_stage_t *self, size_t at, gantry_element_t *out) {
    if (self->refusal != GANTRY_OK) return GANTRY_OK;
    gantry_status_t status = at == 0 ? batch_begin(self, out) : check_like_first(self, out);
    if (status == GANTRY_OK) status = batch_append(self, at, out);
    if (status != GANTRY_INVALID_ARGUMENT || !batch_of(self)->drops_remainder) return status;
    self->refusal = status;
    (void)snprintf(self->text, sizeof self->text, "%s", gantry_last_message());
    return GANTRY_OK;
}

static gantry_status_t batch_elements(batch_stage_t *self, gantry_element_t *out, size_t *out_count,
                                      bool *out_end) {
    *out_count = 0;
    *out_end = false;
    self->refusal = GANTRY_OK;
    while (!*out_end && (int64_t)*out_count < batch_of(self)->size) {
        GANTRY__TRY(gantry__train_stage_element(self->base.input, &self->element, out_end));
        if (*out_end) break;
        GANTRY__TRY(add_element(self, (*out_count)++, out));
        ++self->element_index;
    }
    if (dataset_batch_is_left_out(self, *out_count)) return GANTRY_OK;
    if (self->refusal != GANTRY_OK) return gantry_fail(self->refusal, self->text);
    for (size_t i = 0; i < out->count; ++i) {
        out->components[i].shape.dims[0] = (int64_t)*out_count;
        out->components[i].data = out->buffers[i].bytes;
    }
    return GANTRY_OK;
}

/* ---- the data set ---- */

static gantry_status_t batch_next(gantry__train_stage_t *stage, gantry__train_item_t *item,
                                  bool *out_end) {
    batch_stage_t *self = (batch_stage_t *)stage;
    size_t count;
    bool input_ends;
    GANTRY__TRY((stage->dataset->input->rows ? batch_rows : batch_elements)(self, item->element,
                                                                            &count, &input_ends));
    *out_end = dataset_batch_is_left_out(self, count);
    return GANTRY_OK;
}

static void batch_close(gantry__train_stage_t *stage) {
    batch_stage_t *self = (batch_stage_t *)stage;
    gantry__free(self->rows);
    gantry__train_element_deinit(&self->element);
}

static const gantry__train_kind_t batch_kind = {.name = "batch",
                                                .stage_bytes = sizeof(batch_stage_t),
                                                .next = batch_next,
                                                .close = batch_close};

gantry_dataset_t *gantry_dataset_batch(gantry_dataset_t *input, int64_t batch_size,
                                       bool drop_remainder) {
    if (!input) return NULL;
    if (batch_size < 1) {
        (void)gantry__train_refuse(
            NULL, "gantry_dataset_batch: batch_size is %" PRId64 "; 1 and more are accepted",
            batch_size);
        return gantry__train_dataset_refuse(input);
    }
    int64_t known = gantry_dataset_cardinality(input);
    if (known > 0) known = known / batch_size + (!drop_remainder && known % batch_size > 0);
    batch_t *self = gantry__train_dataset_make(&batch_kind, sizeof *self, input, known);
    if (!self) return NULL;
    self->size = batch_size;
    self->drops_remainder = drop_remainder;
    return &self->base;
}
