/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that processes of a machine share by a name.
 *
 * Functions that return an int return 0, or the errno value of the call that *out_call then names.
 * Owner: the caller must close the memory, and who made it must forget its name, so that nothing is
 * left of it. Threads: thread-safe. */
#ifndef GANTRY_BASE_OS_SHARED_MEMORY_H
#define GANTRY_BASE_OS_SHARED_MEMORY_H

#include <stddef.h>

#define GANTRY__OS_SHARED_NAME_BYTES 64

/* Makes zeroed memory, all of which the system gives at once, and a name that no other has. */
int gantry__os_shared_make(size_t bytes, char out_name[GANTRY__OS_SHARED_NAME_BYTES],
                           void **out_memory, const char **out_call);
/* Opens the memory of another process of this user, which has as many bytes. */
int gantry__os_shared_open(const char *name, size_t bytes, void **out_memory,
                           const char **out_call);
/* Takes the name away; who has the memory keeps it. */
void gantry__os_shared_forget(const char *name);
void gantry__os_shared_close(void *memory, size_t bytes);

#endif
