/* SPDX-License-Identifier: Apache-2.0 */
/* Promise (resident_cpu): A process with a runtime on the CPU stays below 5 MiB of resident memory.
 *
 * A process with an initialised runtime on the CPU must stay below MOST_KIB of resident memory. */
#include <gantry/gantry.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_KIB (5 * 1024)

/* VmRSS of this process in KiB; 0 when unknown. */
static long resident_kib(void) {
    char line[256];
    long kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "VmRSS: %ld kB", &kib) == 1) break;
    }
    if (file) (void)fclose(file);
    return kib;
}

int main(void) {
    const long before = resident_kib();
    if (before == 0) {
        (void)printf("SKIP: /proc/self/status does not tell VmRSS\n");
        return 77;
    }
    const gantry_runtime_options_t options = {.struct_size = sizeof options, .backends = "cpu"};
    gantry_runtime_t *runtime;
    size_t count = 0;
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK ||
        gantry_list_logical_devices(runtime, NULL, 0, NULL, &count) != GANTRY_OK || count == 0) {
        (void)printf("no CPU: %s\n", gantry_last_message());
        return 1;
    }
    const long after = resident_kib();
    (void)printf("%ld KiB, %ld of them before the runtime; accepted are less than %d\n", after,
                 before, MOST_KIB);
    gantry_runtime_release(runtime);
    return after < MOST_KIB ? 0 : 1;
}
