/* SPDX-License-Identifier: Apache-2.0 */
/* Learns a text character by character, by a small decoder-only transformer, and writes more of it.
 *
 *   char_transformer [options] [FILE]          trains, tests on held-out text, and writes
 *   char_transformer --save FILE ...           keeps the model
 *   char_transformer --load FILE --prompt P    writes on from P with a kept model
 *   char_transformer --replicas N ...          trains on N GPUs, or on N virtual devices
 *
 * Without FILE, the text is one of Debian's package fortunes. The loss is compared with models that
 * count characters, and pairs of them.
 *
 *   numbers - Embedding - Positions -+- LayerNorm - attention -+- LayerNorm - Dense x 2 -+- ...
 *                                    +-------------------------+                         |
 *                                                              +-------------------------+
 *
 * Two such blocks follow the positions, and then a LayerNorm and a Dense. Attention has a causal
 * mask: a character sees only those before it. */
#define _POSIX_C_SOURCE 200809L
#include "char_text.h"
#include "example_options.h"
#include "example_training.h"

#define DEFAULT_FILE "/usr/share/games/fortunes/computers"

enum { WINDOW = 64, WIDTH = 64, HEADS = 4, BLOCKS = 2, LEAST_CHARACTERS = 1000 };
enum { STEPS_OF_AN_EPOCH = 100, SKIPPED = 77 };

static struct {
    const char *device, *save, *load, *prompt, *file;
    int64_t steps, batch, replicas, seed, length;
    double temperature, rate;
} options;

typedef struct writer_t {
    gantry_runtime_t *runtime;
    gantry_strategy_t *strategy;
    gantry_model_t *model;
    alphabet_t alphabet;
    char_text_t text;
} writer_t;

static const char usage[] =
    "usage: char_transformer [--device NAME] [--replicas N] [--steps N] [--batch N] [--rate X] [--seed N] [--save FILE]\n"
    "                        [--prompt TEXT] [--length N] [--temperature X] [--load FILE | FILE]\n"
    "Without FILE: " DEFAULT_FILE " of Debian's package fortunes.\n";

static void read_options(int argc, char **argv) {
    static const example_option_t list[] = {
        {"--device", EXAMPLE_TEXT, &options.device, 0, 0, 0},
        {"--save", EXAMPLE_TEXT, &options.save, 0, 0, 0},
        {"--load", EXAMPLE_TEXT, &options.load, 0, 0, 0},
        {"--prompt", EXAMPLE_TEXT, &options.prompt, 0, 0, 0},
        {"--steps", EXAMPLE_NUMBER, &options.steps, 1500, 1, 1000000},
        {"--batch", EXAMPLE_NUMBER, &options.batch, 32, 1, 65536},
        {"--replicas", EXAMPLE_NUMBER, &options.replicas, 0, 1, EXAMPLE_MOST_REPLICAS},
        {"--seed", EXAMPLE_NUMBER, &options.seed, 1, 0, 1000000000},
        {"--length", EXAMPLE_NUMBER, &options.length, 300, 0, 1000000},
        {"--temperature", EXAMPLE_REAL, &options.temperature, 0.7, 0, 100},
        {"--rate", EXAMPLE_REAL, &options.rate, 0.004, 1e-9, 1}};
    const example_command_t command = {"char_transformer", usage, list,
                                       sizeof list / sizeof list[0]};
    argc = example_read_options(&command, argc, argv);
    if (argc > 2 || (argc == 2 && options.load)) example_refuse(&command, argv[argc - 1]);
    options.file = argc == 2 ? argv[1] : DEFAULT_FILE;
    if (argc == 2 || options.load) return;
    FILE *file = fopen(DEFAULT_FILE, "r");
    if (!file) {
        (void)printf(
            "char_transformer: there is no %s; install Debian's package by\n"
            "    apt-get install fortunes\n"
            "or name a file of your own: char_transformer FILE\n",
            DEFAULT_FILE);
        exit(SKIPPED);
    }
    (void)fclose(file);
}

/* ---- a layer of this program's own: adds a vector for each position ---- */

static gantry_status_t build_positions(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                       size_t input_count, void *user) {
    (void)user;
    if (input_count != 1 || inputs[0].rank != 3)
        return gantry_fail(GANTRY_INVALID_ARGUMENT,
                           "Positions: one input [batch, length, width] is accepted");
    return gantry_layer_add_weight(
        layer, "positions", GANTRY_SHAPE(inputs[0].dims[1], inputs[0].dims[2]),
        &(gantry_initializer_t){
            .kind = GANTRY_INIT_RANDOM_UNIFORM, .minval = -0.05, .maxval = 0.05},
        true);
}

static const gantry_tensor_t *call_positions(const gantry_layer_call_t *call, void *user) {
    (void)user;
    return gantry_add(call->scope, call->inputs[0], call->weights[0]);
}

static gantry_layer_t *make_positions(void) {
    const gantry_layer_kind_t kind = {.struct_size = sizeof kind,
                                      .name = "Positions",
                                      .build = build_positions,
                                      .call = call_positions};
    return gantry_layer_create(&kind, NULL, NULL);
}

/* ---- the model ---- */

/* Adds a block after value x, and returns its output. */
static int32_t add_block(gantry_model_t *model, int32_t x) {
    const gantry_attention_options_t causal = {.causal = true};
    int32_t y = gantry_model_apply(model, gantry_layer_normalization(NULL), &x, 1);
    y = gantry_model_apply(model, gantry_multi_head_attention(HEADS, WIDTH / HEADS, &causal), &y,
                           1);
    x = gantry_model_apply(model, gantry_add_layer(NULL), (int32_t[]){x, y}, 2);
    y = gantry_model_apply(model, gantry_layer_normalization(NULL), &x, 1);
    y = gantry_model_apply(model, gantry_dense((int64_t)4 * WIDTH, GANTRY_RELU, NULL), &y, 1);
    y = gantry_model_apply(model, gantry_dense(WIDTH, GANTRY_LINEAR, NULL), &y, 1);
    return gantry_model_apply(model, gantry_add_layer(NULL), (int32_t[]){x, y}, 2);
}

static void make_model(writer_t *writer) {
    gantry_model_t *model = writer->model =
        gantry_functional(writer->runtime, &(gantry_model_options_t){.device = options.device,
                                                                     .seed = options.seed,
                                                                     .strategy = writer->strategy});
    int32_t x = gantry_model_input(model, GANTRY_INT32, GANTRY_SHAPE(WINDOW));
    x = gantry_model_apply(model, gantry_embedding(writer->alphabet.size, WIDTH, NULL, NULL), &x,
                           1);
    x = gantry_model_apply(model, make_positions(), &x, 1);
    for (int i = 0; i < BLOCKS; ++i) x = add_block(model, x);
    x = gantry_model_apply(model, gantry_layer_normalization(NULL), &x, 1);
    x = gantry_model_apply(model, gantry_dense(writer->alphabet.size, GANTRY_LINEAR, NULL), &x, 1);
    (void)gantry_model_set_output(model, x);
    example_check(gantry_model_build(model, GANTRY_INT32, GANTRY_SCALAR), "the model");
}

/* The rate rises for a tenth of the steps, and then falls. */
static void compile_model(const writer_t *writer) {
    const int64_t warmup = options.steps / 10 + 1;
    const gantry_loss_options_t loss = {.from_logits = true};
    gantry_schedule_t *schedule =
        gantry_cosine_decay(&(gantry_cosine_decay_options_t){.warmup_target = options.rate,
                                                             .warmup_steps = warmup,
                                                             .decay_steps = options.steps,
                                                             .alpha = 0.05});
    if (!schedule) example_stop(gantry_last_message());
    const gantry_adam_options_t adam = {.schedule = schedule, .global_clipnorm = 1.0};
    example_check(gantry_model_compile(
                      writer->model,
                      &(gantry_compile_options_t){.optimizer = gantry_adam(&adam),
                                                  .loss = GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY,
                                                  .loss_options = &loss}),
                  "gantry_model_compile");
    gantry_schedule_release(schedule);
}

/* ---- windows: characters, and for each the next one ---- */

typedef struct windows_t {
    const char_text_t *text;
    uint64_t random;
} windows_t;

/* Makes an element: the window from a random place on. */
static gantry_status_t make_window(void *state, gantry_element_t *element, bool *out_end) {
    windows_t *windows = state;
    const gantry_shape_t shape = GANTRY_SHAPE(WINDOW);
    const size_t bytes = WINDOW * sizeof(int32_t),
                 at = (size_t)(next_random(&windows->random) % (windows->text->used - WINDOW));
    *out_end = false;
    for (size_t i = 0; i < 2; ++i) {
        void *memory = gantry_element_component(element, i, GANTRY_INT32, &shape);
        if (!memory) return GANTRY_RESOURCE_EXHAUSTED;
        memcpy(memory, windows->text->numbers + at + i, bytes);
    }
    return GANTRY_OK;
}

static gantry_dataset_t *make_training(windows_t *windows, int64_t steps) {
    const gantry_dataset_source_t source = {
        .struct_size = sizeof source, .next = make_window, .user = windows};
    gantry_dataset_t *batches = gantry_dataset_from_callback(&source);
    batches = gantry_dataset_take(batches, steps * options.batch);
    batches = gantry_dataset_batch(batches, options.batch, false);
    if (!batches) example_stop(gantry_last_message());
    return batches;
}

/* Makes windows of the held-out text, one after the other. */
static gantry_dataset_t *make_held_out(const char_text_t *text) {
    const size_t rows = (text->count - text->used - 1) / WINDOW;
    const gantry_array_t arrays[] = {
        {GANTRY_INT32, GANTRY_SHAPE((int64_t)rows, WINDOW), text->numbers + text->used},
        {GANTRY_INT32, GANTRY_SHAPE((int64_t)rows, WINDOW), text->numbers + text->used + 1}};
    gantry_dataset_t *batches = gantry_dataset_from_arrays(arrays, 2, true);
    batches = gantry_dataset_batch(batches, options.batch, false);
    if (!batches) example_stop(gantry_last_message());
    return batches;
}

static void train(const writer_t *writer) {
    const char_text_t *text = &writer->text;
    const int64_t epochs = (options.steps - 1) / STEPS_OF_AN_EPOCH + 1,
                  steps = options.steps / epochs;
    example_watch_t watch = {.runtime = writer->runtime, .steps = steps};
    const gantry_callback_t timing = example_watch(&watch);
    const gantry_callback_t *const callbacks[] = {&timing};
    windows_t windows = {text, (uint64_t)options.seed * 2 + 1};
    double loss, single, pairs;
    gantry_dataset_t *batches = make_training(&windows, steps), *held_out = make_held_out(text);
    const gantry_fit_options_t fit = {.epochs = epochs,
                                      .validation = held_out,
                                      .callbacks = callbacks,
                                      .callback_count = 1,
                                      .write = example_write,
                                      .is_terminal = isatty(STDOUT_FILENO) == 1};
    example_check(gantry_model_fit(writer->model, batches, &fit), "gantry_model_fit");
    example_check(gantry_model_evaluate(writer->model, held_out, &loss, 1),
                  "gantry_model_evaluate");
    measure_counts(text, writer->alphabet.size, &single, &pairs);
    (void)printf("%.0f characters/s in the fastest epoch\n",
                 (double)(steps * options.batch * WINDOW) / watch.best);
    (void)printf("held-out loss: %.4f; by counts of characters: %.4f, of pairs: %.4f\n", loss,
                 single, pairs);
    gantry_dataset_release(held_out);
    gantry_dataset_release(batches);
}

/* ---- writing ---- */

/* The body of a function: numbers [1, WINDOW] to logits [1, WINDOW, letters]. */
static void compute_logits(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                           const gantry_tensor_t **outputs, void *user) {
    const writer_t *writer = user;
    outputs[0] = gantry_model_call(writer->model, scope, inputs, 1, false);
}

/* Computes logits of the next character after `count` numbers. What follows them in the window does
 * not reach them, because of the mask. */
static void predict(const writer_t *writer, gantry_function_t *function,
                    const int32_t window[WINDOW], size_t count, float *logits, float *out) {
    const size_t letters = (size_t)writer->alphabet.size;
    const gantry_tensor_t *output = NULL;
    gantry_scope_t *scope = gantry_scope_begin(writer->runtime, NULL);
    const gantry_tensor_t *x = gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(1, WINDOW), window,
                                               WINDOW * sizeof *window);
    (void)gantry_function_call(scope, function, &x, 1, &output, 1);
    example_read(scope, output, logits, WINDOW * letters * sizeof *logits);
    memcpy(out, logits + (count - 1) * letters, letters * sizeof *out);
}

/* Puts the prompt into the window, without characters that the text does not have. */
static size_t read_prompt(const alphabet_t *alphabet, int32_t window[WINDOW]) {
    const char *prompt = options.prompt ? options.prompt : "%\n";
    size_t count = 0;
    for (; *prompt; ++prompt) {
        const int32_t number = alphabet->numbers[(unsigned char)*prompt];
        if (number < 0) continue;
        if (count == WINDOW) memmove(window, window + 1, --count * sizeof *window);
        window[count++] = number;
    }
    if (count == 0) window[count++] = 0;
    return count;
}

static void write_on(writer_t *writer) {
    const gantry_input_spec_t input = {"numbers", GANTRY_INT32, GANTRY_SHAPE(1, WINDOW)};
    uint64_t random = (uint64_t)options.seed * 2 + 1;
    int32_t window[WINDOW] = {0};
    float next[BYTES], *logits = example_allocate((size_t)WINDOW * BYTES, sizeof *logits);
    gantry_function_t *function;
    size_t count = read_prompt(&writer->alphabet, window);
    example_check(gantry_function_trace(writer->runtime, "logits", compute_logits, writer, &input,
                                        1, 1, NULL, &function),
                  "tracing the model");
    (void)printf("\n%s", options.prompt ? options.prompt : "");
    for (int64_t i = 0; i < options.length; ++i) {
        predict(writer, function, window, count, logits, next);
        const int32_t number =
            draw_number(next, writer->alphabet.size, options.temperature, &random);
        if (count == WINDOW) memmove(window, window + 1, --count * sizeof *window);
        window[count++] = number;
        (void)putchar(writer->alphabet.letters[number]);
        (void)fflush(stdout);
    }
    (void)printf("\n");
    gantry_function_release(function);
    free(logits);
}

/* ---- the model's file: weights and alphabet ---- */

static void save(const writer_t *writer) {
    char letters[2 * BYTES + 1];
    write_alphabet(&writer->alphabet, letters);
    const gantry_checkpoint_text_t text = {"alphabet", letters};
    example_save_weights(writer->model, writer->runtime, options.save, &text, 1);
    (void)printf("saved %s\n", options.save);
}

static void load(writer_t *writer) {
    gantry_checkpoint_t *file;
    example_check(gantry_checkpoint_open(options.load, &file), "loading the model");
    const char *letters = gantry_checkpoint_text(file, "alphabet");
    if (!letters || !read_alphabet(&writer->alphabet, letters)) {
        char why[1024];
        (void)snprintf(why, sizeof why, "%.900s has no alphabet: another program wrote it",
                       options.load);
        example_stop(why);
    }
    make_model(writer);
    example_load_weights(writer->model, file);
    gantry_checkpoint_release(file);
}

int main(int argc, char **argv) {
    static writer_t writer; /* zero-filled */
    read_options(argc, argv);
    writer = (writer_t){.runtime = example_runtime()};
    writer.strategy = example_mirror(writer.runtime, options.device, (size_t)options.replicas);
    if (writer.strategy) options.device = NULL;
    if (options.load) {
        load(&writer);
    } else {
        writer.text = read_characters(options.file, LEAST_CHARACTERS, &writer.alphabet);
        (void)printf("%zu characters to learn from, %zu held out; %d different\n", writer.text.used,
                     writer.text.count - writer.text.used, writer.alphabet.size);
        make_model(&writer);
        compile_model(&writer);
        train(&writer);
        if (options.save) save(&writer);
    }
    if (options.length > 0) write_on(&writer);
    gantry_model_release(writer.model);
    gantry_strategy_release(writer.strategy);
    gantry_runtime_release(writer.runtime);
    free(writer.text.numbers);
    return 0;
}
