/* SPDX-License-Identifier: Apache-2.0 */
/* Folders in which NVIDIA's libraries are installed and which the loader does not search.
 *
 * Looks at the environment and at the file system; opens nothing.
 * Owner: none. Threads: thread-safe, as far as nobody changes the environment meanwhile. */
#ifndef GANTRY_CUDA_FOLDERS_H
#define GANTRY_CUDA_FOLDERS_H

#include <stdbool.h>

/* GANTRY__CUDA_FOLDERS_TEXT names them for messages. */
#define GANTRY__CUDA_FOLDERS_TEXT \
    "CUDA_HOME, CUDA_PATH, VIRTUAL_ENV, CONDA_PREFIX, the packages of python3 or /usr/local/cuda*"

/* is_checked: the folder comes from HOME, PYTHONUSERBASE or PATH, and a library in it must not be
 * opened if others may write it. */
typedef bool (*gantry__cuda_folder_visit_fn)(void *self, const char *folder, bool is_checked);

/* Calls visit for each folder that is there, in the order of the search, until it returns true;
 * returns whether it did. root stands before the folders of the system: "", but in tests. */
bool gantry__cuda_folders_visit(const char *root, gantry__cuda_folder_visit_fn visit, void *self);

#endif
