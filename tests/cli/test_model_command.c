/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: gantry model info prints inputs, outputs, operator sets, metadata and ops of a model,
 * the memory of a run and whose elements it took, and each refused op with the reason.
 * Promise: gantry model run computes the outputs of .npy, .npz and made inputs, prints them or
 * writes them to files, and compares two devices.
 * Promise: gantry model convert writes a function that gives the outputs of the model; explain
 * prints the device of each node as text, JSON and for dot; bench measures loading and runs.
 * Promise: gantry model convert names each input that became a constant, and refuses one that was
 * not given by a file.
 * Promise: Texts of a model do not drive the terminal.
 * Promise: gantry model refuses wrong names, sizes, files and options, and says what it accepts. */
#define _XOPEN_SOURCE 700

#include "cli_case.h"
#include "onnx_wire.h"
#include "test.h"

#include <cjson/cJSON.h>

static void copy_models(void) {
    expect_run(0, "cp \"$(dirname '" GANTRY_COMMAND_PAGE "')\"/../tests/onnx/*.onnx .");
}

/* Writes a .npy file of float32 zeros. */
static void write_zeros(const char *name, const char *shape, int bytes) {
    if (run("{ printf '\\223NUMPY\\001\\000\\166\\000'; printf '%%-117s\\n' \"{'descr': '<f4', "
            "'fortran_order': False, 'shape': %s, }\"; head -c %d /dev/zero; } >%s",
            shape, bytes, name) != 0)
        fail_msg("%s", output);
}

static cJSON *read_json(const char *line) {
    expect_run(0, line);
    cJSON *json = cJSON_Parse(output);
    if (!json) fail_msg("%s: no JSON:\n%s", line, output);
    return json;
}

static double number_of(const cJSON *object, const char *name) {
    const cJSON *item = cJSON_GetObjectItem(object, name);
    if (!cJSON_IsNumber(item)) fail_msg("%s is no number", name);
    return item->valuedouble;
}

/* ---- info ---- */

TEST(info_prints_what_a_model_is) {
    expect_run(0, "$BIN/gantry model info net.onnx");
    expect_in_output("net.onnx: net\n");
    expect_in_output("made by   make_models.py 1, IR 8\n");
    expect_in_output("opsets    ai.onnx 17\n");
    expect_in_output("inputs    x float32 [batch, 4]\n");
    expect_in_output("scale float32 [], with a value in the file\n");
    expect_in_output("outputs   scores float32 [batch, 3]\n");
    expect_in_output("metadata  author make_models.py\n");
    expect_in_output("nodes     4: ");
    expect_in_output("Gemm 1");
    assert_null(strstr(output, "refused"));
}

TEST(info_as_json_has_the_same) {
    cJSON *info = read_json("$BIN/gantry model info net.onnx --json --memory batch=8");
    const cJSON *input = cJSON_GetArrayItem(cJSON_GetObjectItem(info, "inputs"), 0);
    const cJSON *shape = cJSON_GetObjectItem(input, "shape");
    assert_string_equal(cJSON_GetArrayItem(shape, 0)->valuestring, "batch");
    assert_true(cJSON_GetArrayItem(shape, 1)->valuedouble == 4);
    assert_true(number_of(cJSON_GetObjectItem(info, "opsets"), "ai.onnx") == 17);
    assert_true(number_of(info, "weight_bytes") == 64);
    const cJSON *memory = cJSON_GetArrayItem(cJSON_GetObjectItem(info, "memory"), 0);
    assert_true(number_of(memory, "result_bytes") >= 8 * (3 * 4 + 8));
    cJSON_Delete(info);
}

TEST(what_is_refused_is_named_with_its_reason) {
    expect_run(0, "$BIN/gantry model info refused.onnx");
    expect_in_output("refused   Unheard ");
    expect_run(0, "$BIN/gantry model explain refused.onnx");
    expect_in_output("Unheard");
    cJSON *info = read_json("$BIN/gantry model info refused.onnx --json");
    const cJSON *op, *ops = cJSON_GetObjectItem(info, "ops");
    int refused = 0;
    cJSON_ArrayForEach(op, ops) refused += cJSON_IsString(cJSON_GetObjectItem(op, "refused"));
    assert_int_equal(refused, 1);
    cJSON_Delete(info);
    expect_run(1, "$BIN/gantry model run refused.onnx");
    expect_in_output("Unheard");
    expect_in_output("refused.onnx");
}

TEST(names_of_a_file_do_not_drive_the_terminal) {
    static const char *const lines[] = {"info hostile.onnx", "explain hostile.onnx",
                                        "run hostile.onnx", "info hostile.onnx --dim q=1",
                                        "info hostile.onnx --json"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; ++i) {
        (void)run("$BIN/gantry model %s", lines[i]);
        assert_true(strlen(output) > 20);
        if (strchr(output, '\033')) fail_msg("%s: an escape in\n%s", lines[i], output);
    }
}

/* ---- run ---- */

TEST(run_prints_outputs_of_made_inputs) {
    expect_run(0, "$BIN/gantry model run net.onnx --fill ones --dim batch=2");
    assert_string_equal(output,
                        "scores float32 [2,3]\n[[0. 1. 2.]\n [0. 1. 2.]]\n"
                        "labels int64 [2]\n[2 2]\n");
    expect_run(0, "$BIN/gantry model run net.onnx --fill ones --size 1");
    assert_string_equal(output, "scores float32 [1,3]\n[[0. 1. 2.]]\nlabels int64 [1]\n[2]\n");
    expect_run(0,
               "$BIN/gantry model run net.onnx --seed 7 >one; $BIN/gantry model run net.onnx "
               "--seed 7 >two; cmp one two; $BIN/gantry model run net.onnx --seed 8 >three; "
               "! cmp -s one three");
}

TEST(run_reads_and_writes_files) {
    write_zeros("zeros.npy", "(5, 4)", 80);
    write_zeros("scale.npy", "()", 4);
    expect_run(0, "$BIN/gantry model run net.onnx --input x=zeros.npy");
    expect_in_output("scores float32 [5,3]\n[[1. 0. 0.]\n");
    expect_run(0, "$BIN/gantry model run net.onnx --input 0=zeros.npy --input scale=scale.npy");
    expect_in_output("scores float32 [5,3]\n[[0. 0. 0.]\n");
    expect_run(0, "$BIN/gantry model run net.onnx --input x=zeros.npy --save results");
    assert_string_equal(output, "");
    expect_run(0, "$BIN/gantry convert results/out_0.npy; $BIN/gantry convert results/out_1.npy");
    expect_in_output("out_0");
    expect_run(0, "$BIN/gantry model run net.onnx --input x=zeros.npy --save all.npz");
    expect_run(0, "$BIN/gantry convert all.npz");
    expect_in_output("scores");
    expect_in_output("labels");
    expect_run(0,
               "cp zeros.npy x.npy; $BIN/gantry convert x.npy in.npz; "
               "$BIN/gantry model run net.onnx --inputs in.npz");
    expect_in_output("scores float32 [5,3]\n[[1. 0. 0.]\n");
    cJSON *results =
        read_json("$BIN/gantry model run net.onnx --input x=zeros.npy --save results --json");
    assert_string_equal(cJSON_GetObjectItem(cJSON_GetArrayItem(results, 0), "name")->valuestring,
                        "scores");
    cJSON_Delete(results);
}

TEST(compare_prints_differences_of_two_devices) {
    expect_run(0, "$BIN/gantry model run net.onnx --device cpu:0 --compare cpu:0 --dim batch=4");
    assert_string_equal(output,
                        "scores: equal bits in 12 elements\n"
                        "labels: equal bits in 4 elements\n");
    cJSON *results =
        read_json("$BIN/gantry model run net.onnx --device cpu:0 --compare cpu:0 --json");
    assert_true(number_of(cJSON_GetArrayItem(results, 0), "elements_of_other_bits") == 0);
    cJSON_Delete(results);
    expect_run(1, "$BIN/gantry model run net.onnx --compare gpu:77");
    expect_in_output("gpu:77");
}

/* ---- bench, explain, convert ---- */

TEST(bench_measures_load_and_runs) {
    cJSON *times = read_json("$BIN/gantry model bench net.onnx --seconds 0.01 --threads 1 --json");
    assert_true(number_of(times, "median_seconds") > 0);
    assert_true(number_of(times, "least_seconds") <= number_of(times, "median_seconds"));
    assert_true(number_of(times, "runs") >= 3);
    assert_true(number_of(times, "load_seconds") > 0);
    assert_true(number_of(times, "first_run_seconds") > 0);
    cJSON_Delete(times);
    expect_run(0, "$BIN/gantry model bench net.onnx --seconds 0.01");
    expect_in_output("first run ");
}

TEST(explain_prints_nodes_with_devices) {
    expect_run(0, "$BIN/gantry model explain net.onnx --dim batch=2");
    expect_in_output("\nlayer  Gemm  17  CPU:0  ");
    expect_in_output("\nbest  ArgMax  17  CPU:0  ");
    cJSON *json = read_json("$BIN/gantry model explain net.onnx --json");
    const cJSON *node = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "nodes"), 1);
    assert_string_equal(cJSON_GetObjectItem(node, "name")->valuestring, "activation");
    assert_string_equal(cJSON_GetObjectItem(node, "device")->valuestring, "CPU:0");
    cJSON_Delete(json);
    cJSON_Delete(read_json("$BIN/gantry model explain net.onnx --form json"));
    expect_run(0, "$BIN/gantry model explain net.onnx --form graphviz");
    expect_in_output("digraph");
}

TEST(convert_writes_a_function_with_the_same_outputs) {
    expect_run(0, "$BIN/gantry model convert net.onnx net.safetensors --dim batch=2");
    expect_run(0, "$BIN/gantry function info net.safetensors");
    expect_in_output("x ");
    expect_run(0, "$BIN/gantry function run net.safetensors --fill ones");
    expect_in_output("[[0. 1. 2.]\n [0. 1. 2.]]");
}

/* Writes a model of this graph, which is freed. */
static void write_model(const char *name, onnx_wire_t *graph) {
    onnx_wire_t model = onnx_model(graph, 17);
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(model.data, 1, model.size, file), model.size);
    assert_int_equal(fclose(file), 0);
    free(model.data);
}

/* Writes expand.onnx, whose result has as many elements as the input size says, and size.npy: 3. */
static void write_expand(void) {
    onnx_wire_t graph = {0};
    onnx_put_node(&graph, "Expand", "x size", "y", NULL);
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "1");
    onnx_put_value(&graph, ONNX_INPUT, "size", ONNX_INT64, "1");
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_FLOAT, NULL);
    write_model("expand.onnx", &graph);
    expect_run(0,
               "{ printf '\\223NUMPY\\001\\000\\166\\000'; printf '%-117s\\n' \"{'descr': '<i8', "
               "'fortran_order': False, 'shape': (1,), }\"; "
               "printf '\\003\\000\\000\\000\\000\\000\\000\\000'; } >size.npy");
}

TEST(the_memory_of_a_run_names_inputs_on_whose_elements_sizes_depend) {
    write_expand();
    expect_run(0, "$BIN/gantry model info expand.onnx --memory none --fill ones");
    expect_in_output("size has elements as --fill says");
    expect_run(0, "$BIN/gantry model info expand.onnx --memory none --input size=size.npy");
    expect_in_output("size has the elements of its file");
    cJSON *info = read_json("$BIN/gantry model info expand.onnx --json --memory none --fill ones");
    const cJSON *bound = cJSON_GetObjectItem(info, "bound_inputs");
    assert_int_equal(cJSON_GetArraySize(bound), 1);
    bound = cJSON_GetArrayItem(bound, 0);
    assert_string_equal(cJSON_GetObjectItem(bound, "name")->valuestring, "size");
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(bound, "is_filled")));
    cJSON_Delete(info);
}

TEST(convert_makes_no_constants_of_made_numbers) {
    write_expand();
    expect_run(0, "$BIN/gantry model info expand.onnx");
    expect_in_output("made by   a program without a name, IR 8\n");
    expect_run(1, "$BIN/gantry model convert expand.onnx expand.safetensors");
    expect_in_output("sizes depend on the elements of the input size");
    expect_in_output("--input");
    expect_run(1, "test -e expand.safetensors");
    expect_run(0, "$BIN/gantry model convert expand.onnx expand.safetensors --input size=size.npy");
    assert_string_equal(
        output, "size is a constant of the function, because sizes depend on its elements\n");
    expect_run(0, "$BIN/gantry function run expand.safetensors --fill ones");
    expect_in_output("[1. 1. 1.]");
}

/* ---- bad input ---- */

TEST(wrong_lines_and_files_are_refused) {
    static const struct {
        int code;
        const char *line, *message;
    } rows[] = {
        {2, "info", "info|run|bench|explain|convert FILE"},
        {2, "look net.onnx", "info|run|bench|explain|convert"},
        {2, "run net.onnx other.onnx", "run takes one file"},
        {2, "convert net.onnx", "convert needs a second file"},
        {2, "info net.onnx --save x", "--save is not an option of info; accepted: run"},
        {2, "bench net.onnx --compare cpu:0", "--compare is not an option of bench"},
        {2, "run net.onnx --form text", "--form is not an option of run"},
        {2, "run net.onnx --seconds 1", "--seconds is not an option of run"},
        {2, "run net.onnx --memory batch=2", "--memory is not an option of run"},
        {2, "info net.onnx --input x=x.npy", "--input is an option of info with --memory only"},
        {2, "explain net.onnx --json --form text", "--form is \"text\"; accepted: json"},
        {2, "run net.onnx --save x --compare cpu:0", "--compare prints differences"},
        {2, "run net.onnx --dim batch", "--dim is \"batch\"; accepted: NAME=SIZE"},
        {2, "run net.onnx --dim batch=0", "--dim is \"batch=0\"; accepted: NAME=SIZE"},
        {2, "run net.onnx --dim batch=4x", "--dim is \"batch=4x\""},
        {2, "run net.onnx --dim rows=4", "no input has a dimension \"rows\"; accepted: batch"},
        {2, "explain refused.onnx --dim a=4", "no input has a dimension \"a\"; accepted: --size"},
        {2, "info net.onnx --memory rows=4", "no input has a dimension \"rows\""},
        {2, "run net.onnx --size 0", "--size is \"0\""},
        {2, "run net.onnx --threads 0", "--threads is \"0\""},
        {2, "run net.onnx --input y=zeros.npy", "\"y=zeros.npy\", which names no input"},
        {2, "run net.onnx --input zeros.npy", "which names no input of the model"},
        {2, "run net.onnx --input x=zeros.npy --input 0=zeros.npy", "but input 0 has a file"},
        {1, "run net.onnx --input x=missing.npy", "cannot read missing.npy"},
        {1, "run net.onnx --input x=net.onnx", "net.onnx"},
        {1, "run net.onnx --input x=three.npy", "x"},
        {1, "run net.onnx --input x=all.npz", "all.npz has 2 tensors, not one; --inputs reads"},
        {1, "run net.onnx --inputs all.npz", "all.npz: the model has no input \"scores\""},
        {1, "run missing.onnx", "missing.onnx"},
        {1, "info zeros.npy", "zeros.npy"},
        {1, "info .", "."},
        {1, "run net.onnx --save net.onnx", "--save is net.onnx, which is no folder"},
        {1, "run net.onnx --device gpu:77", "gpu:77"},
        {1, "convert net.onnx missing/net.safetensors", "missing/net.safetensors"},
    };
    write_zeros("zeros.npy", "(5, 4)", 80);
    write_zeros("three.npy", "(5, 3)", 60);
    expect_run(0, "$BIN/gantry model run net.onnx --save all.npz");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        char line[256];
        (void)snprintf(line, sizeof line, "$BIN/gantry model %s", rows[i].line);
        expect_run(rows[i].code, line);
        expect_in_output(rows[i].message);
    }
}

int main(void) {
    (void)setenv("GANTRY_LOG_LEVEL", "", 1);
    if (open_folder() != 0) return 1;
    (void)setenv("GANTRY_BACKENDS", "cpu", 1);
    copy_models();
    int result = test_main();
    if (result == 0) (void)run("cd / && rm -r %s", folder);
    return result;
}
