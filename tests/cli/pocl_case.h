/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of PoCL's needs share. Each machine is a shell line with its own process, because PoCL
 * reads its environment once; the test is also the program of these lines.
 *
 * $SELF op ACTION... runs ops on /GPU:0: add, exp, sum, product; wide is add of more elements; big
 * takes 1.2 GB; cpu is add on /CPU:0; groups lets the GPU have groups of work-items; ignore ignores
 * SIGCHLD from then on; sh:LINE runs a shell line between; limit:N leaves the process N MiB of
 * address space. Header only. */
#ifndef TESTS_CLI_POCL_CASE_H
#define TESTS_CLI_POCL_CASE_H

#include "cli_case.h"

#include <gantry/gantry.h>
#include <signal.h>
#include <sys/resource.h>

/* ---- the program ---- */

#define WIDE 30000 /* elements */

static const gantry_tensor_t *make(gantry_scope_t *scope, const char *action) {
    const float values[] = {1, 2, 3, 4};
    if (strcmp(action, "big") == 0)
        return gantry_sum(
            scope, gantry_fill(scope, GANTRY_SHAPE(1200, 1 << 18), gantry_scalar_f32(scope, 1)),
            NULL);
    if (strcmp(action, "product") == 0) {
        const gantry_tensor_t *ones =
            gantry_fill(scope, GANTRY_SHAPE(700, 700), gantry_scalar_f32(scope, 1));
        return gantry_max(scope, gantry_matmul(scope, ones, ones, NULL), NULL);
    }
    if (strcmp(action, "wide") == 0) {
        float *ones = malloc(WIDE * sizeof *ones);
        for (int i = 0; ones && i < WIDE; ++i) ones[i] = 1;
        const gantry_tensor_t *all =
            gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(WIDE), ones, WIDE * sizeof *ones);
        free(ones);
        return gantry_add(scope, all, all);
    }
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(4), values, sizeof values);
    if (strcmp(action, "add") == 0) return gantry_add(scope, x, x);
    if (strcmp(action, "exp") == 0) return gantry_exp(scope, x);
    return gantry_sum(scope, x, NULL);
}

static inline void compute(gantry_runtime_t *runtime, const char *action) {
    float *got = calloc(WIDE, sizeof *got);
    if (!got) return;
    bool is_cpu = strcmp(action, "cpu") == 0;
    gantry_scope_t *scope = gantry_scope_begin(runtime, is_cpu ? "/CPU:0" : "/GPU:0");
    const gantry_tensor_t *result = make(scope, is_cpu ? "add" : action);
    const char *device = "no device";
    if (result) {
        device = strrchr(gantry_logical_device_name(gantry_tensor_device(result)), '/');
        (void)gantry_tensor_read(result, got, gantry_tensor_bytes(result));
    }
    gantry_status_t status = gantry_scope_end(scope);
    (void)printf("%s on %s: %g, %s %s\n", action, device, (double)got[0],
                 gantry_status_name(status), status == GANTRY_OK ? "" : gantry_last_message());
    free(got);
}

/* As a card has them, so that launches have groups of several sizes. */
static inline int have_groups(gantry_runtime_t *runtime) {
    const gantry_logical_device_config_t part = {.max_work_group_size = 256};
    const gantry_physical_device_t *device = NULL;
    size_t count = 0;
    return gantry_list_physical_devices(runtime, "GPU", 1, &device, &count) != GANTRY_OK ||
           count == 0 ||
           gantry_set_logical_device_configuration(runtime, device, &part, 1) != GANTRY_OK;
}

static inline int leave_space(unsigned long mib) {
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%lu", &pages) != 1) return 1;
    (void)fclose(file);
    const rlim_t bytes = pages * (rlim_t)sysconf(_SC_PAGESIZE) + mib * ((rlim_t)1 << 20);
    return setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes});
}

static inline int act(gantry_runtime_t *runtime, const char *action) {
    if (strncmp(action, "sh:", 3) == 0) return system(action + 3);
    if (strncmp(action, "limit:", 6) == 0) return leave_space(strtoul(action + 6, NULL, 10));
    if (strcmp(action, "groups") == 0) return have_groups(runtime);
    if (strcmp(action, "ignore") == 0) return signal(SIGCHLD, SIG_IGN) == SIG_ERR;
    compute(runtime, action);
    return 0;
}

static inline int run_ops(int count, char **actions) {
    gantry_runtime_t *runtime;
    if (gantry_runtime_create(NULL, &runtime) != GANTRY_OK) {
        (void)printf("%s\n", gantry_last_message());
        return 1;
    }
    for (int i = 0; i < count; ++i) {
        if (act(runtime, actions[i]) != 0) return 1;
        (void)fflush(stdout);
    }
    gantry_runtime_release(runtime);
    return 0;
}

/* ---- abilities of this system ---- */

static inline bool is_here(const char *what, const char *line) {
    if (run("%s", line) == 0) return true;
    (void)printf("skipped: %s: %s\n", what, output);
    return false;
}

static inline bool has_mounts(void) {
    return is_here("no mounts of our own",
                   "mkdir -p mounted && unshare -m mount -t tmpfs tmpfs mounted");
}

/* After open_folder: the environment of the lines. 0, or the exit code of main. */
static inline int begin_pocl(void) {
    char self[512];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) return 1;
    self[length] = '\0';
    (void)setenv("SELF", self, 1);
    (void)setenv("BIN", GANTRY_BIN, 1); /* for shells that the line's own shell starts */
    (void)setenv("GANTRY_OPENCL_CPU", "gpu", 1);
    (void)setenv("POCL_DEVICES", "pthread", 1);
    (void)setenv("GANTRY_KERNEL_CACHE", "", 1);
    if (run("POCL_CACHE_DIR=$PWD/first $BIN/gantry devices --verbose") == 0 &&
        strstr(output, "Portable Computing Language"))
        return 0;
    (void)printf("%s", output);
    int code = skip_without_opencl();
    if (code == 0) code = skip_without_pocl();
    return code != 0 ? code : 1;
}

#endif
