/* SPDX-License-Identifier: Apache-2.0 */
#include "shared/errno_status.h"

#include <errno.h>

gantry_status_t gantry__status_of_errno(int error) {
    switch (error) {
        case ENOENT: return GANTRY_NOT_FOUND;
        case EEXIST: return GANTRY_ALREADY_EXISTS;
        case EACCES:
        case EPERM:
        case EROFS: return GANTRY_PERMISSION_DENIED;
#if defined(EDQUOT)
        case EDQUOT:
#endif
        case ENOMEM:
        case ENOSPC:
        case EFBIG:
        case EMFILE:
        case ENFILE: return GANTRY_RESOURCE_EXHAUSTED;
        case ENOTDIR:
        case EISDIR:
        case ENAMETOOLONG:
        case ELOOP:
        case EINVAL: return GANTRY_INVALID_ARGUMENT;
        case EIO: return GANTRY_DATA_LOSS;
        default: return GANTRY_UNKNOWN;
    }
}
