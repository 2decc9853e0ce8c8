/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a saved graph, what is around the nodes of a body, and parts of nodes. Of ops, the
 * newest version is read: a version that ops had before is given its meaning here. */
#include <stdio.h>

#include "function/saved/saved_format.h"
#include "run/runtime_state.h"
#include "run/tensor_state.h"

typedef struct saved_tables_t {
    gantry__saved_t *saved;
    gantry__saved_cursor_t cursor;
    gantry__saved_weights_fn load;
    void *user;
} saved_tables_t;

/* ---- tables ---- */

static GANTRY__COLD gantry_status_t saved_tables_fail_op(const char *name, uint32_t version,
                                                         const gantry__op_def_t *op) {
    const gantry__graph_label_t label = gantry__graph_label(name);
    if (!op)
        return gantry__fail(GANTRY_UNIMPLEMENTED,
                            "op %s is not in this library, Gantry %s, which has %zu ops",
                            label.text, gantry_version(), gantry_op_count());
    return gantry__fail(GANTRY_UNIMPLEMENTED,
                        "op %s is of version %u; this library, Gantry %s, knows versions up to %u",
                        label.text, (unsigned)version, gantry_version(),
                        (unsigned)gantry__op_version(op));
}

static gantry_status_t saved_tables_check_op(const saved_tables_t *reader, const char *name,
                                             uint32_t version, const gantry__op_def_t *op) {
    if (!op || strcmp(op->name, name) != 0) return saved_tables_fail_op(name, version, NULL);
    if (op->flags & GANTRY__OP_SEQUENCED || strncmp(name, "_Fused", 6) == 0)
        return gantry__saved_fail(&reader->cursor, "an op is none that a graph has");
    if (version == 0) return gantry__saved_fail(&reader->cursor, "the version of an op is 0");
    return version <= gantry__op_version(op) ? GANTRY_OK : saved_tables_fail_op(name, version, op);
}

static gantry_status_t take_op(saved_tables_t *reader, gantry__saved_op_t *out) {
    const char *name = "";
    uint32_t version = 0;
    GANTRY__TRY(gantry__saved_take_text(&reader->cursor, &name));
    GANTRY__TRY(gantry__saved_take_u32(&reader->cursor, &version));
    GANTRY__TRY(gantry__saved_take_u8(&reader->cursor, &out->attr_count));
    out->op = gantry__op_find(name);
    GANTRY__TRY(saved_tables_check_op(reader, name, version, out->op));
    out->attrs = gantry__arena_zalloc(&reader->saved->arena, out->attr_count, sizeof *out->attrs);
    if (!out->attrs) return GANTRY_RESOURCE_EXHAUSTED;
    for (uint32_t i = 0; i < out->attr_count; ++i)
        GANTRY__TRY(gantry__saved_take_text(&reader->cursor, &out->attrs[i]));
    return GANTRY_OK;
}

static gantry_status_t take_ops(saved_tables_t *reader) {
    uint32_t count = 0;
    GANTRY__TRY(gantry__saved_take_count(&reader->cursor, 8, &count));
    reader->saved->ops =
        gantry__arena_zalloc(&reader->saved->arena, count, sizeof *reader->saved->ops);
    if (!reader->saved->ops) return GANTRY_RESOURCE_EXHAUSTED;
    for (; reader->saved->op_count < count; ++reader->saved->op_count)
        GANTRY__TRY(take_op(reader, &reader->saved->ops[reader->saved->op_count]));
    return GANTRY_OK;
}

static gantry_status_t take_weight(saved_tables_t *reader, gantry__saved_weight_t *out) {
    uint64_t bytes = 0;
    GANTRY__TRY(gantry__saved_take_text(&reader->cursor, &out->name));
    GANTRY__TRY(gantry__saved_take_u8(&reader->cursor, &out->flags));
    GANTRY__TRY(gantry__saved_take_known_type(&reader->cursor, &out->dtype, &out->shape, &bytes));
    if (out->flags & ~(uint32_t)(GANTRY__SAVED_IS_VARIABLE | GANTRY__SAVED_ON_HOST))
        return gantry__saved_fail(&reader->cursor, "a weight has an unknown flag");
    return GANTRY_OK;
}

static gantry_status_t take_weights(saved_tables_t *reader) {
    uint32_t count = 0;
    GANTRY__TRY(gantry__saved_take_count(&reader->cursor, 6, &count));
    reader->saved->weights =
        gantry__arena_zalloc(&reader->saved->arena, count, sizeof *reader->saved->weights);
    if (!reader->saved->weights) return GANTRY_RESOURCE_EXHAUSTED;
    while (reader->saved->weight_count < count)
        GANTRY__TRY(take_weight(reader, &reader->saved->weights[reader->saved->weight_count++]));
    return reader->load(reader->user, reader->saved->weights, count);
}

static gantry_status_t saved_tables_take_place(saved_tables_t *reader, gantry__philox_t *out) {
    GANTRY__TRY(gantry__saved_take_u64(&reader->cursor, &out->counter[0]));
    GANTRY__TRY(gantry__saved_take_u64(&reader->cursor, &out->counter[1]));
    return gantry__saved_take_u64(&reader->cursor, &out->key);
}

static gantry_status_t take_stream(saved_tables_t *reader, gantry__draws_t **out) {
    gantry_runtime_t *runtime = reader->saved->runtime;
    gantry__philox_t begin = {{0}, 0}, place = {{0}, 0};
    uint32_t flags = 0;
    GANTRY__TRY(saved_tables_take_place(reader, &begin));
    GANTRY__TRY(saved_tables_take_place(reader, &place));
    GANTRY__TRY(gantry__saved_take_u8(&reader->cursor, &flags));
    if (flags & ~(uint32_t)GANTRY__SAVED_RESTARTS)
        return gantry__saved_fail(&reader->cursor, "a stream has an unknown flag");
    GANTRY__TRY(gantry__draws_create(&runtime->heap, begin,
                                     flags ? &runtime->random.seeds_set : NULL, out));
    gantry__draws_put(*out, place);
    return GANTRY_OK;
}

static gantry_status_t take_streams(saved_tables_t *reader) {
    uint32_t count = 0;
    GANTRY__TRY(gantry__saved_take_count(&reader->cursor, 49, &count));
    reader->saved->streams =
        gantry__arena_zalloc(&reader->saved->arena, count, sizeof *reader->saved->streams);
    if (!reader->saved->streams) return GANTRY_RESOURCE_EXHAUSTED;
    for (; reader->saved->stream_count < count; ++reader->saved->stream_count)
        GANTRY__TRY(take_stream(reader, &reader->saved->streams[reader->saved->stream_count]));
    return GANTRY_OK;
}

/* ---- parts of nodes ---- */

gantry_status_t gantry__saved_take_attr(gantry__saved_cursor_t *cursor,
                                        const gantry__saved_op_t *op, gantry_attr_value_t *out) {
    uint32_t number = 0;
    GANTRY__TRY(gantry__saved_take_u8(cursor, &number));
    if (number >= op->attr_count) return gantry__saved_fail(cursor, "an op has no such attribute");
    *out = (gantry_attr_value_t){.name = op->attrs[number]};
    return gantry__saved_take_attr_value(cursor, out);
}

gantry_status_t gantry__saved_take_attr_value(gantry__saved_cursor_t *cursor,
                                              gantry_attr_value_t *out) {
    uint32_t kind = 0, count = 0;
    const void *list = NULL;
    GANTRY__TRY(gantry__saved_take_u8(cursor, &kind));
    out->kind = (gantry_attr_kind_t)kind;
    switch (out->kind) {
        case GANTRY_ATTR_FLOAT: return gantry__saved_take(cursor, &out->f, sizeof out->f);
        case GANTRY_ATTR_STRING: return gantry__saved_take_text(cursor, &out->s);
        case GANTRY_ATTR_INTS:
        case GANTRY_ATTR_SHAPE:
            GANTRY__TRY(gantry__saved_take_list(cursor, sizeof *out->list, &list, &count));
            out->list = list;
            out->i = count;
            return GANTRY_OK;
        default: return gantry__saved_take(cursor, &out->i, sizeof out->i);
    }
}

gantry_status_t gantry__saved_take_constant(gantry__saved_cursor_t *cursor,
                                            const gantry__saved_t *saved, uint32_t flags,
                                            gantry_tensor_t **out_tensor) {
    unsigned char elements[GANTRY__SAVED_INLINE_BYTES];
    gantry_runtime_t *runtime = saved->runtime;
    gantry_dtype_t dtype = GANTRY_DTYPE_NONE;
    gantry_shape_t shape = {.rank = 0};
    uint64_t bytes = 0;
    uint32_t number = 0;
    *out_tensor = NULL;
    if (!(flags & GANTRY__SAVED_IS_INLINE)) {
        GANTRY__TRY(gantry__saved_pick(cursor, saved->weight_count, "a constant has no such weight",
                                       &number));
        *out_tensor = gantry_tensor_retain(saved->weights[number].tensor);
        return *out_tensor ? GANTRY_OK : gantry__saved_fail(cursor, "a constant is a variable");
    }
    GANTRY__TRY(gantry__saved_take_known_type(cursor, &dtype, &shape, &bytes));
    if (bytes > sizeof elements) return gantry__saved_fail(cursor, "a constant is too large");
    GANTRY__TRY(gantry__saved_take(cursor, elements, (size_t)bytes));
    return gantry__tensor_from_host(runtime, runtime->host, dtype, &shape, elements, NULL,
                                    out_tensor);
}

/* ---- bodies ---- */

static gantry_status_t saved_tables_take_inputs(gantry__saved_cursor_t *cursor,
                                                gantry__saved_body_t *body) {
    GANTRY__TRY(gantry__saved_take_count(cursor, 5, &body->input_count));
    body->inputs = gantry__arena_zalloc(cursor->arena, body->input_count, sizeof *body->inputs);
    if (!body->inputs) return GANTRY_RESOURCE_EXHAUSTED;
    for (uint32_t i = 0; i < body->input_count; ++i) {
        GANTRY__TRY(gantry__saved_take_text(cursor, &body->inputs[i].name));
        GANTRY__TRY(
            gantry__saved_take_type(cursor, &body->inputs[i].dtype, &body->inputs[i].shape));
    }
    return GANTRY_OK;
}

static gantry_status_t saved_tables_take_outputs(gantry__saved_cursor_t *cursor,
                                                 gantry__saved_body_t *body) {
    GANTRY__TRY(gantry__saved_take_count(cursor, 7, &body->output_count));
    const uint32_t count = body->output_count;
    body->outputs = gantry__arena_zalloc(cursor->arena, count, sizeof *body->outputs);
    body->output_names = gantry__arena_zalloc(cursor->arena, count, sizeof *body->output_names);
    if (!body->outputs || !body->output_names) return GANTRY_RESOURCE_EXHAUSTED;
    for (uint32_t i = 0; i < count; ++i) {
        GANTRY__TRY(gantry__saved_take_text(cursor, &body->output_names[i]));
        GANTRY__TRY(gantry__saved_take_u32(cursor, &body->outputs[i]));
    }
    return GANTRY_OK;
}

gantry_status_t gantry__saved_take_body(gantry__saved_cursor_t *cursor,
                                        gantry__saved_body_t *body) {
    GANTRY__TRY(gantry__saved_take_u8(cursor, &body->flags));
    if (body->flags & ~(uint32_t)GANTRY__SAVED_BATCH_INVARIANT)
        return gantry__saved_fail(cursor, "a body has an unknown flag");
    GANTRY__TRY(saved_tables_take_inputs(cursor, body));
    GANTRY__TRY(saved_tables_take_outputs(cursor, body));
    return gantry__saved_take_count(cursor, 5, &body->node_count);
}

/* ---- all ---- */

static gantry_status_t take_format(saved_tables_t *reader) {
    char magic[sizeof GANTRY__SAVED_MAGIC - 1];
    uint32_t format = 0;
    GANTRY__TRY(gantry__saved_take(&reader->cursor, magic, sizeof magic));
    if (memcmp(magic, GANTRY__SAVED_MAGIC, sizeof magic) != 0)
        return gantry__saved_fail(&reader->cursor, "it does not begin with " GANTRY__SAVED_MAGIC);
    GANTRY__TRY(gantry__saved_take_u32(&reader->cursor, &format));
    if (format == reader->saved->format) return GANTRY_OK;
    if (format >= 1 && format <= GANTRY_SAVED_FORMAT)
        return gantry__fail(
            GANTRY_DATA_LOSS,
            "the format of its graph is %u, and that of its metadata %u; the same is accepted",
            (unsigned)format, (unsigned)reader->saved->format);
    return gantry__fail(format == 0 ? GANTRY_DATA_LOSS : GANTRY_UNIMPLEMENTED,
                        "its format is %u; this library, Gantry %s, reads formats 1 to %d",
                        (unsigned)format, gantry_version(), GANTRY_SAVED_FORMAT);
}

gantry_status_t gantry__saved_read_tables(gantry__saved_t *saved, gantry__saved_weights_fn load,
                                          void *user) {
    saved_tables_t reader = {
        saved, {saved->bytes, saved->bytes, saved->bytes + saved->size, &saved->arena}, load, user};
    GANTRY__TRY(take_format(&reader));
    GANTRY__TRY(take_ops(&reader));
    GANTRY__TRY(take_weights(&reader));
    GANTRY__TRY(take_streams(&reader));
    GANTRY__TRY(gantry__saved_take_text(&reader.cursor, &saved->body.name));
    GANTRY__TRY(gantry__saved_take_body(&reader.cursor, &saved->body));
    saved->nodes = reader.cursor.at;
    return GANTRY_OK;
}
