/* SPDX-License-Identifier: Apache-2.0 */
/* Words of several languages and their features, for language_id.c: reads lists, shuffles them,
 * hashes character n-grams, and prints which languages are taken for which.
 *
 * It uses only host memory, and does not call Gantry. A word is kept in lower case, as UTF-8. Its
 * features are the hashed 1- to 3-grams of its characters between '<' and '>'. Each counts once,
 * and they are scaled so that their squares add up to 1. */
#ifndef GANTRY_EXAMPLES_LANGUAGE_WORDS_H
#define GANTRY_EXAMPLES_LANGUAGE_WORDS_H

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "example_options.h"

#define WORD_BYTES 48
#define LARGEST_LANGUAGES 32
#define LARGEST_GRAMS 160

typedef struct word_t {
    char text[WORD_BYTES];
    int32_t label;
} word_t;

typedef struct words_t {
    word_t *items;
    size_t count, capacity;
} words_t;

/* The languages: labels and word lists. */
typedef struct languages_t {
    char labels[LARGEST_LANGUAGES][32];
    const char *files[LARGEST_LANGUAGES];
    int32_t count;
} languages_t;

/* Adds "LABEL=FILE"; false if the text has another form. */
static inline bool add_language(languages_t *languages, const char *text) {
    const char *equals = strchr(text, '=');
    const size_t length = equals ? (size_t)(equals - text) : 0;
    if (length == 0 || length >= sizeof languages->labels[0] ||
        languages->count == LARGEST_LANGUAGES)
        return false;
    (void)snprintf(languages->labels[languages->count], length + 1, "%s", text);
    languages->files[languages->count++] = equals + 1;
    return true;
}

/* Reads "LABEL=FILE" words, or without one takes Debian's lists. Returns a word of another form, or
 * NULL. */
static inline const char *read_languages(languages_t *languages, char *const *words, int count) {
    static const char *const lists[] = {"en=/usr/share/dict/american-english",
                                        "fr=/usr/share/dict/french", "de=/usr/share/dict/ngerman",
                                        "es=/usr/share/dict/spanish", "it=/usr/share/dict/italian"};
    languages->count = 0;
    for (int i = 0; i < count; ++i) {
        if (!add_language(languages, words[i])) return words[i];
    }
    for (size_t i = 0; count == 0 && i < sizeof lists / sizeof lists[0]; ++i)
        (void)add_language(languages, lists[i]);
    return NULL;
}

static inline uint64_t next_random(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* Handles ASCII and the two-byte Latin letters, which are enough for these five languages. */
static inline void lower_case(char *text) {
    for (unsigned char *p = (unsigned char *)text; *p; ++p) {
        if (*p < 0x80) {
            *p = (unsigned char)tolower(*p);
        } else if (p[0] == 0xc3 && p[1] >= 0x80 && p[1] <= 0x9e && p[1] != 0x97) {
            p[1] = (unsigned char)(p[1] + 0x20);
        }
    }
}

/* Whether a word has only letters and at least three bytes. Names, abbreviations and possessives
 * teach nothing about a language. */
static inline bool is_useful(const char *text) {
    size_t length = strlen(text);
    if (length < 3 || length >= WORD_BYTES) return false;
    for (const char *p = text; *p; ++p) {
        if (!isalpha((unsigned char)*p) && (unsigned char)*p < 0x80) return false;
    }
    return true;
}

static inline bool add_word(words_t *words, const char *text, int32_t label) {
    if (words->count == words->capacity) {
        size_t capacity = words->capacity ? words->capacity * 2 : 4096;
        word_t *grown = realloc(words->items, capacity * sizeof *grown);
        if (!grown) return false;
        words->items = grown;
        words->capacity = capacity;
    }
    word_t *word = &words->items[words->count++];
    (void)snprintf(word->text, sizeof word->text, "%s", text);
    word->label = label;
    return true;
}

static inline void shuffle_words(word_t *items, size_t count, uint64_t *random) {
    for (size_t i = count; i > 1; --i) {
        size_t j = (size_t)(next_random(random) % i);
        word_t swapped = items[i - 1];
        items[i - 1] = items[j];
        items[j] = swapped;
    }
}

/* Appends up to limit random words of the file. Returns false with the reason in why. */
static inline bool read_words(words_t *words, const char *path, int32_t label, size_t limit,
                              uint64_t *random, char *why, size_t why_bytes) {
    FILE *file = fopen(path, "r");
    if (!file) {
        (void)snprintf(
            why, why_bytes,
            "word list %s cannot be read: %s (Debian's lists: wamerican wfrench wngerman wspanish witalian)",
            path, strerror(errno));
        return false;
    }
    size_t first = words->count;
    char line[256];
    bool good = true;
    while (good && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\r\n")] = '\0';
        lower_case(line);
        if (is_useful(line)) good = add_word(words, line, label);
    }
    (void)fclose(file);
    if (!good || words->count == first) {
        (void)snprintf(
            why, why_bytes, "word list %s: %s", path,
            good ? "no usable word in it; one word a line is accepted" : "memory is out");
        return false;
    }
    shuffle_words(words->items + first, words->count - first, random);
    if (words->count - first > limit) words->count = first + limit;
    return true;
}

/* Reads up to limit words of each language, and shuffles them. Ends the program after an error. */
static inline words_t read_all_words(const languages_t *languages, int64_t limit,
                                     uint64_t *random) {
    words_t words = {NULL, 0, 0};
    char why[512];
    for (int32_t i = 0; i < languages->count; ++i) {
        if (!read_words(&words, languages->files[i], i, (size_t)limit, random, why, sizeof why))
            example_stop(why);
    }
    shuffle_words(words.items, words.count, random);
    return words;
}

/* Finds the start of each character, because n-grams consist of characters, not of bytes. */
static inline size_t split_characters(const char *text, const char *starts[], size_t capacity) {
    size_t count = 0;
    for (const char *p = text; *p && count + 1 < capacity; ++p) {
        if (((unsigned char)*p & 0xc0) != 0x80) starts[count++] = p;
    }
    starts[count] = text + strlen(text);
    return count;
}

static inline uint32_t hash_bytes(const char *bytes, size_t length) {
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < length; ++i) hash = (hash ^ (unsigned char)bytes[i]) * 16777619u;
    return hash ^ hash >> 15;
}

/* Lists the word's n-grams as column numbers below feature_count, each once. */
static inline size_t list_grams(const char *text, uint32_t feature_count,
                                uint32_t grams[LARGEST_GRAMS]) {
    char marked[WORD_BYTES + 2];
    const char *starts[WORD_BYTES + 3];
    (void)snprintf(marked, sizeof marked, "<%.*s>", WORD_BYTES - 1, text);
    size_t characters = split_characters(marked, starts, sizeof starts / sizeof starts[0]),
           count = 0;
    for (size_t length = 1; length <= 3; ++length) {
        for (size_t i = 0; i + length <= characters && count < LARGEST_GRAMS; ++i) {
            uint32_t column =
                hash_bytes(starts[i], (size_t)(starts[i + length] - starts[i])) % feature_count;
            size_t known = 0;
            while (known < count && grams[known] != column) ++known;
            if (known == count) grams[count++] = column;
        }
    }
    return count;
}

/* Fills rows [count, feature_count] and labels [count]. */
static inline void fill_batch(const word_t *words, size_t count, uint32_t feature_count,
                              float *rows, int32_t *labels) {
    memset(rows, 0, count * feature_count * sizeof *rows);
    for (size_t i = 0; i < count; ++i, rows += feature_count) {
        uint32_t grams[LARGEST_GRAMS];
        const size_t gram_count = list_grams(words[i].text, feature_count, grams);
        const float value = gram_count ? 1.0f / sqrtf((float)gram_count) : 0.0f;
        for (size_t k = 0; k < gram_count; ++k) rows[grams[k]] = value;
        labels[i] = words[i].label;
    }
}

static inline int32_t find_largest(const float *numbers, int32_t count) {
    int32_t best = 0;
    for (int32_t i = 1; i < count; ++i) best = numbers[i] > numbers[best] ? i : best;
    return best;
}

/* Counts the answers of logits [count, languages], and returns how many of them are right, of 1. */
static inline double print_confusion(const languages_t *languages, const word_t *words,
                                     size_t count, const float *logits) {
    static size_t counts[LARGEST_LANGUAGES][LARGEST_LANGUAGES];
    const int32_t most = languages->count;
    size_t right = 0;
    memset(counts, 0, sizeof counts);
    for (size_t i = 0; i < count; ++i) {
        const int32_t answer = find_largest(logits + i * (size_t)most, most);
        ++counts[words[i].label][answer];
        right += words[i].label == answer;
    }
    (void)printf("\nConfusion (rows: language, columns: answer)\n      ");
    for (int32_t j = 0; j < most; ++j) (void)printf("%8s", languages->labels[j]);
    for (int32_t i = 0; i < most; ++i) {
        (void)printf("\n%6s", languages->labels[i]);
        for (int32_t j = 0; j < most; ++j) (void)printf("%8zu", counts[i][j]);
    }
    (void)printf("\n");
    return (double)right / (double)count;
}

/* Reads a line with a word, which is then in lower case; false at the end. */
static inline bool read_line(char *line, int bytes, word_t *word) {
    while (fgets(line, bytes, stdin)) {
        line[strcspn(line, "\r\n")] = '\0';
        (void)snprintf(word->text, sizeof word->text, "%.*s", WORD_BYTES - 1, line);
        word->label = 0;
        lower_case(word->text);
        if (*word->text) return true;
    }
    return false;
}

static inline void print_languages(const languages_t *languages, const char *line,
                                   const float *chances) {
    (void)printf("%-20s %s ", line, languages->labels[find_largest(chances, languages->count)]);
    for (int32_t i = 0; i < languages->count; ++i)
        (void)printf("  %s %.2f", languages->labels[i], (double)chances[i]);
    (void)printf("\n");
}

#endif
