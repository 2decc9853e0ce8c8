/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes and durations as text, and back. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/tool.h"

char *gantry_tool_size_text(uint64_t bytes, char out[GANTRY_TOOL_TEXT_BYTES]) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double number = (double)bytes;
    int unit = 0;
    /* 1023.95 would be printed as 1024.0 */
    for (; number >= (unit ? 1023.95 : 1024) && unit < 4; ++unit) number /= 1024;
    if (unit == 0) (void)snprintf(out, GANTRY_TOOL_TEXT_BYTES, "%" PRIu64 " bytes", bytes);
    if (unit > 0) (void)snprintf(out, GANTRY_TOOL_TEXT_BYTES, "%.1f %s", number, units[unit]);
    return out;
}

char *gantry_tool_exact_size_text(uint64_t bytes, char out[2 * GANTRY_TOOL_TEXT_BYTES]) {
    (void)gantry_tool_size_text(bytes, out);
    if (bytes < 1024) return out;
    size_t used = strlen(out);
    (void)snprintf(out + used, 2 * GANTRY_TOOL_TEXT_BYTES - used, " (%" PRIu64 " bytes)", bytes);
    return out;
}

char *gantry_tool_duration_text(double seconds, char out[GANTRY_TOOL_TEXT_BYTES]) {
    const size_t size = GANTRY_TOOL_TEXT_BYTES;
    if (!(seconds >= 0) || seconds > 1e12) {
        (void)snprintf(out, size, "unknown");
    } else if (seconds < 1e-3) {
        (void)snprintf(out, size, "%.0f us", seconds * 1e6);
    } else if (seconds < 1) {
        (void)snprintf(out, size, "%.1f ms", seconds * 1e3);
    } else if (seconds < 59.95) {
        (void)snprintf(out, size, "%.1f s", seconds);
    } else {
        const uint64_t whole = (uint64_t)(seconds + 0.5);
        const uint64_t minutes = whole / 60, hours = minutes / 60, days = hours / 24;
        if (hours == 0)
            (void)snprintf(out, size, "%" PRIu64 " m %02" PRIu64 " s", minutes, whole % 60);
        if (hours > 0 && days == 0)
            (void)snprintf(out, size, "%" PRIu64 " h %02" PRIu64 " m", hours, minutes % 60);
        if (days > 0) (void)snprintf(out, size, "%" PRIu64 " d %02" PRIu64 " h", days, hours % 24);
    }
    return out;
}

/* Reads digits with an optional fraction: strtod would take "inf", "0x1" and signs, too. */
static const char *read_digits(const char *text, double *out) {
    char *end;
    if (!isdigit((unsigned char)*text)) return NULL;
    size_t length = strspn(text, "0123456789");
    if (text[length] == '.') {
        const size_t fraction = strspn(text + length + 1, "0123456789");
        if (fraction == 0) return NULL;
        length += 1 + fraction;
    }
    char digits[GANTRY_TOOL_TEXT_BYTES];
    if (length >= sizeof digits) return NULL;
    (void)snprintf(digits, sizeof digits, "%.*s", (int)length, text);
    *out = strtod(digits, &end);
    return *end == '\0' ? text + length : NULL;
}

static bool units_equals_ignoring_case(const char *a, const char *b) {
    for (; *a && *b; ++a, ++b) {
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b)) return false;
    }
    return *a == *b;
}

/* The bytes of a unit such as "GiB"; 0 if there is no such unit. */
static double unit_bytes(const char *unit) {
    static const char letters[] = "KMGTP";
    if (!*unit || units_equals_ignoring_case(unit, "B") ||
        units_equals_ignoring_case(unit, "bytes"))
        return 1;
    const char *letter = strchr(letters, toupper((unsigned char)*unit));
    if (!letter) return 0;
    const int power = (int)(letter - letters) + 1;
    if (!unit[1] || units_equals_ignoring_case(unit + 1, "iB")) return pow(1024, power);
    return units_equals_ignoring_case(unit + 1, "B") ? pow(1000, power) : 0;
}

bool gantry_tool_parse_size(const char *text, uint64_t *out_bytes) {
    double number;
    const char *unit = read_digits(text, &number);
    if (!unit) return false;
    if (*unit == ' ' && unit[1]) ++unit;
    const double bytes = number * unit_bytes(unit);
    if (unit_bytes(unit) == 0 || bytes >= 9.2e18) return false;
    *out_bytes = (uint64_t)bytes;
    return true;
}

/* Reads a unit of time at the beginning of the text, and advances the text. */
static double read_time_unit(const char **text) {
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1},
                 {"m", 60},    {"h", 3600},  {"d", 86400}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; ++i) {
        const size_t length = strlen(units[i].name);
        if (strncmp(*text, units[i].name, length) != 0) continue;
        *text += length;
        return units[i].seconds;
    }
    return 0;
}

bool gantry_tool_parse_duration(const char *text, double *out_seconds) {
    double sum = 0;
    if (!*text) return false;
    for (bool is_first = true; *text; is_first = false) {
        double number;
        const char *unit = read_digits(text, &number);
        if (!unit) return false;
        if (is_first && !*unit) {
            *out_seconds = number;
            return true;
        }
        text = unit;
        const double seconds = read_time_unit(&text);
        if (seconds == 0) return false;
        sum += number * seconds;
    }
    *out_seconds = sum;
    return true;
}
