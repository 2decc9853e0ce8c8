/* SPDX-License-Identifier: Apache-2.0 */
/* Imitates NVIDIA's OpenCL: an OpenCL layer between the loader and PoCL that presents PoCL's
 * devices as the cards of the stand-in for NVIDIA's driver: type, vendor, PCI address, UUID,
 * memory. Two drivers then show each card, and both really compute.
 *
 * The n-th device of PoCL is the n-th card (POCL_DEVICES="pthread pthread" for two).
 * CUDA_VISIBLE_DEVICES selects and orders the cards, as NVIDIA's OpenCL presumably does;
 * opencl_obeys=0 shows all cards. Buffers and contexts use the card's memory, so that NVML sees
 * their use. Only the stand-in itself queries devices of type CPU, and gets PoCL unchanged. The
 * loader loads the layer through OPENCL_LAYERS. Settings: stand_in_control.h. Thread-safe. */
#define CL_TARGET_OPENCL_VERSION 120
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opencl_layer.h"
#include "stand_in_settings.h"

/* cl_khr_pci_bus_info, cl_khr_device_uuid, cl_nv_device_attribute_query */
#define PCI_BUS_INFO_KHR 0x410F
#define UUID_KHR 0x106A
#define COMPUTE_CAPABILITY_MAJOR_NV 0x4000
#define COMPUTE_CAPABILITY_MINOR_NV 0x4001
#define WARP_SIZE_NV 0x4003
#define PCI_BUS_NV 0x4008
#define PCI_SLOT_NV 0x4009
#define PCI_DOMAIN_NV 0x400A
#define NVIDIA_VENDOR_ID 0x10DEu

/* guards the variables below, and held_contexts */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* of each card; NULL: not queried yet, or PoCL has fewer devices */
static cl_device_id handles[STAND_IN_DEVICES];

/* ---- cards ---- */

static int is_pocl(cl_platform_id platform) {
    char name[128] = "";

    return target->clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, NULL) ==
               CL_SUCCESS &&
           strcmp(name, "Portable Computing Language") == 0;
}

/* NULL: no card's. */
static stand_in_device_t *card_of(cl_device_id device) {
    stand_in_machine_t *machine = stand_in__machine();
    stand_in_device_t *card = NULL;

    pthread_mutex_lock(&lock);
    for (int i = 0; i < machine->count && card == NULL && device != NULL; ++i) {
        card = handles[i] == device ? &machine->device[i] : NULL;
    }
    pthread_mutex_unlock(&lock);
    return card;
}

/* The shown cards' devices; returns their number. */
static cl_uint list_cards(cl_platform_id platform, cl_device_id out_devices[STAND_IN_DEVICES]) {
    const stand_in_machine_t *machine = stand_in__machine();
    int numbers[STAND_IN_DEVICES];
    int shown = stand_in__choose_visible(
        machine, machine->opencl_obeys ? getenv("CUDA_VISIBLE_DEVICES") : NULL, numbers);
    cl_uint count = 0;

    pthread_mutex_lock(&lock);
    (void)target->clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, STAND_IN_DEVICES, handles, NULL);
    for (int i = 0; i < shown; ++i) {
        if (handles[numbers[i]] != NULL) {
            out_devices[count++] = handles[numbers[i]];
        }
    }
    pthread_mutex_unlock(&lock);
    return count;
}

static CL_API_ENTRY cl_int CL_API_CALL layer_clGetDeviceIDs(cl_platform_id platform,
                                                            cl_device_type type, cl_uint entries,
                                                            cl_device_id *devices, cl_uint *found) {
    cl_device_id cards[STAND_IN_DEVICES];
    cl_uint count;

    if (type == CL_DEVICE_TYPE_CPU || !is_pocl(platform)) {
        return target->clGetDeviceIDs(platform, type, entries, devices, found);
    }
    count = (type & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_DEFAULT)) != 0
                ? list_cards(platform, cards)
                : 0;
    for (cl_uint i = 0; devices != NULL && i < entries && i < count; ++i) {
        devices[i] = cards[i];
    }
    if (found != NULL) {
        *found = count;
    }
    return count > 0 ? CL_SUCCESS : CL_DEVICE_NOT_FOUND;
}

/* ---- properties of a card ---- */

static cl_int give_text(const char *text, size_t size, void *value, size_t *needed) {
    return give(text, strlen(text) + 1, size, value, needed);
}

static cl_int give_uint(cl_uint number, size_t size, void *value, size_t *needed) {
    return give(&number, sizeof number, size, value, needed);
}

static cl_int give_ulong(cl_ulong number, size_t size, void *value, size_t *needed) {
    return give(&number, sizeof number, size, value, needed);
}

static cl_int give_extensions(cl_device_id device, size_t size, void *value, size_t *needed) {
    char text[4096] = "";
    static const char own[] =
        " cl_khr_pci_bus_info cl_khr_device_uuid cl_nv_device_attribute_query";
    cl_int error =
        target->clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof text - sizeof own, text, NULL);

    if (error != CL_SUCCESS) {
        return error;
    }
    memcpy(text + strlen(text), own, sizeof own);
    return give_text(text, size, value, needed);
}

static CL_API_ENTRY cl_int CL_API_CALL layer_clGetDeviceInfo(cl_device_id device,
                                                             cl_device_info name, size_t size,
                                                             void *value, size_t *needed) {
    const stand_in_device_t *card = card_of(device);
    unsigned pci[4] = {0}; /* domain, bus, device, function */

    if (card == NULL) {
        return target->clGetDeviceInfo(device, name, size, value, needed);
    }
    (void)sscanf(card->pci, "%x:%x:%x.%x", &pci[0], &pci[1], &pci[2], &pci[3]);
    switch (name) {
        case CL_DEVICE_TYPE: return give_ulong(CL_DEVICE_TYPE_GPU, size, value, needed);
        case CL_DEVICE_NAME: return give_text("Stand-in for an NVIDIA GPU", size, value, needed);
        case CL_DEVICE_VENDOR: return give_text("NVIDIA Corporation", size, value, needed);
        case CL_DEVICE_VENDOR_ID: return give_uint(NVIDIA_VENDOR_ID, size, value, needed);
        case CL_DEVICE_HOST_UNIFIED_MEMORY: return give_uint(CL_FALSE, size, value, needed);
        case CL_DEVICE_GLOBAL_MEM_SIZE: return give_ulong(card->memory, size, value, needed);
        case CL_DEVICE_MAX_MEM_ALLOC_SIZE: return give_ulong(card->memory / 4, size, value, needed);
        case CL_DEVICE_EXTENSIONS: return give_extensions(device, size, value, needed);
        case PCI_BUS_INFO_KHR: return give(pci, sizeof pci, size, value, needed);
        case UUID_KHR: return give(card->uuid, sizeof card->uuid, size, value, needed);
        case COMPUTE_CAPABILITY_MAJOR_NV:
            return give_uint((cl_uint)card->major, size, value, needed);
        case COMPUTE_CAPABILITY_MINOR_NV:
            return give_uint((cl_uint)card->minor, size, value, needed);
        case WARP_SIZE_NV: return give_uint(32, size, value, needed);
        case PCI_DOMAIN_NV: return give_uint(pci[0], size, value, needed);
        case PCI_BUS_NV: return give_uint(pci[1], size, value, needed);
        case PCI_SLOT_NV: return give_uint(pci[2], size, value, needed);
        default: return target->clGetDeviceInfo(device, name, size, value, needed);
    }
}

/* ---- used memory of a card ---- */

static stand_in_device_t *card_of_context(cl_context context) {
    cl_device_id device = NULL;

    (void)target->clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof device, &device, NULL);
    return card_of(device);
}

/* NULL means failure, with the code written. */
static void *refuse(cl_int code, cl_int *out_code) {
    if (out_code != NULL) {
        *out_code = code;
    }
    return NULL;
}

/* The user's references to a context of a card, without PoCL's own references. */
typedef struct held_context_t {
    cl_context context;
    stand_in_device_t *card;
    int references;
    struct held_context_t *next;
} held_context_t;

static held_context_t *held_contexts; /* under lock */

/* Counts; the last reference ends the record and returns the context's memory. */
static void count_reference(cl_context context, int change) {
    held_context_t *ended = NULL;

    pthread_mutex_lock(&lock);
    for (held_context_t **at = &held_contexts; *at != NULL; at = &(*at)->next) {
        if ((*at)->context == context) {
            (*at)->references += change;
            if ((*at)->references == 0) {
                ended = *at;
                *at = ended->next;
            }
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    if (ended != NULL) {
        stand_in__give_bytes(ended->card, stand_in__machine()->context_bytes);
        free(ended);
    }
}

static CL_API_ENTRY cl_context CL_API_CALL layer_clCreateContext(
    const cl_context_properties *properties, cl_uint count, const cl_device_id *devices,
    void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *user,
    cl_int *code) {
    uint64_t bytes = stand_in__machine()->context_bytes;
    stand_in_device_t *card = count == 1 && !stand_in__is_opening() ? card_of(devices[0]) : NULL;
    held_context_t *held = card != NULL ? malloc(sizeof *held) : NULL;
    cl_context context;

    if (card == NULL) {
        return target->clCreateContext(properties, count, devices, notify, user, code);
    }
    if (held == NULL || !stand_in__take_bytes(card, bytes)) {
        free(held);
        return refuse(CL_OUT_OF_RESOURCES, code);
    }
    context = target->clCreateContext(properties, count, devices, notify, user, code);
    if (context == NULL) {
        stand_in__give_bytes(card, bytes);
        free(held);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    *held = (held_context_t){context, card, 1, held_contexts};
    held_contexts = held;
    pthread_mutex_unlock(&lock);
    return context;
}

static CL_API_ENTRY cl_int CL_API_CALL layer_clRetainContext(cl_context context) {
    count_reference(context, 1);
    return target->clRetainContext(context);
}

static CL_API_ENTRY cl_int CL_API_CALL layer_clReleaseContext(cl_context context) {
    count_reference(context, -1);
    return target->clReleaseContext(context);
}

typedef struct piece_t {
    stand_in_device_t *card;
    uint64_t bytes;
} piece_t;

static void CL_CALLBACK give_piece(cl_mem buffer, void *user) {
    piece_t *piece = user;

    (void)buffer;
    stand_in__give_bytes(piece->card, piece->bytes);
    free(piece);
}

/* A buffer in the card's own memory; its end returns the bytes. */
static cl_mem create_on(stand_in_device_t *card, cl_context context, cl_mem_flags flags,
                        size_t size, cl_int *code) {
    piece_t *piece = malloc(sizeof *piece);
    cl_mem buffer = NULL;

    if (piece == NULL || !stand_in__take_bytes(card, size)) {
        free(piece);
        return refuse(CL_MEM_OBJECT_ALLOCATION_FAILURE, code);
    }
    *piece = (piece_t){card, size};
    buffer = target->clCreateBuffer(context, flags, size, NULL, code);
    if (buffer == NULL ||
        target->clSetMemObjectDestructorCallback(buffer, give_piece, piece) != CL_SUCCESS) {
        stand_in__give_bytes(card, size);
        free(piece);
    }
    return buffer;
}

static CL_API_ENTRY cl_mem CL_API_CALL layer_clCreateBuffer(cl_context context, cl_mem_flags flags,
                                                            size_t size, void *host, cl_int *code) {
    stand_in_device_t *card = card_of_context(context);
    int is_host_memory =
        (flags & (CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR)) != 0;

    return card != NULL && !is_host_memory
               ? create_on(card, context, flags, size, code)
               : target->clCreateBuffer(context, flags, size, host, code);
}

LAYER("PoCL as NVIDIA's cards, for Gantry's tests",
      TAKE(clGetDeviceIDs) TAKE(clGetDeviceInfo) TAKE(clCreateContext) TAKE(clRetainContext)
          TAKE(clReleaseContext) TAKE(clCreateBuffer))
