/* SPDX-License-Identifier: Apache-2.0 */
/* Promise (onnx.sample.*): A model of the onnx package's tests gives their outputs, or is refused
 * for the reason that tests/onnx/refused.txt lists.
 * Promise (onnx.versions.*): Ops keep the meaning of their version, and folded convolutions their
 * values.
 * Promise (onnx.contrib.*): Ops of com.microsoft, quantised, recurrent and attention ones, branches
 * and loops give the outputs of ONNX Runtime or of a formula.
 * Promise (onnx.moves.*): Random nodes that move, choose, pool and multiply, of operator sets 7 to
 * 28, give the outputs of ONNX Runtime, and sizes beyond all bounds are refused.
 * Promise (onnx.learned.*): Trees, linear models and steps of training give the outputs of ONNX
 * Runtime, or are refused for the reason that tests/onnx/refused_learned.txt lists.
 * Promise (onnx.changes.*): A stored model with a wrong, missing or further input or attribute is
 * refused for the reason that tests/onnx/changes.txt lists.
 *
 *     node_tests FOLDER [--device cpu:0] [--only TEXT] [--refused FILE] [--quiet] [--eager]
 *
 * FOLDER is one of scripts/make-onnx-cases. One line a case: ok; REFUSED, with the reason; LEFT
 * OUT, of which the test has no inputs; WRONG, with the difference; CRASHED. The cases run in a
 * child process; after a crash another one goes on with the next case. With --refused a case that
 * is refused must be in the file, "NAME: REASON" a line, its message must have the reason, and a
 * case of the file must be refused. With --eager models run op by
 * op. */
#define _DEFAULT_SOURCE

#include <dirent.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gantry_onnx/model.h>

#include "node_case.h"

#define MOST_SECONDS 180 /* of a case */
#define WHY_BYTES 1024

typedef enum verdict_t { NODE_OK, NODE_REFUSED, NODE_LEFT_OUT, NODE_WRONG, NODE_CRASHED } verdict_t;
static const char *const verdict_names[] = {"ok", "REFUSED", "LEFT OUT", "WRONG", "CRASHED"};
#define VERDICTS 5

/* What the child says to its parent. */
typedef struct counts_t {
    size_t at; /* The case that runs. */
    size_t plain[VERDICTS], expanded[VERDICTS];
    size_t unlisted, differ, passes; /* Against the list of refusals. */
    bool is_expanded;
} counts_t;

typedef struct run_t {
    const char *folder, *device, *only, *refused;
    bool is_quiet, is_eager;
    char *list; /* The file of refusals, with a line end first; NULL: none. */
    struct dirent **names;
    size_t name_count;
    counts_t *counts; /* Shared with the child. */
    gantry_runtime_t *runtime;
} run_t;

/* ---- one case ---- */

/* Gives each input its array: by order, and where the case has fewer, those without a value in the
 * file. */
static bool give_inputs(const node_case_t *node, const gantry_onnx_model_t *model,
                        gantry_scope_t *scope, const gantry_tensor_t **inputs, size_t count) {
    size_t next = 0;
    for (size_t i = 0; i < count; ++i) {
        gantry_onnx_value_t value = {.struct_size = sizeof value};
        if (gantry_onnx_model_get_input(model, i, &value) != GANTRY_OK) return false;
        inputs[i] = NULL;
        if (next == node->input_count || (value.is_optional && node->input_count < count)) continue;
        const node_array_t *array = &node->inputs[next++];
        inputs[i] = gantry_constant(scope, array->dtype, array->shape, array->data, array->bytes);
        if (!inputs[i]) return false;
    }
    return true;
}

/* Whether all outputs are made: a device says then what failed in the run. */
static bool outputs_are_made(const gantry_tensor_t *const *outputs, size_t count) {
    for (size_t i = 0; i < count; ++i)
        if (gantry_tensor_wait(outputs[i]) != GANTRY_OK) return false;
    return true;
}

static verdict_t run_in_scope(const node_case_t *node, gantry_onnx_model_t *model,
                              gantry_scope_t *scope, char *why) {
    const gantry_tensor_t *inputs[NODE_MOST_ARRAYS], *outputs[NODE_MOST_ARRAYS];
    const size_t count = gantry_onnx_model_input_count(model);
    if (count > NODE_MOST_ARRAYS || gantry_onnx_model_output_count(model) != node->output_count) {
        (void)snprintf(why, WHY_BYTES, "%zu inputs and %zu outputs", count,
                       gantry_onnx_model_output_count(model));
        return NODE_WRONG;
    }
    if (!give_inputs(node, model, scope, inputs, count) ||
        gantry_onnx_model_run(model, scope, inputs, count, outputs, node->output_count) !=
            GANTRY_OK ||
        !outputs_are_made(outputs, node->output_count)) {
        const char *text = gantry_scope_message(scope);
        (void)snprintf(why, WHY_BYTES, "%s", text && *text ? text : gantry_last_message());
        return NODE_REFUSED;
    }
    for (size_t i = 0; i < node->output_count; ++i) {
        char text[WHY_BYTES - 40];
        if (node_case_compare(node, i, outputs[i], text, sizeof text)) continue;
        (void)snprintf(why, WHY_BYTES, "output %zu: %s", i, text);
        return NODE_WRONG;
    }
    return NODE_OK;
}

/* Runs it twice: the second call has the trace of the first. */
static verdict_t run_model(const run_t *run, const node_case_t *node, gantry_onnx_model_t *model,
                           char *why) {
    verdict_t verdict = NODE_OK;
    for (int i = 0; i < 2 && verdict == NODE_OK; ++i) {
        gantry_scope_t *scope = gantry_scope_begin(run->runtime, run->device);
        if (!scope) {
            (void)snprintf(why, WHY_BYTES, "%s", gantry_last_message());
            return NODE_WRONG;
        }
        verdict = run_in_scope(node, model, scope, why);
        (void)gantry_scope_end(scope);
    }
    return verdict;
}

static const char *missing_type(const node_case_t *node) {
    for (size_t i = 0; i < node->input_count; ++i)
        if (node->inputs[i].dtype == GANTRY_DTYPE_NONE) return node->inputs[i].type;
    for (size_t i = 0; i < node->output_count; ++i)
        if (node->outputs[i].dtype == GANTRY_DTYPE_NONE) return node->outputs[i].type;
    return NULL;
}

static verdict_t judge(const run_t *run, const node_case_t *node, char *why) {
    gantry_onnx_model_t *model = NULL;
    if (*node->left_out) {
        (void)snprintf(why, WHY_BYTES, "%s", node->left_out);
        return NODE_LEFT_OUT;
    }
    const gantry_function_options_t function = {.struct_size = sizeof function,
                                                .runs_eagerly = run->is_eager};
    const gantry_onnx_options_t options = {.struct_size = sizeof options, .function = &function};
    if (gantry_onnx_model_load(run->runtime, node->model, &options, &model) != GANTRY_OK) {
        (void)snprintf(why, WHY_BYTES, "%s", gantry_last_message());
        return NODE_REFUSED;
    }
    verdict_t verdict = NODE_REFUSED;
    const char *type = missing_type(node);
    if (type)
        (void)snprintf(why, WHY_BYTES, "no tensor has the type %s", type);
    else
        verdict = run_model(run, node, model, why);
    gantry_onnx_model_release(model);
    return verdict;
}

/* ---- the list of refusals ---- */

typedef enum listing_t { NOT_LISTED, LISTED, OTHER_REASON } listing_t;

/* Finds the case's line; *reason, which may be NULL, gets the reason that the list has for it. */
static listing_t find_listing(const run_t *run, const char *name, const char *why,
                              char reason[WHY_BYTES]) {
    char line[256];
    (void)snprintf(line, sizeof line, "\n%s: ", name);
    const char *at = run->list ? strstr(run->list, line) : NULL;
    if (!at) return NOT_LISTED;
    at += strlen(line);
    (void)snprintf(reason, WHY_BYTES, "%.*s", (int)strcspn(at, "\n"), at);
    return strstr(why, reason) ? LISTED : OTHER_REASON;
}

/* Compares a verdict with the list; returns whether it is the expected one. */
static bool check_list(const run_t *run, const char *name, verdict_t verdict, const char *why) {
    char reason[WHY_BYTES];
    if (verdict != NODE_OK && verdict != NODE_REFUSED) return verdict == NODE_LEFT_OUT;
    const listing_t listing = find_listing(run, name, why, reason);
    if (verdict == NODE_OK && run->list && listing != NOT_LISTED) {
        printf("PASSES %s: take it out of %s\n", name, run->refused);
        ++run->counts->passes;
    }
    if (verdict == NODE_OK) return true;
    if (run->list && listing == NOT_LISTED) {
        printf("UNLISTED %s is refused, and %s does not list it\n", name, run->refused);
        ++run->counts->unlisted;
    }
    if (listing == OTHER_REASON) {
        printf("OTHER REASON %s: %s has: %s\n", name, run->refused, reason);
        ++run->counts->differ;
    }
    return listing == LISTED;
}

static void report(const run_t *run, const char *name, const char *op, verdict_t verdict,
                   bool is_expanded, const char *why) {
    ++(is_expanded ? run->counts->expanded : run->counts->plain)[verdict];
    const bool is_expected = check_list(run, name, verdict, why);
    if (!run->is_quiet || !is_expected)
        printf("%s %s (%s)%s%s\n", verdict_names[verdict], name, op, *why ? ": " : "", why);
    fflush(stdout);
}

/* ---- all cases ---- */

static void run_case(const run_t *run, const char *name) {
    static node_case_t node;
    char why[WHY_BYTES] = "";
    verdict_t verdict = NODE_WRONG;
    alarm(MOST_SECONDS);
    const bool good = node_case_read(&node, run->folder, name, why, sizeof why);
    run->counts->is_expanded = node.is_expanded;
    if (good) verdict = judge(run, &node, why);
    report(run, name, node.op, verdict, node.is_expanded, why);
    node_case_deinit(&node);
}

static int run_child(run_t *run) {
    gantry_runtime_options_t options = {.struct_size = sizeof options};
    if (gantry_runtime_create(&options, &run->runtime) != GANTRY_OK) {
        (void)fprintf(stderr, "node_tests: %s\n", gantry_last_message());
        return 1;
    }
    for (; run->counts->at < run->name_count; ++run->counts->at)
        run_case(run, run->names[run->counts->at]->d_name);
    gantry_runtime_release(run->runtime);
    return 0;
}

/* Runs children until the cases are done; false: a child could not begin. */
static bool run_children(run_t *run) {
    for (;;) {
        int status = 0;
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0) exit(run_child(run));
        if (child < 0 || waitpid(child, &status, 0) != child) return false;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
        if (run->counts->at >= run->name_count || (WIFEXITED(status) && run->counts->at == 0))
            return false;
        char why[64];
        (void)snprintf(why, sizeof why, "signal %d, exit code %d",
                       WIFSIGNALED(status) ? WTERMSIG(status) : 0, WEXITSTATUS(status));
        report(run, run->names[run->counts->at++]->d_name, "-", NODE_CRASHED,
               run->counts->is_expanded, why);
    }
}

static bool print_totals(const char *title, const size_t counts[VERDICTS]) {
    size_t all = 0;
    for (size_t i = 0; i < VERDICTS; ++i) all += counts[i];
    printf("%s: %zu cases, %zu ok, %zu refused, %zu left out, %zu wrong, %zu crashed\n", title, all,
           counts[NODE_OK], counts[NODE_REFUSED], counts[NODE_LEFT_OUT], counts[NODE_WRONG],
           counts[NODE_CRASHED]);
    return counts[NODE_WRONG] + counts[NODE_CRASHED] == 0;
}

/* ---- the command line ---- */

static run_t *current; /* scandir's filter gets no other argument. */

/* Each folder is a case. */
static int is_wanted(const struct dirent *entry) {
    char pattern[256], path[4096];
    struct stat status;
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) return 0;
    (void)snprintf(path, sizeof path, "%s/%s", current->folder, entry->d_name);
    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode)) return 0;
    if (!current->only) return 1;
    (void)snprintf(pattern, sizeof pattern, "*%s*", current->only);
    return fnmatch(pattern, entry->d_name, 0) == 0;
}

static char *read_list(const char *path) {
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);
    if (file && text) {
        text[0] = '\n';
        (void)!fread(text + 1, 1, (1 << 20) - 2, file);
    } else {
        (void)fprintf(stderr, "node_tests: %s cannot be read\n", path);
        exit(2);
    }
    fclose(file);
    return text;
}

static void parse_words(run_t *run, int count, char **words) {
    for (int i = 1; i < count; ++i) {
        const char **value = strcmp(words[i], "--device") == 0    ? &run->device
                             : strcmp(words[i], "--only") == 0    ? &run->only
                             : strcmp(words[i], "--refused") == 0 ? &run->refused
                                                                  : NULL;
        if (value && i + 1 < count)
            *value = words[++i];
        else if (strcmp(words[i], "--quiet") == 0)
            run->is_quiet = true;
        else if (strcmp(words[i], "--eager") == 0)
            run->is_eager = true;
        else if (!run->folder && words[i][0] != '-')
            run->folder = words[i];
        else
            run->folder = "";
    }
    if (run->folder && *run->folder) return;
    (void)fprintf(
        stderr,
        "usage: node_tests FOLDER [--device NAME] [--only PATTERN] [--refused FILE] [--quiet] "
        "[--eager]\n");
    exit(2);
}

int main(int count, char **words) {
    run_t run = {.device = "cpu:0"};
    parse_words(&run, count, words);
    current = &run;
    if (run.refused) run.list = read_list(run.refused);
    const int found = scandir(run.folder, &run.names, is_wanted, alphasort);
    run.counts =
        mmap(NULL, sizeof *run.counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (found <= 0 || run.counts == MAP_FAILED) {
        (void)fprintf(stderr, "node_tests: no case in %s; scripts/make-onnx-cases makes them\n",
                      run.folder);
        return 2;
    }
    run.name_count = (size_t)found;
    bool good = run_children(&run);
    good = print_totals("plain", run.counts->plain) && good;
    good = print_totals("expanded", run.counts->expanded) && good;
    if (run.list)
        printf("%zu refused without being listed, %zu for another reason, %zu listed that pass\n",
               run.counts->unlisted, run.counts->differ, run.counts->passes);
    for (int i = 0; i < found; ++i) free(run.names[i]);
    free(run.names);
    free(run.list);
    const size_t unexpected = run.counts->unlisted + run.counts->differ + run.counts->passes;
    return good && unexpected == 0 ? 0 : 1;
}
