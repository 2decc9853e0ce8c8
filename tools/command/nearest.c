/* SPDX-License-Identifier: Apache-2.0 */
/* The word that a user may have meant: the one with the fewest typing errors, if these are few.
 *
 * The distance counts letters inserted, left out, replaced and exchanged with their neighbour
 * (optimal string alignment). Three rows of the table are kept. Cost: the product of both lengths.
 * Source: Damerau, "A technique for computer detection and correction of spelling errors", 1964. */
#include <ctype.h>
#include <string.h>

#include "command/command.h"

#define MOST_LETTERS 40

static size_t command_nearest_smaller(size_t a, size_t b) { return a < b ? a : b; }

static size_t distance_between(const char *a, const char *b) {
    const size_t a_length = strlen(a), b_length = strlen(b);
    size_t rows[3][MOST_LETTERS + 1];
    if (a_length > MOST_LETTERS || b_length > MOST_LETTERS) return MOST_LETTERS;
    for (size_t k = 0; k <= b_length; ++k) rows[0][k] = k;
    for (size_t i = 1; i <= a_length; ++i) {
        size_t *row = rows[i % 3], *above = rows[(i - 1) % 3], *second = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t k = 1; k <= b_length; ++k) {
            const int x = tolower((unsigned char)a[i - 1]), y = tolower((unsigned char)b[k - 1]);
            row[k] = command_nearest_smaller(above[k - 1] + (x != y),
                                             command_nearest_smaller(above[k], row[k - 1]) + 1);
            if (i > 1 && k > 1 && x == tolower((unsigned char)b[k - 2]) &&
                y == tolower((unsigned char)a[i - 2]))
                row[k] = command_nearest_smaller(row[k], second[k - 2] + 1);
        }
    }
    return rows[a_length % 3][b_length];
}

void gantry_command_nearest_offer(gantry_command_nearest_t *self, const char *candidate) {
    const size_t length = strlen(self->word), most = length < 5 ? 1 : length < 9 ? 2 : length / 3;
    size_t distance = distance_between(self->word, candidate);
    /* a word cut short is one error */
    if (length >= 2 && strncmp(self->word, candidate, length) == 0)
        distance = command_nearest_smaller(distance, 1);
    if (distance > most || (self->best[0] && distance >= self->distance)) return;
    self->distance = distance;
    size_t used = command_nearest_smaller(strlen(candidate), sizeof self->best - 1);
    memcpy(self->best, candidate, used);
    self->best[used] = '\0';
}

const char *gantry_command_nearest_best(const gantry_command_nearest_t *self) {
    return self->best[0] ? self->best : NULL;
}
