/* SPDX-License-Identifier: Apache-2.0 */
/* gantry run: the child. This process stays its parent, forwards signals, and ends as it does. Both
 * hold the claims, so a card stays claimed when either is killed. */
#include <errno.h>
#include <string.h>

#include "base/os/foreground.h"
#include "base/os/paths.h"
#include "run/run.h"

static int refuse_program(const char *command, int error) {
    const bool is_missing = error == ENOENT || error == ENOTDIR,
               has_folder = gantry__os_path_has_folder(command);
    if (is_missing && has_folder && gantry__os_may(command, GANTRY__OS_MAY_RUN) == 0) {
        (void)gantry_tool_fail(
            "run: \"%s\" cannot be run: the interpreter that it names, or its loader, is not found",
            command);
        return GANTRY_RUN_NOT_FOUND;
    }
    (void)gantry_tool_fail(
        "run: \"%s\" %s%s%s", command,
        is_missing ? "is not found" : "cannot be run: ", is_missing ? "" : strerror(error),
        is_missing && !has_folder ? " in the folders of PATH" : "");
    return is_missing ? GANTRY_RUN_NOT_FOUND : GANTRY_RUN_NOT_EXECUTABLE;
}

int gantry_run_find_program(const char *command, char out_path[GANTRY__OS_PATH_BYTES]) {
    const int error = gantry__os_find_program(command, out_path);
    return error ? refuse_program(command, error) : 0;
}

int gantry_run_child(const char *path, char **arguments) {
    int code;
    switch (gantry__os_run(path, arguments, &code)) {
        case GANTRY__OS_RUN_NO_PROCESS:
            return gantry_tool_fail("run: no process for \"%s\": %s", path, strerror(code));
        case GANTRY__OS_RUN_REFUSED: return refuse_program(path, code);
        case GANTRY__OS_RUN_LOST:
            return gantry_tool_fail("run: the program is lost: %s", strerror(code));
        default: return code;
    }
}
