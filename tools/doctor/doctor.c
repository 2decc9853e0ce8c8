/* SPDX-License-Identifier: Apache-2.0 */
/* gantry doctor: says in one sentence why each device is usable or not, and names the remedy.
 *
 *     machine      PCI bus, device nodes, .icd files, folders: no driver is asked
 *     backends     the library's own reasons and log, with a remedy for each
 *     views        hidden devices, one card with two drivers
 *     kernels      a process of its own computes on each device
 *     wishes       --require and --strict */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/environment.h"
#include "doctor/doctor.h"
#include "command/command.h"
#include "common/tool.h"

/* ---- the runtime ---- */

static void keep_line(void *user, gantry_log_level_t level, const char *text) {
    doctor_t *doctor = user;
    if (doctor->line_count == DOCTOR_MOST_LINES) return;
    doctor->is_warning[doctor->line_count] = level >= GANTRY_LEVEL_WARNING;
    (void)snprintf(doctor->lines[doctor->line_count++], DOCTOR_LINE_BYTES, "%s", text);
}

gantry_device_details_t doctor_details(const doctor_t *doctor, size_t view) {
    gantry_device_details_t details = {.struct_size = sizeof details};
    (void)gantry_get_device_details(doctor->runtime, doctor->views[view], &details);
    return details;
}

static bool list_views(doctor_t *doctor) {
    size_t count = 0;
    if (gantry_list_device_views(doctor->runtime, 0, NULL, &count) != GANTRY_OK) return false;
    doctor->views = calloc(count + 1, sizeof(gantry_physical_device_t *));
    if (!doctor->views) return false;
    return gantry_list_device_views(doctor->runtime, count, doctor->views, &doctor->view_count) ==
           GANTRY_OK;
}

/* Lets a process of its own open the drivers first. After its first crash the library's quarantine
 * leaves the driver out, unless it is off or has no folder. False if not even a process without
 * drivers survives, as this one would not. */
static bool try_drivers(doctor_t *doctor) {
    char why[64], again[64];
    if (doctor_try_drivers(false, why, sizeof why)) return true;
    doctor->leaves_drivers_out = !doctor_try_drivers(false, again, sizeof again);
    /* for this process, and for the one that computes */
    if (doctor->leaves_drivers_out) (void)gantry__os_set_variable("GANTRY_BACKENDS", "cpu");
    const bool is_library =
        doctor->leaves_drivers_out && !doctor_try_drivers(true, again, sizeof again);
    if (is_library)
        doctor_add(doctor, DOCTOR_MACHINE, "library", DOCTOR_FAILED,
                   "install Gantry again (cmake --install)", "a process without drivers %s", again)
            ->is_required = true;
    else
        doctor_add(
            doctor, DOCTOR_MACHINE, DOCTOR_DRIVERS, DOCTOR_FAILED,
            getenv("OPENCL_LAYERS")
                ? "unset OPENCL_LAYERS, or install the driver again; GANTRY_BACKENDS=cpu leaves all drivers out"
                : "install the driver again; GANTRY_BACKENDS=cpu leaves all drivers out",
            "a process that opened the drivers %s", why)
            ->is_required = true;
    return !is_library;
}

static bool open_runtime(doctor_t *doctor) {
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .log_level = GANTRY_LEVEL_INFO,
                                              .log = keep_line,
                                              .log_user = doctor};
    if (!try_drivers(doctor)) return false;
    const int kept = gantry__os_output_divert();
    const bool is_open = gantry_runtime_create(&options, &doctor->runtime) == GANTRY_OK &&
                         gantry_runtime_initialize(doctor->runtime) == GANTRY_OK &&
                         list_views(doctor);
    gantry__os_output_return(kept);
    if (is_open) return true;
    const char *message = gantry_last_message();
    const char *remedy = doctor_remedy(message);
    doctor_add(doctor, DOCTOR_MACHINE, "settings", DOCTOR_FAILED,
               remedy ? remedy : "correct the value, or unset the variable", "%s", message)
        ->is_required = true;
    return false;
}

/* ---- wishes ---- */

static bool is_word(const char *text, size_t length, const char *word) {
    return strlen(word) == length && strncmp(text, word, length) == 0;
}

/* One entry of the list of --require. */
static bool doctor_read_wish(doctor_wish_t *wish, const char *text, size_t length) {
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    if (is_word(text, length, "gpu")) return wish->gpu = true;
    if (is_word(text, length, "opencl")) return wish->opencl = true;
    if (is_word(text, length, "cuda")) return wish->cuda = true;
    if (end != text + length || *text < '0' || *text > '9' || number < 1 || number > 1024)
        return false;
    wish->gpus = (unsigned)number;
    return wish->gpu = true;
}

static bool read_wishes(doctor_wish_t *wish, const char *text) {
    for (;;) {
        size_t length = strcspn(text, ",");
        if (!doctor_read_wish(wish, text, length)) return false;
        if (text[length] == '\0') return true;
        text += length + 1;
    }
}

static bool passes(doctor_t *doctor, const char *alias) {
    const doctor_check_t *check = *alias ? doctor_find_result(doctor, alias) : NULL;
    return check && check->state == DOCTOR_PASSED;
}

/* backend NULL: GPUs that programs name /GPU:N, whichever view serves them. */
static unsigned count_good(doctor_t *doctor, const char *backend) {
    unsigned count = 0;
    for (size_t i = 0; i < doctor->view_count; ++i) {
        const gantry_device_details_t details = doctor_details(doctor, i);
        bool counts = backend
                          ? strcmp(details.backend, backend) == 0
                          : details.listed && details.visible && strcmp(details.type, "GPU") == 0;
        count += counts && (passes(doctor, details.alias) ||
                            (!backend && passes(doctor, details.other_view)));
    }
    return count;
}

/* Whether the check may be why a device of the backend is missing; NULL: of any backend. */
static bool concerns(const doctor_check_t *check, const char *backend) {
    static const struct {
        const char *name, *backend; /* NULL: any */
    } known[] = {{DOCTOR_DRIVERS, NULL},
                 {DOCTOR_ONE_DRIVER, NULL},
                 {DOCTOR_RENDER_NODES, "opencl"},
                 {DOCTOR_OPENCL_DRIVER, "opencl"}};
    const char *kind = check->kind, *of = kind;
    if (strcmp(kind, DOCTOR_LIBRARY) == 0 || strcmp(kind, DOCTOR_REQUIRED) == 0 ||
        strcmp(kind, "cpu") == 0)
        return false;
    if (strcmp(kind, DOCTOR_HIDDEN) == 0) of = check->backend;
    if (strcmp(kind, DOCTOR_MACHINE) == 0) {
        size_t row = 0;
        while (row < sizeof known / sizeof known[0] && strcmp(check->name, known[row].name) != 0)
            ++row;
        if (row == sizeof known / sizeof known[0]) return false;
        of = known[row].backend;
    }
    return !backend || !of || strcmp(of, backend) == 0;
}

/* Names the checks of this state that concern the backend and say what to do, each once. */
static bool name_checks(const doctor_t *doctor, const char *backend, doctor_state_t state,
                        char *out, size_t out_bytes) {
    out[0] = '\0';
    for (size_t i = 0; i < doctor->count; ++i) {
        const doctor_check_t *check = &doctor->checks[i];
        const bool says = state == DOCTOR_FAILED || *check->remedy;
        if (check->state != state || !says || !concerns(check, backend)) continue;
        if (strstr(out, check->name)) continue;
        const size_t used = strlen(out);
        (void)snprintf(out + used, out_bytes - used, "%s%s", used > 0 ? ", " : "", check->name);
    }
    return *out != '\0';
}

static void write_wish_remedy(const doctor_t *doctor, const char *backend, char *out,
                              size_t out_bytes) {
    char names[300];
    if (name_checks(doctor, backend, DOCTOR_FAILED, names, sizeof names))
        (void)snprintf(out, out_bytes, "mend the checks above that failed: %s", names);
    else if (name_checks(doctor, backend, DOCTOR_NOT_POSSIBLE, names, sizeof names))
        (void)snprintf(out, out_bytes, "see the remedies above: %s", names);
    else
        (void)snprintf(out, out_bytes,
                       "require what this machine has, or install another device with its driver");
}

static void check_wish(doctor_t *doctor, const char *what, const char *backend, unsigned needed) {
    char name[96], remedy[400];
    const unsigned good = count_good(doctor, backend);
    write_wish_remedy(doctor, backend, remedy, sizeof remedy);
    (void)snprintf(name, sizeof name, "required: %u %s%s", needed, what, needed == 1 ? "" : "s");
    doctor_add(doctor, DOCTOR_REQUIRED, name, good >= needed ? DOCTOR_PASSED : DOCTOR_FAILED,
               good >= needed ? NULL : remedy, "%u %s right", good,
               good == 1 ? "computes" : "compute")
        ->is_required = true;
}

/* Whether a GPU that programs see belongs to the backend. */
static bool serves_gpu(const doctor_t *doctor, const char *backend) {
    for (size_t i = 0; i < doctor->view_count; ++i) {
        const gantry_device_details_t details = doctor_details(doctor, i);
        if (details.listed && strcmp(details.type, "GPU") == 0 &&
            strcmp(details.backend, backend) == 0)
            return true;
    }
    return false;
}

static bool is_named(const doctor_t *doctor, const char *kind) {
    const doctor_wish_t *wish = &doctor->wish;
    return (wish->opencl && strcmp(kind, "opencl") == 0) ||
           (wish->cuda && strcmp(kind, "cuda") == 0) || (wish->gpu && serves_gpu(doctor, kind));
}

void doctor_check_wishes(doctor_t *doctor) {
    doctor_wish_t *wish = &doctor->wish;
    if (wish->strict && !wish->opencl && !wish->cuda) wish->gpu = true;
    for (size_t i = 0; wish->strict && i < doctor->count; ++i) {
        doctor_check_t *check = &doctor->checks[i];
        check->is_required = check->is_required || is_named(doctor, check->kind);
    }
    if (wish->gpu) check_wish(doctor, "GPU", NULL, wish->gpus > 0 ? wish->gpus : 1);
    if (wish->opencl) check_wish(doctor, "OpenCL device", "opencl", 1);
    if (wish->cuda) check_wish(doctor, "CUDA device", "cuda", 1);
}

/* ---- the command ---- */

static void examine(doctor_t *doctor) {
    doctor_look_at_machine(&doctor->machine);
    if (!open_runtime(doctor)) return;
    doctor_check_nodes(doctor);
    doctor_check_icd(doctor);
    doctor_check_lists(doctor);
    doctor_check_backends(doctor);
    doctor_check_log(doctor);
    doctor_check_views(doctor);
    doctor_check_folders(doctor);
    doctor_check_kernels(doctor);
    doctor_check_wishes(doctor);
}

static int doctor_run(const gantry_command_values_t *values) {
    doctor_t *doctor = calloc(1, sizeof *doctor);
    if (!doctor) return gantry_tool_fail("no memory for the list of checks");
    bool is_good = true;
    const char *text;
    for (size_t i = 0; is_good && (text = gantry_command_value_at(values, "require", i)); ++i)
        is_good = read_wishes(&doctor->wish, text);
    doctor->wish.strict = gantry_command_has(values, "strict");
    int code;
    if (is_good) {
        examine(doctor);
        code = doctor_print(doctor, gantry_command_has(values, "json"));
    } else {
        code = gantry_command_refuse_value(values, "require",
                                           "gpu, opencl, cuda, or a number of GPUs from 1 to 1024");
    }
    gantry_runtime_release(doctor->runtime);
    free(doctor->views);
    free(doctor);
    return code;
}

const gantry_command_t gantry_command_doctor = {
    .name = "doctor",
    .summary = "says why each device is usable or not, and names the remedy",
    .description =
        "Each check has a line: passed, failed, or not possible. Failed: something is there and does "
        "not work. Not possible: the machine cannot answer, or a variable leaves the thing out. A "
        "second line names the remedy: a package of Debian and Ubuntu, or a command.\n\n"
        "The exit code is 1 if a required check does not pass. Required are: the settings, the "
        "kernels of each device that programs see, and what --require names. With --strict, so are "
        "all checks of the named backends, or else of those that serve GPUs.",
    .options =
        {GANTRY_OPTION_JSON,
         {"require", "KIND",
          "fails without a device of this kind that computes right: gpu, opencl, cuda, or a number of GPUs",
          true},
         {"strict", NULL,
          "fails if a check of a required kind fails or is not possible; requires gpu if --require is missing"}},
    .exit_codes = {{1, "a required check did not pass"}},
    .examples = {{"gantry doctor", NULL},
                 {"gantry doctor --strict --require 2", "for CI: two GPUs, or exit code 1"}},
    .run = doctor_run};
