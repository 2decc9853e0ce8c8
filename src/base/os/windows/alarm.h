/* SPDX-License-Identifier: Apache-2.0 */
/* The exit code of a process that an alarm of its own ended; of POSIX's shells for SIGALRM, with a
 * mark that no other program uses. Owner: nothing is kept. Threads: thread-safe. */
#ifndef GANTRY_BASE_OS_WINDOWS_ALARM_H
#define GANTRY_BASE_OS_WINDOWS_ALARM_H

#define GANTRY__OS_ALARM_CODE 0x6A00008Eu

#endif
