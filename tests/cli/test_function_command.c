/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: gantry function gives a file to the one input or output that its option names, and
 * refuses a name that several have, a value that has a file, and two outputs in one file.
 * Promise: Texts of a saved function do not drive the terminal, and do not move its tables.
 * Promise: gantry function explain reads no inputs if all sizes are known.
 * Promise: Each action of gantry function refuses wrong values and the options of the others with
 * exit code 2.
 *
 * Needs no device. */
#define _XOPEN_SOURCE 700

#include "cli_case.h"
#include "test.h"

#include <cjson/cJSON.h>
#include <gantry/gantry.h>

/* ---- the saved functions ---- */

typedef struct names_case_t {
    const char *file, *inputs[3], *outputs[3];
} names_case_t;

/* Saves a function whose outputs are its inputs, negated. */
static bool save_named(gantry_runtime_t *runtime, const names_case_t *names) {
    gantry_graph_t *graph;
    gantry_function_t *function;
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s.safetensors", folder, names->file);
    const char *name = strcmp(names->file, "hostile") == 0 ? "f\033\nn" : names->file;
    if (gantry_graph_create(runtime, name, &graph) != GANTRY_OK) return false;
    bool good = true;
    for (size_t i = 0; i < 3; ++i) {
        gantry_graph_value_t input, negated;
        size_t count = 1;
        const gantry_input_spec_t spec = {names->inputs[i], GANTRY_FLOAT32, GANTRY_SHAPE(2)};
        const gantry_graph_node_t node = {
            .struct_size = sizeof node, .op = "Neg", .inputs = &input, .input_count = 1};
        good = good && gantry_graph_add_input(graph, &spec, &input) == GANTRY_OK &&
               gantry_graph_add_node(graph, &node, &negated, &count) == GANTRY_OK &&
               gantry_graph_add_output(graph, names->outputs[i], negated) == GANTRY_OK;
    }
    good = good && gantry_graph_set_metadata(graph, "no\033te", "a\nb\033[31m") == GANTRY_OK &&
           gantry_function_from_graph(graph, NULL, &function) == GANTRY_OK;
    if (good) {
        good = gantry_function_save(function, path, NULL) == GANTRY_OK;
        gantry_function_release(function);
    }
    gantry_graph_release(graph);
    return good;
}

static void gather_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                        const gantry_tensor_t **outputs, void *user) {
    outputs[0] = gantry_gather(scope, user, inputs[0], 0);
}

/* Saves a function whose inputs are indices below 1, of 64 or of open sizes. */
static bool save_gather(gantry_runtime_t *runtime, const char *name, int64_t size) {
    const gantry_input_spec_t spec = {"ids", GANTRY_INT32, GANTRY_SHAPE(size)};
    const float row[2] = {1, 2};
    gantry_function_t *function = NULL;
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s.safetensors", folder, name);
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    const gantry_tensor_t *table =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(1, 2), row, sizeof row);
    bool good = gantry_function_trace(runtime, name, gather_body, (void *)table, &spec, 1, 1, NULL,
                                      &function) == GANTRY_OK;
    if (good && size < 0) { /* a trace of some size is saved */
        const gantry_tensor_t *ids = gantry_zeros(scope, GANTRY_INT32, GANTRY_SHAPE(3)), *out;
        good = gantry_function_call(scope, function, &ids, 1, &out, 1) == GANTRY_OK;
    }
    good = good && gantry_function_save(function, path, NULL) == GANTRY_OK;
    gantry_function_release(function);
    (void)gantry_scope_end(scope);
    return good;
}

static bool save_all(void) {
    static const names_case_t cases[] = {
        {"numbers", {"1", "0", "x=y"}, {"1", "0", "x=y"}},
        {"same", {"a", "b", "a"}, {"o", "p", "o"}},
        {"hostile", {"x\033[31m\ny", "b\xff", "a name of thirty-four characters.."}, {"o\033c"}}};
    gantry_runtime_t *runtime;
    if (gantry_runtime_create(NULL, &runtime) != GANTRY_OK) return false;
    bool good = save_gather(runtime, "gather", 64) && save_gather(runtime, "open_gather", -1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i)
        good = good && save_named(runtime, &cases[i]);
    if (!good) (void)fprintf(stderr, "%s\n", gantry_last_message());
    gantry_runtime_release(runtime);
    return good;
}

/* A .npy file of two equal float32 elements, by the bytes of one. */
static void write_npy(const char *name, const char *element) {
    if (run("{ printf '\\223NUMPY\\001\\000\\166\\000'; printf '%%-117s\\n' "
            "\"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\"; "
            "printf '%s%s'; } >%s",
            element, element, name) != 0)
        fail_msg("%s", output);
}

/* ---- files of inputs and outputs ---- */

TEST(a_name_wins_over_a_number) {
    write_npy("two.npy", "\\000\\000\\000\\100");
    write_npy("three.npy", "\\000\\000\\100\\100");
    write_npy("four=4.npy", "\\000\\000\\200\\100");
    expect_run(0,
               "$BIN/gantry function run numbers.safetensors --input 1=two.npy --input 0=three.npy "
               "--input x=y=four=4.npy");
    assert_string_equal(output,
                        "1 float32 [2]\n[-2. -2.]\n0 float32 [2]\n[-3. -3.]\n"
                        "x=y float32 [2]\n[-4. -4.]\n");
    expect_run(0, "$BIN/gantry function run numbers.safetensors --input 2=four=4.npy | tail -n 1");
    assert_string_equal(output, "[-4. -4.]\n");
    expect_run(0,
               "$BIN/gantry function run numbers.safetensors --input 1=two.npy --input 0=three.npy "
               "--output 1=one.npy --output 0=null.npy");
    expect_run(0, "tail -c 8 one.npy | od -An -tf4; tail -c 8 null.npy | od -An -tf4");
    expect_in_output("-2 ");
    expect_in_output("-3 ");
}

TEST(a_file_for_several_values_or_none_is_refused) {
    static const struct {
        const char *line, *message;
    } rows[] = {
        {"numbers.safetensors --input typo=two.npy --input 0=two.npy",
         "--input is \"typo=two.npy\", which names nothing of the function; accepted: NAME=FILE"},
        {"numbers.safetensors --input 3=two.npy", "names nothing of the function"},
        {"numbers.safetensors --input two.npy", "names nothing of the function"},
        {"numbers.safetensors --input =two.npy", "names nothing of the function"},
        {"numbers.safetensors --input 1=", "names no file"},
        {"numbers.safetensors --input 1=two.npy --input 1=three.npy",
         "\"1=three.npy\", but input 0 has the file \"two.npy\""},
        {"numbers.safetensors --input x=y=two.npy --input 2=three.npy", "but input 2 has the file"},
        {"same.safetensors --input a=two.npy",
         "and 2 inputs have that name; accepted: a number of 0, 2\n"},
        {"same.safetensors --output o=o.npy", "and 2 outputs have that name"},
        {"same.safetensors --output p=o.npy --output 0=o.npy", "but output 1 has that file"},
        {"same.safetensors --output p=o.npy --output 0=./o.npy", "but output 1 has that file"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        char line[256];
        (void)snprintf(line, sizeof line, "$BIN/gantry function run %s", rows[i].line);
        expect_run(2, line);
        expect_in_output(rows[i].message);
        expect_run(1, "[ -e o.npy ]");
    }
    expect_run(0,
               "$BIN/gantry function run same.safetensors --input 0=two.npy --input 2=two.npy "
               "--output p=o.npy --output 0=o0.npy && rm o.npy o0.npy");
}

TEST(outputs_in_files_are_listed_in_json) {
    expect_run(0, "$BIN/gantry function run numbers.safetensors --json --output 0=null.npy");
    cJSON *array = cJSON_Parse(output);
    assert_int_equal(cJSON_GetArraySize(array), 1);
    const cJSON *item = cJSON_GetArrayItem(array, 0);
    assert_string_equal(cJSON_GetObjectItem(item, "name")->valuestring, "0");
    assert_string_equal(cJSON_GetObjectItem(item, "type")->valuestring, "float32 [2]");
    assert_string_equal(cJSON_GetObjectItem(item, "file")->valuestring, "null.npy");
    cJSON_Delete(array);
}

/* ---- texts of the file ---- */

TEST(texts_of_the_file_are_made_printable) {
    static const char *const lines[] = {"info", "run", "explain", "explain --form graphviz"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; ++i) {
        char line[128];
        (void)snprintf(line, sizeof line, "$BIN/gantry function %s hostile.safetensors", lines[i]);
        expect_run(0, line);
        assert_null(strchr(output, '\033'));
        assert_null(strchr(output, '\xff'));
        (void)snprintf(line, sizeof line, "$BIN/gantry function %.7s hostile.safetensors --json",
                       lines[i]);
        expect_run(0, line);
        cJSON *value = cJSON_ParseWithOpts(output, NULL, true);
        assert_non_null(value);
        assert_null(strchr(output, '\033'));
        assert_null(strchr(output, '\xff'));
        cJSON_Delete(value);
    }
    expect_run(0, "$BIN/gantry function run hostile.safetensors --fill zeros | head -n 1");
    assert_string_equal(output, "o?c float32 [2]\n");
}

TEST(columns_of_info_are_as_wide_as_names) {
    expect_run(0, "$BIN/gantry function info hostile.safetensors");
    expect_in_output("hostile.safetensors: function f??n\n");
    expect_in_output("\n  inputs    x?[31m?y                           float32 [2]\n");
    expect_in_output("\n            a name of thirty-four characters.. float32 [2]\n");
    expect_in_output("\n  metadata  no?te                              a?b?[31m\n");
}

/* ---- explain ---- */

TEST(explain_needs_no_inputs) {
    expect_run(0, "$BIN/gantry function explain gather.safetensors | head -n 1");
    expect_in_output("function gather: ");
    expect_run(0, "$BIN/gantry function explain open_gather.safetensors --size 64 | head -n 1");
    expect_in_output("function open_gather: ");
    expect_run(2, "$BIN/gantry function explain open_gather.safetensors --input typo=two.npy");
}

/* ---- the line ---- */

TEST(options_of_other_actions_are_refused) {
    static const struct {
        const char *line, *message;
    } rows[] = {
        {"run same.safetensors --seed x", "--seed is \"x\"; accepted: a whole number from 0"},
        {"run same.safetensors --size -1", "--size is \"-1\"; accepted: a whole number from 0"},
        {"info same.safetensors --seed 1", "--seed is not an option of info; accepted: run"},
        {"info same.safetensors --output 0=o.npy", "--output is not an option of info"},
        {"info same.safetensors --input 0=two.npy", "accepted: run explain with it"},
        {"info same.safetensors --size 1", "--size is not an option of info"},
        {"info same.safetensors --form json", "--form is not an option of info"},
        {"run same.safetensors --form json", "--form is not an option of run"},
        {"explain same.safetensors --output 0=o.npy", "--output is not an option of explain"},
        {"explain same.safetensors --fill ones", "--fill is not an option of explain"},
        {"explain same.safetensors --seed 1", "--seed is not an option of explain"},
        {"explain same.safetensors --json --form text", "--form is \"text\"; accepted: json"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        char line[256];
        (void)snprintf(line, sizeof line, "$BIN/gantry function %s", rows[i].line);
        expect_run(2, line);
        expect_in_output(rows[i].message);
        expect_run(1, "[ -e o.npy ]");
    }
}

int main(void) {
    (void)setenv("GANTRY_LOG_LEVEL", "", 1);
    if (open_folder() != 0) return 1;
    (void)setenv("GANTRY_BACKENDS", "cpu", 1);
    if (!save_all()) return 1;
    int result = test_main();
    if (result == 0) (void)run("cd / && rm -r %s", folder);
    return result;
}
