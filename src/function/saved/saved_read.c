/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes become a graph. A cursor never passes the end; what it reads is checked here as far as it
 * is about the form, and by gantry__graph_add_item as far as it is about a graph. Lists are in an
 * arena, each of at most as many bytes as the file has for it: memory is bounded by the file. */
#include <stdio.h>
#include <string.h>

#include "device/device_open.h"
#include "function/saved/saved_format.h"
#include "run/runtime_state.h"
#include "run/tensor_state.h"

typedef struct saved_op_t {
    const gantry__op_def_t *op;
    const char **attrs; /* names, in the file's order */
    uint32_t attr_count;
} saved_op_t;

typedef struct saved_reader_t {
    gantry_runtime_t *runtime;
    const unsigned char *begin, *at, *end;
    gantry__arena_t arena;
    saved_op_t *ops;
    gantry__saved_weight_t *weights;
    gantry__draws_t **streams;
    uint32_t op_count, weight_count, stream_count;
    gantry__saved_weight_fn load;
    void *user;
} saved_reader_t;

static const char call_name[] = "gantry_function_load";

/* ---- the cursor ---- */

static GANTRY__COLD gantry_status_t fail_short(const saved_reader_t *reader, const char *what) {
    return gantry__fail(GANTRY_DATA_LOSS, "the graph is damaged at byte %zu of %zu: %s",
                        (size_t)(reader->at - reader->begin), (size_t)(reader->end - reader->begin),
                        what);
}

static gantry_status_t take(saved_reader_t *reader, void *out, size_t size) {
    if ((size_t)(reader->end - reader->at) < size) return fail_short(reader, "it ends too early");
    memcpy(out, reader->at, size);
    reader->at += size;
    return GANTRY_OK;
}

static gantry_status_t take_u8(saved_reader_t *reader, uint32_t *out) {
    uint8_t byte = 0;
    GANTRY__TRY(take(reader, &byte, sizeof byte));
    *out = byte;
    return GANTRY_OK;
}

static gantry_status_t take_u32(saved_reader_t *reader, uint32_t *out) {
    return take(reader, out, sizeof *out);
}

static gantry_status_t take_u64(saved_reader_t *reader, uint64_t *out) {
    return take(reader, out, sizeof *out);
}

/* A count of things of at least so many bytes each. */
static gantry_status_t take_count(saved_reader_t *reader, size_t least_bytes, uint32_t *out) {
    GANTRY__TRY(take_u32(reader, out));
    if (*out <= (size_t)(reader->end - reader->at) / least_bytes) return GANTRY_OK;
    return fail_short(reader, "a count is larger than what follows");
}

static gantry_status_t take_text(saved_reader_t *reader, const char **out) {
    uint16_t length = 0;
    GANTRY__TRY(take(reader, &length, sizeof length));
    if ((size_t)(reader->end - reader->at) <= length)
        return fail_short(reader, "a text ends too late");
    if (reader->at[length] != '\0' || memchr(reader->at, '\0', length))
        return fail_short(reader, "a text does not end with its only zero");
    *out = (const char *)reader->at;
    reader->at += length + (size_t)1;
    return GANTRY_OK;
}

static gantry_status_t take_list(saved_reader_t *reader, size_t item_bytes, const void **out,
                                 uint32_t *out_count) {
    GANTRY__TRY(take_count(reader, item_bytes, out_count));
    void *list = gantry__arena_copy(&reader->arena, reader->at, *out_count, item_bytes);
    if (!list) return GANTRY_RESOURCE_EXHAUSTED;
    reader->at += *out_count * item_bytes;
    *out = list;
    return GANTRY_OK;
}

static gantry_status_t take_values(saved_reader_t *reader, const gantry_graph_value_t **out,
                                   size_t *out_count) {
    const void *list = NULL;
    uint32_t count = 0;
    GANTRY__TRY(take_list(reader, sizeof **out, &list, &count));
    *out = list;
    *out_count = count;
    return GANTRY_OK;
}

/* Sizes below 0 are left to who takes the shape. */
static gantry_status_t take_type(saved_reader_t *reader, gantry_dtype_t *out_dtype,
                                 gantry_shape_t *out_shape) {
    uint32_t dtype = 0, rank = 0;
    GANTRY__TRY(take_u8(reader, &dtype));
    GANTRY__TRY(take_u8(reader, &rank));
    if (rank > GANTRY_MAX_RANK) return fail_short(reader, "a rank is not possible");
    *out_dtype = (gantry_dtype_t)dtype;
    *out_shape = (gantry_shape_t){.rank = (int32_t)rank};
    return take(reader, out_shape->dims, rank * sizeof out_shape->dims[0]);
}

/* The type is one of Gantry's, and no size is open. */
static gantry_status_t take_known_type(saved_reader_t *reader, gantry_dtype_t *out_dtype,
                                       gantry_shape_t *out_shape, uint64_t *out_bytes) {
    GANTRY__TRY(take_type(reader, out_dtype, out_shape));
    const size_t item = gantry_dtype_size(*out_dtype);
    const int64_t elements = gantry_shape_elements(out_shape);
    if (item == 0 || elements < 0 || (uint64_t)elements > SIZE_MAX / 2 / item)
        return fail_short(reader, "a type or a shape is not possible");
    *out_bytes = (uint64_t)elements * item;
    return GANTRY_OK;
}

static gantry_status_t pick(saved_reader_t *reader, uint32_t count, const char *what,
                            uint32_t *out) {
    GANTRY__TRY(take_u32(reader, out));
    return *out < count ? GANTRY_OK : fail_short(reader, what);
}

/* ---- tables ---- */

static gantry_status_t check_op(const saved_reader_t *reader, const char *name, uint32_t version,
                                const gantry__op_def_t *op) {
    const gantry__graph_label_t label = gantry__graph_label(name);
    if (!op || strcmp(op->name, name) != 0)
        return gantry__fail(GANTRY_UNIMPLEMENTED,
                            "op %s is not in this library, Gantry %s, which has %zu ops",
                            label.text, gantry_version(), gantry_op_count());
    if (op->flags & GANTRY__OP_SEQUENCED || strncmp(name, "_Fused", 6) == 0)
        return fail_short(reader, "an op is none that a graph has");
    if (version == 0) return fail_short(reader, "the version of an op is 0");
    if (version <= gantry__op_version(op)) return GANTRY_OK;
    return gantry__fail(GANTRY_UNIMPLEMENTED,
                        "op %s is of version %u; this library, Gantry %s, knows versions up to %u",
                        label.text, (unsigned)version, gantry_version(),
                        (unsigned)gantry__op_version(op));
}

static gantry_status_t take_op(saved_reader_t *reader, saved_op_t *out) {
    const char *name = "";
    uint32_t version = 0;
    GANTRY__TRY(take_text(reader, &name));
    GANTRY__TRY(take_u32(reader, &version));
    GANTRY__TRY(take_u8(reader, &out->attr_count));
    out->op = gantry__op_find(name);
    GANTRY__TRY(check_op(reader, name, version, out->op));
    out->attrs = gantry__arena_zalloc(&reader->arena, out->attr_count, sizeof *out->attrs);
    if (!out->attrs) return GANTRY_RESOURCE_EXHAUSTED;
    for (uint32_t i = 0; i < out->attr_count; ++i) GANTRY__TRY(take_text(reader, &out->attrs[i]));
    return GANTRY_OK;
}

static gantry_status_t take_ops(saved_reader_t *reader) {
    uint32_t count = 0;
    GANTRY__TRY(take_count(reader, 8, &count));
    reader->ops = gantry__arena_zalloc(&reader->arena, count, sizeof *reader->ops);
    if (!reader->ops) return GANTRY_RESOURCE_EXHAUSTED;
    for (; reader->op_count < count; ++reader->op_count)
        GANTRY__TRY(take_op(reader, &reader->ops[reader->op_count]));
    return GANTRY_OK;
}

static gantry_status_t take_weight(saved_reader_t *reader, gantry__saved_weight_t *out) {
    uint64_t bytes = 0;
    GANTRY__TRY(take_text(reader, &out->name));
    GANTRY__TRY(take_u8(reader, &out->flags));
    GANTRY__TRY(take_known_type(reader, &out->dtype, &out->shape, &bytes));
    if (out->flags & ~(uint32_t)(GANTRY__SAVED_IS_VARIABLE | GANTRY__SAVED_ON_HOST))
        return fail_short(reader, "a weight has an unknown flag");
    return reader->load(reader->user, out);
}

static gantry_status_t take_weights(saved_reader_t *reader) {
    uint32_t count = 0;
    GANTRY__TRY(take_count(reader, 6, &count));
    reader->weights = gantry__arena_zalloc(&reader->arena, count, sizeof *reader->weights);
    if (!reader->weights) return GANTRY_RESOURCE_EXHAUSTED;
    while (reader->weight_count < count)
        GANTRY__TRY(take_weight(reader, &reader->weights[reader->weight_count++]));
    return GANTRY_OK;
}

static gantry_status_t take_place(saved_reader_t *reader, gantry__philox_t *out) {
    GANTRY__TRY(take_u64(reader, &out->counter[0]));
    GANTRY__TRY(take_u64(reader, &out->counter[1]));
    return take_u64(reader, &out->key);
}

static gantry_status_t take_stream(saved_reader_t *reader, gantry__draws_t **out) {
    gantry_runtime_t *runtime = reader->runtime;
    gantry__philox_t begin = {{0}, 0}, place = {{0}, 0};
    uint32_t flags = 0;
    GANTRY__TRY(take_place(reader, &begin));
    GANTRY__TRY(take_place(reader, &place));
    GANTRY__TRY(take_u8(reader, &flags));
    if (flags & ~(uint32_t)GANTRY__SAVED_RESTARTS)
        return fail_short(reader, "a stream has an unknown flag");
    GANTRY__TRY(gantry__draws_create(&runtime->heap, begin,
                                     flags ? &runtime->random.seeds_set : NULL, out));
    gantry__draws_put(*out, place);
    return GANTRY_OK;
}

static gantry_status_t take_streams(saved_reader_t *reader) {
    uint32_t count = 0;
    GANTRY__TRY(take_count(reader, 49, &count));
    reader->streams = gantry__arena_zalloc(&reader->arena, count, sizeof *reader->streams);
    if (!reader->streams) return GANTRY_RESOURCE_EXHAUSTED;
    for (; reader->stream_count < count; ++reader->stream_count)
        GANTRY__TRY(take_stream(reader, &reader->streams[reader->stream_count]));
    return GANTRY_OK;
}

/* ---- nodes ---- */

static gantry_status_t take_body(saved_reader_t *reader, gantry_graph_t *graph);

static gantry_status_t take_attr(saved_reader_t *reader, const saved_op_t *op,
                                 gantry_attr_value_t *out) {
    uint32_t number = 0, kind = 0, count = 0;
    const void *list = NULL;
    GANTRY__TRY(take_u8(reader, &number));
    GANTRY__TRY(take_u8(reader, &kind));
    if (number >= op->attr_count) return fail_short(reader, "an op has no such attribute");
    *out = (gantry_attr_value_t){.name = op->attrs[number], .kind = (gantry_attr_kind_t)kind};
    switch (out->kind) {
        case GANTRY_ATTR_FLOAT: return take(reader, &out->f, sizeof out->f);
        case GANTRY_ATTR_STRING: return take_text(reader, &out->s);
        case GANTRY_ATTR_INTS:
        case GANTRY_ATTR_SHAPE:
            GANTRY__TRY(take_list(reader, sizeof *out->list, &list, &count));
            out->list = list;
            out->i = count;
            return GANTRY_OK;
        default: return take(reader, &out->i, sizeof out->i);
    }
}

static gantry_status_t take_node_op(saved_reader_t *reader, gantry__graph_item_t *item,
                                    gantry_attr_value_t attrs[GANTRY__MAX_ATTRS]) {
    uint32_t number = 0, count = 0;
    GANTRY__TRY(pick(reader, reader->op_count, "a node has no such op", &number));
    GANTRY__TRY(take_values(reader, &item->node.inputs, &item->node.input_count));
    GANTRY__TRY(take_u8(reader, &count));
    if (count > GANTRY__MAX_ATTRS) return fail_short(reader, "a node has too many attributes");
    for (uint32_t i = 0; i < count; ++i)
        GANTRY__TRY(take_attr(reader, &reader->ops[number], &attrs[i]));
    item->node.op = reader->ops[number].op->name;
    item->node.attrs = attrs;
    item->node.attr_count = count;
    return GANTRY_OK;
}

static gantry_status_t take_constant(saved_reader_t *reader, uint32_t flags,
                                     gantry__graph_item_t *item, gantry_tensor_t **out_made) {
    unsigned char elements[GANTRY__SAVED_INLINE_BYTES];
    gantry_runtime_t *runtime = reader->runtime;
    gantry_dtype_t dtype = GANTRY_DTYPE_NONE;
    gantry_shape_t shape = {.rank = 0};
    uint64_t bytes = 0;
    uint32_t number = 0;
    if (!(flags & GANTRY__SAVED_IS_INLINE)) {
        GANTRY__TRY(pick(reader, reader->weight_count, "a constant has no such weight", &number));
        item->tensor = reader->weights[number].tensor;
        return item->tensor ? GANTRY_OK : fail_short(reader, "a constant is a variable");
    }
    GANTRY__TRY(take_known_type(reader, &dtype, &shape, &bytes));
    if (bytes > sizeof elements) return fail_short(reader, "a constant is too large");
    GANTRY__TRY(take(reader, elements, (size_t)bytes));
    GANTRY__TRY(
        gantry__tensor_from_host(runtime, runtime->host, dtype, &shape, elements, NULL, out_made));
    item->tensor = *out_made;
    return GANTRY_OK;
}

static gantry_status_t take_variable(saved_reader_t *reader, gantry__graph_item_t *item,
                                     gantry_graph_value_t *value) {
    uint32_t number = 0, mode = 0;
    GANTRY__TRY(pick(reader, reader->weight_count, "a variable is no weight", &number));
    item->variable = reader->weights[number].variable;
    if (!item->variable) return fail_short(reader, "a variable is a constant");
    if (item->kind == GANTRY_GRAPH_READ) return GANTRY_OK;
    GANTRY__TRY(take_u8(reader, &mode));
    GANTRY__TRY(take_u32(reader, value));
    if (mode > GANTRY_ASSIGN_SUB) return fail_short(reader, "an assignment has an unknown mode");
    item->mode = (gantry_assign_mode_t)mode;
    item->node.inputs = value;
    item->node.input_count = 1;
    return GANTRY_OK;
}

static gantry_status_t take_block(saved_reader_t *reader, gantry_graph_t *graph,
                                  gantry__graph_item_t *item,
                                  gantry_graph_t *bodies[GANTRY_MAX_GRAPH_BRANCHES]) {
    uint32_t count = 2;
    GANTRY__TRY(take_values(reader, &item->node.inputs, &item->node.input_count));
    if (item->kind == GANTRY_GRAPH_CASE)
        GANTRY__TRY(take_u8(reader, &count));
    else
        GANTRY__TRY(take_u64(reader, &item->most_steps));
    if (count > GANTRY_MAX_GRAPH_BRANCHES)
        return fail_short(reader, "a branch has too many bodies");
    for (uint32_t i = 0; i < count; ++i) {
        const char *name = "";
        GANTRY__TRY(take_text(reader, &name));
        GANTRY__TRY(gantry_graph_add_subgraph(graph, name, &bodies[i]));
        GANTRY__TRY(take_body(reader, bodies[i]));
    }
    item->subgraphs = bodies;
    item->subgraph_count = count;
    return GANTRY_OK;
}

static gantry_status_t take_draw(saved_reader_t *reader, gantry__graph_item_t *item) {
    uint32_t number = 0;
    GANTRY__TRY(pick(reader, reader->stream_count, "a draw has no such stream", &number));
    item->draws = reader->streams[number];
    return take_u64(reader, &item->blocks);
}

static gantry_status_t take_relations(saved_reader_t *reader, uint32_t flags,
                                      gantry_graph_node_t *node) {
    if (flags & GANTRY__SAVED_HAS_DEVICE) GANTRY__TRY(take_text(reader, &node->device));
    if (flags & GANTRY__SAVED_HAS_CONTROLS)
        GANTRY__TRY(take_values(reader, &node->controls, &node->control_count));
    if (flags & GANTRY__SAVED_HAS_COLOCATED)
        GANTRY__TRY(take_values(reader, &node->colocated, &node->colocated_count));
    return GANTRY_OK;
}

static gantry_status_t add_plain_node(saved_reader_t *reader, gantry_graph_t *graph, uint32_t flags,
                                      gantry__graph_item_t *item) {
    gantry_attr_value_t attrs[GANTRY__MAX_ATTRS];
    const gantry__graph_item_t *added;
    gantry_graph_value_t value = 0, input;
    gantry_tensor_t *made = NULL;
    gantry_status_t status = GANTRY_OK;
    switch (item->kind) {
        case GANTRY_GRAPH_INPUT: {
            gantry_input_spec_t spec = {.name = item->node.name};
            GANTRY__TRY(take_type(reader, &spec.dtype, &spec.shape));
            return gantry_graph_add_input(graph, &spec, &input);
        }
        case GANTRY_GRAPH_CONSTANT: status = take_constant(reader, flags, item, &made); break;
        case GANTRY_GRAPH_OP: status = take_node_op(reader, item, attrs); break;
        case GANTRY_GRAPH_READ:
        case GANTRY_GRAPH_ASSIGN: status = take_variable(reader, item, &value); break;
        default: status = take_draw(reader, item);
    }
    if (status == GANTRY_OK) status = gantry__graph_add_item(graph, call_name, item, &added);
    gantry_tensor_release(made);
    return status;
}

static GANTRY__NOINLINE gantry_status_t add_block_node(saved_reader_t *reader,
                                                       gantry_graph_t *graph,
                                                       gantry__graph_item_t *item) {
    gantry_graph_t *bodies[GANTRY_MAX_GRAPH_BRANCHES];
    const gantry__graph_item_t *added;
    GANTRY__TRY(take_block(reader, graph, item, bodies));
    return gantry__graph_add_item(graph, call_name, item, &added);
}

static gantry_status_t take_node(saved_reader_t *reader, gantry_graph_t *graph) {
    gantry__graph_item_t item = {.kind = GANTRY_GRAPH_INPUT};
    uint32_t kind = 0, flags = 0;
    GANTRY__TRY(take_u8(reader, &kind));
    GANTRY__TRY(take_u8(reader, &flags));
    GANTRY__TRY(take_text(reader, &item.node.name));
    if (kind > GANTRY_GRAPH_DRAW || flags >= 2 * GANTRY__SAVED_IS_INLINE)
        return fail_short(reader, "a node is of an unknown kind");
    item.kind = (gantry_graph_kind_t)kind;
    GANTRY__TRY(take_relations(reader, flags, &item.node));
    return kind == GANTRY_GRAPH_CASE || kind == GANTRY_GRAPH_WHILE
               ? add_block_node(reader, graph, &item)
               : add_plain_node(reader, graph, flags, &item);
}

/* The rows of a body after its name. */
static gantry_status_t take_body(saved_reader_t *reader, gantry_graph_t *graph) {
    uint32_t count = 0, value = 0;
    const char *name = "";
    GANTRY__TRY(take_count(reader, 5, &count));
    for (uint32_t i = 0; i < count; ++i) GANTRY__TRY(take_node(reader, graph));
    GANTRY__TRY(take_count(reader, 7, &count));
    for (uint32_t i = 0; i < count; ++i) {
        GANTRY__TRY(take_text(reader, &name));
        GANTRY__TRY(take_u32(reader, &value));
        GANTRY__TRY(gantry_graph_add_output(graph, name, value));
    }
    return GANTRY_OK;
}

/* ---- all ---- */

static gantry_status_t take_format(saved_reader_t *reader) {
    char magic[sizeof GANTRY__SAVED_MAGIC - 1];
    uint32_t format = 0;
    GANTRY__TRY(take(reader, magic, sizeof magic));
    if (memcmp(magic, GANTRY__SAVED_MAGIC, sizeof magic) != 0)
        return fail_short(reader, "it does not begin with " GANTRY__SAVED_MAGIC);
    GANTRY__TRY(take_u32(reader, &format));
    if (format >= 1 && format <= GANTRY_SAVED_FORMAT) return GANTRY_OK;
    return gantry__fail(format == 0 ? GANTRY_DATA_LOSS : GANTRY_UNIMPLEMENTED,
                        "its format is %u; this library, Gantry %s, reads formats 1 to %d",
                        (unsigned)format, gantry_version(), GANTRY_SAVED_FORMAT);
}

static gantry_status_t take_graph(saved_reader_t *reader, gantry_graph_t **out_graph,
                                  uint32_t *out_flags) {
    const char *name = "";
    GANTRY__TRY(take_format(reader));
    GANTRY__TRY(take_u8(reader, out_flags));
    if (*out_flags & ~(uint32_t)GANTRY__SAVED_BATCH_INVARIANT)
        return fail_short(reader, "the graph has an unknown flag");
    GANTRY__TRY(take_ops(reader));
    GANTRY__TRY(take_weights(reader));
    GANTRY__TRY(take_streams(reader));
    GANTRY__TRY(take_text(reader, &name));
    GANTRY__TRY(gantry_graph_create(reader->runtime, name, out_graph));
    GANTRY__TRY(take_body(reader, *out_graph));
    return reader->at == reader->end ? GANTRY_OK : fail_short(reader, "more bytes follow");
}

gantry_status_t gantry__saved_read(gantry_runtime_t *runtime, const unsigned char *bytes,
                                   size_t size, gantry__saved_weight_fn load, void *user,
                                   gantry_graph_t **out_graph, uint32_t *out_flags) {
    saved_reader_t reader = {.runtime = runtime,
                             .begin = bytes,
                             .at = bytes,
                             .end = bytes + size,
                             .load = load,
                             .user = user};
    *out_graph = NULL;
    GANTRY__TRY(gantry__logical_device_open(runtime->host));
    gantry__arena_init(&reader.arena, &runtime->heap);
    const gantry_status_t status = take_graph(&reader, out_graph, out_flags);
    for (uint32_t i = 0; i < reader.weight_count; ++i) {
        gantry_tensor_release(reader.weights[i].tensor);
        gantry_variable_release(reader.weights[i].variable);
    }
    for (uint32_t i = 0; i < reader.stream_count; ++i) gantry__draws_release(reader.streams[i]);
    gantry__arena_deinit(&reader.arena);
    if (status == GANTRY_OK) return GANTRY_OK;
    gantry_graph_release(*out_graph);
    *out_graph = NULL;
    return status;
}
