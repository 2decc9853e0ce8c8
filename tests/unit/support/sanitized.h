/* SPDX-License-Identifier: Apache-2.0 */
/* Sanitizers look at accesses, at several times their cost. Numbers, steps and epochs that repeat
 * the same accesses are fewer under them, and what only many can show, such as an accuracy, is
 * asserted without them.
 *
 * ThreadSanitizer follows each access, at some twenty times the cost. The first rounds show it
 * every pair of accesses, so a loop that repeats them for other timings may be shorter under it. It
 * also reserves nearly all addresses: no limit of the address space leaves it some. */
#ifndef GANTRY_TESTS_SANITIZED_H
#define GANTRY_TESTS_SANITIZED_H

#include <stdbool.h>

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED true
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define IS_SANITIZED true
#endif
#endif
#ifdef IS_SANITIZED
#define FEWER_FOR_SANITIZERS(all, some) some
#else
#define IS_SANITIZED false
#define FEWER_FOR_SANITIZERS(all, some) all
#endif

/* Of a function that computes what is expected, in arrays of its own. */
#define NOT_SANITIZED __attribute__((no_sanitize("address", "thread", "undefined")))

#if defined(__SANITIZE_THREAD__)
#define FEWER_FOR_THREAD_SANITIZER(all, some) (some)
#define HAS_THREAD_SANITIZER true
#else
#define FEWER_FOR_THREAD_SANITIZER(all, some) (all)
#define HAS_THREAD_SANITIZER false
#endif

#endif
