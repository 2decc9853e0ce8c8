/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the plug-in may offer its devices in this process. An error from the plug-in would end
 * the user's `import tensorflow`, so a plug-in that may not steps aside and says why. Init-only. */
#ifndef GANTRY_TENSORFLOW_ADMISSION_H
#define GANTRY_TENSORFLOW_ADMISSION_H

#include <gantry/gantry.h>

/* TensorFlow's version as it writes it: "2.21.0"; "" if it does not say. */
const char *admission_version(void);
/* Why the plug-in may not, with the remedy; "" if it may. The first call decides and logs. */
const char *admission_refusal(void);

/* Whether a version is none of those that the plug-in is tested with, and why, with the remedy. For
 * Python, which can ask before a TensorFlow is installed. */
__attribute__((visibility("default"))) bool gantry_tensorflow_refuses_version(const char *version,
                                                                              char *out,
                                                                              size_t out_bytes);

#endif
