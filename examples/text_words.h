/* SPDX-License-Identifier: Apache-2.0 */
/* Texts with topics, their words, and a vocabulary, for text_classifier.c.
 *
 * Uses only host memory, and does not call Gantry. A topic is a file of texts, as the program
 * fortune has them: a line "%" ends each. A word is a run of letters, digits and apostrophes, in
 * lower case, or one sign of ASCII's punctuation: signs tell much about a topic. The vocabulary
 * numbers the most frequent words from 1 on; 0 is no word. */
#ifndef GANTRY_EXAMPLES_TEXT_WORDS_H
#define GANTRY_EXAMPLES_TEXT_WORDS_H

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_BYTES 40
#define TOPIC_BYTES 32
#define LARGEST_TOPICS 256

/* ---- texts ---- */

typedef struct text_t {
    const char *bytes; /* in one of the buffers, with a NUL at the end */
    int32_t topic;
} text_t;

typedef struct texts_t {
    text_t *items;
    size_t count, capacity;
    char *buffers[LARGEST_TOPICS]; /* the files */
    char topics[LARGEST_TOPICS][TOPIC_BYTES];
    int32_t topic_count;
} texts_t;

static inline void free_texts(texts_t *texts) {
    for (int32_t i = 0; i < texts->topic_count; ++i) free(texts->buffers[i]);
    free(texts->items);
    *texts = (texts_t){NULL, 0, 0, {NULL}, {{0}}, 0};
}

static inline bool add_text(texts_t *texts, const char *bytes, int32_t topic) {
    if (texts->count == texts->capacity) {
        const size_t capacity = texts->capacity ? texts->capacity * 2 : 1024;
        text_t *grown = realloc(texts->items, capacity * sizeof *grown);
        if (!grown) return false;
        texts->items = grown;
        texts->capacity = capacity;
    }
    texts->items[texts->count++] = (text_t){bytes, topic};
    return true;
}

/* Reads a file into memory, with a NUL at the end. Returns NULL after a failure. */
static inline char *read_whole_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    size_t count = 0, capacity = 1 << 16;
    char *bytes = malloc(capacity + 1);
    while (bytes) {
        count += fread(bytes + count, 1, capacity - count, file);
        if (count < capacity) break;
        char *grown = realloc(bytes, (capacity *= 2) + 1);
        if (!grown) free(bytes);
        bytes = grown;
    }
    if (bytes) bytes[count] = '\0';
    if (ferror(file)) {
        free(bytes);
        bytes = NULL;
    }
    (void)fclose(file);
    return bytes;
}

/* Finds the next line "%", or the end. */
static inline char *find_end_of_text(char *at) {
    for (; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        if (at[0] == '%' && (at[1] == '\n' || at[1] == '\r' || at[1] == '\0')) return at;
    }
    return at;
}

/* Adds the texts of a file as a topic, unless they are fewer than `least`. Returns false if the
 * file cannot be read or memory is out. */
static inline bool read_topic(texts_t *texts, const char *name, const char *path, size_t least) {
    if (texts->topic_count == LARGEST_TOPICS) return false;
    char *bytes = read_whole_file(path);
    if (!bytes) return false;
    const size_t first = texts->count;
    bool is_good = true;
    for (char *at = bytes; *at && is_good;) {
        char *end = find_end_of_text(at);
        char *next = end + strcspn(end, "\n");
        if (*next) ++next;
        *end = '\0';
        if (at[strspn(at, " \t\r\n")]) is_good = add_text(texts, at, texts->topic_count);
        at = next;
    }
    if (!is_good || texts->count - first < least) {
        texts->count = first;
        free(bytes);
        return is_good;
    }
    texts->buffers[texts->topic_count] = bytes;
    (void)snprintf(texts->topics[texts->topic_count++], TOPIC_BYTES, "%s", name);
    return true;
}

static inline void shuffle_texts(texts_t *texts, uint64_t seed) {
    uint64_t state = seed * 2 + 1;
    for (size_t i = texts->count; i > 1; --i) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const size_t j = (size_t)((state >> 33) % i);
        const text_t swapped = texts->items[i - 1];
        texts->items[i - 1] = texts->items[j];
        texts->items[j] = swapped;
    }
}

/* ---- words ---- */

/* The bytes of the letter or digit that begins here; 0 for anything else. Beyond ASCII, every
 * character is a letter but U+0080 to U+00BF and U+2000 to U+203F, the signs of punctuation. Bytes
 * that are not UTF-8 are no letters. */
static inline size_t letter_bytes(const char *at) {
    const unsigned char *c = (const unsigned char *)at;
    if (c[0] < 0x80) return isalnum(c[0]) ? 1 : 0;
    const size_t bytes = c[0] >= 0xf0 ? 4 : c[0] >= 0xe0 ? 3 : 2;
    if (c[0] < 0xc3 || c[0] > 0xf4) return 0;
    for (size_t i = 1; i < bytes; ++i) {
        if ((c[i] & 0xc0) != 0x80) return 0;
    }
    if (c[0] == 0xe2 && c[1] == 0x80) return 0;
    if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xf0 && c[1] < 0x90)) return 0; /* too long */
    return (c[0] == 0xed && c[1] >= 0xa0) || (c[0] == 0xf4 && c[1] >= 0x90) ? 0 : bytes;
}

/* Makes a letter small: ASCII, and U+00C0 to U+00DE but the sign of multiplication. */
static inline void lower_letter(char *letter) {
    unsigned char *c = (unsigned char *)letter;
    if (c[0] < 0x80) c[0] = (unsigned char)tolower(c[0]);
    if (c[0] == 0xc3 && c[1] <= 0x9e && c[1] != 0x97) c[1] = (unsigned char)(c[1] + 0x20);
}

/* Copies the next word, in lower case, and returns the place after it; NULL at the end. Longer
 * words are cut. */
static inline const char *next_word(const char *at, char word[WORD_BYTES]) {
    size_t length = 0, bytes;
    while (*at && letter_bytes(at) == 0 && !ispunct((unsigned char)*at)) ++at;
    if (!*at) return NULL;
    if (letter_bytes(at) == 0) {
        (void)snprintf(word, WORD_BYTES, "%c", *at);
        return at + 1;
    }
    while ((bytes = letter_bytes(at)) > 0 || (*at == '\'' && letter_bytes(at + 1) > 0)) {
        if (bytes == 0) bytes = 1; /* the apostrophe */
        if (length + bytes < WORD_BYTES) {
            memcpy(word + length, at, bytes);
            lower_letter(word + length);
            length += bytes;
        }
        at += bytes;
    }
    word[length] = '\0';
    return at;
}

/* ---- the vocabulary: a hash table with open addressing ---- */

typedef struct entry_t {
    char word[WORD_BYTES]; /* "" where the table is free */
    uint32_t count;        /* how often it occurs */
    int32_t number;        /* 0: too rare */
} entry_t;

typedef struct vocabulary_t {
    entry_t *entries;
    size_t count, capacity; /* the capacity is a power of two */
    const char **words;     /* by number; 0 is "" */
    int32_t word_count;     /* with number 0 */
} vocabulary_t;

static inline void free_vocabulary(vocabulary_t *vocabulary) {
    free(vocabulary->entries);
    free((void *)vocabulary->words);
    *vocabulary = (vocabulary_t){NULL, 0, 0, NULL, 0};
}

/* The entry of a word, or the free one where it belongs. */
static inline entry_t *find_entry(const vocabulary_t *vocabulary, const char *word) {
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (const char *p = word; *p; ++p) hash = (hash ^ (unsigned char)*p) * 16777619u;
    size_t at = hash ^ hash >> 15;
    for (;; ++at) {
        entry_t *entry = &vocabulary->entries[at & (vocabulary->capacity - 1)];
        if (!entry->word[0] || strcmp(entry->word, word) == 0) return entry;
    }
}

static inline bool grow_vocabulary(vocabulary_t *vocabulary) {
    const vocabulary_t old = *vocabulary;
    vocabulary->capacity = old.capacity ? old.capacity * 2 : 1 << 14;
    vocabulary->entries = calloc(vocabulary->capacity, sizeof *vocabulary->entries);
    if (!vocabulary->entries) {
        *vocabulary = old;
        return false;
    }
    for (size_t i = 0; i < old.capacity; ++i) {
        const entry_t *entry = &old.entries[i];
        if (entry->word[0]) *find_entry(vocabulary, entry->word) = *entry;
    }
    free(old.entries);
    return true;
}

/* Counts a word. Returns its entry, or NULL if memory is out. */
static inline entry_t *count_word(vocabulary_t *vocabulary, const char *word) {
    if (vocabulary->count * 2 >= vocabulary->capacity && !grow_vocabulary(vocabulary)) return NULL;
    entry_t *entry = find_entry(vocabulary, word);
    if (!entry->word[0]) {
        (void)snprintf(entry->word, sizeof entry->word, "%s", word);
        ++vocabulary->count;
    }
    ++entry->count;
    return entry;
}

static inline bool count_words(vocabulary_t *vocabulary, const char *text) {
    char word[WORD_BYTES];
    while ((text = next_word(text, word))) {
        if (!count_word(vocabulary, word)) return false;
    }
    return true;
}

/* The most frequent word first; of equals, the first by the alphabet. */
static inline int compare_entries(const void *left, const void *right) {
    const entry_t *a = *(const entry_t *const *)left, *b = *(const entry_t *const *)right;
    if (a->count != b->count) return a->count < b->count ? 1 : -1;
    return strcmp(a->word, b->word);
}

/* Lists the words that have numbers, by number. */
static inline bool list_words(vocabulary_t *vocabulary, int32_t word_count) {
    const char **words = malloc((size_t)word_count * sizeof *words);
    if (!words) return false;
    words[0] = "";
    for (size_t i = 0; i < vocabulary->capacity; ++i) {
        const entry_t *entry = &vocabulary->entries[i];
        if (entry->number > 0) words[entry->number] = entry->word;
    }
    vocabulary->words = words;
    vocabulary->word_count = word_count;
    return true;
}

/* Gives numbers to the most frequent words: at most `limit` of them, with the 0. */
static inline bool number_words(vocabulary_t *vocabulary, int32_t limit) {
    entry_t **sorted = malloc((vocabulary->count + 1) * sizeof *sorted);
    size_t count = 0;
    if (!sorted) return false;
    for (size_t i = 0; i < vocabulary->capacity; ++i) {
        if (vocabulary->entries[i].word[0]) sorted[count++] = &vocabulary->entries[i];
    }
    if (count > 0) qsort(sorted, count, sizeof *sorted, compare_entries);
    int32_t number = 1;
    for (size_t i = 0; i < count && number < limit; ++i) sorted[i]->number = number++;
    free(sorted);
    return list_words(vocabulary, number);
}

/* Writes a text's numbers; words without one are left out. `out` has room for a number for each
 * byte of the text. Returns how many there are. */
static inline size_t encode_text(const vocabulary_t *vocabulary, const char *text, int32_t *out) {
    char word[WORD_BYTES];
    size_t count = 0;
    while ((text = next_word(text, word))) {
        const int32_t number = find_entry(vocabulary, word)->number;
        if (number > 0) out[count++] = number;
    }
    return count;
}

/* ---- lists as texts: one item a line ---- */

/* Joins the items; the caller frees the text. Returns NULL if memory is out. */
static inline char *join_lines(const char *const *items, size_t count) {
    size_t bytes = 1;
    for (size_t i = 0; i < count; ++i) bytes += strlen(items[i]) + 1;
    char *text = malloc(bytes), *at = text;
    for (size_t i = 0; i < count && text; ++i) at += sprintf(at, "%s\n", items[i]);
    if (text) *at = '\0';
    return text;
}

/* Copies the first line, which is cut, and returns the next one; NULL at the end. */
static inline const char *next_line(const char *at, char *line, size_t bytes) {
    if (!*at) return NULL;
    const size_t length = strcspn(at, "\n");
    (void)snprintf(line, bytes, "%.*s", (int)length, at);
    return at + length + (at[length] == '\n');
}

/* Makes a vocabulary of lines: the first word has number 1. */
static inline bool read_vocabulary(vocabulary_t *vocabulary, const char *lines) {
    char word[WORD_BYTES];
    int32_t number = 1;
    while ((lines = next_line(lines, word, sizeof word))) {
        entry_t *entry = word[0] ? count_word(vocabulary, word) : NULL;
        if (!entry || entry->number > 0) return false;
        entry->number = number++;
    }
    return number > 1 && list_words(vocabulary, number);
}

#endif
