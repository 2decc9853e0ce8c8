/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The example speech finds where its own voice speaks, and file_types names the types of
 * files, with the published models; both name wrong arguments and files.
 *
 * Needs the models of scripts/fetch-models for the first. */
#define _XOPEN_SOURCE 700

#include "cli_case.h"
#include "test.h"

static bool has_models(void) { return access(GANTRY_MODELS "/silero_vad.onnx", R_OK) == 0; }

TEST(speech_is_found_in_a_computed_voice) {
    if (!has_models()) SKIP_BECAUSE("no models; scripts/fetch-models gets them");
    expect_run(0, "$BIN/speech '" GANTRY_MODELS "/silero_vad.onnx' --device CPU:0");
    assert_string_equal(output,
                        "  0.99 s: speech begins\n  2.59 s: speech ends\n"
                        "  3.52 s: speech begins\n  4.58 s: speech ends\n");
}

TEST(files_have_their_types) {
    if (!has_models()) SKIP_BECAUSE("no models; scripts/fetch-models gets them");
    write_file("text.md",
               "# A heading\n\n- a list with [a link](https://example.org)\n- `code`\n"
               "\n## Another heading\n\nText with *emphasis*.\n");
    write_file("little", "ab");
    expect_run(0,
               "{ echo '#!/bin/sh'; echo 'for name in \"$@\"; do'; echo '  echo \"$name\"'; "
               "echo done; } >script; $BIN/file_types '" GANTRY_MODELS
               "/magika' text.md little script $BIN/speech --device CPU:0");
    expect_in_output("little cannot be read, or has too few bytes\n");
    expect_in_output("markdown ");
    expect_in_output("shell ");
    expect_in_output("elf ");
}

TEST(wrong_arguments_and_files_are_named) {
    expect_run(2, "$BIN/speech");
    expect_in_output("usage: speech MODEL.onnx [SOUND.wav]");
    expect_run(1, "$BIN/speech missing.onnx");
    expect_in_output("missing.onnx");
    expect_run(1, "$BIN/speech missing.onnx missing.wav");
    expect_in_output("missing.wav is no WAV file");
    write_file("short.wav", "RIFF");
    expect_run(1, "$BIN/speech missing.onnx short.wav");
    expect_in_output("short.wav is no WAV file");
    expect_run(2, "$BIN/file_types folder");
    expect_in_output("usage: file_types FOLDER FILE...");
    expect_run(1, "$BIN/file_types missing file");
    expect_in_output("missing/config.min.json cannot be read");
    expect_run(0, "mkdir folder && echo '{}' >folder/config.min.json");
    expect_run(1, "$BIN/file_types folder missing");
    expect_in_output("missing cannot be read, or has too few bytes");
}

int main(void) {
    (void)setenv("GANTRY_LOG_LEVEL", "", 1);
    if (open_folder() != 0) return 1;
    (void)setenv("GANTRY_BACKENDS", "cpu", 1);
    int result = test_main();
    if (result == 0) (void)run("cd / && rm -r %s", folder);
    return result;
}
