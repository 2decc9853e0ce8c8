/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in NCCL only reports a version, from the setting "nccl". */
#include "stand_in_core.h"

STAND_IN_API int ncclGetVersion(int *version);
int ncclGetVersion(int *version) {
    STAND_IN_ENTER(STAND_IN_NEEDS_NOTHING);
    *version = stand_in__machine()->nccl;
    return 0;
}
