/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Visibility of Gantry's public functions; defines GANTRY_API and nothing else, so that it has
 * nothing to own and nothing that threads could share. */
#ifndef GANTRY_EXPORT_H
#define GANTRY_EXPORT_H

/** @def GANTRY_API
 * Marks a public function of the library. */
#if defined(_WIN32) && !defined(GANTRY_STATIC)
#ifdef GANTRY_BUILDING
#define GANTRY_API __declspec(dllexport)
#else
#define GANTRY_API __declspec(dllimport)
#endif
#elif defined(__GNUC__)
#define GANTRY_API __attribute__((visibility("default")))
#else
#define GANTRY_API
#endif

#endif
