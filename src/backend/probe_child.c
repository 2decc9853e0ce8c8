/* SPDX-License-Identifier: Apache-2.0 */
/* The child reports by a pipe, because a driver may end it with any exit code:
 *
 *     nothing             the command did not begin: the loader, or another program in its place
 *     begun, ended well   the device works, or its driver reported the error
 *     begun, unknown      there is no such device
 *     begun               the driver ended the process */
#include "backend/probe_child.h"

#include <stdio.h>
#include <string.h>

#include "base/files.h"
#include "base/os/paths.h"
#include "base/os/process.h"
#include "base/trust.h"

#define MOST_SECONDS 65 /* the command ends itself by an alarm after 60 */
#define POLL_NS UINT64_C(2000000)
#define REPORT_TEXT "3" /* GANTRY__OS_CHILD_REPORT */
#define WHY_BYTES 640

_Static_assert(GANTRY__OS_CHILD_REPORT == 3, "the text is the number");

/* The command's path, relative to the library or to the program that it is linked into. */
static const char *const places[] = {"../bin/gantry", "../../bin/gantry", "gantry", "../gantry"};

/* ---- the command ---- */

typedef struct child_command_t {
    char library[GANTRY__OS_PATH_BYTES], path[GANTRY__OS_PATH_BYTES];
    bool is_unsafe; /* others may write the one that was found */
    char why[WHY_BYTES];
} child_command_t;

/* The first of the places that has a program. One that others may write is not started: the
 * library's own writers may, because they can write the library, too. */
static bool find_command(child_command_t *command) {
    gantry__os_writers_t writers;
    char place[GANTRY__OS_PATH_BYTES + 32];
    if (!gantry__trust_of_library(&writers, command->library)) {
        (void)snprintf(command->why, sizeof command->why, "the library's own folder is unknown");
        return false;
    }
    (void)snprintf(
        command->why, sizeof command->why,
        "the gantry command is not next to '%.300s' (../bin, ../../bin, the same folder, or the one above)",
        command->library);
    const size_t folder = (size_t)(gantry__os_path_name(command->library) - command->library);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; ++i) {
        const uint32_t before = gantry__failures();
        int program;
        (void)snprintf(place, sizeof place, "%.*s%s%s", (int)folder, command->library, places[i],
                       gantry__os_program_ending);
        if (gantry__os_may(place, GANTRY__OS_MAY_RUN) != 0) continue;
        const gantry_status_t status =
            gantry__trust_open_file(place, &writers, command->path, &program);
        gantry__file_close(program);
        if (status == GANTRY_OK) return true;
        if (status == GANTRY_FAILED_PRECONDITION) {
            command->is_unsafe = true;
            (void)snprintf(command->why, sizeof command->why, "%s", gantry__message());
        }
        gantry__forget_since(before);
    }
    return false;
}

bool gantry__probe_child_is_there(const gantry__heap_t *heap, char *why, size_t why_bytes) {
    child_command_t *command = gantry__heap_zalloc(heap, sizeof *command);
    const bool is_there = command && find_command(command);
    (void)snprintf(why, why_bytes, "%s",
                   is_there  ? ""
                   : command ? command->why
                             : "host memory is out");
    gantry__heap_free(heap, command, sizeof *command);
    return is_there;
}

/* ---- environment ---- */

#define OWN_VARIABLES 5

/* What the child has, on the heap because it is too large for a caller's stack. */
typedef struct child_setup_t {
    child_command_t command;
    char texts[OWN_VARIABLES][GANTRY__OS_PATH_BYTES + 32];
    const char *variables[OWN_VARIABLES + 1];
    size_t own;
} child_setup_t;

static void set_for_child(child_setup_t *setup, const char *name, const char *value) {
    char *text = setup->texts[setup->own];
    (void)snprintf(text, sizeof setup->texts[0], "%s=%s", name, value);
    setup->variables[setup->own++] = text;
}

static void choose_variables(const gantry__child_call_t *call, child_setup_t *setup) {
    char backend[32];
    (void)snprintf(backend, sizeof backend, "cpu,%.*s", (int)strcspn(call->alias, ":"),
                   call->alias);
    set_for_child(setup, "GANTRY_DEVICE_PROBE", "inside");
    set_for_child(setup, "GANTRY_DRIVER_QUARANTINE", "0");
    if (call->cache) set_for_child(setup, "GANTRY_KERNEL_CACHE", call->cache);
    set_for_child(setup, "GANTRY_BACKENDS", backend);
    if (gantry__os_path_has_folder(call->module))
        set_for_child(setup, "GANTRY_BACKEND_PATH", call->module);
}

/* ---- the process ---- */

/* Starts the child without output: a compiler that dies prints much. */
static bool start_child(const gantry__child_call_t *call, child_setup_t *setup, int report,
                        gantry__os_child_t *out_child) {
    const child_command_t *command = &setup->command;
    if (!find_command(&setup->command)) {
        if (command->is_unsafe)
            gantry__log(call->log, GANTRY_LEVEL_WARNING,
                        "Drivers are not tried in a process of their own: %s", command->why);
        return false;
    }
    char name[64];
    (void)snprintf(name, sizeof name, "%s", call->alias);
    const char *const arguments[] = {command->path, "probe", name, REPORT_TEXT, NULL};
    choose_variables(call, setup);
    const gantry__os_start_t start = {.program = command->path,
                                      .arguments = arguments,
                                      .variables = setup->variables,
                                      .report = report};
    return gantry__os_child_start(&start, out_child) == 0;
}

/* The last byte of the report; 0: there is none. */
static char read_report(int file) {
    char bytes[8];
    const int64_t got = gantry__os_read(file, bytes, sizeof bytes); /* does not wait */
    return got > 0 ? bytes[got - 1] : '\0';
}

/* A process that others ended says nothing. */
static gantry__child_end_t probe_child_judge(gantry__os_end_t end, int code, char report, char *why,
                                             size_t why_bytes) {
    switch (end) {
        case GANTRY__OS_RUNS:
        case GANTRY__OS_ALARMED:
            (void)snprintf(why, why_bytes, "it did not answer for a minute");
            return GANTRY__CHILD_CRASHED;
        case GANTRY__OS_CRASHED:
            (void)snprintf(why, why_bytes, "it ended by signal %d", code);
            return GANTRY__CHILD_CRASHED;
        case GANTRY__OS_EXITED: break;
        default: return GANTRY__CHILD_NONE;
    }
    if (report != 'b') return report == 'w' ? GANTRY__CHILD_WELL : GANTRY__CHILD_NONE;
    (void)snprintf(why, why_bytes, "a driver ended it with exit code %d", code);
    return GANTRY__CHILD_CRASHED;
}

gantry__child_end_t gantry__probe_child_run(const gantry__child_call_t *call, char *why,
                                            size_t why_bytes) {
    child_setup_t *setup = gantry__heap_zalloc(call->heap, sizeof *setup);
    gantry__os_child_t child;
    int code = 0, reading = -1, writing = -1;
    why[0] = '\0';
    if (!setup) return GANTRY__CHILD_NONE;
    const bool is_started =
        gantry__os_pipe(&reading, &writing) == 0 && start_child(call, setup, writing, &child);
    gantry__heap_free(call->heap, setup, sizeof *setup);
    gantry__file_close(writing);
    const gantry__os_end_t end =
        is_started
            ? gantry__os_child_wait(&child, MOST_SECONDS * UINT64_C(1000000000), POLL_NS, &code)
            : GANTRY__OS_LOST;
    if (end == GANTRY__OS_RUNS) gantry__os_child_leave(&child);
    const char report = end == GANTRY__OS_LOST ? '\0' : read_report(reading);
    gantry__file_close(reading);
    return probe_child_judge(end, code, report, why, why_bytes);
}
