/* SPDX-License-Identifier: Apache-2.0 */
/* Which cards are on the PCI bus, and may this process open their device nodes? No driver is called
 * here. In a container the bus shows the machine's cards, whether the container got them or not. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/files.h"
#include "base/os/users.h"
#include "doctor/doctor.h"

#define NVIDIA 0x10deu
#define AMD 0x1002u
#define INTEL 0x8086u
#define DISPLAY 0x03u /* the first byte of the PCI classes VGA, 3D and display controller */

const char *doctor_path(char out[DOCTOR_PATH_BYTES], const char *path) {
    const char *root = getenv("GANTRY_TEST_ROOT");
    (void)snprintf(out, DOCTOR_PATH_BYTES, "%s%s", root ? root : "", path);
    return out;
}

static bool exists(const char *path) {
    char own[DOCTOR_PATH_BYTES];
    gantry__os_info_t info;
    return gantry__os_path_info(doctor_path(own, path), &info) == 0;
}

/* ---- the bus ---- */

static unsigned doctor_machine_read_number(const char *folder, const char *name) {
    char path[2 * DOCTOR_PATH_BYTES], text[32] = "";
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    if (file && !fgets(text, sizeof text, file)) text[0] = '\0';
    if (file) (void)fclose(file);
    return (unsigned)strtoul(text, NULL, 16);
}

static bool count_card(void *user, const char *folder) {
    doctor_machine_t *machine = user;
    if (doctor_machine_read_number(folder, "class") >> 16 != DISPLAY) return true;
    switch (doctor_machine_read_number(folder, "vendor")) {
        case NVIDIA: ++machine->nvidia_cards; break;
        case AMD: ++machine->amd_cards; break;
        case INTEL: ++machine->intel_cards; break;
        default: break;
    }
    return true;
}

static bool count_file(void *user, const char *path) {
    (void)path;
    ++*(unsigned *)user;
    return true;
}

static unsigned count_files(const char *pattern) {
    char path[DOCTOR_PATH_BYTES];
    unsigned count = 0;
    gantry__os_match(doctor_path(path, pattern), count_file, &count);
    return count;
}

void doctor_look_at_machine(doctor_machine_t *out_machine) {
    char cards[DOCTOR_PATH_BYTES];
    *out_machine =
        (doctor_machine_t){.nvidia_nodes = count_files("/dev/nvidia[0-9]*"),
                           .render_nodes = count_files("/dev/dri/renderD*"),
                           .has_nvidia_module = exists("/proc/driver/nvidia/version"),
                           .is_container = exists("/.dockerenv") || exists("/run/.containerenv") ||
                                           getenv("container")};
    gantry__os_match(doctor_path(cards, "/sys/bus/pci/devices/*"), count_card, out_machine);
}

/* ---- device nodes ---- */

/* Device cgroups of containers refuse only the opening itself, so access() does not suffice. */
static int try_node(const char *path) {
    const int file =
        gantry__os_open(path, GANTRY__OS_READ | GANTRY__OS_WRITE | GANTRY__OS_NO_WAIT, 0);
    if (file < 0) return errno;
    (void)gantry__os_close(file);
    return 0;
}

static void doctor_machine_write_remedy(const doctor_t *doctor, const char *path,
                                        const char *container, char *out, size_t out_bytes) {
    gantry__os_info_t info;
    char group[64] = "";
    if (gantry__os_path_info(path, &info) == 0 && (info.mode & 0060) == 0060)
        (void)gantry__os_group_name(info.group, group, sizeof group);
    if (doctor->machine.is_container)
        (void)snprintf(out, out_bytes, "start the container with %s", container);
    else if (*group && strcmp(group, "root") != 0)
        (void)snprintf(out, out_bytes, "sudo usermod -aG %s $USER, then log in again", group);
    else
        (void)snprintf(out, out_bytes, "sudo chmod 666 %s, and a udev rule that keeps it so", path);
}

typedef struct nodes_t {
    size_t count;
    int refusal;                     /* an errno value; 0: each opens */
    char refused[DOCTOR_PATH_BYTES]; /* the first of them */
} nodes_t;

static bool visit_node(void *user, const char *path) {
    nodes_t *nodes = user;
    const int code = try_node(path);
    ++nodes->count;
    if (code != EACCES && code != EPERM) return true;
    nodes->refusal = code;
    (void)snprintf(nodes->refused, sizeof nodes->refused, "%s", path);
    return true;
}

static void check_nodes(doctor_t *doctor, const char *kind, const char *name, const char *pattern,
                        const char *container) {
    nodes_t nodes = {.count = 0};
    char path[DOCTOR_PATH_BYTES], remedy[256];
    gantry__os_match(doctor_path(path, pattern), visit_node, &nodes);
    if (nodes.refusal) {
        doctor_machine_write_remedy(doctor, nodes.refused, container, remedy, sizeof remedy);
        (void)doctor_add(doctor, kind, name, DOCTOR_FAILED, remedy, "this user may not open %s: %s",
                         nodes.refused, strerror(nodes.refusal));
    } else if (nodes.count > 0) {
        (void)doctor_add(doctor, kind, name, DOCTOR_PASSED, NULL, "%zu of them, and each opens",
                         nodes.count);
    }
}

static void tell_missing_nvidia(doctor_t *doctor) {
    const doctor_machine_t *machine = &doctor->machine;
    const char *name = "NVIDIA device nodes";
    if (machine->is_container)
        (void)doctor_add(
            doctor, "cuda", name, DOCTOR_FAILED,
            "install nvidia-container-toolkit on the machine, and start the container with docker run --gpus all (podman: --device nvidia.com/gpu=all)",
            "this container has no /dev/nvidia*, though the machine has an NVIDIA card");
    else
        (void)doctor_add(
            doctor, "cuda", name, DOCTOR_FAILED,
            machine->has_nvidia_module
                ? "sudo nvidia-modprobe -u -c=0"
                : "apt-get install nvidia-driver (Ubuntu: nvidia-driver-580), then sudo modprobe nvidia",
            machine->has_nvidia_module
                ? "NVIDIA's kernel module is loaded, but there is no /dev/nvidia*"
                : "the machine has an NVIDIA card, but NVIDIA's kernel module is not loaded");
}

static void tell_missing_render(doctor_t *doctor) {
    const doctor_machine_t *machine = &doctor->machine;
    if (machine->is_container)
        (void)doctor_add(doctor, DOCTOR_MACHINE, DOCTOR_RENDER_NODES, DOCTOR_FAILED,
                         "start the container with docker run --device /dev/dri",
                         "this container has no /dev/dri/renderD*, though the machine has a GPU");
    else
        (void)doctor_add(doctor, DOCTOR_MACHINE, DOCTOR_RENDER_NODES, DOCTOR_FAILED,
                         machine->amd_cards ? "sudo modprobe amdgpu" : "sudo modprobe i915 (or xe)",
                         "the machine has a GPU, but there is no /dev/dri/renderD*");
}

void doctor_check_nodes(doctor_t *doctor) {
    const doctor_machine_t *machine = &doctor->machine;
    check_nodes(doctor, "cuda", "NVIDIA device nodes", "/dev/nvidia*[0-9ml]",
                "docker run --gpus all");
    check_nodes(doctor, DOCTOR_MACHINE, DOCTOR_RENDER_NODES, "/dev/dri/renderD*",
                "docker run --device /dev/dri");
    if (machine->nvidia_nodes == 0 && (machine->nvidia_cards > 0 || machine->has_nvidia_module))
        tell_missing_nvidia(doctor);
    if (machine->render_nodes == 0 && machine->amd_cards + machine->intel_cards > 0)
        tell_missing_render(doctor);
}
