/* SPDX-License-Identifier: Apache-2.0 */
/* glibc's name of a function that Windows has, too. Owner: nothing is kept. Threads:
 * thread-safe. */
#ifndef GANTRY_TESTS_WINDOWS_MALLOC_H
#define GANTRY_TESTS_WINDOWS_MALLOC_H
#pragma GCC system_header

#include_next <malloc.h>
#define malloc_usable_size _msize

#endif
