/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of memory and cores come from four places: the machine (/proc), the process itself
 * (ulimit -v and -d), cgroup version 2 (one tree, files in each ancestor) and version 1 (one tree
 * per controller). Every ancestor of its cgroup limits a process. Inside a container the path in
 * /proc/self/cgroup may not exist below the mount. So the path loses its last component again and
 * again, up to the mount:
 *
 *     /sys/fs/cgroup/memory + /a/b   ->   /a/b/FILE, /a/FILE, /FILE        the tightest one wins
 */
#include "cpu/cpu_machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 512
#define FILE_BYTES 8192
#define MOST_CORES 4096 /* whose clocks are read */

/* Reads the first FILE_BYTES - 1 bytes of a file. Returns their number, 0 when it cannot be
 * read. */
static size_t cpu_machine_read_file(const char *path, char *text) {
    size_t length = 0;
    FILE *file = fopen(path, "r");
    if (file) {
        length = fread(text, 1, FILE_BYTES - 1, file);
        fclose(file);
    }
    text[length] = '\0';
    return length;
}

static size_t read_below(const char *root, const char *name, char *text) {
    char path[PATH_BYTES];
    text[0] = '\0';
    if ((size_t)snprintf(path, sizeof path, "%s%s", root, name) >= sizeof path) return 0;
    return cpu_machine_read_file(path, text);
}

/* Returns the text after `key`, without the blanks and colons that follow it, in the first line
 * that starts with key; NULL without such a line. */
static const char *find_line(const char *text, const char *key) {
    size_t length = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) == 0 && strchr(" \t:", line[length]) && line[length] != '\0')
            return line + length + strspn(line + length, " \t:");
    }
    return NULL;
}

/* The decimal number at the start of text; 0 if text starts otherwise ("max"). */
static uint64_t number_at(const char *text) {
    return text && *text >= '0' && *text <= '9' ? strtoull(text, NULL, 10) : 0;
}

static void copy_line(char *out, size_t size, const char *text) {
    size_t length = text ? strcspn(text, "\n") : 0;
    if (length >= size) length = size - 1;
    if (length > 0) memcpy(out, text, length);
    out[length] = '\0';
}

void gantry__cpu_machine_identity(const char *root, gantry__cpu_identity_t *out) {
    char text[FILE_BYTES];
    memset(out, 0, sizeof *out);
    if (read_below(root, "/proc/cpuinfo", text) > 0) {
        copy_line(out->hardware_name, sizeof out->hardware_name, find_line(text, "model name"));
        copy_line(out->vendor, sizeof out->vendor, find_line(text, "vendor_id"));
        out->clock_mhz = (uint32_t)number_at(find_line(text, "cpu MHz"));
    }
    if (out->hardware_name[0] == '\0')
        snprintf(out->hardware_name, sizeof out->hardware_name, "CPU");
}

/* Walks from a cgroup up to its mount and calls visit with the directory of each step. */
typedef void (*visit_fn)(void *context, const char *directory);

static void walk_up(const char *root, const char *mount, const char *group, visit_fn visit,
                    void *context) {
    char directory[PATH_BYTES];
    size_t base = strlen(root) + strlen(mount);
    if ((size_t)snprintf(directory, sizeof directory, "%s%s%s", root, mount, group) >=
        sizeof directory)
        return;
    for (size_t length = strlen(directory); length >= base; --length) {
        const bool is_end = directory[length] == '\0' || directory[length] == '/';
        if (is_end && (length == 0 || directory[length - 1] != '/')) {
            directory[length] = '\0';
            visit(context, directory);
        }
        if (length == 0) break;
    }
}

/* Visits every directory with limits of a controller for this process: in version 1's tree of that
 * name and in version 2's tree. */
static void walk_controller(const char *root, const char *controller, visit_fn version_1,
                            visit_fn version_2, void *context) {
    char text[FILE_BYTES];
    char *line = text;
    read_below(root, "/proc/self/cgroup", text);
    while (line && *line != '\0') {
        char *end = strchr(line, '\n');
        char *list = strchr(line, ':');
        char *group = list ? strchr(list + 1, ':') : NULL;
        if (end) *end = '\0';
        if (group && (!end || group < end)) {
            char mount[64];
            *group++ = '\0';
            if (list[1] == '\0') {
                walk_up(root, "/sys/fs/cgroup", group, version_2, context);
            } else if (strcmp(list + 1, controller) == 0 ||
                       (strcmp(controller, "cpu") == 0 && strstr(list + 1, "cpu,"))) {
                snprintf(mount, sizeof mount, "/sys/fs/cgroup/%s", controller);
                walk_up(root, mount, group, version_1, context);
            }
        }
        line = end ? end + 1 : NULL;
    }
}

static uint64_t number_in(const char *directory, const char *name, const char *key) {
    char text[FILE_BYTES];
    if (read_below(directory, name, text) == 0) return 0;
    return number_at(key ? find_line(text, key) : text);
}

static void tighten_cores(uint32_t *cores, uint64_t quota, uint64_t period) {
    if (quota > 0 && period > 0 && (quota + period - 1) / period < *cores)
        *cores = (uint32_t)((quota + period - 1) / period);
}

static void cores_version_1(void *context, const char *directory) {
    const uint64_t quota = number_in(directory, "/cpu.cfs_quota_us", NULL);
    if (quota > 0) tighten_cores(context, quota, number_in(directory, "/cpu.cfs_period_us", NULL));
}

static void cores_version_2(void *context, const char *directory) {
    char text[FILE_BYTES];
    const char *blank;
    if (read_below(directory, "/cpu.max", text) > 0 && (blank = strchr(text, ' ')))
        tighten_cores(context, number_at(text), number_at(blank + 1));
}

uint32_t gantry__cpu_machine_cores(const char *root, uint32_t affinity) {
    uint32_t cores = affinity > 0 ? affinity : 1;
    walk_controller(root, "cpu", cores_version_1, cores_version_2, &cores);
    return cores > 0 ? cores : 1;
}

typedef struct memory_figures_t {
    uint64_t free_bytes;
    uint64_t total_bytes;
} memory_figures_t;

typedef struct memory_files_t {
    const char *limit, *used, *stat;
    const char *cache; /* the line of `stat` that says what can be dropped */
} memory_files_t;

/* Takes the tighter limit of a directory. Most directories have no limit, so they cost one file. */
static void tighten_memory(memory_figures_t *figures, const char *directory,
                           const memory_files_t *files) {
    const uint64_t limit = number_in(directory, files->limit, NULL);
    if (limit == 0 || limit >= figures->total_bytes) return;
    const uint64_t used = number_in(directory, files->used, NULL);
    const uint64_t cache = number_in(directory, files->stat, files->cache);
    const uint64_t held = used > cache ? used - cache : 0;
    const uint64_t left = limit > held ? limit - held : 0;
    figures->total_bytes = limit;
    if (left < figures->free_bytes) figures->free_bytes = left;
}

static void memory_version_1(void *context, const char *directory) {
    tighten_memory(context, directory,
                   &(memory_files_t){"/memory.limit_in_bytes", "/memory.usage_in_bytes",
                                     "/memory.stat", "total_inactive_file"});
}

static void memory_version_2(void *context, const char *directory) {
    tighten_memory(
        context, directory,
        &(memory_files_t){"/memory.max", "/memory.current", "/memory.stat", "inactive_file"});
}

/* limit: that of a line "Max data size   SOFT   HARD   bytes", 0 where SOFT is "unlimited".
 * used_line must be "VmData:   KIBIBYTES kB". */
static void tighten_to_limit(memory_figures_t *figures, uint64_t limit, const char *used_line) {
    const uint64_t used = number_at(used_line) * 1024;
    const uint64_t left = limit > used ? limit - used : 0;
    if (limit == 0) return;
    figures->total_bytes = limit < figures->total_bytes ? limit : figures->total_bytes;
    figures->free_bytes = left < figures->free_bytes ? left : figures->free_bytes;
}

static void memory_of_process(const char *root, memory_figures_t *figures) {
    char text[FILE_BYTES];
    if (read_below(root, "/proc/self/limits", text) == 0) return;
    const uint64_t space = number_at(find_line(text, "Max address space"));
    const uint64_t data = number_at(find_line(text, "Max data size"));
    if ((space == 0 && data == 0) || read_below(root, "/proc/self/status", text) == 0) return;
    tighten_to_limit(figures, space, find_line(text, "VmSize"));
    tighten_to_limit(figures, data, find_line(text, "VmData"));
}

uint64_t gantry__cpu_machine_unused_limit(const char *root) {
    memory_figures_t figures = {UINT64_MAX, UINT64_MAX};
    memory_of_process(root, &figures);
    return figures.free_bytes;
}

void gantry__cpu_machine_memory(const char *root, uint64_t *out_free_bytes,
                                uint64_t *out_total_bytes) {
    memory_figures_t figures = {0, 0};
    char text[FILE_BYTES];
    if (read_below(root, "/proc/meminfo", text) > 0) {
        figures.free_bytes = number_at(find_line(text, "MemAvailable")) * 1024;
        figures.total_bytes = number_at(find_line(text, "MemTotal")) * 1024;
    }
    if (figures.total_bytes > 0) {
        walk_controller(root, "memory", memory_version_1, memory_version_2, &figures);
        memory_of_process(root, &figures);
    }
    *out_free_bytes = figures.free_bytes;
    *out_total_bytes = figures.total_bytes;
}

/* Reads "1.52 0.80 0.40 ...", whatever the locale's decimal point is. */
double gantry__cpu_machine_load(const char *root) {
    char text[FILE_BYTES];
    if (read_below(root, "/proc/loadavg", text) == 0) return -1.0;
    const char *point = strchr(text, '.');
    return (double)number_at(text) + (point ? (double)number_at(point + 1) / 100.0 : 0.0);
}

/* "cpu  USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ STEAL ...": the ticks of all cores since the
 * machine began. A core that waits for a disk is idle; one that its host took away is not. */
static bool read_core_ticks(const char *root, uint64_t *out_busy, uint64_t *out_total) {
    char text[FILE_BYTES];
    const char *at = read_below(root, "/proc/stat", text) > 0 ? find_line(text, "cpu") : NULL;
    uint64_t idle = 0, total = 0;
    for (int field = 0; at && field < 8 && *at >= '0' && *at <= '9'; ++field) {
        char *end;
        const uint64_t ticks = strtoull(at, &end, 10);
        total += ticks;
        if (field == 3 || field == 4) idle += ticks;
        at = end + strspn(end, " ");
    }
    *out_busy = total - idle;
    *out_total = total;
    return total > 0;
}

/* The count of a disk's waits may fall, so a share over such a time is not known. */
bool gantry__cpu_machine_use(const char *root, int64_t now_ns, gantry__cpu_use_t *use) {
    uint64_t busy, total;
    if (use->total > 0 && now_ns - use->ns < GANTRY__CPU_USE_NS) return true;
    if (!read_core_ticks(root, &busy, &total)) return use->is_known = false;
    use->is_known = use->total > 0 && total > use->total && busy >= use->busy &&
                    busy - use->busy <= total - use->total;
    if (use->is_known) {
        const uint64_t passed = total - use->total;
        use->percent = (uint32_t)(((busy - use->busy) * 100 + passed / 2) / passed);
    }
    use->busy = busy;
    use->total = total;
    use->ns = now_ns;
    return true;
}

/* The number of the last core: "0-63" or "0,2-5". */
static uint64_t last_core(const char *root) {
    char text[FILE_BYTES];
    if (read_below(root, "/sys/devices/system/cpu/possible", text) == 0) return 0;
    const char *at = text + strcspn(text, "\n");
    while (at > text && at[-1] >= '0' && at[-1] <= '9') --at;
    const uint64_t last = number_at(at);
    return last < MOST_CORES ? last : MOST_CORES - 1;
}

static void raise_clock(uint32_t *mhz, const char *root, uint64_t core, const char *name) {
    char path[128];
    (void)snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/cpufreq/%s", (unsigned)core,
                   name);
    const uint64_t khz = number_in(root, path, NULL);
    if (khz / 1000 > *mhz && khz / 1000 <= UINT32_MAX) *mhz = (uint32_t)(khz / 1000);
}

/* Virtual machines have no cpufreq, and ARM no clock in cpuinfo. */
void gantry__cpu_machine_clocks(const char *root, uint32_t *out_now_mhz, uint32_t *out_most_mhz) {
    gantry__cpu_identity_t identity;
    *out_now_mhz = *out_most_mhz = 0;
    for (uint64_t core = 0, last = last_core(root); core <= last; ++core) {
        raise_clock(out_now_mhz, root, core, "scaling_cur_freq");
        raise_clock(out_most_mhz, root, core, "cpuinfo_max_freq");
    }
    if (*out_now_mhz > 0) return;
    gantry__cpu_machine_identity(root, &identity);
    *out_now_mhz = identity.clock_mhz;
}
