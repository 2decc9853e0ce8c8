/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Elements of a tensor of an ONNX file are the same from raw data, from fields of numbers
 * and from other files.
 * Promise: Integers of 2 and 4 bits become int8 and uint8, the first one in the low bits.
 * Promise: Aligned elements are used where they are mapped; others are copied.
 * Promise: Functions of an ONNX model become their nodes, with the caller's attributes or defaults.
 * Promise: A subgraph lists each value of graphs around it that it reads once.
 * Promise: Each allocation of reading an ONNX file that fails is reported, and nothing leaks. */
#define _XOPEN_SOURCE 700

#include "test.h"

#include <sys/stat.h>
#include <unistd.h>

#include "onnx/file/read.h"
#include "onnx_wire.h"
#include "train_heap.h"

/* ---- tensors ---- */

static gantry__onnx_file_t *read_model(onnx_wire_t *model, const char *folder, bool follows) {
    gantry__onnx_file_t *file;
    if (gantry__onnx_read_bytes("test.onnx", model->data, model->size, folder, follows, &file) !=
        GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return file;
}

static const gantry__onnx_tensor_t *first_tensor(const gantry__onnx_file_t *file) {
    const gantry__onnx_tensor_t *tensor = gantry__onnx_file_model(file)->values[0].tensor;
    assert_non_null(tensor);
    return tensor;
}

/* A tensor of this type; field 9 is raw_data, and others are lists of numbers. */
static onnx_wire_t model_of_tensor(int type, int64_t count, uint32_t field, const void *data,
                                   size_t size) {
    onnx_wire_t graph = {0}, tensor = {0};
    onnx_put_int(&tensor, 1, count);
    onnx_put_int(&tensor, 2, type);
    onnx_put_text(&tensor, 8, "w");
    onnx_put_bytes(&tensor, field, data, size);
    onnx_put_message(&graph, ONNX_TENSOR, &tensor);
    return onnx_model(&graph, 17);
}

static void expect_elements(onnx_wire_t model, gantry_dtype_t dtype, const void *expected,
                            size_t size) {
    uint8_t bytes[64];
    gantry__onnx_file_t *file = read_model(&model, NULL, false);
    const gantry__onnx_tensor_t *tensor = first_tensor(file);
    memset(bytes, 0xa5, sizeof bytes);
    assert_int_equal(gantry__onnx_stored_dtype(tensor->type), dtype);
    assert_int_equal(gantry__onnx_tensor_data(file, tensor, bytes, size), GANTRY_OK);
    assert_memory_equal(bytes, expected, size);
    assert_int_equal(bytes[size], 0xa5);
    assert_int_equal(gantry__onnx_tensor_data(file, tensor, bytes, size + 1),
                     GANTRY_INVALID_ARGUMENT);
    gantry__onnx_file_release(file);
    free(model.data);
}

/* Elements of one type: raw, and numbers of a field. */
typedef struct element_case_t {
    int type;
    gantry_dtype_t dtype;
    int64_t count;
    uint32_t field;
    const char *raw;
    size_t raw_size;
    const char *numbers; /* Packed. */
    size_t numbers_size;
    const char *expected;
    size_t expected_size;
} element_case_t;

#define BYTES(text) text, sizeof(text) - 1
static const element_case_t element_cases[] = {
    {1, GANTRY_FLOAT32, 1, 4, BYTES("\0\0\x80\x3f"), BYTES("\0\0\x80\x3f"), BYTES("\0\0\x80\x3f")},
    {2, GANTRY_UINT8, 2, 5, BYTES("\x01\xff"), BYTES("\x01\xff\x01"), BYTES("\x01\xff")},
    {3, GANTRY_INT8, 2, 5, BYTES("\x01\xff"), BYTES("\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
     BYTES("\x01\xff")},
    {4, GANTRY_UINT16, 1, 5, BYTES("\xff\xff"), BYTES("\xff\xff\x03"), BYTES("\xff\xff")},
    {5, GANTRY_INT16, 1, 5, BYTES("\xfe\xff"), BYTES("\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
     BYTES("\xfe\xff")},
    {6, GANTRY_INT32, 1, 5, BYTES("\x2c\x01\0\0"), BYTES("\xac\x02"), BYTES("\x2c\x01\0\0")},
    {7, GANTRY_INT64, 1, 7, BYTES("\x2c\x01\0\0\0\0\0\0"), BYTES("\xac\x02"),
     BYTES("\x2c\x01\0\0\0\0\0\0")},
    {9, GANTRY_BOOL, 2, 5, BYTES("\x02\0"), BYTES("\x01\0"), BYTES("\x01\0")},
    {10, GANTRY_FLOAT16, 1, 5, BYTES("\0\x3c"), BYTES("\x80\x78"), BYTES("\0\x3c")},
    {11, GANTRY_FLOAT64, 1, 10, BYTES("\0\0\0\0\0\0\xf0\x3f"), BYTES("\0\0\0\0\0\0\xf0\x3f"),
     BYTES("\0\0\0\0\0\0\xf0\x3f")},
    {12, GANTRY_UINT32, 1, 11, BYTES("\xff\xff\xff\xff"), BYTES("\xff\xff\xff\xff\x0f"),
     BYTES("\xff\xff\xff\xff")},
    {13, GANTRY_UINT64, 1, 11, BYTES("\xff\xff\xff\xff\xff\xff\xff\xff"),
     BYTES("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), BYTES("\xff\xff\xff\xff\xff\xff\xff\xff")},
    {14, GANTRY_COMPLEX64, 1, 4, BYTES("\0\0\x80\x3f\0\0\0\x40"), BYTES("\0\0\x80\x3f\0\0\0\x40"),
     BYTES("\0\0\x80\x3f\0\0\0\x40")},
    {16, GANTRY_BFLOAT16, 1, 5, BYTES("\x80\x3f"), BYTES("\x80\x7f"), BYTES("\x80\x3f")},
    {17, GANTRY_FLOAT8_E4M3FN, 1, 5, BYTES("\x38"), BYTES("\x38"), BYTES("\x38")},
    {18, GANTRY_FLOAT32, 2, 5, BYTES("\x40\xc0"), BYTES("\x40\xc0\x01"),
     BYTES("\0\0\x80\x3f\0\0\x80\xbf")},
    {19, GANTRY_FLOAT8_E5M2, 1, 5, BYTES("\x3c"), BYTES("\x3c"), BYTES("\x3c")},
    {20, GANTRY_FLOAT32, 1, 5, BYTES("\x40"), BYTES("\x40"), BYTES("\0\0\x80\x3f")},
    {21, GANTRY_UINT8, 3, 5, BYTES("\xf1\x08"), BYTES("\xf1\x01\x08"), BYTES("\x01\x0f\x08")},
    {22, GANTRY_INT8, 3, 5, BYTES("\xf1\x08"), BYTES("\xf1\x01\x08"), BYTES("\x01\xff\xf8")},
    {23, GANTRY_FLOAT32, 3, 5, BYTES("\xf2\x01"), BYTES("\xf2\x01\x01"),
     BYTES("\0\0\x80\x3f\0\0\xc0\xc0\0\0\0\x3f")},
    {24, GANTRY_FLOAT32, 1, 5, BYTES("\x80"), BYTES("\x80\x01"), BYTES("\0\0\0\x40")},
    {25, GANTRY_UINT8, 5, 5, BYTES("\xe4\x02"), BYTES("\xe4\x01\x02"),
     BYTES("\x00\x01\x02\x03\x02")},
    {26, GANTRY_INT8, 5, 5, BYTES("\xe4\x02"), BYTES("\xe4\x01\x02"),
     BYTES("\x00\x01\xfe\xff\xfe")},
};

TEST(elements_of_each_type_are_those_of_the_file) {
    for (size_t i = 0; i < sizeof element_cases / sizeof *element_cases; ++i) {
        const element_case_t *c = &element_cases[i];
        expect_elements(model_of_tensor(c->type, c->count, 9, c->raw, c->raw_size), c->dtype,
                        c->expected, c->expected_size);
        expect_elements(model_of_tensor(c->type, c->count, c->field, c->numbers, c->numbers_size),
                        c->dtype, c->expected, c->expected_size);
    }
}

TEST(numbers_one_by_one_are_those_in_one_piece) {
    onnx_wire_t graph = {0}, tensor = {0};
    const float numbers[3] = {1.5f, -2.0f, 8.0f};
    onnx_put_int(&tensor, 1, 3);
    onnx_put_int(&tensor, 2, ONNX_FLOAT);
    onnx_put_text(&tensor, 8, "w");
    onnx_put_float(&tensor, 4, numbers[0]);
    onnx_put_bytes(&tensor, 4, &numbers[1], 2 * sizeof *numbers);
    onnx_put_message(&graph, ONNX_TENSOR, &tensor);
    expect_elements(onnx_model(&graph, 17), GANTRY_FLOAT32, numbers, sizeof numbers);
}

TEST(element_types_without_a_type_of_gantry_are_refused) {
    onnx_wire_t model = model_of_tensor(27, 1, 9, "\x7f", 1);
    gantry__onnx_file_t *file = read_model(&model, NULL, false);
    uint8_t byte;
    assert_int_equal(gantry__onnx_tensor_data(file, first_tensor(file), &byte, 1),
                     GANTRY_UNIMPLEMENTED);
    assert_non_null(strstr(gantry_last_message(), "FLOAT6E2M3"));
    gantry__onnx_file_release(file);
    free(model.data);
}

TEST(spans_are_aligned) {
    for (int shift = 0; shift < 4; ++shift) {
        const float numbers[2] = {1, 2};
        onnx_wire_t model = model_of_tensor(ONNX_FLOAT, 2, 9, numbers, sizeof numbers);
        uint8_t *bytes = aligned_alloc(64, (model.size + 64 + 63) / 64 * 64);
        assert_non_null(bytes);
        memcpy(bytes + shift, model.data, model.size);
        onnx_wire_t moved = {bytes + shift, model.size, 0};
        gantry__onnx_file_t *file = read_model(&moved, NULL, false);
        const gantry__onnx_tensor_t *tensor = first_tensor(file);
        const void *span = gantry__onnx_tensor_span(file, tensor);
        assert_int_equal(span != NULL, (uintptr_t)tensor->raw.data % sizeof(float) == 0);
        if (span) assert_memory_equal(span, numbers, sizeof numbers);
        gantry__onnx_file_release(file);
        free(bytes);
        free(model.data);
    }
}

/* ---- external data ---- */

static char folder[] = "/tmp/gantry_onnx_XXXXXX";
static const float numbers_of_file[4] = {1, 2, 3, 4};

static onnx_wire_t model_of_external(const char *location, const char *offset) {
    onnx_wire_t graph = {0}, tensor = {0}, entry = {0};
    onnx_put_int(&tensor, 1, 2);
    onnx_put_int(&tensor, 2, ONNX_FLOAT);
    onnx_put_text(&tensor, 8, "w");
    onnx_put_text(&entry, 1, "location");
    onnx_put_text(&entry, 2, location);
    onnx_put_message(&tensor, 13, &entry);
    onnx_put_text(&entry, 1, "offset");
    onnx_put_text(&entry, 2, offset);
    onnx_put_message(&tensor, 13, &entry);
    onnx_put_int(&tensor, 14, 1);
    onnx_put_message(&graph, ONNX_TENSOR, &tensor);
    return onnx_model(&graph, 17);
}

static void put_file(const char *name, const void *data, size_t size) {
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void make_folder(void) {
    char from[128], to[128];
    memcpy(folder + sizeof folder - 7, "XXXXXX", 6);
    assert_non_null(mkdtemp(folder));
    put_file("w.bin", numbers_of_file, sizeof numbers_of_file);
    (void)snprintf(to, sizeof to, "%s/link.bin", folder);
    assert_int_equal(symlink("w.bin", to), 0);
    (void)snprintf(from, sizeof from, "%s/w.bin", folder);
    (void)snprintf(to, sizeof to, "%s/hard.bin", folder);
    put_file("other.bin", numbers_of_file, sizeof numbers_of_file);
    (void)snprintf(from, sizeof from, "%s/other.bin", folder);
    assert_int_equal(link(from, to), 0);
}

static void remove_folder(void) {
    static const char *const names[] = {"w.bin", "link.bin", "other.bin", "hard.bin", "m.onnx", ""};
    char path[128];
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)remove(path);
    }
}

static void expect_external(const char *location, bool reads_file, bool follows_links) {
    char path[128];
    float elements[2] = {0};
    onnx_wire_t model = model_of_external(location, "4");
    gantry__onnx_file_t *file;
    put_file("m.onnx", model.data, model.size);
    (void)snprintf(path, sizeof path, "%s/m.onnx", folder);
    if (gantry__onnx_read_path(path, reads_file, follows_links, &file) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    const gantry__onnx_tensor_t *tensor = first_tensor(file);
    assert_int_equal(gantry__onnx_tensor_data(file, tensor, elements, sizeof elements), GANTRY_OK);
    assert_memory_equal(elements, numbers_of_file + 1, sizeof elements);
    assert_int_equal(gantry__onnx_tensor_span(file, tensor) != NULL, !reads_file);
    gantry__onnx_file_release(file);
    free(model.data);
}

TEST(external_data_are_mapped_or_read) {
    make_folder();
    for (int reads = 0; reads < 2; ++reads) {
        expect_external("w.bin", reads, false);
        expect_external("././w.bin", reads, false);
        expect_external("link.bin", reads, true);
        expect_external("hard.bin", reads, true);
    }
    remove_folder();
}

TEST(external_data_of_bytes_need_a_folder) {
    make_folder();
    onnx_wire_t model = model_of_external("w.bin", "0");
    gantry__onnx_file_t *file = read_model(&model, folder, false);
    gantry__onnx_file_release(file);
    assert_int_equal(gantry__onnx_read_bytes("m", model.data, model.size, NULL, false, &file),
                     GANTRY_INVALID_ARGUMENT);
    assert_null(file);
    assert_non_null(strstr(gantry_last_message(), "needs the folder"));
    assert_int_equal(gantry__onnx_read_bytes("m", model.data, model.size, "/nowhere", false, &file),
                     GANTRY_NOT_FOUND);
    free(model.data);
    remove_folder();
}

TEST(external_data_that_become_shorter_are_an_error) {
    make_folder();
    char path[128];
    float elements[2];
    onnx_wire_t model = model_of_external("w.bin", "8");
    gantry__onnx_file_t *file;
    put_file("m.onnx", model.data, model.size);
    (void)snprintf(path, sizeof path, "%s/m.onnx", folder);
    assert_int_equal(gantry__onnx_read_path(path, true, false, &file), GANTRY_OK);
    put_file("w.bin", numbers_of_file, 4);
    assert_int_equal(gantry__onnx_tensor_data(file, first_tensor(file), elements, sizeof elements),
                     GANTRY_INVALID_ARGUMENT);
    assert_non_null(strstr(gantry_last_message(), "shorter"));
    gantry__onnx_file_release(file);
    free(model.data);
    remove_folder();
}

/* ---- functions and subgraphs ---- */

/* F(a, b; k = 7) = Second(First(a; axis = k), b), called with and without k. */
static onnx_wire_t model_of_function(void) {
    onnx_wire_t graph = {0}, model, function = {0}, node = {0}, attr = {0}, attrs = {0};
    for (int i = 0; i < 2; ++i) {
        if (i == 0) onnx_put_attr_int(&attrs, "k", 3);
        onnx_put_names(&node, 1, i == 0 ? "x" : "y0 x");
        onnx_put_text(&node, 2, i == 0 ? "y0" : "y1");
        onnx_put_text(&node, 4, "F");
        onnx_put_text(&node, 7, "d");
        onnx_put_raw(&node, attrs.data, i == 0 ? attrs.size : 0);
        onnx_put_message(&graph, ONNX_NODE, &node);
    }
    free(attrs.data);
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "2");
    onnx_put_value(&graph, ONNX_OUTPUT, "y1", ONNX_FLOAT, "2");
    model = onnx_model(&graph, 17);
    onnx_wire_t import = {0};
    onnx_put_text(&import, 1, "d");
    onnx_put_int(&import, 2, 1);
    onnx_put_message(&model, 8, &import);
    onnx_put_text(&function, 1, "F");
    onnx_put_names(&function, 4, "a b");
    onnx_put_text(&function, 5, "c");
    onnx_attr_begin(&attr, "axis", 2);
    onnx_put_text(&attr, 21, "k");
    onnx_put_names(&node, 1, "a");
    onnx_put_text(&node, 2, "m");
    onnx_put_text(&node, 4, "First");
    onnx_put_message(&node, 5, &attr);
    onnx_put_message(&function, 7, &node);
    onnx_put_names(&node, 1, "m b");
    onnx_put_text(&node, 2, "c");
    onnx_put_text(&node, 4, "Second");
    onnx_put_message(&function, 7, &node);
    onnx_put_int(&import, 2, 16);
    onnx_put_message(&function, 9, &import);
    onnx_put_text(&function, 10, "d");
    onnx_attr_begin(&attr, "k", 2);
    onnx_put_int(&attr, 3, 7);
    onnx_put_message(&function, 11, &attr);
    onnx_put_message(&model, 25, &function);
    return model;
}

TEST(functions_become_their_nodes) {
    onnx_wire_t wire = model_of_function();
    gantry__onnx_file_t *file = read_model(&wire, NULL, false);
    const gantry__onnx_graph_model_t *model = gantry__onnx_file_model(file);
    const gantry__onnx_node_t *nodes = model->graph->nodes;
    static const char *const ops[] = {"First", "Second", "First", "Second"};
    assert_int_equal(model->graph->node_count, 4);
    for (size_t i = 0; i < 4; ++i) {
        assert_string_equal(nodes[i].op, ops[i]);
        assert_int_equal(nodes[i].version, 16);
    }
    assert_int_equal(*gantry__onnx_find_attr(&nodes[0], "axis")->ints, 3);
    assert_int_equal(*gantry__onnx_find_attr(&nodes[2], "axis")->ints, 7);
    assert_int_equal(nodes[1].input_count, 1);
    assert_int_equal(nodes[3].input_count, 2);
    assert_string_equal(model->values[nodes[1].outputs[0]].name, "y0");
    assert_int_equal(nodes[2].inputs[0], nodes[1].outputs[0]);
    assert_int_equal(nodes[3].inputs[1], model->graph->inputs[0]);
    assert_int_equal(model->graph->outputs[0], nodes[3].outputs[0]);
    assert_int_equal(model->values[model->graph->inputs[0]].uses, 2);
    gantry__onnx_file_release(file);
    free(wire.data);
}

/* If of If: the inner branch reads x and a twice. */
static onnx_wire_t model_of_branches(void) {
    onnx_wire_t graph = {0}, outer = {0}, inner = {0}, attrs = {0};
    onnx_put_node(&inner, "Add", "x a", "s", NULL);
    onnx_put_node(&inner, "Mul", "s x", "t", NULL);
    onnx_put_value(&inner, ONNX_OUTPUT, "t", ONNX_FLOAT, NULL);
    onnx_put_node(&outer, "Neg", "x", "a", NULL);
    onnx_put_attr_graph(&attrs, "then_branch", &inner);
    onnx_put_node(&outer, "If", "c", "u", &attrs);
    onnx_put_value(&outer, ONNX_OUTPUT, "u", ONNX_FLOAT, NULL);
    onnx_put_value(&graph, ONNX_INPUT, "c", ONNX_BOOL, "");
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "2");
    onnx_put_attr_graph(&attrs, "then_branch", &outer);
    onnx_put_node(&graph, "If", "c", "y", &attrs);
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_FLOAT, "2");
    return onnx_model(&graph, 17);
}

static bool captures(const gantry__onnx_graph_model_t *model, const gantry__onnx_graph_t *graph,
                     const char *name) {
    size_t count = 0;
    for (size_t i = 0; i < graph->capture_count; ++i)
        count += strcmp(model->values[graph->captures[i]].name, name) == 0;
    return count == 1;
}

TEST(captures_are_listed_once) {
    onnx_wire_t wire = model_of_branches();
    gantry__onnx_file_t *file = read_model(&wire, NULL, false);
    const gantry__onnx_graph_model_t *model = gantry__onnx_file_model(file);
    const gantry__onnx_graph_t *outer = *model->graph->nodes[0].attrs[0].graphs;
    const gantry__onnx_graph_t *inner = *outer->nodes[1].attrs[0].graphs;
    assert_int_equal(model->graph->capture_count, 0);
    assert_int_equal(outer->capture_count, 2);
    assert_true(captures(model, outer, "x") && captures(model, outer, "c"));
    assert_int_equal(inner->capture_count, 2);
    assert_true(captures(model, inner, "x") && captures(model, inner, "a"));
    assert_ptr_equal(inner->parent, outer);
    gantry__onnx_file_release(file);
    free(wire.data);
}

/* ---- memory ---- */

static gantry_status_t read_wire(void *user) {
    const onnx_wire_t *wire = user;
    gantry__onnx_file_t *file;
    const gantry_status_t status =
        gantry__onnx_read_bytes("m", wire->data, wire->size, folder, false, &file);
    gantry__onnx_file_release(file);
    return status;
}

static gantry_status_t read_path(void *user) {
    gantry__onnx_file_t *file;
    float elements[2];
    gantry_status_t status = gantry__onnx_read_path(user, true, false, &file);
    if (status == GANTRY_OK)
        status = gantry__onnx_tensor_data(file, first_tensor(file), elements, sizeof elements);
    gantry__onnx_file_release(file);
    return status;
}

TEST(allocations_that_fail_are_reported) {
    char path[128];
    make_folder();
    onnx_wire_t models[] = {model_of_function(), model_of_branches(),
                            model_of_external("w.bin", "0")};
    for (size_t i = 0; i < sizeof models / sizeof *models; ++i)
        assert_true(train_heap_fail_each("read", read_wire, &models[i]) > 4);
    put_file("m.onnx", models[2].data, models[2].size);
    (void)snprintf(path, sizeof path, "%s/m.onnx", folder);
    assert_true(train_heap_fail_each("read a path", read_path, path) > 6);
    for (size_t i = 0; i < sizeof models / sizeof *models; ++i) free(models[i].data);
    remove_folder();
}

int main(void) { return test_main(); }
