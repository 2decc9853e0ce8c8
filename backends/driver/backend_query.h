/* SPDX-License-Identifier: Apache-2.0 */
/* Defines a module's only exported symbol, which returns its table: gantry_backend_query, or
 * gantry_backend_query_<name> if the backend is linked into the library.
 *
 * Owner: the table is constant. Threads: thread-safe. */
#ifndef GANTRY_DRIVER_BACKEND_QUERY_H
#define GANTRY_DRIVER_BACKEND_QUERY_H

#include <gantry/backend_abi.h>

#include "kernels/common/kernel_types.h"

#if defined(GANTRY_BACKEND_STATIC)
#define GANTRY__QUERY_SYMBOL(name) gantry_backend_query_##name
#else
#define GANTRY__QUERY_SYMBOL(name) gantry_backend_query
#endif

#define GANTRY__BACKEND_QUERY(name, table)                              \
    GANTRY_BACKEND_EXPORT int32_t GANTRY__QUERY_SYMBOL(name)(           \
        uint32_t max_abi, const gantry_backend_t **out_backend);        \
    GANTRY_BACKEND_EXPORT int32_t GANTRY__QUERY_SYMBOL(name)(           \
        uint32_t max_abi, const gantry_backend_t **out_backend) {       \
        *out_backend = max_abi < (table).abi_version ? NULL : &(table); \
        return *out_backend ? GANTRY_OK : GANTRY_FAILED_PRECONDITION;   \
    }

#endif
