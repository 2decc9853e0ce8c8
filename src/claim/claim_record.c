/* SPDX-License-Identifier: Apache-2.0 */
/* One field a line: "process 123". The age comes from the time since the machine's start, which no
 * one sets. */
#include "claim/claim_record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/files.h"
#include "base/os/clock.h"
#include "base/os/process.h"
#include "shared/printable.h"

#define RECORD_BYTES 1024

static uint64_t seconds_since_boot(void) { return gantry__os_boot_ns() / UINT64_C(1000000000); }

/* ---- writing ---- */

void gantry__claim_record_write(int file, const char *command) {
    char text[RECORD_BYTES], line[RECORD_BYTES / 2], host[64] = "";
    char since[GANTRY__OS_DATE_BYTES];
    gantry__os_utc_text(time(NULL), since);
    gantry__os_host_name(host, sizeof host);
    if (command) (void)snprintf(line, sizeof line, "%s", command);
    if (!command) gantry__os_command_line(line, sizeof line);
    gantry__make_printable(line, '\0');
    int length =
        snprintf(text, sizeof text,
                 "process %ld\nuser %ld\nhost %s\nsince %s\nboot %" PRIu64 "\ncommand %s\n",
                 (long)gantry__os_process(), (long)gantry__os_user(), host, since,
                 seconds_since_boot(), line);
    if (gantry__os_truncate(file, 0) != 0 || length < 0) return;
    (void)gantry__os_write(file, text, (size_t)length, 0);
}

/* ---- reading ---- */

static void record_field(const char *text, const char *key, char *out, size_t out_bytes) {
    const char *line = strstr(text, key);
    out[0] = '\0';
    if (!line || (line != text && line[-1] != '\n')) return;
    line += strlen(key);
    (void)snprintf(out, out_bytes, "%.*s", (int)strcspn(line, "\n"), line);
    gantry__make_printable(out, '\0');
}

static int64_t record_number(const char *text, const char *key, int64_t fallback) {
    char number[24], *end;
    record_field(text, key, number, sizeof number);
    long long value = strtoll(number, &end, 10);
    return *number && !*end && value >= 0 ? value : fallback;
}

void gantry__claim_record_read(int file, gantry_claim_info_t *out_info) {
    char text[RECORD_BYTES];
    const int64_t length = gantry__os_read_at(file, text, sizeof text - 1, 0);
    text[length > 0 ? length : 0] = '\0';
    out_info->process = record_number(text, "process ", 0);
    out_info->user = record_number(text, "user ", -1);
    const uint64_t boot = (uint64_t)record_number(text, "boot ", 0), now = seconds_since_boot();
    out_info->held_seconds = boot > 0 && boot < now ? now - boot : 0;
    record_field(text, "since ", out_info->since, sizeof out_info->since);
    record_field(text, "host ", out_info->host, sizeof out_info->host);
    record_field(text, "command ", out_info->command, sizeof out_info->command);
}

void gantry__claim_record_describe(const gantry_claim_info_t *info, char *out, size_t out_bytes) {
    if (info->process == 0) {
        (void)snprintf(out, out_bytes, "a process that left no name");
        return;
    }
    (void)snprintf(out, out_bytes,
                   "process %" PRId64 " (user %" PRId64 ", host %s): %.100s, since %s",
                   info->process, info->user, info->host, info->command, info->since);
}
