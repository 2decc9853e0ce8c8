/* SPDX-License-Identifier: Apache-2.0 */
/* Promise (fuzz_onnx.*): A file like those of ONNX models, with bytes changed at random, is read or
 * refused; what is read holds together.
 * Promise (fuzz_onnx_graph.*): So is one of which fields are changed.
 *
 *     fuzz_onnx       --seeds PATTERN [--runs N | --seconds N] [--seed N]     changes bytes
 *     fuzz_onnx_graph ...                                                    changes fields
 *
 * PATTERN names good files, as a shell does. A seed always gives the same files. */
#define _DEFAULT_SOURCE

#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_onnx.h"
#include "fuzz_random.h"
#include "fuzz_run.h"

#define STATE_BYTES 8
#define MOST_SEED_BYTES ((size_t)1 << 16)
#define MOST_CHANGES 8

/* A good file, after room for the random state. */
typedef struct seed_file_t {
    uint8_t *bytes;
    size_t size;
} seed_file_t;

typedef struct seeds_t {
    seed_file_t *files;
    size_t count;
} seeds_t;

/* Large files are left out: what is wrong with one is wrong with a small one, too. */
static bool load_seed(const char *path, seed_file_t *out) {
    FILE *file = fopen(path, "rb");
    if (!file) return false;
    out->bytes = malloc(STATE_BYTES + MOST_SEED_BYTES);
    if (!out->bytes) abort();
    out->size = fread(out->bytes + STATE_BYTES, 1, MOST_SEED_BYTES, file);
    const bool is_whole = fgetc(file) == EOF;
    (void)fclose(file);
    if (!is_whole) free(out->bytes);
    return is_whole;
}

static seeds_t load_seeds(const char *pattern) {
    glob_t found;
    seeds_t seeds = {0};
    if (glob(pattern, 0, NULL, &found) != 0) return seeds;
    seeds.files = calloc(found.gl_pathc, sizeof *seeds.files);
    if (!seeds.files) abort();
    for (size_t i = 0; i < found.gl_pathc; ++i)
        seeds.count += load_seed(found.gl_pathv[i], &seeds.files[seeds.count]);
    globfree(&found);
    return seeds;
}

/* One byte or piece of the file changes; returns the new size, at most room. */
static size_t change_bytes(fuzz_random_t *random, uint8_t *bytes, size_t size, size_t room) {
    const size_t at = size > 0 ? (size_t)fuzz_below(random, size) : 0;
    const size_t length = (size_t)fuzz_below(random, 16) + 1;
    switch (fuzz_below(random, 5)) {
        case 0: return at; /* cut off */
        case 1:            /* left out */
            if (at + length > size) return size;
            memmove(bytes + at, bytes + at + length, size - at - length);
            return size - length;
        case 2: /* twice */
            if (at + length > size || size + length > room) return size;
            memmove(bytes + at + length, bytes + at, size - at);
            return size + length;
        case 3:
            if (size > 0) bytes[at] = (uint8_t)fuzz_random(random);
            return size;
        default:
            if (size > 0) bytes[at] ^= (uint8_t)(1u << fuzz_below(random, 8));
            return size;
    }
}

static void run_bytes(const seed_file_t *seed, fuzz_random_t *random) {
    const size_t room = seed->size + 16 * MOST_CHANGES;
    uint8_t *bytes = malloc(room + 1), *exact;
    size_t size = seed->size;
    if (!bytes) abort();
    memcpy(bytes, seed->bytes + STATE_BYTES, size);
    for (uint64_t left = fuzz_below(random, MOST_CHANGES) + 1; left > 0; --left)
        size = change_bytes(random, bytes, size, room);
    exact = malloc(size > 0 ? size : 1);
    if (!exact) abort();
    memcpy(exact, bytes, size);
    (void)LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    free(bytes);
}

static void run_fields(const seed_file_t *seed, fuzz_random_t *random) {
    const uint64_t state = fuzz_random(random);
    memcpy(seed->bytes, &state, STATE_BYTES);
    (void)LLVMFuzzerTestOneInput(seed->bytes, STATE_BYTES + seed->size);
}

int main(int argc, char **argv) {
    const char *pattern = "";
    uint64_t runs = 0, seed = 1;
    double seconds = 0;
    const fuzz_word_t words[] = {{"--seeds", "PATTERN", FUZZ_WORD_TEXT, &pattern},
                                 {"--runs", "N", FUZZ_WORD_NUMBER, &runs},
                                 {"--seconds", "N", FUZZ_WORD_SECONDS, &seconds},
                                 {"--seed", "N", FUZZ_WORD_NUMBER, &seed}};
    if (!fuzz_parse(argv[0], argc, argv, words, sizeof words / sizeof *words)) return 2;
    const seeds_t seeds = load_seeds(pattern);
    if (seeds.count == 0) return fprintf(stderr, "%s: no file is \"%s\"\n", argv[0], pattern), 2;
    fuzz_watch(argv[0]);
    const double end = fuzz_now() + seconds;
    uint64_t run = 0;
    for (; run < runs || fuzz_now() < end; ++run) {
        fuzz_random_t random = fuzz_random_of(seed, run);
        const seed_file_t *file = &seeds.files[fuzz_below(&random, seeds.count)];
        (void)snprintf(fuzz_current, sizeof fuzz_current, "--seed %" PRIu64 ", run %" PRIu64, seed,
                       run);
        if (fuzz_onnx_changes_bytes)
            run_bytes(file, &random);
        else
            run_fields(file, &random);
    }
    for (size_t i = 0; i < seeds.count; ++i) free(seeds.files[i].bytes);
    free(seeds.files);
    (void)printf("%" PRIu64 " files from %zu good ones\n", run, seeds.count);
    return 0;
}
