/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of nodes. Within a function of the model an attribute may take its value from the
 * node that calls the function, or from the function's default; without both it is not given. */
#include <inttypes.h>
#include <string.h>

#include "host/bits.h"
#include "onnx/base/limits.h"
#include "onnx/graph/build.h"

#define FEW_ATTRS 16

typedef const gantry__onnx_wire_attribute_t attr_message_t;

/* ---- what came ---- */

/* The bit of the field of each kind; a single tensor, graph and type must come. */
#define FIELD_BIT(name) (1u << GANTRY__ONNX_HAS_attribute_##name)
static const struct {
    uint32_t field;
    bool must_come;
    const char *name;
} kinds[] = {
    [GANTRY__ONNX_FLOAT] = {FIELD_BIT(f), false, "FLOAT"},
    [GANTRY__ONNX_INT] = {FIELD_BIT(i), false, "INT"},
    [GANTRY__ONNX_STRING] = {FIELD_BIT(s), false, "STRING"},
    [GANTRY__ONNX_TENSOR_ATTR] = {FIELD_BIT(t), true, "TENSOR"},
    [GANTRY__ONNX_GRAPH] = {FIELD_BIT(g), true, "GRAPH"},
    [GANTRY__ONNX_FLOATS] = {FIELD_BIT(floats), false, "FLOATS"},
    [GANTRY__ONNX_INTS] = {FIELD_BIT(ints), false, "INTS"},
    [GANTRY__ONNX_STRING_LIST] = {FIELD_BIT(strings), false, "STRINGS"},
    [GANTRY__ONNX_TENSORS] = {FIELD_BIT(tensors), false, "TENSORS"},
    [GANTRY__ONNX_GRAPHS] = {FIELD_BIT(graphs), false, "GRAPHS"},
    [GANTRY__ONNX_SPARSE_ATTR] = {FIELD_BIT(sparse_tensor), true, "SPARSE_TENSOR"},
    [GANTRY__ONNX_SPARSES] = {FIELD_BIT(sparse_tensors), false, "SPARSE_TENSORS"},
    [GANTRY__ONNX_TYPE] = {FIELD_BIT(tp), true, "TYPE_PROTO"},
    [GANTRY__ONNX_TYPES] = {FIELD_BIT(type_protos), false, "TYPE_PROTOS"},
};
#define KIND_COUNT ((int64_t)(sizeof kinds / sizeof *kinds))
#define OTHER_FIELDS (FIELD_BIT(name) | FIELD_BIT(type) | FIELD_BIT(ref_attr_name))

static gantry_status_t check_attr(const gantry__onnx_build_t *build, attr_message_t *m) {
    const uint32_t fields = m->has & ~OTHER_FIELDS;
    if (m->name.size == 0)
        return gantry__onnx_bad(build->reader, "an attribute has no name; a name is accepted");
    if (m->type <= 0 || m->type >= KIND_COUNT)
        return gantry__onnx_bad(
            build->reader, "the attribute '%.*s' has the kind %" PRId64 "; 1 to 14 are accepted",
            GANTRY__ONNX_SHOWN(m->name), m->type);
    if (fields & (fields - 1))
        return gantry__onnx_bad(build->reader,
                                "the attribute '%.*s' has more than one value; one is accepted",
                                GANTRY__ONNX_SHOWN(m->name));
    if (m->ref_attr_name.size > 0 && fields)
        return gantry__onnx_bad(build->reader,
                                "the attribute '%.*s' has a value and refers to '%.*s'; one of "
                                "them is accepted",
                                GANTRY__ONNX_SHOWN(m->name), GANTRY__ONNX_SHOWN(m->ref_attr_name));
    if (m->ref_attr_name.size > 0) return GANTRY_OK;
    if ((fields & ~kinds[m->type].field) || (kinds[m->type].must_come && !fields))
        return gantry__onnx_bad(build->reader,
                                "the attribute '%.*s' of kind %s has %s; a value of this kind is "
                                "accepted",
                                GANTRY__ONNX_SHOWN(m->name), kinds[m->type].name,
                                fields ? "a value of another kind" : "no value");
    return GANTRY_OK;
}

/* ---- values ---- */

/* Copies a list into the model's memory. */
static gantry_status_t attr_copy_list(gantry__onnx_build_t *build, const void *items, size_t count,
                                      size_t item_bytes, const void *out_items_ptr) {
    void *copy = gantry__onnx_model_alloc(build->reader, count, item_bytes);
    if (!copy) return GANTRY_RESOURCE_EXHAUSTED;
    if (count > 0) memcpy(copy, items, count * item_bytes);
    memcpy((void *)(uintptr_t)out_items_ptr, &copy, sizeof copy);
    return gantry__onnx_work(build->reader, count);
}

/* The items are in the order of bytes of files. */
static gantry_status_t attr_copy_floats(gantry__onnx_build_t *build, const void *items,
                                        size_t count, gantry__onnx_attr_t *attr) {
    GANTRY__TRY(attr_copy_list(build, items, count, sizeof(float), &attr->floats));
    gantry__bits_turn((void *)(uintptr_t)attr->floats, count * sizeof(float), sizeof(float));
    return GANTRY_OK;
}

/* Texts end with a zero. */
static gantry_status_t attr_copy_texts(gantry__onnx_build_t *build,
                                       const gantry__onnx_bytes_t *items, size_t count,
                                       gantry__onnx_attr_t *attr) {
    gantry__onnx_bytes_t *texts = gantry__onnx_model_alloc(build->reader, count, sizeof *texts);
    if (!texts) return GANTRY_RESOURCE_EXHAUSTED;
    attr->count = count;
    attr->texts = texts;
    for (size_t i = 0; i < count; ++i) {
        const char *text;
        GANTRY__TRY(gantry__onnx_copy_text(build->reader, items[i], SIZE_MAX,
                                           "the text of an attribute", &text));
        texts[i] = (gantry__onnx_bytes_t){(const uint8_t *)text, items[i].size};
    }
    return GANTRY_OK;
}

static gantry_status_t make_tensors(gantry__onnx_build_t *build, attr_message_t *m,
                                    gantry__onnx_attr_t *attr) {
    const bool is_sparse = m->type == GANTRY__ONNX_SPARSE_ATTR || m->type == GANTRY__ONNX_SPARSES;
    const gantry__onnx_wire_tensor_t *dense = m->t ? m->t : m->tensors.items;
    const gantry__onnx_wire_sparse_t *sparse =
        m->sparse_tensor ? m->sparse_tensor : m->sparse_tensors.items;
    const bool is_list = m->type == GANTRY__ONNX_TENSORS || m->type == GANTRY__ONNX_SPARSES;
    attr->count = !is_list ? 1 : is_sparse ? m->sparse_tensors.count : m->tensors.count;
    gantry__onnx_tensor_t **tensors =
        gantry__onnx_model_alloc(build->reader, attr->count, sizeof *tensors);
    if (!tensors) return GANTRY_RESOURCE_EXHAUSTED;
    attr->tensors = (const gantry__onnx_tensor_t *const *)tensors;
    for (size_t i = 0; i < attr->count; ++i) {
        if (is_sparse)
            GANTRY__TRY(gantry__onnx_make_sparse(build, &sparse[i], &tensors[i]));
        else
            GANTRY__TRY(gantry__onnx_make_tensor(build, &dense[i], &tensors[i]));
    }
    return GANTRY_OK;
}

static gantry_status_t make_graphs(gantry__onnx_build_t *build, const gantry__onnx_frame_t *frame,
                                   attr_message_t *m, gantry__onnx_attr_t *attr) {
    const bool is_list = m->type == GANTRY__ONNX_GRAPHS;
    const gantry__onnx_wire_graph_t *messages = is_list ? m->graphs.items : m->g;
    const gantry__onnx_place_t place = build->reader->place;
    attr->count = is_list ? m->graphs.count : 1;
    gantry__onnx_graph_t **graphs =
        gantry__onnx_model_alloc(build->reader, attr->count, sizeof *graphs);
    if (!graphs) return GANTRY_RESOURCE_EXHAUSTED;
    attr->graphs = (const gantry__onnx_graph_t *const *)graphs;
    for (size_t i = 0; i < attr->count; ++i)
        GANTRY__TRY(gantry__onnx_make_graph(build, &messages[i], frame, &graphs[i]));
    build->reader->place = place;
    return GANTRY_OK;
}

static gantry_status_t make_types(gantry__onnx_build_t *build, attr_message_t *m,
                                  gantry__onnx_attr_t *attr) {
    const bool is_list = m->type == GANTRY__ONNX_TYPES;
    const gantry__onnx_wire_type_t *messages = is_list ? m->type_protos.items : m->tp;
    attr->count = is_list ? m->type_protos.count : 1;
    gantry__onnx_type_t *types =
        gantry__onnx_model_alloc(build->reader, attr->count, sizeof *types);
    if (!types) return GANTRY_RESOURCE_EXHAUSTED;
    attr->type = types;
    for (size_t i = 0; i < attr->count; ++i)
        GANTRY__TRY(gantry__onnx_make_type(build, &messages[i], false, &types[i]));
    return GANTRY_OK;
}

static gantry_status_t make_value(gantry__onnx_build_t *build, const gantry__onnx_frame_t *frame,
                                  attr_message_t *m, gantry__onnx_attr_t *attr) {
    attr->count = 1;
    switch (m->type) {
        case GANTRY__ONNX_FLOAT: return attr_copy_floats(build, &m->f, 1, attr);
        case GANTRY__ONNX_INT: return attr_copy_list(build, &m->i, 1, sizeof m->i, &attr->ints);
        case GANTRY__ONNX_STRING: return attr_copy_texts(build, &m->s, 1, attr);
        case GANTRY__ONNX_FLOATS:
            attr->count = m->floats.count;
            return attr_copy_floats(build, m->floats.items, attr->count, attr);
        case GANTRY__ONNX_INTS:
            attr->count = m->ints.count;
            return attr_copy_list(build, m->ints.items, attr->count, sizeof(int64_t), &attr->ints);
        case GANTRY__ONNX_STRING_LIST:
            return attr_copy_texts(build, m->strings.items, m->strings.count, attr);
        case GANTRY__ONNX_GRAPH:
        case GANTRY__ONNX_GRAPHS: return make_graphs(build, frame, m, attr);
        case GANTRY__ONNX_TYPE:
        case GANTRY__ONNX_TYPES: return make_types(build, m, attr);
        default: return make_tensors(build, m, attr);
    }
}

/* ---- attributes that refer to one of the function's ---- */

static gantry_status_t attr_check_kind(const gantry__onnx_build_t *build, attr_message_t *m,
                                       gantry__onnx_attr_kind_t kind) {
    if (m->type == (int64_t)kind) return GANTRY_OK;
    return gantry__onnx_bad(build->reader,
                            "the attribute '%.*s' of kind %s refers to '%.*s' of kind %s; the same "
                            "kind is accepted",
                            GANTRY__ONNX_SHOWN(m->name), kinds[m->type].name,
                            GANTRY__ONNX_SHOWN(m->ref_attr_name), kinds[kind].name);
}

/* Takes the value that the calling node gives, or the default. *out_given false: neither. */
static gantry_status_t refer(gantry__onnx_build_t *build, const gantry__onnx_frame_t *frame,
                             attr_message_t *m, gantry__onnx_attr_t *attr, bool *out_given) {
    const gantry__onnx_expansion_t *call = frame->expansion;
    *out_given = true;
    if (!call)
        return gantry__onnx_bad(build->reader,
                                "the attribute '%.*s' refers to '%.*s' outside a function; a value "
                                "is accepted",
                                GANTRY__ONNX_SHOWN(m->name), GANTRY__ONNX_SHOWN(m->ref_attr_name));
    GANTRY__TRY(
        gantry__onnx_work(build->reader, call->attr_count + call->function->attribute_proto.count));
    for (size_t i = 0; i < call->attr_count; ++i) {
        if (!gantry__onnx_is(m->ref_attr_name, call->attrs[i].name)) continue;
        const char *name = attr->name;
        GANTRY__TRY(attr_check_kind(build, m, call->attrs[i].kind));
        *attr = call->attrs[i];
        attr->name = name;
        return GANTRY_OK;
    }
    for (size_t i = 0; i < call->function->attribute_proto.count; ++i) {
        attr_message_t *given = &call->function->attribute_proto.items[i];
        if (!gantry__onnx_equal(m->ref_attr_name, given->name)) continue;
        GANTRY__TRY(check_attr(build, given));
        GANTRY__TRY(attr_check_kind(build, m, (gantry__onnx_attr_kind_t)given->type));
        if (given->ref_attr_name.size == 0) return make_value(build, frame, given, attr);
    }
    *out_given = false;
    return GANTRY_OK;
}

/* ---- lists ---- */

static gantry_status_t make_attr(gantry__onnx_build_t *build, const gantry__onnx_frame_t *frame,
                                 attr_message_t *m, gantry__onnx_attr_t *attr, bool *out_given) {
    *out_given = true;
    *attr = (gantry__onnx_attr_t){0};
    GANTRY__TRY(check_attr(build, m));
    GANTRY__TRY(gantry__onnx_copy_name(build, m->name, "the name of an attribute", &attr->name));
    attr->kind = (gantry__onnx_attr_kind_t)m->type;
    if (m->ref_attr_name.size > 0) return refer(build, frame, m, attr, out_given);
    return make_value(build, frame, m, attr);
}

static bool pairs_differ(const gantry__onnx_wire_node_t *node) {
    for (size_t i = 1; i < node->attribute.count; ++i) {
        for (size_t k = 0; k < i; ++k) {
            if (gantry__onnx_equal(node->attribute.items[i].name, node->attribute.items[k].name))
                return false;
        }
    }
    return true;
}

/* A few names are compared in pairs; more are entered in a scope of their own. */
static gantry_status_t check_twice(gantry__onnx_build_t *build,
                                   const gantry__onnx_wire_node_t *node) {
    if (node->attribute.count <= FEW_ATTRS && pairs_differ(node)) return GANTRY_OK;
    const uint32_t scope = ++build->scopes;
    for (size_t i = 0; i < node->attribute.count; ++i) {
        const gantry__onnx_bytes_t name = node->attribute.items[i].name;
        uint32_t number;
        bool found;
        GANTRY__TRY(
            gantry__onnx_find_name(build->reader, &build->names, scope, name, &number, &found));
        if (found)
            return gantry__onnx_bad(build->reader,
                                    "the attribute '%.*s' is given twice; once is accepted",
                                    GANTRY__ONNX_SHOWN(name));
        GANTRY__TRY(gantry__onnx_set_name(build->reader, &build->names, scope, name, 0));
    }
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_make_attrs(gantry__onnx_build_t *build,
                                        const gantry__onnx_frame_t *frame,
                                        const gantry__onnx_wire_node_t *node,
                                        const gantry__onnx_attr_t **out_attrs, size_t *out_count) {
    size_t count = 0;
    gantry__onnx_attr_t *attrs =
        gantry__onnx_model_alloc(build->reader, node->attribute.count, sizeof *attrs);
    if (!attrs) return GANTRY_RESOURCE_EXHAUSTED;
    GANTRY__TRY(check_twice(build, node));
    for (size_t i = 0; i < node->attribute.count; ++i) {
        bool given;
        GANTRY__TRY(make_attr(build, frame, &node->attribute.items[i], &attrs[count], &given));
        if (given) ++count;
    }
    *out_attrs = attrs;
    *out_count = count;
    return GANTRY_OK;
}

const gantry__onnx_attr_t *gantry__onnx_find_attr(const gantry__onnx_node_t *node,
                                                  const char *name) {
    for (size_t i = 0; i < node->attr_count; ++i) {
        if (strcmp(node->attrs[i].name, name) == 0) return &node->attrs[i];
    }
    return NULL;
}
