/* SPDX-License-Identifier: Apache-2.0 */
/* A text as numbers of its characters, for char_transformer.c: windows to learn from, and models
 * that count single characters and pairs.
 *
 * It uses only host memory, and does not call Gantry. A character is a byte. The alphabet has the
 * bytes that occur, in their order; the last tenth of a text is held out. */
#ifndef GANTRY_EXAMPLES_CHAR_TEXT_H
#define GANTRY_EXAMPLES_CHAR_TEXT_H

#include <errno.h>

#include "example_options.h"
#include "text_words.h"

enum { BYTES = 256 };

typedef struct alphabet_t {
    unsigned char letters[BYTES];
    int32_t numbers[BYTES]; /* by byte; -1: not in the alphabet */
    int32_t size;
} alphabet_t;

typedef struct char_text_t {
    int32_t *numbers;
    size_t count, used; /* all characters, and those to learn from */
} char_text_t;

/* ---- the alphabet, also as a text of hexadecimal numbers ---- */

static inline void clear_alphabet(alphabet_t *alphabet) {
    alphabet->size = 0;
    for (int i = 0; i < BYTES; ++i) alphabet->numbers[i] = -1;
}

static inline void add_letter(alphabet_t *alphabet, unsigned char letter) {
    alphabet->numbers[letter] = alphabet->size;
    alphabet->letters[alphabet->size++] = letter;
}

static inline void write_alphabet(const alphabet_t *alphabet, char text[2 * BYTES + 1]) {
    text[0] = '\0';
    for (int32_t i = 0; i < alphabet->size; ++i)
        (void)snprintf(text + (ptrdiff_t)2 * i, 3, "%02x", alphabet->letters[i]);
}

static inline bool read_alphabet(alphabet_t *alphabet, const char *text) {
    const size_t length = strlen(text);
    clear_alphabet(alphabet);
    for (size_t i = 0; i + 1 < length; i += 2) {
        const char digits[] = {text[i], text[i + 1], '\0'};
        char *end;
        const long letter = strtol(digits, &end, 16);
        if (*end != '\0' || alphabet->numbers[letter] >= 0) return false;
        add_letter(alphabet, (unsigned char)letter);
    }
    return alphabet->size > 0 && length % 2 == 0;
}

/* ---- the text ---- */

/* Reads a file as numbers, and makes its alphabet. Ends the program after an error. */
static inline char_text_t read_characters(const char *path, size_t least, alphabet_t *alphabet) {
    bool occurs[BYTES] = {false};
    char why[1024];
    char *bytes = read_whole_file(path);
    if (!bytes) {
        (void)snprintf(why, sizeof why, "%.900s cannot be read: %s", path, strerror(errno));
        example_stop(why);
    }
    char_text_t text = {.count = strlen(bytes)};
    if (text.count < least) {
        (void)snprintf(why, sizeof why, "%.900s has %zu characters; %zu or more are needed", path,
                       text.count, least);
        example_stop(why);
    }
    for (size_t i = 0; i < text.count; ++i) occurs[(unsigned char)bytes[i]] = true;
    clear_alphabet(alphabet);
    for (int i = 0; i < BYTES; ++i) {
        if (occurs[i]) add_letter(alphabet, (unsigned char)i);
    }
    text.numbers = example_allocate(text.count, sizeof *text.numbers);
    for (size_t i = 0; i < text.count; ++i)
        text.numbers[i] = alphabet->numbers[(unsigned char)bytes[i]];
    text.used = text.count - text.count / 10;
    free(bytes);
    return text;
}

static inline uint64_t next_random(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* ---- models that count ---- */

/* Measures the mean of -log p over the held-out characters: by their frequencies in the text to
 * learn from, and by the frequencies after the character before. The latter are mixed with the
 * former, because a rare pair must have a chance. */
static inline void measure_counts(const char_text_t *text, int32_t size, double *out_single,
                                  double *out_pairs) {
    enum { MIXED = 5 };
    const size_t n = (size_t)size;
    double *counts = example_allocate(n, sizeof *counts),
           *pairs = example_allocate(n * n, sizeof *pairs), single = 0, paired = 0;
    for (size_t i = 0; i < n; ++i) counts[i] = 1;
    for (size_t i = 0; i < text->used; ++i) {
        ++counts[text->numbers[i]];
        if (i > 0) ++pairs[(size_t)text->numbers[i - 1] * n + (size_t)text->numbers[i]];
    }
    for (size_t i = text->used; i < text->count; ++i) {
        const size_t before = (size_t)text->numbers[i - 1], now = (size_t)text->numbers[i];
        const double p = counts[now] / ((double)text->used + (double)n);
        single -= log(p);
        paired -= log((pairs[before * n + now] + MIXED * p) / (counts[before] - 1 + MIXED));
    }
    *out_single = single / (double)(text->count - text->used);
    *out_pairs = paired / (double)(text->count - text->used);
    free(counts);
    free(pairs);
}

/* ---- drawing a character ---- */

/* Draws a number by softmax(logits / temperature); 0: the largest. */
static inline int32_t draw_number(const float *logits, int32_t size, double temperature,
                                  uint64_t *random) {
    double chances[BYTES], sum = 0;
    int32_t best = 0;
    for (int32_t i = 1; i < size; ++i) best = logits[i] > logits[best] ? i : best;
    if (temperature <= 0) return best;
    for (int32_t i = 0; i < size; ++i)
        sum += chances[i] = exp(((double)logits[i] - (double)logits[best]) / temperature);
    double rest = sum * (double)next_random(random) / (double)(UINT64_C(1) << 31);
    for (int32_t i = 0; i < size; ++i) {
        if ((rest -= chances[i]) < 0) return i;
    }
    return best;
}

#endif
