/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in cuDNN only reports a version, from the setting "cudnn". */
#include "stand_in_core.h"

STAND_IN_API size_t cudnnGetVersion(void);
size_t cudnnGetVersion(void) { return (size_t)stand_in__machine()->cudnn; }
