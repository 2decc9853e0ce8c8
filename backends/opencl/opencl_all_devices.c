/* SPDX-License-Identifier: Apache-2.0 */
#include "opencl/opencl_all_devices.h"

#include <stdlib.h>

#include "base/os/library.h"
#include "opencl/opencl_names.h"

/* Sets the mark in the layer, if the loader has opened it. */
static void mark(int is_on) {
    const char *names = getenv("GANTRY_OPENCL_LAYER_DEVICES");
    if (!names || !*names) return;
    void *layer = gantry__os_library_open(GANTRY__OPENCL_LAYER,
                                          GANTRY__OS_LIBRARY_LAZY | GANTRY__OS_LIBRARY_LOADED);
    if (!layer) return;
    void (*show_all)(int is_on);
    if (gantry__os_library_function(layer, "gantry_opencl_layer_show_all", &show_all))
        show_all(is_on);
    gantry__os_library_close(layer);
}

/* This call is refused, but it first starts the loader, which opens its layers. */
void gantry__opencl_all_devices_begin(const gantry__opencl_symbols_t *cl) {
    const char *names = getenv("GANTRY_OPENCL_LAYER_DEVICES");
    if (names && *names) (void)cl->clGetPlatformIDs(0, NULL, NULL);
    mark(1);
}

void gantry__opencl_all_devices_end(void) { mark(0); }
