/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of elements of different sizes: the elements of a batch are pulled first, then each
 * component gets the largest sizes, a padding value everywhere, and the elements at its begin:
 *
 *     [5 2 9]               5 2 9 0
 *     [7]          ->       7 0 0 0
 *     [1 8 3 4]             1 8 3 4 */
#include <inttypes.h>
#include <string.h>

#include "train/base/fail.h"
#include "shared/memory.h"
#include "train/data/stage.h"

typedef struct padded_t {
    gantry_dataset_t base;
    int64_t size;
    bool drops_remainder;
    size_t shape_count, value_count; /* 0: none are given */
    gantry_shape_t shapes[GANTRY_MAX_COMPONENTS];
    double values[GANTRY_MAX_COMPONENTS];
} padded_t;

typedef struct padded_stage_t {
    gantry__train_stage_t base;
    gantry_element_t *elements; /* of the batch */
    size_t count, capacity;
    int64_t index; /* of the batch's first element in the input, for messages */
} padded_stage_t;

static const padded_t *padded_of(const padded_stage_t *self) {
    return (const padded_t *)self->base.dataset;
}

/* ---- padding values ---- */

#define PUT(type, least, end)                                      \
    {                                                              \
        if (!(value >= (least) && value < (end))) return false;    \
        const type number = (type)value;                           \
        memcpy(out, &number, sizeof number);                       \
        return (double)number <= value && (double)number >= value; \
    }

/* Writes an element of the type. It returns false if the type does not hold the value; all types
 * hold 0. */
static bool dataset_padded_put_value(gantry_dtype_t dtype, double value, unsigned char out[16]) {
    const float narrow = (float)value;
    memset(out, 0, 16);
    if (value <= 0 && value >= 0) return true;
    switch (dtype) {
        case GANTRY_INT8: PUT(int8_t, -128.0, 128.0)
        case GANTRY_UINT8: PUT(uint8_t, 0, 256.0)
        case GANTRY_INT16: PUT(int16_t, -32768.0, 32768.0)
        case GANTRY_UINT16: PUT(uint16_t, 0, 65536.0)
        case GANTRY_INT32: PUT(int32_t, -0x1p31, 0x1p31)
        case GANTRY_UINT32: PUT(uint32_t, 0, 0x1p32)
        case GANTRY_INT64: PUT(int64_t, -0x1p63, 0x1p63)
        case GANTRY_UINT64: PUT(uint64_t, 0, 0x1p64)
        case GANTRY_FLOAT32: memcpy(out, &narrow, sizeof narrow); return true;
        case GANTRY_FLOAT64: memcpy(out, &value, sizeof value); return true;
        default: return false;
    }
}

static gantry_status_t find_value(const padded_stage_t *self, size_t component,
                                  gantry_dtype_t dtype, unsigned char out[16]) {
    const padded_t *padded = padded_of(self);
    const double value = padded->value_count > 0 ? padded->values[component] : 0;
    if (dataset_padded_put_value(dtype, value, out)) return GANTRY_OK;
    return gantry__train_refuse(
        NULL,
        "gantry_dataset_padded_batch: component %zu has type %s and the padding value %g; a value of its type is accepted",
        component, gantry_dtype_name(dtype), value);
}

/* ---- pulling ---- */

static gantry_status_t dataset_padded_check_count(const padded_stage_t *self, size_t at) {
    const padded_t *padded = padded_of(self);
    const size_t given = padded->shape_count ? padded->shape_count : padded->value_count,
                 count = self->elements[at].count, first = self->elements[0].count;
    if (count != first)
        return gantry__train_refuse(
            NULL,
            "gantry_dataset_padded_batch: element %" PRId64
            " has %zu components, and the first of its batch has %zu; elements with the same components are accepted",
            self->index + (int64_t)at, count, first);
    if (given == 0 || given == count) return GANTRY_OK;
    return gantry__train_refuse(
        NULL,
        "gantry_dataset_padded_batch: the options have %zu entries; %zu are accepted, one for each component",
        given, count);
}

/* Returns room for one more element, with the buffers of an earlier batch; NULL when memory is
 * out. */
static gantry_element_t *next_element(padded_stage_t *self) {
    const size_t before = self->capacity;
    if (!gantry__grow(&self->elements, self->count, &self->capacity, sizeof *self->elements))
        return NULL;
    for (size_t i = before; i < self->capacity; ++i)
        self->elements[i] = (gantry_element_t){.count = 0};
    return &self->elements[self->count];
}

static gantry_status_t pull_elements(padded_stage_t *self, bool *out_end) {
    self->count = 0;
    *out_end = false;
    while ((int64_t)self->count < padded_of(self)->size) {
        gantry_element_t *element = next_element(self);
        if (!element) return GANTRY_RESOURCE_EXHAUSTED;
        GANTRY__TRY(gantry__train_stage_element(self->base.input, element, out_end));
        if (*out_end) return GANTRY_OK;
        ++self->count;
    }
    return GANTRY_OK;
}

/* ---- shapes ---- */

static gantry_status_t dataset_padded_refuse(const padded_stage_t *self, size_t component,
                                             size_t at, const gantry_shape_t *wanted,
                                             gantry_dtype_t dtype) {
    const gantry_array_t *array = &self->elements[at].components[component];
    return gantry__train_refuse(
        NULL,
        "gantry_dataset_padded_batch: component %zu of element %" PRId64
        " is %s; the type and the rank of %s are accepted, and no larger size",
        component, self->index + (int64_t)at,
        gantry__train_array_text(array->dtype, &array->shape).text,
        gantry__train_array_text(dtype, wanted).text);
}

/* Finds the shape of a padded element: the one that is given, with the largest element's sizes for
 * -1 and for shapes that are not given. */
static gantry_status_t find_shape(const padded_stage_t *self, size_t component,
                                  gantry_shape_t *out_shape) {
    const padded_t *padded = padded_of(self);
    const gantry_array_t *first = &self->elements[0].components[component];
    const gantry_shape_t wanted =
        padded->shape_count > 0 ? padded->shapes[component] : first->shape;
    const bool is_given = padded->shape_count > 0;
    *out_shape = wanted;
    for (int32_t d = 0; d < wanted.rank; ++d)
        out_shape->dims[d] = is_given && wanted.dims[d] >= 0 ? wanted.dims[d] : 0;
    for (size_t i = 0; i < self->count; ++i) {
        const gantry_array_t *array = &self->elements[i].components[component];
        if (array->dtype != first->dtype || array->shape.rank != wanted.rank)
            return dataset_padded_refuse(self, component, i, &wanted, first->dtype);
        for (int32_t d = 0; d < wanted.rank; ++d) {
            if (array->shape.dims[d] <= out_shape->dims[d]) continue;
            if (is_given && wanted.dims[d] >= 0)
                return dataset_padded_refuse(self, component, i, &wanted, first->dtype);
            out_shape->dims[d] = array->shape.dims[d];
        }
    }
    return GANTRY_OK;
}

static gantry_status_t dataset_padded_give_shape(const padded_stage_t *self, gantry_element_t *out,
                                                 size_t component, size_t *out_bytes) {
    gantry_array_t *array = &out->components[component];
    gantry_shape_t shape;
    GANTRY__TRY(find_shape(self, component, &shape));
    if (shape.rank == GANTRY_MAX_RANK)
        return gantry__train_refuse(
            NULL,
            "gantry_dataset_padded_batch: component %zu has %d dimensions; at most %d are accepted, because a batch has one more",
            component, GANTRY_MAX_RANK, GANTRY_MAX_RANK - 1);
    array->dtype = self->elements[0].components[component].dtype;
    array->shape.rank = shape.rank + 1;
    array->shape.dims[0] = (int64_t)self->count;
    memcpy(array->shape.dims + 1, shape.dims, (size_t)shape.rank * sizeof shape.dims[0]);
    if (gantry__train_array_bytes(array->dtype, &array->shape, out_bytes)) return GANTRY_OK;
    return gantry__train_refuse(
        NULL,
        "gantry_dataset_padded_batch: component %zu of a batch is %s; a size that fits into memory is accepted",
        component, gantry__train_array_text(array->dtype, &array->shape).text);
}

/* ---- filling ---- */

static void fill_with(unsigned char *to, size_t bytes, const unsigned char *value, size_t item) {
    if (bytes == 0) return;
    memcpy(to, value, item);
    for (size_t done = item; done < bytes; done *= 2)
        memcpy(to + done, to, done < bytes - done ? done : bytes - done);
}

static size_t bytes_behind(const int64_t *dims, int32_t d, int32_t rank, size_t item) {
    size_t bytes = item;
    for (int32_t i = d + 1; i < rank; ++i) bytes *= (size_t)dims[i];
    return bytes;
}

/* Copies an array to the begin of a larger one of the same rank, from dimension d on. */
static void place_in(unsigned char *to, const int64_t *large, const unsigned char *from,
                     const int64_t *small, int32_t d, int32_t rank, size_t item) {
    if (d >= rank) {
        memcpy(to, from, item);
        return;
    }
    const size_t step = bytes_behind(small, d, rank, item),
                 step_to = bytes_behind(large, d, rank, item);
    if (step == 0) return;
    if (step == step_to) {
        memcpy(to, from, step * (size_t)small[d]);
        return;
    }
    for (int64_t i = 0; i < small[d]; ++i)
        place_in(to + (size_t)i * step_to, large, from + (size_t)i * step, small, d + 1, rank,
                 item);
}

static gantry_status_t pad_component(padded_stage_t *self, gantry_element_t *out,
                                     size_t component) {
    gantry_array_t *array = &out->components[component];
    gantry__train_buffer_t *buffer = &out->buffers[component];
    unsigned char value[16];
    size_t bytes;
    GANTRY__TRY(dataset_padded_give_shape(self, out, component, &bytes));
    GANTRY__TRY(find_value(self, component, array->dtype, value));
    GANTRY__TRY(gantry__train_buffer_reserve(buffer, bytes, 0));
    const size_t item = gantry_dtype_size(array->dtype);
    fill_with(buffer->bytes, bytes, value, item);
    for (size_t i = 0; i < self->count && bytes > 0; ++i) {
        const gantry_array_t *element = &self->elements[i].components[component];
        if (gantry_shape_elements(&element->shape) > 0)
            place_in(buffer->bytes + i * (bytes / self->count), array->shape.dims + 1,
                     element->data, element->shape.dims, 0, element->shape.rank, item);
    }
    array->data = buffer->bytes;
    return GANTRY_OK;
}

/* ---- the data set ---- */

static gantry_status_t padded_next(gantry__train_stage_t *stage, gantry__train_item_t *item,
                                   bool *out_end) {
    padded_stage_t *self = (padded_stage_t *)stage;
    const padded_t *padded = padded_of(self);
    bool input_ends;
    GANTRY__TRY(pull_elements(self, &input_ends));
    *out_end = padded->drops_remainder ? (int64_t)self->count < padded->size : self->count == 0;
    if (*out_end) return GANTRY_OK; /* a remainder that is dropped is not checked */
    for (size_t i = 0; i < self->count; ++i) GANTRY__TRY(dataset_padded_check_count(self, i));
    const size_t components = self->elements[0].count;
    GANTRY__TRY(gantry__train_element_resize(item->element, components));
    for (size_t i = 0; i < components; ++i) GANTRY__TRY(pad_component(self, item->element, i));
    self->index += (int64_t)self->count;
    return GANTRY_OK;
}

static void padded_close(gantry__train_stage_t *stage) {
    padded_stage_t *self = (padded_stage_t *)stage;
    for (size_t i = 0; i < self->capacity; ++i) gantry__train_element_deinit(&self->elements[i]);
    gantry__free(self->elements);
}

static const gantry__train_kind_t padded_kind = {.name = "padded_batch",
                                                 .stage_bytes = sizeof(padded_stage_t),
                                                 .next = padded_next,
                                                 .close = padded_close};

static gantry_status_t check_options(int64_t batch_size, const gantry_padded_batch_options_t *o) {
    if (batch_size < 1)
        return gantry__train_refuse(
            NULL, "gantry_dataset_padded_batch: batch_size is %" PRId64 "; 1 and more are accepted",
            batch_size);
    if (o->count > GANTRY_MAX_COMPONENTS || (o->count == 0 && (o->shapes || o->values)))
        return gantry__train_refuse(
            NULL,
            "gantry_dataset_padded_batch: count is %zu; the number of components, 1 to %d, is accepted",
            o->count, GANTRY_MAX_COMPONENTS);
    for (size_t i = 0; o->shapes && i < o->count; ++i) {
        if (o->shapes[i].rank < 0 || o->shapes[i].rank >= GANTRY_MAX_RANK)
            return gantry__train_refuse(
                NULL, "gantry_dataset_padded_batch: shape %zu has rank %d; 0 to %d are accepted", i,
                o->shapes[i].rank, GANTRY_MAX_RANK - 1);
    }
    return GANTRY_OK;
}

static void keep_options(padded_t *self, const gantry_padded_batch_options_t *o) {
    self->drops_remainder = o->drop_remainder;
    if (o->shapes) memcpy(self->shapes, o->shapes, o->count * sizeof *o->shapes);
    if (o->values) memcpy(self->values, o->values, o->count * sizeof *o->values);
    self->shape_count = o->shapes ? o->count : 0;
    self->value_count = o->values ? o->count : 0;
}

gantry_dataset_t *gantry_dataset_padded_batch(gantry_dataset_t *input, int64_t batch_size,
                                              const gantry_padded_batch_options_t *options) {
    gantry_padded_batch_options_t o;
    if (!input) return NULL;
    if (gantry__struct_read(options, sizeof o, &o, sizeof o,
                            "gantry_dataset_padded_batch: options") != GANTRY_OK ||
        check_options(batch_size, &o) != GANTRY_OK)
        return gantry__train_dataset_refuse(input);
    int64_t known = gantry_dataset_cardinality(input);
    if (known > 0) known = known / batch_size + (!o.drop_remainder && known % batch_size > 0);
    padded_t *self = gantry__train_dataset_make(&padded_kind, sizeof *self, input, known);
    if (!self) return NULL;
    self->size = batch_size;
    keep_options(self, &o);
    return &self->base;
}
