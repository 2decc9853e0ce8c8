/* SPDX-License-Identifier: Apache-2.0 */
/* ThreadSanitizer follows each access, at some twenty times the cost. The first rounds show it
 * every pair of accesses, so a loop that repeats them for other timings may be shorter under it. It
 * also reserves nearly all addresses: no limit of the address space leaves it some. */
#ifndef GANTRY_TESTS_SANITIZED_H
#define GANTRY_TESTS_SANITIZED_H

#include <stdbool.h>

#if defined(__SANITIZE_THREAD__)
#define FEWER_FOR_THREAD_SANITIZER(all, some) (some)
#define HAS_THREAD_SANITIZER true
#else
#define FEWER_FOR_THREAD_SANITIZER(all, some) (all)
#define HAS_THREAD_SANITIZER false
#endif

#endif
