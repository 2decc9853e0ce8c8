/* SPDX-License-Identifier: Apache-2.0 */
/* Gantry's OpenCL layer, as Gantry's OpenCL backend finds it in its process by the name of the
 * library. Owner: the mark belongs to its thread. Threads: thread-safe. */
#ifndef GANTRY_OPENCL_LAYER_H
#define GANTRY_OPENCL_LAYER_H

/* With 1, the calling thread sees all devices until it calls this with 0, which must follow. */
void gantry_opencl_layer_show_all(int is_on);

#endif
