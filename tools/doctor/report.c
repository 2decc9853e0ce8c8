/* SPDX-License-Identifier: Apache-2.0 */
/* The list of checks, and its two forms: lines for people, JSON for programs. */
#include <stdarg.h>
#include <stdio.h>

#include "doctor/doctor.h"
#include "common/tool.h"
#include "shared/printable.h"

static const struct {
    const char *text, *key;
    gantry_tool_style_t style;
} states[] = {
    [DOCTOR_PASSED] = {"passed", "passed", GANTRY_STYLE_GOOD},
    [DOCTOR_FAILED] = {"failed", "failed", GANTRY_STYLE_BAD},
    [DOCTOR_NOT_POSSIBLE] = {"not possible", "not_possible", GANTRY_STYLE_WARNING},
};

doctor_check_t *doctor_add(doctor_t *doctor, const char *kind, const char *name,
                           doctor_state_t state, const char *remedy, const char *format, ...) {
    if (doctor->count == DOCTOR_MOST_CHECKS) --doctor->count;
    doctor_check_t *check = &doctor->checks[doctor->count++];
    *check = (doctor_check_t){.state = state};
    (void)snprintf(check->name, sizeof check->name, "%s", name);
    (void)snprintf(check->kind, sizeof check->kind, "%s", kind);
    (void)snprintf(check->remedy, sizeof check->remedy, "%s", remedy ? remedy : "");
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(check->text, sizeof check->text, format, arguments);
    gantry__make_printable(check->text, '\n');
    va_end(arguments);
    return check;
}

static size_t doctor_report_count_of(const doctor_t *doctor, doctor_state_t state) {
    size_t count = 0;
    for (size_t i = 0; i < doctor->count; ++i) count += doctor->checks[i].state == state;
    return count;
}

/* How many required checks did not pass. */
static size_t count_misses(const doctor_t *doctor) {
    size_t count = 0;
    for (size_t i = 0; i < doctor->count; ++i)
        count += doctor->checks[i].is_required && doctor->checks[i].state != DOCTOR_PASSED;
    return count;
}

/* ---- text ---- */

static void print_check(const doctor_check_t *check) {
    (void)printf("%s%-12s%s  %s: %s\n", gantry_tool_style(stdout, states[check->state].style),
                 states[check->state].text, gantry_tool_style(stdout, GANTRY_STYLE_PLAIN),
                 check->name, check->text);
    if (*check->remedy) (void)printf("              remedy: %s\n", check->remedy);
}

static void doctor_report_print_text(const doctor_t *doctor) {
    const size_t misses = count_misses(doctor);
    for (size_t i = 0; i < doctor->count; ++i) print_check(&doctor->checks[i]);
    (void)printf("%zu passed, %zu failed, %zu not possible",
                 doctor_report_count_of(doctor, DOCTOR_PASSED),
                 doctor_report_count_of(doctor, DOCTOR_FAILED),
                 doctor_report_count_of(doctor, DOCTOR_NOT_POSSIBLE));
    if (misses > 0) (void)printf("; %zu of the required checks did not pass", misses);
    (void)printf("\n");
}

/* ---- JSON ---- */

static void print_check_json(gantry_json_t *json, const doctor_check_t *check) {
    gantry_json_object(json, NULL);
    gantry_json_text(json, "name", check->name);
    gantry_json_text(json, "kind", check->kind);
    gantry_json_text(json, "state", states[check->state].key);
    gantry_json_bool(json, "required", check->is_required);
    gantry_json_text(json, "text", check->text);
    gantry_json_text(json, "remedy", check->remedy);
    gantry_json_end(json);
}

static void doctor_report_print_json(const doctor_t *doctor) {
    gantry_json_t json;
    gantry_json_init(&json, stdout);
    gantry_json_object(&json, NULL);
    gantry_json_text(&json, "gantry", gantry_version());
    gantry_json_array(&json, "checks");
    for (size_t i = 0; i < doctor->count; ++i) print_check_json(&json, &doctor->checks[i]);
    gantry_json_end(&json);
    for (size_t i = 0; i < sizeof states / sizeof states[0]; ++i)
        gantry_json_unsigned(&json, states[i].key,
                             doctor_report_count_of(doctor, (doctor_state_t)i));
    gantry_json_unsigned(&json, "required_not_passed", count_misses(doctor));
    gantry_json_end(&json);
}

int doctor_print(const doctor_t *doctor, bool json) {
    if (json) doctor_report_print_json(doctor);
    if (!json) doctor_report_print_text(doctor);
    return count_misses(doctor) > 0 ? GANTRY_TOOL_FAILED : GANTRY_TOOL_OK;
}
