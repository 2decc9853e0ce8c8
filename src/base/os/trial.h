/* SPDX-License-Identifier: Apache-2.0 */
/* A process that tries what may crash it or hold it for ever. Only programs may call this, because
 * it is for the whole process. Owner: the program. Threads: init-only. */
#ifndef GANTRY_BASE_OS_TRIAL_H
#define GANTRY_BASE_OS_TRIAL_H

/* A crash of this process is a result: it writes no core file, and asks no user. */
void gantry__os_crash_quietly(void);
/* Ends this process with the one that started it, on systems that can do it: nobody waits for the
 * result of an orphan. */
void gantry__os_end_with_parent(void);
/* Ends this process after so many seconds, as a signal of SIGALRM does, whatever its threads do. */
void gantry__os_end_after(unsigned seconds);

#endif
