/* SPDX-License-Identifier: Apache-2.0 */
/* Promise (faults.host): When any one host allocation fails, the call returns the right status,
 * nothing leaks, and the next op works.
 * Promise (faults.fake): When any one call of the fake backend fails, the library returns the right
 * status, nothing leaks, and the next op works.
 * Promise (faults.opencl): When any one OpenCL call fails, which a layer of the loader makes it do,
 * the library returns the right status, nothing leaks, and the next op works.
 * Promise (faults.cuda): When any one call of the driver, NVRTC, cuBLASLt, cuDNN or NVML fails on
 * the stand-in, the library returns the right status and nothing leaks.
 * Promise (faults.card): When any one host allocation fails while a card of the stand-in for
 * NVIDIA's driver is in use, the call returns the right status and nothing leaks.
 *
 * The fault tool's command line. */
#define _GNU_SOURCE
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "faults.h"

#define SKIPPED 77

static const char usage[] =
    "usage: gantry_faults --source host|fake|opencl|cuda|card [options]\n"
    "  card                    host memory, while the first CUDA card is in use: a real one, or the one that GANTRY_CUDA_... name\n"
    "  --scenario NAME[,NAME]  run only these; a name ending in * selects all with this prefix\n"
    "  --random N              N random occurrences of each site in addition to the first, second and last (2)\n"
    "  --once                  leave out sites of earlier scenarios of this call\n"
    "  --ends                  leave out the second occurrence of each site\n"
    "  --seed N                seed of the random occurrences (1)\n"
    "  --timeout N             seconds after which a run counts as hanging (30)\n"
    "  --site X --occurrence N only this fault, as a failure prints it\n"
    "  --list                  the scenarios of the source\n"
    "  --verbose               prints the result of each run and the program's standard error\n";

typedef struct line_t {
    faults_settings_t settings;
    int source;
    const char *scenarios;
    bool list;
} line_t;

static bool take_option(line_t *line, const char *name, const char *value) {
    if (strcmp(name, "--source") == 0) {
        for (int i = 0; i < FAULTS_SOURCES; ++i) {
            if (strcmp(value, faults_source_name((faults_source_t)i)) == 0) line->source = i;
        }
        return line->source >= 0;
    }
    if (strcmp(name, "--scenario") == 0)
        line->scenarios = value;
    else if (strcmp(name, "--random") == 0)
        line->settings.random_count = strtoull(value, NULL, 10);
    else if (strcmp(name, "--seed") == 0)
        line->settings.seed = strtoull(value, NULL, 10);
    else if (strcmp(name, "--timeout") == 0)
        line->settings.timeout_s = (uint32_t)strtoul(value, NULL, 10);
    else if (strcmp(name, "--site") == 0)
        line->settings.site = strtoull(value, NULL, 16);
    else if (strcmp(name, "--occurrence") == 0)
        line->settings.occurrence = strtoull(value, NULL, 10);
    else
        return false;
    return true;
}

static bool parse(int argc, char **argv, line_t *line) {
    for (int i = 1; i < argc; ++i) {
        if (strcmp(argv[i], "--list") == 0)
            line->list = true;
        else if (strcmp(argv[i], "--once") == 0)
            line->settings.once = true;
        else if (strcmp(argv[i], "--ends") == 0)
            line->settings.ends = true;
        else if (strcmp(argv[i], "--verbose") == 0)
            line->settings.verbose = true;
        else if (i + 1 >= argc || !take_option(line, argv[i], argv[i + 1]))
            return false;
        else
            ++i;
    }
    return line->source >= 0 && (line->settings.site == 0) == (line->settings.occurrence == 0);
}

static bool is_wanted(const char *names, const char *name) {
    if (!names || strcmp(names, "all") == 0) return true;
    while (*names) {
        size_t length = strcspn(names, ",");
        bool is_prefix = length > 0 && names[length - 1] == '*';
        if (is_prefix ? strncmp(name, names, length - 1) == 0
                      : strlen(name) == length && strncmp(name, names, length) == 0)
            return true;
        names += length + (names[length] == ',');
    }
    return false;
}

/* The first name in the list that no scenario of the source has; NULL when each has one. */
static const char *unknown_scenario(const line_t *line) {
    for (const char *at = line->scenarios; at && *at;) {
        char name[128];
        size_t length = strcspn(at, ",");
        bool known = false;
        (void)snprintf(name, sizeof name, "%.*s", (int)length, at);
        for (size_t i = 0; i < faults_scenario_count; ++i)
            known |= (faults_scenarios[i].flags >> line->source & 1) &&
                     is_wanted(name, faults_scenarios[i].name);
        if (!known) return at;
        at += length + (at[length] == ',');
    }
    return NULL;
}

/* Removes settings of the caller's environment, which would change the runs. */
static void clear_environment(void) {
    static const char *const kept[] = {"GANTRY_TEST_FAULTS_CACHE", "GANTRY_OPENCL_MATMUL"};
    extern char **environ;
    for (size_t i = 0; environ[i];) {
        char name[128];
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(environ[i], "="), environ[i]);
        bool is_kept = (strncmp(name, "GANTRY_", 7) != 0 && strncmp(name, "TF_", 3) != 0) ||
                       strncmp(name, "GANTRY_CUDA_", 12) == 0 ||
                       strcmp(name, "GANTRY_STAND_IN_CUDA") == 0;
        for (size_t k = 0; k < sizeof kept / sizeof kept[0]; ++k)
            is_kept |= strcmp(name, kept[k]) == 0;
        if (is_kept || unsetenv(name) != 0) ++i;
    }
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place) {
    (void)info;
    (void)kind;
    (void)place;
    return remove(path);
}

/* Makes the files that scenarios read and write, and program caches unless the environment names
 * others. */
static bool make_folder(char *folder) {
    char path[256];
    if (!mkdtemp(folder)) return false;
    (void)snprintf(path, sizeof path, "%s/kernel_cache", folder);
    (void)setenv("GANTRY_TEST_FAULTS_CACHE", path, 0);
    (void)snprintf(path, sizeof path, "%s/pocl_cache", folder);
    if (mkdir(path, 0700) == 0) (void)setenv("POCL_CACHE_DIR", path, 0);
    return true;
}

static void remove_folder(const char *folder) {
    (void)nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static int run_all(const line_t *line) {
    faults_totals_t totals = {0};
    struct timespec begin, end;
    const char *unknown = unknown_scenario(line);
    if (unknown) {
        (void)printf("--scenario %.*s: no scenario of this name with --source %s\n",
                     (int)strcspn(unknown, ","), unknown,
                     faults_source_name((faults_source_t)line->source));
        return 2;
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &begin);
    if (!line->list)
        (void)printf("%-7s %-34s %6s %8s %9s %9s %8s %7s\n", "source", "scenario", "sites",
                     "faults", "went well", "unreached", "failures", "seconds");
    for (size_t i = 0; i < faults_scenario_count; ++i) {
        const faults_scenario_t *scenario = &faults_scenarios[i];
        if (!(scenario->flags >> line->source & 1) || !is_wanted(line->scenarios, scenario->name))
            continue;
        if (line->list)
            (void)printf("%s\n", scenario->name);
        else
            faults_try(&line->settings, scenario, &totals);
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    if (line->list) return 0;
    (void)printf(
        "%s: %" PRIu64 " scenarios, %" PRIu64 " sites, %" PRIu64 " faults, %" PRIu64
        " went well another way, %" PRIu64 " did not come, %" PRIu64 " failures; %.1f s\n",
        faults_source_name(faults_source), totals.scenarios, totals.sites, totals.runs,
        totals.fallbacks, totals.unreached, totals.failures,
        (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec));
    if (line->settings.site != 0 && totals.runs == totals.unreached) {
        (void)printf("nothing failed: the site does not come in these scenarios\n");
        return 1;
    }
    if (totals.failures == 0 && totals.sites == 0 && line->settings.site == 0) {
        if (line->source != FAULTS_OPENCL) {
            (void)printf("no event came from the source\n");
            return 1;
        }
        (void)printf(
            "SKIP no event came from the source: does the OpenCL loader take layers (OPENCL_LAYERS)?\n");
        return SKIPPED;
    }
    return totals.failures > 0;
}

int main(int argc, char **argv) {
    char why[512], folder[] = "/tmp/gantry_faults_XXXXXX";
    line_t line = {.settings = {.random_count = 2, .seed = 1, .timeout_s = 30, .program = argv[0]},
                   .source = -1};
    if (!parse(argc, argv, &line)) {
        (void)fputs(usage, stderr);
        return 2;
    }
    clear_environment();
    if (!make_folder(folder) || !faults_write_files(folder) || !faults_load_cases()) {
        (void)fprintf(stderr, "gantry_faults: no folder for files, or no golden cases\n");
        remove_folder(folder);
        return 2;
    }
    if (!line.list && !faults_source_prepare((faults_source_t)line.source, why, sizeof why)) {
        (void)printf("SKIP %s\n", why);
        remove_folder(folder);
        return SKIPPED;
    }
    line.settings.folder = folder;
    int code = run_all(&line);
    remove_folder(folder);
    return code;
}
