/* SPDX-License-Identifier: Apache-2.0 */
/* Images of handwritten digits, for digits.c: reads them as lines of numbers, shuffles and draws
 * them.
 *
 * It uses only host memory, and does not call Gantry. A row has 64 pixels, 0 (white) to 16, in
 * lines of 8, and after them the digit, 0 to 9. Pixels are kept from 0 to 1. */
#ifndef GANTRY_EXAMPLES_DIGIT_IMAGES_H
#define GANTRY_EXAMPLES_DIGIT_IMAGES_H

#include <errno.h>

#include "example_options.h"

enum { IMAGE_SIDE = 8, IMAGE_PIXELS = 64, DARKEST = 16, DIGITS = 10, ROW_NUMBERS = 65 };

typedef struct image_t {
    float pixels[IMAGE_PIXELS];
    int32_t digit;
} image_t;

typedef struct images_t {
    image_t *items;
    size_t count, capacity;
} images_t;

/* Adds a row; `why` gets the reason if it is refused. */
static inline bool add_image(images_t *images, const double row[ROW_NUMBERS], char why[128]) {
    const double digit = row[IMAGE_PIXELS];
    if (images->count == images->capacity) {
        images->capacity = images->capacity ? images->capacity * 2 : 1024;
        images->items = realloc(images->items, images->capacity * sizeof *images->items);
        if (!images->items) example_stop("memory is out");
    }
    image_t *image = &images->items[images->count];
    for (int i = 0; i < IMAGE_PIXELS; ++i) {
        image->pixels[i] = (float)(row[i] / DARKEST);
        if (row[i] >= 0 && row[i] <= DARKEST) continue;
        (void)snprintf(why, 128, "pixel %d is %g; 0 to %d is accepted", i + 1, row[i], DARKEST);
        return false;
    }
    if (!(digit >= 0 && digit < DIGITS && floor(digit) == digit)) {
        (void)snprintf(why, 128, "the digit is %g; 0 to 9 is accepted", digit);
        return false;
    }
    image->digit = (int32_t)digit;
    ++images->count;
    return true;
}

/* Reads numbers with commas between them. */
static inline bool read_row(const char *line, double row[ROW_NUMBERS], char why[128]) {
    int count = 0;
    for (char *end;; line = end + 1, ++count) {
        const double number = strtod(line, &end);
        const bool is_number = end != line;
        end += strspn(end, " \t\r\n");
        if (!is_number || (*end != ',' && *end != '\0')) {
            (void)snprintf(why, 128, "\"%.*s\" is no number; numbers with commas are accepted",
                           (int)strcspn(line, ",\r\n") % 32, line);
            return false;
        }
        if (count < ROW_NUMBERS) row[count] = number;
        if (*end == '\0') break;
    }
    if (++count == ROW_NUMBERS) return true;
    (void)snprintf(why, 128, "%d numbers; 65 are accepted: 64 pixels and the digit", count);
    return false;
}

static inline _Noreturn void stop_reading(const char *path) {
    char text[1024];
    (void)snprintf(text, sizeof text, "%s cannot be read: %s", path, strerror(errno));
    example_stop(text);
}

/* Reads a file of rows as text. Ends the program after an error, which names file and line. */
static inline void read_csv(images_t *images, const char *path) {
    char line[2048], why[128], text[1024];
    double row[ROW_NUMBERS];
    FILE *file = fopen(path, "r");
    if (!file) stop_reading(path);
    for (int number = 1; fgets(line, sizeof line, file); ++number) {
        if (line[strspn(line, " \t\r\n")] == '\0') continue;
        if (read_row(line, row, why) && add_image(images, row, why)) continue;
        (void)snprintf(text, sizeof text, "%s:%d: %s", path, number, why);
        example_stop(text);
    }
    if (ferror(file)) stop_reading(path);
    (void)fclose(file);
}

static inline void shuffle_images(image_t *images, size_t count, uint64_t seed) {
    uint64_t state = seed * 2 + 1;
    for (size_t i = count; i > 1; --i) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const size_t j = (size_t)((state >> 33) % i);
        const image_t swapped = images[i - 1];
        images[i - 1] = images[j];
        images[j] = swapped;
    }
}

/* ---- answers ---- */

/* An image and the answer that it got. */
typedef struct answer_t {
    const image_t *image;
    int32_t digit;
} answer_t;

/* Draws images side by side, a letter for each shade. */
static inline void draw_answers(const answer_t *answers, size_t count) {
    static const char shades[] = " .:-=+*#%@";
    (void)printf("\n");
    for (size_t i = 0; i < count; ++i)
        (void)printf("a %d, taken for %d    ", answers[i].image->digit, answers[i].digit);
    for (int y = 0; y < IMAGE_SIDE; ++y) {
        (void)printf("\n");
        for (size_t i = 0; i < count; ++i) {
            const float *pixels = answers[i].image->pixels + (ptrdiff_t)y * IMAGE_SIDE;
            for (int x = 0; x < IMAGE_SIDE; ++x) {
                const char shade = shades[(int)(pixels[x] * 9.0f + 0.5f)];
                (void)printf("%c%c", shade, shade);
            }
            (void)printf("%s", i + 1 < count ? "    " : "");
        }
    }
    (void)printf("\n");
}

#endif
