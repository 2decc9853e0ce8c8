/* SPDX-License-Identifier: Apache-2.0 */
/* When does somebody speak? Runs the model of silero-vad, whose wheel on PyPI has it, over a sound:
 * each run hears 32 ms and hands its state to the next one.
 *
 *   speech MODEL.onnx [SOUND.wav] [--device NAME]
 *
 * The sound has 16,000 samples a second, of 16 bits, in one channel (`espeak-ng -w` and a change of
 * rate make one). Without it the program speaks by itself: pulses of a voice through the resonances
 * of five vowels, twice, with silence around. */
#include <string.h>

#include <gantry_onnx/onnx.h>

#include "example.h"
#include "speech_sound.h"

#define STEP 512
#define CONTEXT 64
#define STATE (2 * 128)

/* Hears STEP samples after the CONTEXT before them; state is read and written. */
static float hear(gantry_onnx_model_t *model, gantry_scope_t *scope, const float *samples,
                  float *state) {
    const gantry_tensor_t *outputs[2];
    const gantry_tensor_t *inputs[] = {
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(1, CONTEXT + STEP), samples,
                        (CONTEXT + STEP) * sizeof *samples),
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 1, 128), state,
                        STATE * sizeof *state),
        gantry_scalar_i64(scope, SOUND_RATE)};
    float chance = 0;
    example_check(gantry_onnx_model_run(model, scope, inputs, 3, outputs, 2), "the model");
    example_check(gantry_tensor_read(outputs[0], &chance, sizeof chance), "the chance");
    example_check(gantry_tensor_read(outputs[1], state, STATE * sizeof *state), "the state");
    return chance;
}

/* Prints where speech begins and ends: the chance goes above 0.5, and then below 0.35. */
static void print_change(bool *speaks, float chance, int sample) {
    if (*speaks ? chance >= 0.35f : chance <= 0.5f) return;
    *speaks = !*speaks;
    (void)printf("%6.2f s: speech %s\n", (double)sample / SOUND_RATE, *speaks ? "begins" : "ends");
}

int main(int argc, char **argv) {
    const bool has_device = argc > 3 && strcmp(argv[argc - 2], "--device") == 0;
    const char *device = has_device ? argv[argc - 1] : NULL;
    if (has_device) argc -= 2;
    if (argc < 2 || argc > 3) {
        (void)fprintf(stderr, "usage: speech MODEL.onnx [SOUND.wav] [--device NAME]\n");
        return 2;
    }
    int samples = 0;
    float *sound = argc == 3 ? sound_read(argv[2], &samples) : sound_make(&samples);
    float state[STATE] = {0}, heard[CONTEXT + STEP] = {0};
    bool speaks = false;
    gantry_runtime_t *runtime;
    gantry_onnx_model_t *model;
    const gantry_runtime_options_t options = {
        .struct_size = sizeof options, .log = example_log, .log_level = GANTRY_LEVEL_WARNING};
    example_check(gantry_runtime_create(&options, &runtime), "gantry_runtime_create");
    example_check(gantry_onnx_model_load(runtime, argv[1], NULL, &model), argv[1]);
    for (int at = 0; sound && at + STEP <= samples; at += STEP) {
        gantry_scope_t *scope = gantry_scope_begin(runtime, device);
        memcpy(heard, heard + STEP, CONTEXT * sizeof *heard);
        memcpy(heard + CONTEXT, sound + at, STEP * sizeof *sound);
        print_change(&speaks, hear(model, scope, heard, state), at);
        example_check(gantry_scope_end(scope), "gantry_scope_end");
    }
    gantry_onnx_model_release(model);
    gantry_runtime_release(runtime);
    free(sound);
    return 0;
}
