/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/processor.h"

bool gantry__os_processor_has_dots(void) { return false; }
