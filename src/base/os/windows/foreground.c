/* SPDX-License-Identifier: Apache-2.0 */
/* A console sends Ctrl+C to all of its processes, so this one only waits. The program is in a job,
 * which ends when this process does, because locks of files belong to this process. */
#include "base/os/foreground.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "base/os/environment.h"
#include "base/os/paths.h"
#include "base/os/windows/command_line.h"
#include "base/os/windows/handles.h"
#include "base/os/windows/wide.h"

/* ---- the program ---- */

static int why_no_program(char path[GANTRY__OS_PATH_BYTES]) {
    gantry__os_info_t info;
    const size_t length = strlen(path);
    if (gantry__os_path_info(path, &info) != 0) {
        if (length + strlen(gantry__os_program_ending) + 1 > GANTRY__OS_PATH_BYTES) return ENOENT;
        (void)strcat(path, gantry__os_program_ending);
        const int error = gantry__os_path_info(path, &info);
        if (error != 0) return error;
    }
    return info.kind == GANTRY__OS_FOLDER ? EISDIR : 0;
}

int gantry__os_find_program(const char *command, char out_path[GANTRY__OS_PATH_BYTES]) {
    char folders[32768];
    int error = ENOENT;
    folders[0] = '\0';
    if (*command == '\0') return ENOENT;
    if (gantry__os_path_has_folder(command)) {
        (void)snprintf(out_path, GANTRY__OS_PATH_BYTES, "%s", command);
        return why_no_program(out_path);
    }
    if (gantry__os_variable("PATH", folders, sizeof folders) > sizeof folders) return ENOENT;
    for (const char *at = folders; *at;) {
        const int length = (int)strcspn(at, ";");
        (void)snprintf(out_path, GANTRY__OS_PATH_BYTES, "%.*s/%s", length, at, command);
        const int why = length > 0 ? why_no_program(out_path) : ENOENT;
        if (why == 0) return 0;
        if (why != ENOENT && why != ENOTDIR) error = why;
        at += length;
        if (*at) ++at;
    }
    return error;
}

/* ---- its run ---- */

static BOOL WINAPI ignore_control(DWORD kind) {
    return kind == CTRL_C_EVENT || kind == CTRL_BREAK_EVENT;
}

/* Waits for the program, and lets go what it has started. */
static gantry__os_run_t await_program(const PROCESS_INFORMATION *made, HANDLE job, int *out_code) {
    DWORD code = 0;
    (void)ResumeThread(made->hThread);
    (void)CloseHandle(made->hThread);
    (void)WaitForSingleObject(made->hProcess, INFINITE);
    const BOOL is_known = GetExitCodeProcess(made->hProcess, &code);
    (void)CloseHandle(made->hProcess);
    gantry__os_job_release(job);
    *out_code = is_known ? (int)code : EIO;
    return is_known ? GANTRY__OS_RUN_ENDED : GANTRY__OS_RUN_LOST;
}

gantry__os_run_t gantry__os_run(const char *path, char *const *arguments, int *out_code) {
    wchar_t program[GANTRY__OS_WIDE];
    STARTUPINFOW how = {.cb = sizeof how};
    PROCESS_INFORMATION made;
    gantry__os_run_t result = GANTRY__OS_RUN_REFUSED;
    *out_code = ENOMEM;
    wchar_t *line = gantry__os_command(arguments);
    if (!line) return GANTRY__OS_RUN_NO_PROCESS;
    (void)SetConsoleCtrlHandler(ignore_control, TRUE);
    const BOOL is_started =
        gantry__os_wide_path(path, program) &&
        CreateProcessW(program, line, NULL, NULL, TRUE, CREATE_SUSPENDED, NULL, NULL, &how, &made);
    *out_code = is_started                               ? 0
                : GetLastError() == ERROR_BAD_EXE_FORMAT ? ENOEXEC
                                                         : gantry__os_errno();
    free(line);
    if (is_started) {
        const HANDLE job = gantry__os_job_make();
        if (job) (void)AssignProcessToJobObject(job, made.hProcess);
        result = await_program(&made, job, out_code);
        if (job) (void)CloseHandle(job);
    }
    (void)SetConsoleCtrlHandler(ignore_control, FALSE);
    return result;
}
