/* SPDX-License-Identifier: Apache-2.0 */
/* gantry cache: what Gantry keeps on disk between programs, which is compiled kernels and tuning
 * records. Lists it, checks it and removes it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/os/users.h"
#include "cache/cache.h"
#include "command/command.h"

#define LEAST_UNFINISHED_SECONDS 3600 /* a program may still write a younger file */

typedef enum cache_action_t { CACHE_LIST, CACHE_VERIFY, CACHE_CLEAR } cache_action_t;

typedef struct cache_call_t {
    const gantry_command_values_t *values;
    cache_action_t action;
    bool has_kernels, has_tuning;
    cache_choice_t choice;
    int64_t now;
    gantry_json_t *json; /* NULL: text */
    bool is_others;      /* others may write the folder: its files need not be listed one by one */
    size_t problems;
} cache_call_t;

/* ---- the choice of files ---- */

static double age_of(const cache_call_t *call, const cache_file_t *file) {
    return call->now > file->written ? (double)(call->now - file->written) : 0;
}

static bool is_chosen(const cache_call_t *call, const cache_file_t *file) {
    const cache_choice_t *choice = &call->choice;
    char names[640];
    if (age_of(call, file) < choice->older_seconds) return false;
    if (*choice->hardware)
        return strcmp(file->backend, choice->backend) == 0 &&
               strcmp(file->hardware, choice->hardware) == 0;
    (void)snprintf(names, sizeof names, "%s %s %s", file->backend, file->hardware, file->driver);
    return !choice->text || gantry_tool_find_text(names, choice->text);
}

/* "opencl:0" and "GPU:1" are spellings; "H100" is a part of a name. */
static bool is_spelling(const char *text) {
    const char *colon = strrchr(text, ':');
    return colon && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1);
}

/* Opens all backends to find the device that a spelling names. */
static bool cache_find_device(cache_call_t *call, const char *text) {
    cache_choice_t *choice = &call->choice;
    gantry_device_details_t details = {.struct_size = sizeof details};
    const gantry_physical_device_t *device;
    if (!is_spelling(text)) {
        choice->text = text;
        return true;
    }
    gantry_runtime_t *runtime = gantry_command_open_runtime(call->values, NULL);
    if (!runtime) return false;
    const bool found = gantry_find_physical_device(runtime, text, &device) == GANTRY_OK &&
                       gantry_get_device_details(runtime, device, &details) == GANTRY_OK;
    if (!found) (void)gantry_tool_fail_last();
    (void)snprintf(choice->spelled, sizeof choice->spelled, "%s", text);
    (void)snprintf(choice->backend, sizeof choice->backend, "%s", details.backend);
    (void)snprintf(choice->hardware, sizeof choice->hardware, "%s", details.hardware_name);
    gantry_runtime_release(runtime);
    return found;
}

/* ---- the kernel cache ---- */

/* The folder that programs of this user have; "" for none. */
static void kernel_folder(char out[GANTRY__OS_PATH_BYTES]) {
    const char *named = getenv("GANTRY_KERNEL_CACHE");
    if (named)
        (void)snprintf(out, GANTRY__OS_PATH_BYTES, "%s", named);
    else
        (void)gantry_tool_user_folder("gantry/kernels", out);
}

static const char *state_of(const cache_file_t *file) {
    if (file->is_damaged) return "damaged";
    if (file->kind == CACHE_OLD) return "old";
    if (file->kind == CACHE_UNFINISHED) return "unfinished";
    return file->is_read ? "good" : "unreadable";
}

static void print_file(const cache_call_t *call, const cache_file_t *file) {
    char size[GANTRY_TOOL_TEXT_BYTES], age[GANTRY_TOOL_TEXT_BYTES], about[640];
    if (*file->hardware)
        (void)snprintf(about, sizeof about, "%s, %s %s, %s", file->program, file->backend,
                       file->hardware, file->driver);
    else
        (void)snprintf(about, sizeof about, "%s", file->name);
    (void)printf("  %10s  %10s  %-10s  %s\n", gantry_tool_size_text(file->size_bytes, size),
                 gantry_tool_duration_text(age_of(call, file), age), state_of(file), about);
}

static void file_json(const cache_call_t *call, const cache_file_t *file) {
    gantry_json_t *json = call->json;
    gantry_json_object(json, NULL);
    gantry_json_text(json, "name", file->name);
    gantry_json_text(json, "state", state_of(file));
    gantry_json_text(json, "reason", file->why);
    gantry_json_unsigned(json, "size_bytes", file->size_bytes);
    gantry_json_number(json, "age_seconds", age_of(call, file));
    gantry_json_text(json, "backend", file->backend);
    gantry_json_text(json, "hardware", file->hardware);
    gantry_json_text(json, "driver", file->driver);
    gantry_json_text(json, "program", file->program);
    gantry_json_end(json);
}

static void tell_file(cache_call_t *call, const cache_folder_t *folder, const char *what,
                      const cache_file_t *file) {
    ++call->problems;
    (void)fflush(stdout); /* the heading comes first, also in a pipe */
    (void)gantry_tool_fail("%s/%s %s: %s", folder->path, file->name, what, file->why);
}

static void verify_file(cache_call_t *call, const cache_folder_t *folder, cache_file_t *file) {
    char path[GANTRY__OS_PATH_BYTES + sizeof file->name];
    (void)snprintf(path, sizeof path, "%s/%s", folder->path, file->name);
    cache_file_verify(folder, file);
    if (!call->is_others && gantry_check_writers(path) == GANTRY_FAILED_PRECONDITION) {
        (void)snprintf(file->why, sizeof file->why, "%s", gantry_last_message());
        tell_file(call, folder, "is not used", file);
    } else if (file->is_damaged) {
        tell_file(call, folder, "is damaged", file);
    } else if (file->kind == CACHE_PROGRAM && !file->is_read) {
        tell_file(call, folder, "is not checked", file);
    }
}

/* Removes the file if it must go, and returns whether it goes, or would go. */
static bool clear_file(cache_call_t *call, const cache_folder_t *folder, cache_file_t *file) {
    char owner[128];
    if (file->kind == CACHE_UNFINISHED && age_of(call, file) < LEAST_UNFINISHED_SECONDS)
        return false;
    if (gantry__os_acting_user() >= 0 && file->owner != (uint64_t)gantry__os_acting_user()) {
        (void)snprintf(file->why, sizeof file->why, "it belongs to user %s",
                       cache_user_name(file->owner, owner, sizeof owner));
    } else if (call->choice.is_dry_run || cache_file_remove(folder, file)) {
        return true;
    }
    tell_file(call, folder, "stays", file);
    return false;
}

typedef struct totals_t {
    size_t files, damaged, removed;
    uint64_t bytes, removed_bytes;
} totals_t;

static void visit_file(cache_call_t *call, const cache_folder_t *folder, cache_file_t *file,
                       totals_t *totals) {
    if (call->action == CACHE_VERIFY) verify_file(call, folder, file);
    const bool is_removed = call->action == CACHE_CLEAR && clear_file(call, folder, file);
    if (call->action == CACHE_LIST && !call->json) print_file(call, file);
    if (call->json) file_json(call, file);
    ++totals->files;
    totals->bytes += file->size_bytes;
    totals->damaged += file->is_damaged;
    totals->removed += is_removed;
    totals->removed_bytes += is_removed ? file->size_bytes : 0;
}

static void print_totals(const cache_call_t *call, const totals_t *totals) {
    char size[GANTRY_TOOL_TEXT_BYTES];
    const char *s = totals->files == 1 ? "" : "s";
    if (call->action == CACHE_LIST)
        (void)printf("  %zu file%s, %s\n", totals->files, s,
                     gantry_tool_size_text(totals->bytes, size));
    if (call->action == CACHE_VERIFY)
        (void)printf("  %zu file%s checked, %zu damaged\n", totals->files, s, totals->damaged);
    if (call->action == CACHE_CLEAR)
        (void)printf("  %s %zu of %zu file%s, %s\n",
                     call->choice.is_dry_run ? "would remove" : "removed", totals->removed,
                     totals->files, s, gantry_tool_size_text(totals->removed_bytes, size));
}

static void totals_json(const cache_call_t *call, const totals_t *totals, size_t foreign) {
    gantry_json_t *json = call->json;
    gantry_json_unsigned(json, "total_bytes", totals->bytes);
    gantry_json_unsigned(json, "other_entries", foreign);
    if (call->action == CACHE_VERIFY) gantry_json_unsigned(json, "damaged", totals->damaged);
    if (call->action != CACHE_CLEAR) return;
    gantry_json_unsigned(json, "removed", totals->removed);
    gantry_json_unsigned(json, "removed_bytes", totals->removed_bytes);
}

static void visit_folder(cache_call_t *call, cache_folder_t *folder) {
    totals_t totals = {0};
    if (call->json) gantry_json_array(call->json, "files");
    for (size_t i = 0; i < folder->count; ++i) {
        if (is_chosen(call, &folder->files[i]))
            visit_file(call, folder, &folder->files[i], &totals);
    }
    if (call->json) gantry_json_end(call->json);
    if (call->json) totals_json(call, &totals, folder->foreign);
    if (!call->json) print_totals(call, &totals);
    if (!call->json && folder->foreign > 0)
        (void)printf("  %zu other entr%s of the folder, not the cache's\n", folder->foreign,
                     folder->foreign == 1 ? "y" : "ies");
}

static void report_kernels(cache_call_t *call) {
    char path[GANTRY__OS_PATH_BYTES];
    cache_folder_t folder = {.handle = -1};
    kernel_folder(path);
    if (call->json) {
        gantry_json_object(call->json, "kernel_cache");
        gantry_json_text(call->json, "folder", *path ? path : NULL);
    } else {
        (void)printf("Kernel cache: %s\n", *path ? path : "none");
    }
    const bool is_open = !*path || cache_folder_open(&folder, path);
    call->is_others = *path && gantry_check_writers(path) == GANTRY_FAILED_PRECONDITION;
    if (call->is_others && call->action == CACHE_VERIFY) {
        ++call->problems;
        (void)fflush(stdout);
        (void)gantry_tool_fail("the kernel cache is not used: %s", gantry_last_message());
        if (call->json) gantry_json_text(call->json, "problem", gantry_last_message());
    }
    if (is_open && (call->action != CACHE_CLEAR || cache_folder_is_writable(&folder))) {
        visit_folder(call, &folder);
    } else {
        ++call->problems;
        (void)gantry_tool_fail("the kernel cache %s cannot be %s: %s", path,
                               is_open ? "cleared" : "read", folder.why);
        if (call->json) gantry_json_text(call->json, "problem", folder.why);
    }
    cache_folder_close(&folder);
    if (call->json) gantry_json_end(call->json);
}

/* ---- the tuning file ---- */

static void report_tuning(cache_call_t *call) {
    /* the file of tuning records concerns no driver, unless one of its devices is named */
    gantry_runtime_options_t options = {
        .struct_size = sizeof options, .kernel_cache = "", .log_level = GANTRY_LEVEL_WARNING};
    if (!*call->choice.spelled) options.backends = "cpu";
    gantry_runtime_t *runtime = gantry_command_open_runtime(call->values, &options);
    if (!runtime) {
        ++call->problems;
        return;
    }
    if (call->action == CACHE_LIST)
        cache_tuning_list(runtime, &call->choice, call->json, &call->problems);
    if (call->action == CACHE_VERIFY) cache_tuning_verify(runtime, call->json, &call->problems);
    if (call->action == CACHE_CLEAR)
        cache_tuning_clear(runtime, &call->choice, call->json, &call->problems);
    gantry_runtime_release(runtime);
}

/* ---- the command ---- */

static bool read_action(const char *word, cache_action_t *out) {
    static const char *const words[] = {"list", "verify", "clear"};
    for (size_t i = 0; i < 3; ++i) {
        if (strcmp(word, words[i]) != 0) continue;
        *out = (cache_action_t)i;
        return true;
    }
    return false;
}

/* Chooses what is cleared. Kernels are built again within seconds; records take minutes, so they
 * must be named in the request. */
static void choose_parts(cache_call_t *call) {
    call->has_kernels = gantry_command_has(call->values, "kernels");
    call->has_tuning = gantry_command_has(call->values, "tuning");
    if (call->has_kernels || call->has_tuning) return;
    call->has_kernels = true;
    call->has_tuning = call->action != CACHE_CLEAR;
}

static int cache_run(const gantry_command_values_t *values) {
    gantry_json_t json;
    cache_call_t call = {.values = values, .now = (int64_t)time(NULL)};
    if (values->operand_count > 0 && !read_action(values->operands[0], &call.action))
        return gantry_command_refuse(values->command,
                                     "\"%s\" is no action; list, verify and clear are accepted",
                                     values->operands[0]);
    if (!gantry_command_duration(values, "older", &call.choice.older_seconds))
        return GANTRY_TOOL_WRONG_USAGE;
    choose_parts(&call);
    call.choice.is_dry_run = gantry_command_has(values, "dry-run");
    const char *device = gantry_command_value(values, "device");
    if (device && !cache_find_device(&call, device)) return GANTRY_TOOL_FAILED;
    if (call.action == CACHE_CLEAR && call.has_tuning &&
        (call.choice.text || call.choice.older_seconds > 0))
        return gantry_command_refuse(
            values->command,
            "clear --tuning removes all records, or those of a device such as opencl:0; `gantry tune --reset` removes them by name");
    if (gantry_command_has(values, "json")) {
        gantry_json_init(&json, stdout);
        gantry_json_object(&json, NULL);
        call.json = &json;
    }
    if (call.has_kernels) report_kernels(&call);
    if (call.has_tuning) report_tuning(&call);
    if (call.json) gantry_json_end(&json);
    return call.problems > 0 ? GANTRY_TOOL_FAILED : GANTRY_TOOL_OK;
}

const gantry_command_t gantry_command_cache = {
    .name = "cache",
    .summary = "lists, verifies or clears compiled kernels and tuning records",
    .description =
        "list prints size, age, state, program, device and driver of every file of the kernel cache, and every tuning record. "
        "verify reads all of them and names what is damaged, and what others may write. "
        "clear removes files of the kernel cache, and tuning records only with --tuning. "
        "It removes only files that the cache made and that belong to the user.\n\n"
        "GANTRY_KERNEL_CACHE and GANTRY_TUNING_FILE name the places. PoCL keeps its kernels itself, unless GANTRY_KERNEL_CACHE "
        "names a folder. The next program builds again what is missing.",
    .operands = "[list | verify | clear]",
    .operand_most = 1,
    .options = {{"kernels", NULL, "concerns only the kernel cache"},
                {"tuning", NULL, "concerns only the tuning records"},
                {"older", "AGE", "concerns files that were written at least AGE ago: 30d, 12h"},
                {"device", "DEVICE",
                 "concerns a device, as gantry devices spells it, or a part of its name", false,
                 NULL, GANTRY_OFFER_DEVICES},
                {"dry-run", NULL, "removes nothing, and says how much clear would remove"},
                GANTRY_OPTION_JSON},
    .exit_codes = {{1, "a file is damaged, unreadable, writable by others or cannot be removed"}},
    .examples = {{"gantry cache", "lists all"},
                 {"gantry cache verify", "reads all files"},
                 {"gantry cache clear --older 30d", "removes kernels that are older than 30 days"}},
    .run = cache_run,
};
