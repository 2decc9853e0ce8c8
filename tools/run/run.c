/* SPDX-License-Identifier: Apache-2.0 */
/* gantry run: starts a program on cards that nobody else uses, and claims them while it runs. */
#include <stdlib.h>
#include <string.h>

#include "command/command.h"
#include "run/run.h"
#include "base/os/clock.h"
#include "base/os/environment.h"
#include "base/os/process.h"
#include "base/os/terminal.h"

#define PAUSE_SECONDS 0.1

typedef struct run_t {
    const gantry_command_values_t *values;
    gantry_run_request_t request;
    double wait_seconds; /* 0: it does not wait */
    bool takes_cpu, is_quiet;
    FILE *json; /* NULL: no object is printed */
    gantry_tool_file_t json_file;
    const char *path; /* of the program */
    double waited_seconds;
    gantry_runtime_t *runtime;
    gantry_claim_t *claim;
    gantry_run_card_t cards[GANTRY_RUN_MOST];
    size_t count;
    size_t chosen[GANTRY_RUN_MOST];
    size_t told_before;
    bool is_told, is_line_open;
} run_t;

/* Sleeps. A signal ends this process as it ends any other, and the claims with it. */
static void pause_for(double seconds) { gantry__os_sleep_ns((uint64_t)(seconds * 1e9)); }

/* ---- messages ---- */

static void end_line(run_t *run) {
    if (run->is_line_open) (void)fputc('\n', stderr);
    run->is_line_open = false;
}

/* "the GPU" or "3 GPUs". */
static const char *wanted_text(const run_t *run, char out[GANTRY_TOOL_TEXT_BYTES]) {
    (void)snprintf(out, GANTRY_TOOL_TEXT_BYTES, "%zu GPU%s", run->request.count,
                   run->request.count == 1 ? "" : "s");
    return out;
}

static void tell_reasons(const run_t *run) {
    for (size_t i = 0; i < run->count; ++i) {
        const gantry_run_card_t *card = &run->cards[i];
        if (!*card->reason) continue;
        (void)fprintf(stderr, "    %s (%s): %s\n", card->details.name + strlen("/physical_device:"),
                      card->details.hardware_name, card->reason);
    }
}

static void tell_card(const gantry_run_card_t *card) {
    char memory[GANTRY_TOOL_TEXT_BYTES];
    (void)fprintf(stderr, "gantry run: %s, %s (%s)",
                  card->details.name + strlen("/physical_device:"), card->details.hardware_name,
                  card->details.alias);
    if (card->is_ours) (void)fprintf(stderr, ", which an outer gantry run holds");
    if (card->is_use_known && !card->is_processor)
        (void)fprintf(stderr, ", %u %% busy", card->busy_percent);
    if (card->is_memory_known)
        (void)fprintf(stderr, ", %s free", gantry_tool_size_text(card->free_bytes, memory));
    if (!card->is_memory_known || (!card->is_use_known && !card->is_processor))
        (void)fprintf(
            stderr, "; not known: %s%s%s",
            card->is_use_known || card->is_processor ? "" : "its utilisation",
            !card->is_memory_known && !card->is_use_known && !card->is_processor ? ", " : "",
            card->is_memory_known ? "" : "its free memory");
    (void)fputc('\n', stderr);
}

/* A terminal has one line that changes; a file has a line for each new place. */
static void tell_waiting(run_t *run, size_t before, double seconds) {
    char waited[GANTRY_TOOL_TEXT_BYTES];
    const bool is_terminal = gantry__os_is_terminal(stderr);
    if (run->is_quiet || (!is_terminal && run->is_told && before == run->told_before)) return;
    (void)fprintf(stderr, "%sgantry run: ", is_terminal ? "\r" : "");
    if (before > 0) (void)fprintf(stderr, "waits, number %zu in the queue", before + 1);
    if (before == 0) (void)fprintf(stderr, "waits for a GPU, first in the queue");
    if (is_terminal)
        (void)fprintf(stderr, ", for %s  \033[K", gantry_tool_duration_text(seconds, waited));
    if (!is_terminal) (void)fputc('\n', stderr);
    (void)fflush(stderr);
    run->is_line_open = is_terminal;
    run->is_told = true;
    run->told_before = before;
}

/* ---- the wait ---- */

typedef enum outcome_t { CHOSEN, NEVER, BUSY, OVER, FAILED } outcome_t;

static size_t count_fitting(const run_t *run) {
    size_t count = 0;
    for (size_t i = 0; i < run->count; ++i) count += !run->cards[i].never_fits;
    return count;
}

/* One turn. BUSY: another may help. */
static outcome_t try_once(run_t *run, size_t *out_before) {
    const bool is_waiting = run->wait_seconds > 0;
    gantry_status_t status = gantry_claim_begin_turn(run->claim, is_waiting, out_before);
    if (status == GANTRY_UNAVAILABLE) return BUSY;
    if (status != GANTRY_OK) return FAILED;
    gantry_run_look(run->runtime, &run->request, run->cards, run->count);
    const bool is_chosen =
        gantry_run_claim(run->claim, &run->request, run->cards, run->count, run->chosen);
    status = gantry_claim_end_turn(run->claim, !is_chosen && is_waiting);
    if (status != GANTRY_OK) return FAILED;
    return is_chosen ? CHOSEN : BUSY;
}

static outcome_t wait_for_cards(run_t *run, size_t *out_before) {
    const double start = gantry__now_seconds();
    *out_before = 0;
    if (count_fitting(run) < run->request.count) return NEVER;
    for (;;) {
        outcome_t outcome = try_once(run, out_before);
        const double seconds = gantry__now_seconds() - start;
        run->waited_seconds = seconds;
        if (outcome == BUSY && run->wait_seconds > 0 && seconds >= run->wait_seconds)
            outcome = OVER;
        if (outcome != BUSY || run->wait_seconds <= 0) {
            end_line(run);
            return outcome;
        }
        tell_waiting(run, *out_before, seconds);
        const double left = run->wait_seconds - seconds;
        pause_for(left < PAUSE_SECONDS ? left : PAUSE_SECONDS);
    }
}

/* ---- without a card ---- */

static void tell_why(const run_t *run, outcome_t outcome, size_t before) {
    char wanted[GANTRY_TOOL_TEXT_BYTES];
    (void)wanted_text(run, wanted);
    if (run->count == 0) {
        (void)fprintf(
            stderr,
            "gantry run: no GPU is here that a program could use; gantry doctor says why\n");
    } else if (outcome == NEVER) {
        (void)fprintf(stderr, "gantry run: %s requested, %zu of %zu fit:\n", wanted,
                      count_fitting(run), run->count);
    } else if (before > 0) {
        (void)fprintf(stderr, "gantry run: %zu other%s for GPUs; --wait stands in line\n", before,
                      before == 1 ? " waits" : "s wait");
    } else {
        (void)fprintf(stderr, "gantry run: %s requested, too few of %zu are free%s:\n", wanted,
                      run->count, run->wait_seconds > 0 ? "" : "; --wait waits for them");
    }
    if (before == 0) tell_reasons(run);
}

/* ---- the command ---- */

/* Prints the object. The file must be complete before the program starts. It returns false after a
 * message. */
static bool print_json(run_t *run, const char *outcome, size_t chosen_count, size_t before,
                       const gantry_run_variables_t *variables, const gantry_run_layer_t *layer) {
    const gantry_run_report_t report = {.outcome = outcome,
                                        .path = run->path,
                                        .command = run->values->operands,
                                        .request = &run->request,
                                        .cards = run->cards,
                                        .count = run->count,
                                        .chosen = run->chosen,
                                        .chosen_count = chosen_count,
                                        .waited_seconds = run->waited_seconds,
                                        .before = before,
                                        .variables = variables,
                                        .layer = layer};
    if (!run->json) return true;
    gantry_run_print_json(run->json, &report);
    if (run->json == stderr) return true;
    FILE *const json = run->json;
    run->json = NULL;
    return gantry_tool_file_close(&run->json_file, json);
}

static int start(run_t *run, size_t chosen_count) {
    static gantry_run_layer_t layer;
    gantry_run_variables_t variables = {.count = 0};
    if (!gantry_run_set_environment(run->runtime, run->cards, run->chosen, chosen_count,
                                    &variables) ||
        !gantry_run_set_layer(run->runtime, run->cards, run->chosen, chosen_count, &variables,
                              &layer))
        return GANTRY_TOOL_FAILED;
    if (gantry_command_has(run->values, "opencl-cpu-as-gpu") &&
        !gantry_run_set_variable(&variables, "GANTRY_OPENCL_CPU", "gpu"))
        return GANTRY_TOOL_FAILED;
    const bool tells = run->json != stderr;
    if (!print_json(run, chosen_count ? "starts" : "starts without a GPU", chosen_count, 0,
                    &variables, &layer))
        return GANTRY_TOOL_FAILED;
    for (size_t i = 0; i < chosen_count && !run->is_quiet; ++i)
        tell_card(&run->cards[run->chosen[i]]);
    if (chosen_count == 0 && tells)
        (void)fprintf(
            stderr, "gantry run: \"%s\" runs without a GPU, on the CPU (GANTRY_RUN_DEVICES=cpu)\n",
            run->values->operands[0]);
    if (!run->is_quiet && !layer.is_set && *layer.devices)
        (void)fprintf(stderr, "gantry run: OpenCL programs without Gantry see all devices: %s\n",
                      layer.reason);
    if (chosen_count > 0 && gantry_claim_inherit(run->claim) != GANTRY_OK)
        return gantry_tool_fail_last();
    return gantry_run_child(run->path, run->values->operands);
}

/* Says why no card is chosen: in words, or as JSON. */
static void run_tell_failure(run_t *run, outcome_t outcome, size_t before) {
    const gantry_run_variables_t none = {.count = 0};
    if (run->json != stderr) tell_why(run, outcome, before);
    if (!run->takes_cpu)
        (void)print_json(run,
                         outcome == NEVER  ? "too few GPUs fit"
                         : outcome == OVER ? "the time of --wait is over"
                                           : "too few GPUs are free",
                         0, before, &none, NULL);
}

static int choose_and_start(run_t *run) {
    size_t before;
    const outcome_t outcome = wait_for_cards(run, &before);
    if (outcome == CHOSEN) return start(run, run->request.count);
    if (outcome == FAILED) return gantry_tool_fail_last();
    run_tell_failure(run, outcome, before);
    gantry_claim_release(run->claim); /* leaves the queue */
    run->claim = NULL;
    if (run->takes_cpu) return start(run, 0);
    if (outcome == NEVER && run->count == 0 && run->json != stderr)
        (void)fprintf(stderr, "gantry run: --or-cpu runs the program on the CPU then\n");
    return outcome == OVER ? GANTRY_RUN_TIMED_OUT : GANTRY_TOOL_FAILED;
}

/* The child's command line, as `gantry claims` shows it. */
static void join_words(char **words, char *out, size_t out_bytes) {
    size_t used = 0;
    out[0] = '\0';
    for (; *words && used + 1 < out_bytes; ++words) {
        const int length = snprintf(out + used, out_bytes - used, "%s%s", used ? " " : "", *words);
        used += length > 0 ? (size_t)length : 0;
    }
}

static bool read_options(run_t *run) {
    const gantry_command_values_t *values = run->values;
    uint64_t count = 1;
    if (!gantry_command_integer(values, "gpus", 1, GANTRY_RUN_MOST, &count) ||
        !gantry_command_size(values, "min-free", &run->request.min_free_bytes) ||
        !gantry_command_duration(values, "wait", &run->wait_seconds))
        return false;
    run->request.count = (size_t)count;
    run->request.policy =
        (gantry_run_policy_t)gantry_command_choice(values, "policy", GANTRY_RUN_IDLE);
    run->request.backend = gantry_command_value(values, "backend");
    run->takes_cpu = gantry_command_has(values, "or-cpu");
    run->is_quiet = gantry_command_has(values, "quiet") || gantry_command_has(values, "json");
    return true;
}

/* Where the object goes. The program's standard output stays its own. */
static bool open_json(run_t *run) {
    const char *path = gantry_command_value(run->values, "json-file");
    if (gantry_command_has(run->values, "json")) run->json = stderr;
    if (!path) return true;
    run->json = gantry_tool_file_open(&run->json_file, path);
    return run->json != NULL;
}

/* Of a program that was not started. */
static void drop_json(run_t *run) {
    if (!run->json || run->json == stderr) return;
    gantry_tool_file_drop(&run->json_file, run->json);
}

/* This program's own list must not claim, because it chooses for the child. */
static void forget_automatic_list(void) {
    const char *list = getenv("GANTRY_VISIBLE_DEVICES");
    if (list && strstr(list, "auto")) (void)gantry__os_set_variable("GANTRY_VISIBLE_DEVICES", NULL);
}

static int run_run(const gantry_command_values_t *values) {
    char path[GANTRY__OS_PATH_BYTES] = "", command[256];
    static run_t run;
    run = (run_t){.values = values};
    if (!read_options(&run)) return GANTRY_TOOL_WRONG_USAGE;
    int code = gantry_run_find_program(values->operands[0], path);
    if (code != 0) return code;
    if (!open_json(&run)) return GANTRY_TOOL_FAILED;
    run.path = path;
    srand((unsigned)gantry__os_process());
    forget_automatic_list();
    run.runtime = gantry_command_open_runtime(values, NULL);
    if (!run.runtime) {
        drop_json(&run);
        return GANTRY_TOOL_FAILED;
    }
    join_words(values->operands, command, sizeof command);
    code = GANTRY_TOOL_FAILED;
    if (!gantry_run_list(run.runtime, &run.request, run.cards, &run.count)) {
        /* it said why */
    } else if (run.count > 0 &&
               gantry_claim_create(run.runtime, command, &run.claim) != GANTRY_OK) {
        code = gantry_tool_fail_last();
    } else {
        code = choose_and_start(&run);
    }
    gantry_claim_release(run.claim);
    gantry_runtime_release(run.runtime);
    drop_json(&run);
    return code;
}

const gantry_command_t gantry_command_run = {
    .name = "run",
    .summary = "runs a program on GPUs that nobody else uses",
    .description =
        "Chooses GPUs by how busy they are, by their free memory and by the claims of others, claims "
        "them, and sets GANTRY_VISIBLE_DEVICES, CUDA_VISIBLE_DEVICES and, for AMD's cards, "
        "GPU_DEVICE_ORDINAL and HIP_VISIBLE_DEVICES for the program. The claims end with the program "
        "and the processes that it started, however they end.\n\n"
        "GPUs are the visible ones: CUDA_VISIBLE_DEVICES and GANTRY_VISIBLE_DEVICES bound the choice. "
        "Policy idle takes GPUs that compute at most 10 % of the time and have at most 10 % of their "
        "memory in use; free takes those with the most free memory; spread takes the least busy ones, "
        "and any of equal ones. No policy takes a claimed GPU.\n\n"
        "--json prints the devices with the figures and the reasons of the choice, the variables that "
        "the program gets, and the time of the wait. It takes the place of the messages on standard "
        "error, because standard output is the program's.\n\n"
        "GANTRY_RUN_DEVICES has what the program got: UUIDs, or \"cpu\". Signals are forwarded to "
        "the program.",
    .operands = "COMMAND [ARGUMENT...]",
    .operand_least = 1,
    .operand_most = GANTRY_COMMAND_ANY,
    .operand_offer = GANTRY_OFFER_COMMANDS,
    .operands_end_options = true,
    .options =
        {{"gpus", "N", "takes so many GPUs; 1 if not given"},
         {"min-free", "SIZE", "takes only GPUs with so much free memory, such as 4GiB"},
         {"wait", "TIME", "waits in a queue for so long, such as 10m, if too few are free"},
         {"policy", "POLICY", "says which GPUs are taken; idle if not given",
          .choices = "idle|free|spread"},
         {"backend", "NAME", "takes only GPUs that this backend serves, such as cuda"},
         {"or-cpu", NULL, "runs the program without a GPU if there is none to be had"},
         {"quiet", NULL, "does not say which GPUs the program gets"},
         {"json", NULL,
          "prints the choice as one JSON value to standard error, before the program starts"},
         {"json-file", "FILE", "writes that JSON value to a file, such as /dev/fd/3",
          .offer = GANTRY_OFFER_FILES},
         GANTRY_OPTION_CPU_AS_GPU,
         GANTRY_OPTION_VERBOSE},
    .exit_codes =
        {{1, "no GPU was free, or the claims' folder cannot be used"},
         {GANTRY_RUN_TIMED_OUT, "the time of --wait is over"},
         {GANTRY_RUN_NOT_EXECUTABLE, "the program is not executable"},
         {GANTRY_RUN_NOT_FOUND, "the program is not found"},
         {128, "and the number of the signal that ended the program; else the program's code"}},
    .examples = {{"gantry run python train.py", NULL},
                 {"gantry run --gpus 2 --min-free 20GiB --wait 2h -- ./train --epochs 3",
                  "waits for two GPUs with 20 GiB free each"},
                 {"gantry run --or-cpu make check", "uses the CPU on a machine without a GPU"}},
    .run = run_run};
