/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the plug-in may offer its devices in this process. An error from the plug-in would end
 * the user's `import tensorflow`, so a plug-in that may not offer its devices does nothing and logs
 * why.
 *
 * Owner: the texts live as long as the process. Threads: init-only, while TensorFlow loads the
 * plug-in. */
#ifndef GANTRY_TENSORFLOW_ADMISSION_H
#define GANTRY_TENSORFLOW_ADMISSION_H

#include <gantry/gantry.h>

/* TensorFlow's version as TensorFlow writes it, "2.21.0", or "" if it does not give one. */
const char *admission_version(void);
/* Why the plug-in may not offer its devices, with the remedy, or "" if it may. The first call
 * decides and logs. */
const char *admission_refusal(void);

/* Whether a version is none of those with which the plug-in is tested, and why, with the remedy.
 * Python calls it, also before a TensorFlow is installed. */
__attribute__((visibility("default"))) bool gantry_tensorflow_refuses_version(const char *version,
                                                                              char *out,
                                                                              size_t out_bytes);

#endif
