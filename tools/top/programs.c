/* SPDX-License-Identifier: Apache-2.0 */
/* The status files of programs (GANTRY_STATUS), and what the system says of a process.
 *
 * A file counts while its process lives: the process has the file's owner, and it began before the
 * file was written. So a pid that was used again does not revive the file of a dead program, and a
 * file from before the machine was booted is from the future. Anybody may have written a file, so
 * sizes must be bounded and texts checked. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/os/files.h"
#include "base/os/processes.h"
#include "top/top.h"

#define MOST_FILE_BYTES (64 * 1024)

/* Copies printable ASCII only, because the text may be of another user's making. */
static void top_programs_copy_text(char *out, size_t out_bytes, const char *text) {
    size_t length = 0;
    for (; text[length] != '\0' && length + 1 < out_bytes; ++length)
        out[length] = text[length] >= ' ' && text[length] <= '~' ? text[length] : '?';
    out[length] = '\0';
}

/* The first size - 1 bytes of a plain file; 0 when there are none. Anybody may have made a pipe or
 * a link of the name. */
static size_t read_start(const char *path, char *out, size_t size) {
    gantry__os_info_t info;
    size_t used = 0;
    const int file =
        gantry__os_open(path, GANTRY__OS_READ | GANTRY__OS_NO_LINK | GANTRY__OS_NO_WAIT, 0);
    if (file >= 0 && gantry__os_file_info(file, &info) == 0 && info.kind == GANTRY__OS_PLAIN) {
        for (int64_t got; used + 1 < size; used += (size_t)got) {
            got = gantry__os_read(file, out + used, size - 1 - used);
            if (got <= 0) break;
        }
    }
    if (file >= 0) (void)gantry__os_close(file);
    out[used] = '\0';
    return used;
}

/* ---- processes ---- */

void gantry_top_describe(uint32_t pid, char *out_name, size_t name_bytes, char *out_user,
                         size_t user_bytes) {
    char name[64], user[64];
    gantry__os_process_describe(pid, name, sizeof name, user, sizeof user);
    top_programs_copy_text(out_name, name_bytes, name);
    top_programs_copy_text(out_user, user_bytes, user);
}

static double boot_seconds(void) { return (double)gantry__os_boot_ns() * 1e-9; }

/* ---- one file ---- */

static double top_programs_number_of(const cJSON *object, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(item) && item->valuedouble >= 0.0 && item->valuedouble < 1e18
               ? item->valuedouble
               : 0.0;
}

static void top_programs_copy_field(char *out, size_t out_bytes, const cJSON *object,
                                    const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    top_programs_copy_text(out, out_bytes, cJSON_IsString(item) ? item->valuestring : "");
}

static void read_pool(const cJSON *item, gantry_top_pool_t *out) {
    char name[64];
    top_programs_copy_field(name, sizeof name, item, "device");
    const char *prefix = "/device:";
    const bool has_prefix = strncmp(name, prefix, strlen(prefix)) == 0;
    (void)snprintf(out->device, sizeof out->device, "%.31s",
                   has_prefix ? name + strlen(prefix) : name);
    top_programs_copy_field(out->uuid, sizeof out->uuid, item, "uuid");
    out->in_use_bytes = (uint64_t)top_programs_number_of(item, "in_use_bytes");
    out->pool_bytes = (uint64_t)top_programs_number_of(item, "pool_bytes");
    out->peak_bytes = (uint64_t)top_programs_number_of(item, "peak_bytes");
    out->limit_bytes = (uint64_t)top_programs_number_of(item, "limit_bytes");
    out->foreign_bytes = (uint64_t)top_programs_number_of(item, "foreign_bytes");
}

/* A tick of 10 ms more: the start of a process is rounded down to one. */
static bool is_alive(uint32_t pid, uint64_t user, double written, double now) {
    const double start = gantry__os_process_start(pid, user);
    return start >= 0.0 && start <= written + 0.01 && written <= now + 0.01;
}

static bool read_program(const cJSON *root, uint64_t user, gantry_top_program_t *out) {
    const double written = top_programs_number_of(root, "boot_ms") * 1e-3, now = boot_seconds();
    const double pid = top_programs_number_of(root, "pid");
    if (pid < 1.0 || pid > 4294967295.0 || !is_alive((uint32_t)pid, user, written, now))
        return false;
    out->pid = (uint32_t)pid;
    out->age_seconds = now > written ? now - written : 0.0;
    out->pool_count = 0;
    gantry_top_describe(out->pid, out->name, sizeof out->name, out->user, sizeof out->user);
    const cJSON *devices = cJSON_GetObjectItemCaseSensitive(root, "devices"), *item;
    cJSON_ArrayForEach(item, devices) {
        if (out->pool_count == GANTRY_TOP_POOLS) break;
        read_pool(item, &out->pools[out->pool_count++]);
    }
    return true;
}

static bool top_programs_read_file(const char *path, gantry_top_program_t *out) {
    gantry__os_info_t info;
    if (gantry__os_link_info(path, &info) != 0 || info.kind != GANTRY__OS_PLAIN ||
        info.size > MOST_FILE_BYTES)
        return false;
    char *text = malloc(MOST_FILE_BYTES + 1);
    cJSON *root =
        text && read_start(path, text, MOST_FILE_BYTES + 1) > 0 ? cJSON_Parse(text) : NULL;
    const bool is_program = root && read_program(root, info.user, out);
    cJSON_Delete(root);
    free(text);
    return is_program;
}

/* ---- the folder ---- */

static bool is_status_name(const char *name) {
    const size_t length = strlen(name);
    return length > 5 && strcmp(name + length - 5, ".json") == 0;
}

static int compare_pids(const void *a, const void *b) {
    const gantry_top_program_t *x = a, *y = b;
    return x->pid < y->pid ? -1 : x->pid > y->pid;
}

typedef struct found_t {
    gantry_top_t *top;
    const char *folder;
} found_t;

static bool take_program(void *user, const char *name) {
    const found_t *found = user;
    gantry_top_t *top = found->top;
    char path[1024];
    if (!is_status_name(name) ||
        (size_t)snprintf(path, sizeof path, "%s/%s", found->folder, name) >= sizeof path)
        return true;
    if (top_programs_read_file(path, &top->programs[top->program_count])) ++top->program_count;
    return top->program_count < GANTRY_TOP_PROGRAMS;
}

void gantry_top_read_programs(gantry_top_t *top, const char *folder) {
    found_t found = {top, folder};
    top->program_count = 0;
    (void)gantry__os_list(folder, take_program, &found);
    qsort(top->programs, top->program_count, sizeof top->programs[0], compare_pids);
}
