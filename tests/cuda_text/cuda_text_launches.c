/* SPDX-License-Identifier: Apache-2.0 */
/* The table of launches: what a call of an op submits to a large card. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_text.h"

/* Whether the line's four numbers are those of its call. */
static bool check_line(const char *line) {
    text_counts_t known, seen = {0};
    int at = 0;
    text_list_t *list = calloc(1, sizeof *list);
    if (!list) return false;
    if (sscanf(line, "%u %u %u %u %n", &known.launches, &known.fills, &known.copies, &known.reads,
               &at) != 4) {
        printf("FAIL this line does not begin with four numbers: %s\n", line);
        cuda_text_free(list);
        return false;
    }
    bool is_right = cuda_text_count(line + at, list, &seen) && list->failures == 0;
    if (memcmp(&known, &seen, sizeof seen) != 0) {
        printf("FAIL %s: %u launches, %u fills, %u copies, %u numbers read back\n", line,
               seen.launches, seen.fills, seen.copies, seen.reads);
        is_right = false;
    }
    cuda_text_free(list);
    return is_right;
}

bool cuda_text_check_launches(const char *table) {
    char line[512];
    uint32_t lines = 0, failures = 0;
    FILE *file = fopen(table, "r");
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\r\n")] = '\0';
        if (*line == '#' || *line == '\0') continue;
        lines++;
        failures += !check_line(line);
    }
    if (file) fclose(file);
    printf("%s: %u calls, %u failures\n", table, lines, failures);
    return lines > 0 && failures == 0;
}
