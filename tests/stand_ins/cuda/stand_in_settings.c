/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "stand_in_settings.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES 2048

void stand_in__default_machine(stand_in_machine_t *out_machine) {
    memset(out_machine, 0, sizeof *out_machine);
    out_machine->count = 1;
    out_machine->context_bytes = 8u << 20;
    out_machine->driver = 12090;
    out_machine->nvrtc = 12090;
    out_machine->cublas = 120900;
    out_machine->blas_fast = -1;
    out_machine->cudnn_fast = -1;
    out_machine->cudnn = 91900;
    out_machine->cudnn_cuda = 12090;
    out_machine->cudnn_workspace = 64u << 10;
    out_machine->nccl = 22809;
    out_machine->has_peers = 1;
    out_machine->lost_after = -1;
    out_machine->opencl_obeys = 1;
    for (int i = 0; i < STAND_IN_DEVICES; ++i) {
        stand_in_device_t *device = &out_machine->device[i];

        device->number = i;
        snprintf(device->pci, sizeof device->pci, "0000:%02X:00.0",
                 (unsigned)(0x17 + 8 * i) & 0xffu);
        memcpy(device->uuid, "stand-in card  0", 16);
        device->uuid[15] = (uint8_t)('0' + i);
        device->major = 9;
        device->memory = UINT64_C(1) << 30;
    }
}

/* ---- one value ---- */

static int parse_bytes(const char *text, uint64_t *out) {
    char *end = NULL;
    unsigned long long value = strtoull(text, &end, 10);

    if (end == text) {
        return -1;
    }
    switch (*end) {
        case 'G': value <<= 10; /* fall through */
        case 'M': value <<= 10; /* fall through */
        case 'K':
            value <<= 10;
            end++;
            break;
        default: break;
    }
    *out = value;
    return *end == '\0' ? 0 : -1;
}

static int parse_number(const char *text, int *out) {
    char *end = NULL;
    long value = strtol(text, &end, 10);

    *out = (int)value;
    return end != text && *end == '\0' ? 0 : -1;
}

static int hex_digit(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static int parse_uuid(const char *text, uint8_t out[16]) {
    int digits = 0;

    if (strncmp(text, "GPU-", 4) == 0) {
        text += 4;
    }
    for (; *text != '\0'; ++text) {
        int digit = hex_digit(*text);

        if (*text == '-') {
            continue;
        }
        if (digit < 0 || digits == 32) {
            return -1;
        }
        out[digits / 2] = (uint8_t)(digits % 2 == 0 ? digit << 4 : out[digits / 2] | digit);
        digits++;
    }
    return digits == 32 ? 0 : -1;
}

static int parse_pci(const char *text, char out[20]) {
    unsigned domain;
    unsigned bus;
    unsigned slot;
    unsigned function;

    if (sscanf(text, "%x:%x:%x.%x", &domain, &bus, &slot, &function) != 4 || bus > 0xff ||
        slot > 0x1f || function > 7) {
        return -1;
    }
    snprintf(out, 20, "%04X:%02X:%02X.%X", domain, bus, slot, function);
    return 0;
}

/* One value of a list, for one device. */
static int set_of_device(stand_in_device_t *device, const char *key, const char *value) {
    if (strcmp(key, "memory") == 0) return parse_bytes(value, &device->memory);
    if (strcmp(key, "other") == 0) return parse_bytes(value, &device->other);
    if (strcmp(key, "busy") == 0) return parse_number(value, &device->is_busy);
    if (strcmp(key, "mig") == 0) return parse_number(value, &device->is_part);
    if (strcmp(key, "pci") == 0) return parse_pci(value, device->pci);
    if (strcmp(key, "uuid") == 0) return parse_uuid(value, device->uuid);
    if (strcmp(key, "cc") == 0)
        return sscanf(value, "%d.%d", &device->major, &device->minor) == 2 ? 0 : -1;
    return -1;
}

/* Addresses and identities apply only to the listed devices; in other lists the last value applies
 * to all further devices. */
static int set_list(stand_in_machine_t *machine, const char *key, char *values) {
    char *rest = NULL;
    char *value = strtok_r(values, ",", &rest);
    int is_own = strcmp(key, "pci") == 0 || strcmp(key, "uuid") == 0;

    if (value == NULL) {
        return -1;
    }
    for (int i = 0; i < STAND_IN_DEVICES && value != NULL; ++i) {
        char *next;

        if (set_of_device(&machine->device[i], key, value) != 0) {
            return -1;
        }
        next = strtok_r(NULL, ",", &rest);
        if (next != NULL || is_own) {
            value = next;
        }
    }
    return 0;
}

/* function:nth:code */
static int set_fail(char *value) {
    char *rest = NULL;
    char *function = strtok_r(value, ":", &rest);
    char *nth = strtok_r(NULL, ":", &rest);
    char *code = strtok_r(NULL, ":", &rest);
    int at = 0;
    int number = 0;

    if (code == NULL || parse_number(code, &number) != 0 ||
        (strcmp(nth, "*") != 0 && parse_number(nth, &at) != 0)) {
        return -1;
    }
    stand_in__fail_call(function, (uint64_t)at, number);
    return 0;
}

static int set_shared(stand_in_machine_t *machine, const char *path) {
    int length = snprintf(machine->shared, sizeof machine->shared, "%s", path);

    return length > 0 && (size_t)length < sizeof machine->shared ? 0 : -1;
}

static int set_one(stand_in_machine_t *machine, const char *key, char *value) {
    int number = 0;

    if (strcmp(key, "fail") == 0) return set_fail(value);
    if (strcmp(key, "context") == 0) return parse_bytes(value, &machine->context_bytes);
    if (strcmp(key, "library") == 0) return parse_bytes(value, &machine->library_bytes);
    if (strcmp(key, "cudnn_workspace") == 0) return parse_bytes(value, &machine->cudnn_workspace);
    if (strcmp(key, "shared") == 0) return set_shared(machine, value);
    if (set_list(machine, key, value) == 0) return 0;
    if (parse_number(value, &number) != 0) return -1;
    if (strcmp(key, "devices") == 0 && number >= 0 && number <= STAND_IN_DEVICES) {
        machine->count = number;
    } else if (strcmp(key, "driver") == 0) {
        machine->driver = number;
    } else if (strcmp(key, "nvrtc") == 0) {
        machine->nvrtc = number;
    } else if (strcmp(key, "cublas") == 0) {
        machine->cublas = number;
    } else if (strcmp(key, "blas_fast") == 0) {
        machine->blas_fast = number;
    } else if (strcmp(key, "cudnn_fast") == 0) {
        machine->cudnn_fast = number;
    } else if (strcmp(key, "cudnn") == 0) {
        machine->cudnn = number;
    } else if (strcmp(key, "cudnn_cuda") == 0) {
        machine->cudnn_cuda = number;
    } else if (strcmp(key, "nccl") == 0) {
        machine->nccl = number;
    } else if (strcmp(key, "launch_us") == 0 && number >= 0) {
        machine->launch_us = number;
    } else if (strcmp(key, "peer") == 0) {
        machine->has_peers = number;
    } else if (strcmp(key, "opencl_obeys") == 0) {
        machine->opencl_obeys = number;
    } else if (strcmp(key, "report") == 0) {
        machine->is_reporting = number;
    } else if (strcmp(key, "lost_after") == 0) {
        machine->lost_after = number;
    } else {
        return -1;
    }
    return 0;
}

int stand_in__apply_settings(stand_in_machine_t *machine, const char *text) {
    char copy[TEXT_BYTES];
    char *rest = NULL;

    if (strlen(text) >= sizeof copy) {
        return -1;
    }
    memcpy(copy, text, strlen(text) + 1);
    for (char *pair = strtok_r(copy, ";|", &rest); pair != NULL;
         pair = strtok_r(NULL, ";|", &rest)) {
        char *value = strchr(pair, '=');

        if (value == NULL) {
            return -1;
        }
        *value = '\0';
        if (set_one(machine, pair, value + 1) != 0) {
            return -1;
        }
    }
    return 0;
}

void stand_in__uuid_text(const stand_in_device_t *device, char out_text[48]) {
    size_t length = (size_t)snprintf(out_text, 48, device->is_part ? "MIG-" : "GPU-");

    for (int i = 0; i < 16; ++i) {
        length +=
            (size_t)snprintf(out_text + length, 48 - length, "%s%02x",
                             i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", device->uuid[i]);
    }
}

/* ---- the cards that the driver shows ---- */

/* The device of one entry: a number, or an unambiguous prefix of an identity. -1: none. */
static int find_entry(const stand_in_machine_t *machine, const char *entry) {
    int number;
    int found = -1;

    if (parse_number(entry, &number) == 0) {
        return number >= 0 && number < machine->count ? number : -1;
    }
    if (strncmp(entry, "GPU-", 4) != 0 && strncmp(entry, "MIG-", 4) != 0) {
        return -1;
    }
    for (int i = 0; i < machine->count; ++i) {
        char text[48];

        stand_in__uuid_text(&machine->device[i], text);
        if (strncmp(text, entry, strlen(entry)) == 0) {
            if (found >= 0) {
                return -1;
            }
            found = i;
        }
    }
    return found;
}

int stand_in__choose_visible(const stand_in_machine_t *machine, const char *text,
                             int out_numbers[STAND_IN_DEVICES]) {
    char copy[TEXT_BYTES];
    char *rest = NULL;
    int count = 0;

    if (text == NULL) {
        for (; count < machine->count; ++count) {
            out_numbers[count] = count;
        }
        return count;
    }
    snprintf(copy, sizeof copy, "%s", text);
    for (char *entry = strtok_r(copy, ",", &rest); entry != NULL;
         entry = strtok_r(NULL, ",", &rest)) {
        int number;

        while (isspace((unsigned char)*entry)) {
            entry++;
        }
        number = find_entry(machine, entry);
        if (number < 0) {
            break;
        }
        for (int i = 0; i < count; ++i) {
            if (out_numbers[i] == number) { /* a repeated entry: the driver shows nothing at all */
                return 0;
            }
        }
        out_numbers[count++] = number;
    }
    return count;
}
