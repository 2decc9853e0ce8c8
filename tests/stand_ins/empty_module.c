/* SPDX-License-Identifier: Apache-2.0 */
/* A shared library that opens but is no backend: it exports a function, but not
 * gantry_backend_query. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
extern const int gantry_empty_module;
const int gantry_empty_module = 1;
