/* SPDX-License-Identifier: Apache-2.0 */
/* The library's version, at compile time and at run time. */
#ifndef GANTRY_VERSION_H
#define GANTRY_VERSION_H

#include <gantry/export.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GANTRY_VERSION_MAJOR 0
#define GANTRY_VERSION_MINOR 1
#define GANTRY_VERSION_PATCH 0
#define GANTRY_VERSION "0.1.0"

/* GANTRY_VERSION of the library that runs. */
GANTRY_API const char *gantry_version(void);

#ifdef __cplusplus
}
#endif
#endif
