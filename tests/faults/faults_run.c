/* SPDX-License-Identifier: Apache-2.0 */
/* One run of a scenario in this process, and the verdict. */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "faults.h"
#include "faults_programs.h"

#define WORD_BYTES 512

/* ---- memory, threads and files of the process ---- */

static int count_entries(const char *folder) {
    int count = 0;
    DIR *stream = opendir(folder);
    if (!stream) return -1;
    while (readdir(stream)) ++count;
    (void)closedir(stream);
    return count;
}

static int count_threads(void) { return count_entries("/proc/self/task"); }
static int count_files(void) { return count_entries("/proc/self/fd"); }

/* A joined thread may need a moment to leave the process table. */
static bool has_given_back(const faults_child_t *child, char *out_why, size_t why_bytes) {
    const struct timespec pause = {.tv_nsec = 2000000};
    int threads = 0, files = 0;
    /* a real driver's threads and files do not count */
    if (faults_source == FAULTS_CARD) return true;
    for (int i = 0; i < 100; ++i) {
        threads = count_threads();
        files = count_files();
        if (threads <= child->threads && files <= child->files) return true;
        (void)nanosleep(&pause, NULL);
    }
    (void)snprintf(out_why, why_bytes, "%d threads and %d files instead of %d and %d", threads,
                   files, child->threads, child->files);
    return false;
}

/* ---- output ---- */

static void empty_file(int file) {
    if (ftruncate(file, 0) == 0) (void)lseek(file, 0, SEEK_SET);
}

static uint64_t hash_file(int file) {
    char block[4096];
    uint64_t hash = UINT64_C(1469598103934665603);
    ssize_t got;
    for (off_t at = 0; (got = pread(file, block, sizeof block, at)) > 0; at += got) {
        for (ssize_t i = 0; i < got; ++i)
            hash = (hash ^ (unsigned char)block[i]) * UINT64_C(1099511628211);
    }
    return hash;
}

static void begin_output(const faults_child_t *child) {
    (void)fflush(stdout);
    (void)fflush(stderr);
    empty_file(child->output);
    empty_file(child->errors);
    (void)fseek(stdin, 0, SEEK_SET);
    clearerr(stdin);
}

/* ---- a run ---- */

static void expand(const faults_child_t *child, const char *word, char *out) {
    size_t used = 0;
    out[0] = '\0';
    for (; *word && used + 1 < WORD_BYTES; ++word) {
        const char *text = NULL;
        if (word[0] == '%' && word[1] == 'd') text = faults_source_device(child->scenario);
        if (word[0] == '%' && word[1] == 't') text = child->settings->folder;
        if (text) {
            used += (size_t)snprintf(out + used, WORD_BYTES - used, "%s", text);
            ++word;
        } else {
            out[used++] = *word;
            out[used] = '\0';
        }
        if (used >= WORD_BYTES) used = WORD_BYTES - 1;
    }
}

static int run_program(faults_child_t *child) {
    static char words[FAULTS_ARGS + 1][WORD_BYTES];
    char *argv[FAULTS_ARGS + 2];
    int argc = 0;
    (void)snprintf(words[0], WORD_BYTES, "%s", child->scenario->name);
    argv[argc++] = words[0];
    for (int i = 0; i < FAULTS_ARGS && child->scenario->args[i]; ++i) {
        expand(child, child->scenario->args[i], words[argc]);
        argv[argc] = words[argc];
        ++argc;
    }
    argv[argc] = NULL;
    begin_output(child);
    /* plain runs build programs */
    (void)alarm(child->settings->timeout_s * (faults_sites_is_aimed() ? 1 : 20));
    int code = faults_calls_run(child->scenario, argc, argv);
    (void)fflush(stdout);
    (void)fflush(stderr);
    return code;
}

bool faults_run_plain(faults_child_t *child, bool learning, char *out_why, size_t why_bytes) {
    static faults_note_t scratch[FAULTS_NOTES];
    char why[512] = "";
    memset(scratch, 0, sizeof scratch);
    faults_heap_reset();
    faults_source_reset();
    faults_cases_begin(NULL);
    faults_calls_begin(child->scenario, learning ? child->notes : scratch, true);
    if (learning) faults_sites_count();
    int code = run_program(child);
    faults_sites_stop();
    (void)faults_calls_end();
    (void)alarm(0);
    if (code == 0 && faults_heap_is_balanced(why, sizeof why) &&
        faults_source_is_clean(why, sizeof why)) {
        child->output_hash = hash_file(child->output);
        child->threads = count_threads();
        child->files = count_files();
        return true;
    }
    (void)snprintf(out_why, why_bytes, "without any fault: exit code %d; %s", code, why);
    return false;
}

static char fail(char *out_why, size_t why_bytes, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static char fail(char *out_why, size_t why_bytes, const char *format, ...) {
    va_list list;
    va_start(list, format);
    (void)vsnprintf(out_why, why_bytes, format, list);
    va_end(list);
    return 'f';
}

/* The program itself reports the failure of a call that bypasses the tool (by a function
 * pointer). */
static bool output_tells(const faults_child_t *child) {
    static char text[1 << 16];
    ssize_t got = pread(child->output, text, sizeof text - 1, 0);
    if (got <= 0) return false;
    text[got] = '\0';
    return faults_source_is_told(text) && strstr(text, gantry_status_name(faults_source_status()));
}

static bool ran_out(const faults_child_t *child, const faults_said_t *said) {
    return (child->scenario->flags & FAULTS_RUNS_OUT) &&
           said->status == GANTRY_RESOURCE_EXHAUSTED &&
           strstr(said->message, "OOM when allocating");
}

/* Compares the first failed call with the required end of the fault. */
static char judge_error(const faults_said_t *said, char *out_why, size_t why_bytes) {
    gantry_status_t wanted = faults_source_status();
    const char *cause = faults_source_cause();
    const char *name = said->status_known ? gantry_status_name(said->status) : "NULL";
    if (said->message[0] == '\0')
        return fail(out_why, why_bytes, "%s (%s) gave %s without a message", said->call,
                    said->place, name);
    /* a device or a backend is missing from then on, and each request for it reports this */
    if (said->in_create) {
        if (said->cause_is_told) return 'e';
        return fail(
            out_why, why_bytes,
            "a runtime was made, but neither log nor backend status has \"%s\"; then %s (%s): %s: %s",
            cause, said->call, said->place, name, said->message);
    }
    /* Bad data keeps its status when only reading its value failed; the message then ends with that
     * failure. */
    char unread[64];
    (void)snprintf(unread, sizeof unread,
                   "the value cannot be read: %s: ", gantry_status_name(wanted));
    if (strstr(said->message, unread) && faults_source_is_told(said->message)) return 'e';
    if (said->status_known && said->status != wanted)
        return fail(out_why, why_bytes, "%s (%s) gave %s instead of %s: %s", said->call,
                    said->place, name, gantry_status_name(wanted), said->message);
    if (!faults_source_is_told(said->message))
        return fail(out_why, why_bytes, "%s (%s) gave %s without the cause \"%s\": %s", said->call,
                    said->place, name, cause, said->message);
    return 'e';
}

static char judge(faults_child_t *child, const faults_said_t *said, bool fired, int code,
                  char *out_why, size_t why_bytes) {
    char why[512];
    if (!fired && (code != 0 || said->differs))
        return fail(out_why, why_bytes, "the fault did not come, but exit code %d, %s (%s): %s",
                    code, said->call, said->place, said->message);
    if (said->next_failure[0])
        return fail(out_why, why_bytes,
                    "the next operation failed: %s (first failure: %s (%s): %s)",
                    said->next_failure, said->call, said->place, said->message);
    if (!faults_heap_is_balanced(why, sizeof why) || !faults_source_is_clean(why, sizeof why) ||
        !has_given_back(child, why, sizeof why))
        return fail(out_why, why_bytes, "%s (first failure: %s (%s): %s)", why, said->call,
                    said->place, said->message);
    if (!fired) return 'u';
    if (code & FAULTS_PROGRAM_WRONG)
        return fail(out_why, why_bytes, "wrong values after the first failure: %s (%s): %s",
                    said->call, said->place, said->message);
    /* a device that lost its kernels when the runtime was made never gets them back */
    if ((code & FAULTS_PROGRAM_UNUSABLE) && !faults_source_is_lost() && !said->in_create)
        return fail(out_why, why_bytes, "not usable after the first failure: %s (%s): %s",
                    said->call, said->place, said->message);
    if (said->differs && ran_out(child, said)) return 'e';
    if (said->differs) return judge_error(said, out_why, why_bytes);
    if (said->in_create && said->cause_is_told) return 'e'; /* one device less, as reported */
    if (code != 0 && output_tells(child)) return 'e';
    if (code == 1 && faults_source_is_lost() && said->cause_is_told)
        return 'e'; /* the program expects behaviour of that device only */
    if (code != 0)
        return fail(out_why, why_bytes, "exit code %d, and no call failed: results are wrong",
                    code);
    if ((child->scenario->flags & FAULTS_SAME_OUTPUT) && !faults_source_is_lost() &&
        hash_file(child->output) != child->output_hash)
        return fail(out_why, why_bytes, "no call failed, and the program printed other results");
    return 'o';
}

static char run_aimed(faults_child_t *child, const faults_site_t *site, uint64_t occurrence,
                      const faults_place_t *place, char *out_why, size_t why_bytes) {
    faults_heap_reset();
    faults_source_reset();
    faults_cases_begin(place);
    faults_calls_begin(child->scenario, child->notes, false);
    faults_sites_aim(site->number, occurrence, place);
    int code = run_program(child);
    faults_sites_stop();
    bool fired = faults_sites_fired();
    const faults_said_t *said = faults_calls_end();
    (void)alarm(0);
    if (child->settings->verbose)
        (void)fprintf(stderr,
                      "gantry_faults: exit code %d, fault %s, first failure: %s (%s): %s: %s\n",
                      code, fired ? "came" : "did not come", said->call, said->place,
                      gantry_status_name(said->status), said->message);
    return judge(child, said, fired, code, out_why, why_bytes);
}

char faults_run_one(faults_child_t *child, const faults_site_t *site, uint64_t occurrence,
                    char *out_why, size_t why_bytes) {
    const faults_place_t *place = occurrence == 1              ? &site->first
                                  : occurrence == 2            ? &site->second
                                  : occurrence == site->events ? &site->last
                                                               : NULL;
    char result = run_aimed(child, site, occurrence, place, out_why, why_bytes);
    if (result != 'u' || !place || !faults_cases_have_skipped()) return result;
    return run_aimed(child, site, occurrence, NULL, out_why, why_bytes);
}
