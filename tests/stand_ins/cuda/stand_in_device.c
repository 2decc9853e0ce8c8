/* SPDX-License-Identifier: Apache-2.0 */
/* cuInit, cuDevice*, and the names of errors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stand_in_pocl.h"
#include "stand_in_settings.h"

static int visible[STAND_IN_DEVICES];
static int visible_count;

int stand_in__visible_count(void) { return visible_count; }

stand_in_device_t *stand_in__visible(int ordinal) {
    return ordinal >= 0 && ordinal < visible_count ? &stand_in__machine()->device[visible[ordinal]]
                                                   : NULL;
}

STAND_IN_API int cuInit(unsigned flags);
int cuInit(unsigned flags) {
    STAND_IN_ENTER(STAND_IN_NEEDS_NOTHING);
    if (flags != 0) return CUDA_INVALID_VALUE;
    if (stand_in__pocl() == NULL) {
        stand_in__note(stand_in__pocl_reason());
        return CUDA_NO_DEVICE;
    }
    stand_in__lock();
    if (visible_count == 0) {
        visible_count =
            stand_in__choose_visible(stand_in__machine(), getenv("CUDA_VISIBLE_DEVICES"), visible);
    }
    stand_in__unlock();
    if (visible_count == 0) return CUDA_NO_DEVICE;
    stand_in__set_initialised();
    return CUDA_OK;
}

STAND_IN_API int cuDriverGetVersion(int *version);
int cuDriverGetVersion(int *version) {
    STAND_IN_ENTER(STAND_IN_NEEDS_NOTHING);
    if (version == NULL) return CUDA_INVALID_VALUE;
    *version = stand_in__machine()->driver;
    return CUDA_OK;
}

STAND_IN_API int cuDeviceGetCount(int *count);
int cuDeviceGetCount(int *count) {
    STAND_IN_ENTER(STAND_IN_NEEDS_INIT);
    if (count == NULL) return CUDA_INVALID_VALUE;
    *count = visible_count;
    return CUDA_OK;
}

STAND_IN_API int cuDeviceGet(int *device, int ordinal);
int cuDeviceGet(int *device, int ordinal) {
    STAND_IN_ENTER(STAND_IN_NEEDS_INIT);
    if (device == NULL) return CUDA_INVALID_VALUE;
    if (stand_in__visible(ordinal) == NULL) return CUDA_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_OK;
}

STAND_IN_API int cuDeviceGetName(char *name, int length, int device);
int cuDeviceGetName(char *name, int length, int device) {
    STAND_IN_ENTER(STAND_IN_NEEDS_INIT);
    if (name == NULL || length <= 0) return CUDA_INVALID_VALUE;
    if (stand_in__visible(device) == NULL) return CUDA_INVALID_DEVICE;
    snprintf(name, (size_t)length, "Stand-in for an NVIDIA GPU");
    return CUDA_OK;
}

STAND_IN_API int cuDeviceGetUuid(uint8_t uuid[16], int device);
STAND_IN_API int cuDeviceGetUuid_v2(uint8_t uuid[16], int device);
static int get_uuid(uint8_t uuid[16], int device) {
    if (uuid == NULL) return CUDA_INVALID_VALUE;
    if (stand_in__visible(device) == NULL) return CUDA_INVALID_DEVICE;
    memcpy(uuid, stand_in__visible(device)->uuid, 16);
    return CUDA_OK;
}
int cuDeviceGetUuid(uint8_t uuid[16], int device) {
    STAND_IN_ENTER(STAND_IN_NEEDS_INIT);
    return get_uuid(uuid, device);
}
int cuDeviceGetUuid_v2(uint8_t uuid[16], int device) {
    STAND_IN_ENTER(STAND_IN_NEEDS_INIT);
    return get_uuid(uuid, device);
}

STAND_IN_API int cuDeviceGetPCIBusId(char *id, int length, int device);
int cuDeviceGetPCIBusId(char *id, int length, int device) {
    STAND_IN_ENTER(STAND_IN_NEEDS_INIT);
    if (id == NULL || length < 13) return CUDA_INVALID_VALUE;
    if (stand_in__visible(device) == NULL) return CUDA_INVALID_DEVICE;
    snprintf(id, (size_t)length, "%s", stand_in__visible(device)->pci);
    return CUDA_OK;
}

STAND_IN_API int cuDeviceTotalMem_v2(size_t *bytes, int device);
int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    STAND_IN_ENTER(STAND_IN_NEEDS_INIT);
    if (bytes == NULL) return CUDA_INVALID_VALUE;
    if (stand_in__visible(device) == NULL) return CUDA_INVALID_DEVICE;
    *bytes = stand_in__visible(device)->memory;
    return CUDA_OK;
}

/* Values of a card with the compute capability 9.0. */
static const struct {
    int attribute;
    int value;
} attributes[] = {
    {1, 1024},      {2, 1024},  {3, 1024},  {4, 64},  {5, 2147483647},  {6, 65535},
    {7, 65535},     {8, 49152}, {9, 65536}, {10, 32}, {11, 2147483647}, {12, 65536},
    {13, 1500000},  {14, 512},  {15, 1},    {16, 4},  {17, 0},          {18, 0},
    {19, 1},        {31, 1},    {32, 0},    {35, 0},  {36, 2000000},    {37, 4096},
    {38, 33554432}, {39, 2048}, {40, 3},    {41, 1},  {78, 1},          {81, 233472},
    {82, 65536},    {83, 0},    {84, 0},    {88, 0},  {89, 0},          {95, 1},
    {97, 232448},   {115, 0},   {119, 0},
};

static int pci_part(const stand_in_device_t *device, int part) {
    unsigned values[4] = {0};

    sscanf(device->pci, "%x:%x:%x.%x", &values[0], &values[1], &values[2], &values[3]);
    return (int)values[part];
}

STAND_IN_API int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    stand_in_device_t *card;

    STAND_IN_ENTER(STAND_IN_NEEDS_INIT);
    if (value == NULL) return CUDA_INVALID_VALUE;
    card = stand_in__visible(device);
    if (card == NULL) return CUDA_INVALID_DEVICE;
    switch (attribute) {
        case 20: *value = card->is_busy == 2 ? 2 : card->is_busy ? 3 : 0; return CUDA_OK;
        case 33: *value = pci_part(card, 1); return CUDA_OK;
        case 34: *value = pci_part(card, 2); return CUDA_OK;
        case 50: *value = pci_part(card, 0); return CUDA_OK;
        case 75: *value = card->major; return CUDA_OK;
        case 76: *value = card->minor; return CUDA_OK;
        default: break;
    }
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; ++i) {
        if (attributes[i].attribute == attribute) {
            *value = attributes[i].value;
            return CUDA_OK;
        }
    }
    return CUDA_INVALID_VALUE;
}

STAND_IN_API int cuDeviceCanAccessPeer(int *can, int device, int peer);
int cuDeviceCanAccessPeer(int *can, int device, int peer) {
    STAND_IN_ENTER(STAND_IN_NEEDS_INIT);
    if (can == NULL) return CUDA_INVALID_VALUE;
    if (stand_in__visible(device) == NULL || stand_in__visible(peer) == NULL)
        return CUDA_INVALID_DEVICE;
    *can = device != peer && stand_in__machine()->has_peers;
    return CUDA_OK;
}

/* ---- the names of errors ---- */

static const struct {
    int code;
    const char *name;
    const char *text;
} errors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "the device is busy or unavailable"},
    {100, "CUDA_ERROR_NO_DEVICE", "no device with CUDA was found"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "the device image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image for this device"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable memory error"},
    {217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
     "peer access is not possible between these devices"},
    {218, "CUDA_ERROR_INVALID_PTX", "the PTX could not be compiled"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was met"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources asked for the launch"},
    {704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled"},
    {705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "peer access has not been enabled"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "the context is destroyed"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "launch failure"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

static int find_error(int code) {
    for (int i = 0; i < (int)(sizeof errors / sizeof errors[0]); ++i) {
        if (errors[i].code == code) return i;
    }
    return -1;
}

STAND_IN_API int cuGetErrorName(int error, const char **text);
int cuGetErrorName(int error, const char **text) {
    int at = find_error(error);

    if (text == NULL) return CUDA_INVALID_VALUE;
    *text = at >= 0 ? errors[at].name : NULL;
    return at >= 0 ? CUDA_OK : CUDA_INVALID_VALUE;
}

STAND_IN_API int cuGetErrorString(int error, const char **text);
int cuGetErrorString(int error, const char **text) {
    int at = find_error(error);

    if (text == NULL) return CUDA_INVALID_VALUE;
    *text = at >= 0 ? errors[at].text : NULL;
    return at >= 0 ? CUDA_OK : CUDA_INVALID_VALUE;
}
