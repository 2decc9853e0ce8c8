/* SPDX-License-Identifier: Apache-2.0 */
/* Folders in which NVIDIA's libraries are installed and which the loader does not search. This
 * reads the environment and the file system, and opens nothing.
 *
 * Owner: nothing is kept. Threads: thread-safe, but no thread may change the environment
 * meanwhile. */
#ifndef GANTRY_CUDA_FOLDERS_H
#define GANTRY_CUDA_FOLDERS_H

#include <stdbool.h>

/* GANTRY__CUDA_FOLDERS_TEXT names them for messages. */
#define GANTRY__CUDA_FOLDERS_TEXT \
    "CUDA_HOME, CUDA_PATH, VIRTUAL_ENV, CONDA_PREFIX, the packages of python3 or /usr/local/cuda*"

/* is_checked: the folder comes from HOME, PYTHONUSERBASE or PATH, and a library in it must not be
 * opened if others may write it. */
typedef bool (*gantry__cuda_folder_visit_fn)(void *self, const char *folder, bool is_checked);

/* Calls visit for each folder that exists, in the order of the search, until it returns true;
 * returns whether it did. root is put before the folders of the system; it is "" except in
 * tests. */
bool gantry__cuda_folders_visit(const char *root, gantry__cuda_folder_visit_fn visit, void *self);

#endif
