/* SPDX-License-Identifier: Apache-2.0 */
/* A child is in a job, which ends with all that the child started. It gets no handle but that of
 * its report, by the block with which C runtimes hand on their descriptors. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "base/os/clock.h"
#include "base/os/environment.h"
#include "base/os/files.h"
#include "base/os/process.h"
#include "base/os/windows/alarm.h"
#include "base/os/windows/command_line.h"
#include "base/os/windows/handles.h"
#include "base/os/windows/wide.h"

typedef struct os_job_t {
    HANDLE job, process;
} os_job_t;

/* ---- texts of the start ---- */

typedef struct wide_text_t {
    wchar_t *units;
    size_t count, capacity;
    bool is_short_of_memory;
} wide_text_t;

static void wide_text_add(wide_text_t *text, wchar_t unit) {
    if (text->count == text->capacity && !text->is_short_of_memory) {
        const size_t capacity = text->capacity ? 2 * text->capacity : 256;
        wchar_t *more = realloc(text->units, capacity * sizeof *more);
        text->is_short_of_memory = !more;
        if (more) {
            text->units = more;
            text->capacity = capacity;
        }
    }
    if (!text->is_short_of_memory) text->units[text->count++] = unit;
}

static void wide_text_add_all(wide_text_t *text, const char *from, bool with_end) {
    const int units = MultiByteToWideChar(CP_UTF8, 0, from, -1, NULL, 0);
    wchar_t *wide = units > 0 ? malloc((size_t)units * sizeof *wide) : NULL;
    if (!wide) {
        text->is_short_of_memory = true;
        return;
    }
    (void)MultiByteToWideChar(CP_UTF8, 0, from, -1, wide, units);
    for (int i = 0; i + !with_end < units; ++i) wide_text_add(text, wide[i]);
    free(wide);
}

/* Quotes an argument as the C runtime reads it: backslashes count only before a quotation mark. */
static void line_add_argument(wide_text_t *line, const char *argument) {
    size_t slashes = 0;
    if (line->count > 0) wide_text_add(line, L' ');
    wide_text_add(line, L'"');
    wide_text_t all = {0};
    wide_text_add_all(&all, argument, false);
    for (size_t i = 0; i < all.count; ++i) {
        const wchar_t unit = all.units[i];
        const size_t more = unit == L'"' ? slashes + 1 : 0;
        for (size_t k = 0; k < more; ++k) wide_text_add(line, L'\\');
        slashes = unit == L'\\' ? slashes + 1 : 0;
        wide_text_add(line, unit);
    }
    for (; slashes > 0; --slashes) wide_text_add(line, L'\\');
    wide_text_add(line, L'"');
    line->is_short_of_memory = line->is_short_of_memory || all.is_short_of_memory;
    free(all.units);
}

wchar_t *gantry__os_command(char *const *arguments) {
    wide_text_t line = {0};
    for (; *arguments; ++arguments) line_add_argument(&line, *arguments);
    wide_text_add(&line, L'\0');
    if (!line.is_short_of_memory) return line.units;
    free(line.units);
    return NULL;
}

typedef struct block_t {
    const char *const *changes;
    wide_text_t text;
} block_t;

static bool add_unchanged(void *user, const char *assignment) {
    block_t *block = user;
    for (const char *const *change = block->changes; change && *change; ++change) {
        const size_t length = strcspn(*change, "=") + 1;
        if (_strnicmp(*change, assignment, length) == 0) return true;
    }
    wide_text_add_all(&block->text, assignment, true);
    return true;
}

static void child_make_block(block_t *block) {
    gantry__os_variables_visit(add_unchanged, block);
    for (const char *const *change = block->changes; change && *change; ++change)
        wide_text_add_all(&block->text, *change, true);
    wide_text_add(&block->text, L'\0');
    wide_text_add(&block->text, L'\0');
}

/* ---- its descriptors ---- */

#define HANDED_ON (GANTRY__OS_CHILD_REPORT + 1)
enum { RUNTIME_IS_OPEN = 0x01, RUNTIME_IS_PIPE = 0x08 };

/* A count, a byte of flags and a handle for each descriptor, without gaps. */
typedef struct runtime_block_t {
    unsigned char bytes[sizeof(int) + HANDED_ON * (1 + sizeof(HANDLE))];
} runtime_block_t;

static void describe_files(HANDLE report, HANDLE nothing, runtime_block_t *out_block) {
    const int count = HANDED_ON;
    unsigned char *flags = out_block->bytes + sizeof count, *handles = flags + HANDED_ON;
    memset(out_block, 0, sizeof *out_block);
    memcpy(out_block->bytes, &count, sizeof count);
    for (int i = 0; i < HANDED_ON; ++i) {
        const HANDLE handle = i == GANTRY__OS_CHILD_REPORT ? report : nothing;
        flags[i] = handle == INVALID_HANDLE_VALUE ? 0
                   : i == GANTRY__OS_CHILD_REPORT ? RUNTIME_IS_OPEN | RUNTIME_IS_PIPE
                                                  : RUNTIME_IS_OPEN;
        memcpy(handles + (size_t)i * sizeof handle, &handle, sizeof handle);
    }
}

/* A handle that children may inherit: of the empty device, or a copy of another. */
static HANDLE inheritable(HANDLE from) {
    SECURITY_ATTRIBUTES inherits = {.nLength = sizeof inherits, .bInheritHandle = TRUE};
    HANDLE copy = INVALID_HANDLE_VALUE;
    if (from == INVALID_HANDLE_VALUE)
        return CreateFileW(L"NUL", GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE,
                           &inherits, OPEN_EXISTING, 0, NULL);
    return DuplicateHandle(GetCurrentProcess(), from, GetCurrentProcess(), &copy, 0, TRUE,
                           DUPLICATE_SAME_ACCESS)
               ? copy
               : INVALID_HANDLE_VALUE;
}

/* ---- its start ---- */

/* Starts the program halted, puts it into the job and lets it run. */
static int start_in_job(const wchar_t *program, wchar_t *line, void *variables, STARTUPINFOEXW *how,
                        os_job_t *job) {
    PROCESS_INFORMATION made;
    const DWORD flags = CREATE_SUSPENDED | CREATE_UNICODE_ENVIRONMENT | CREATE_NEW_PROCESS_GROUP |
                        CREATE_NO_WINDOW | EXTENDED_STARTUPINFO_PRESENT;
    if (!CreateProcessW(program, line, NULL, NULL, TRUE, flags, variables, NULL, &how->StartupInfo,
                        &made))
        return gantry__os_errno();
    job->process = made.hProcess;
    if (job->job && !AssignProcessToJobObject(job->job, made.hProcess)) {
        (void)CloseHandle(job->job);
        job->job = NULL;
    }
    (void)ResumeThread(made.hThread);
    (void)CloseHandle(made.hThread);
    return 0;
}

static int start_with(const wchar_t *program, wchar_t *line, void *variables, HANDLE report,
                      os_job_t *job) {
    runtime_block_t block;
    HANDLE handed[2] = {inheritable(INVALID_HANDLE_VALUE), INVALID_HANDLE_VALUE};
    SIZE_T bytes = 0;
    size_t count = 1;
    if (report != INVALID_HANDLE_VALUE) {
        handed[1] = inheritable(report);
        count = 2;
    }
    describe_files(handed[1], handed[0], &block);
    (void)InitializeProcThreadAttributeList(NULL, 1, 0, &bytes);
    STARTUPINFOEXW how = {.StartupInfo = {.cb = sizeof how,
                                          .dwFlags = STARTF_USESTDHANDLES,
                                          .cbReserved2 = sizeof block,
                                          .lpReserved2 = block.bytes,
                                          .hStdInput = handed[0],
                                          .hStdOutput = handed[0],
                                          .hStdError = handed[0]},
                          .lpAttributeList = malloc(bytes)};
    int error = how.lpAttributeList ? 0 : ENOMEM;
    if (error == 0 &&
        (!InitializeProcThreadAttributeList(how.lpAttributeList, 1, 0, &bytes) ||
         !UpdateProcThreadAttribute(how.lpAttributeList, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST,
                                    handed, count * sizeof *handed, NULL, NULL)))
        error = gantry__os_errno();
    if (error == 0) {
        error = start_in_job(program, line, variables, &how, job);
        DeleteProcThreadAttributeList(how.lpAttributeList);
    }
    free(how.lpAttributeList);
    for (size_t i = 0; i < 2; ++i)
        if (handed[i] != INVALID_HANDLE_VALUE) (void)CloseHandle(handed[i]);
    return error;
}

HANDLE gantry__os_job_make(void) {
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {.BasicLimitInformation.LimitFlags =
                                                       JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE};
    const HANDLE job = CreateJobObjectW(NULL, NULL);
    if (job)
        (void)SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits,
                                      sizeof limits);
    return job;
}

void gantry__os_job_release(HANDLE job) {
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION none = {0};
    if (job)
        (void)SetInformationJobObject(job, JobObjectExtendedLimitInformation, &none, sizeof none);
}

int gantry__os_child_start(const gantry__os_start_t *start, gantry__os_child_t *out_child) {
    wchar_t program[GANTRY__OS_WIDE];
    wchar_t *line = gantry__os_command((char *const *)(uintptr_t)start->arguments);
    block_t variables = {.changes = start->variables};
    os_job_t *job = calloc(1, sizeof *job);
    HANDLE report = INVALID_HANDLE_VALUE;
    int error = job ? 0 : ENOMEM;
    if (error == 0 && !gantry__os_wide_path(start->program, program)) error = errno;
    if (error == 0 && start->report >= 0) {
        report = gantry__os_handle(start->report);
        if (report == INVALID_HANDLE_VALUE) error = EBADF;
    }
    if (start->variables) child_make_block(&variables);
    if (error == 0 && (!line || variables.text.is_short_of_memory)) error = ENOMEM;
    if (error == 0) {
        job->job = gantry__os_job_make();
        error = start_with(program, line, variables.text.units, report, job);
        if (error != 0 && job->job) (void)CloseHandle(job->job);
    }
    if (error == 0)
        *out_child = (gantry__os_child_t){GetProcessId(job->process), job};
    else
        free(job);
    free(line);
    free(variables.text.units);
    return error;
}

/* ---- its end ---- */

static void job_close(gantry__os_child_t *child) {
    os_job_t *job = child->handle;
    if (!job) return;
    if (job->job) (void)CloseHandle(job->job);
    (void)CloseHandle(job->process);
    free(job);
    child->handle = NULL;
}

/* An exception's number ends a process that has no answer to it. */
static gantry__os_end_t end_of_code(DWORD code, int *out_code) {
    *out_code = (int)code;
    if (code == GANTRY__OS_ALARM_CODE) return GANTRY__OS_ALARMED;
    if (code == STATUS_CONTROL_C_EXIT) return GANTRY__OS_KILLED;
    return code >= 0xC0000000u || code == STATUS_BREAKPOINT ? GANTRY__OS_CRASHED
                                                            : GANTRY__OS_EXITED;
}

gantry__os_end_t gantry__os_child_wait(gantry__os_child_t *child, uint64_t timeout_ns,
                                       uint64_t pause_ns, int *out_code) {
    const os_job_t *job = child->handle;
    const uint64_t most = INFINITE - 1, ms = timeout_ns / 1000000 + (timeout_ns % 1000000 > 0);
    DWORD code = 0;
    (void)pause_ns;
    if (!job) return GANTRY__OS_LOST;
    if (WaitForSingleObject(job->process, (DWORD)(ms < most ? ms : most)) != WAIT_OBJECT_0)
        return GANTRY__OS_RUNS;
    const bool is_known = GetExitCodeProcess(job->process, &code);
    job_close(child);
    return is_known ? end_of_code(code, out_code) : GANTRY__OS_LOST;
}

void gantry__os_child_kill(gantry__os_child_t *child) {
    const os_job_t *job = child->handle;
    if (!job) return;
    if (job->job) (void)TerminateJobObject(job->job, 1);
    (void)TerminateProcess(job->process, 1);
    (void)WaitForSingleObject(job->process, INFINITE);
    job_close(child);
}

void gantry__os_child_leave(gantry__os_child_t *child) {
    const os_job_t *job = child->handle;
    if (job) gantry__os_job_release(job->job);
    job_close(child);
}

bool gantry__os_child_can_wait(void) { return true; }

/* ---- pipes ---- */

int gantry__os_pipe(int *out_reading, int *out_writing) {
    HANDLE reading, writing;
    DWORD mode = PIPE_READMODE_BYTE | PIPE_NOWAIT;
    if (!CreatePipe(&reading, &writing, NULL, 0)) return gantry__os_errno();
    (void)SetNamedPipeHandleState(reading, &mode, NULL, NULL);
    *out_reading = gantry__os_descriptor(reading, 0);
    *out_writing = gantry__os_descriptor(writing, 0);
    if (*out_reading >= 0 && *out_writing >= 0) return 0;
    const int error = errno;
    if (*out_reading >= 0) (void)gantry__os_close(*out_reading);
    if (*out_writing >= 0) (void)gantry__os_close(*out_writing);
    return error;
}
