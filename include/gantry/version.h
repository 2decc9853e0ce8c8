/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * The library's version, at compile time and at run time. The text is constant; thread-safe. */
#ifndef GANTRY_VERSION_H
#define GANTRY_VERSION_H

#include <gantry/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Changes when programs must change. */
#define GANTRY_VERSION_MAJOR 0
/** Changes with new functions and fields. */
#define GANTRY_VERSION_MINOR 1
/** Changes with corrections. */
#define GANTRY_VERSION_PATCH 0
/** The version of the headers as a text. */
#define GANTRY_VERSION "0.1.0"

/** The version of the library at run time, to be compared with GANTRY_VERSION. */
GANTRY_API const char *gantry_version(void);

#ifdef __cplusplus
}
#endif
#endif
