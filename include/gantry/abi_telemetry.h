/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * The figures of a device that change while it runs, as backends fill them and as programs read
 * them. gantry/telemetry.h has the calls for programs; backend_abi.h has the slots of backends.
 *
 * No functions, no ownership; thread-safe. */
#ifndef GANTRY_ABI_TELEMETRY_H
#define GANTRY_ABI_TELEMETRY_H

#include <stdint.h>

/** Bits of gantry_device_telemetry_t.known: the fields that are known. The others are 0. */
enum {
    GANTRY_TELEMETRY_MEMORY = 1 << 0,       /**< total_bytes, used_bytes and free_bytes. */
    GANTRY_TELEMETRY_UTILIZATION = 1 << 1,  /**< The two shares of time in percent. */
    GANTRY_TELEMETRY_TEMPERATURE = 1 << 2,  /**< temperature_celsius. */
    GANTRY_TELEMETRY_POWER = 1 << 3,        /**< power_milliwatts. */
    GANTRY_TELEMETRY_POWER_LIMIT = 1 << 4,  /**< power_limit_milliwatts. */
    GANTRY_TELEMETRY_CLOCK = 1 << 5,        /**< clock_mhz. */
    GANTRY_TELEMETRY_MEMORY_CLOCK = 1 << 6, /**< memory_clock_mhz. */
    GANTRY_TELEMETRY_MOST_CLOCK = 1 << 7,   /**< most_clock_mhz. */
    GANTRY_TELEMETRY_FAN = 1 << 8,          /**< fan_percent. */
    GANTRY_TELEMETRY_ECC_MODE = 1 << 9,     /**< ecc_enabled. */
    GANTRY_TELEMETRY_ECC_ERRORS = 1 << 10,  /**< The two counts of ECC errors. */
    GANTRY_TELEMETRY_SLOWED = 1 << 11,      /**< slowed_by. */
    GANTRY_TELEMETRY_LOAD = 1 << 12,        /**< load_average. */
    GANTRY_TELEMETRY_PROCESSOR = 1 << 13    /**< processor_percent. */
};

/** Bits of gantry_device_telemetry_t.slowed_by: why the clocks are below their highest. */
enum {
    GANTRY_SLOWED_IDLE = 1 << 0,        /**< The device has no work. */
    GANTRY_SLOWED_SETTING = 1 << 1,     /**< A user or an administrator set the clocks. */
    GANTRY_SLOWED_POWER = 1 << 2,       /**< The power limit is reached. */
    GANTRY_SLOWED_TEMPERATURE = 1 << 3, /**< The device is too hot. */
    /** The hardware protects itself: a power supply or a cable signals too little power. */
    GANTRY_SLOWED_HARDWARE = 1 << 4,
    GANTRY_SLOWED_SYNC = 1 << 5,    /**< It keeps the clocks of other cards. */
    GANTRY_SLOWED_DISPLAY = 1 << 6, /**< A display sets the clocks. */
    GANTRY_SLOWED_OTHER = 1 << 7    /**< A reason that Gantry has no name for. */
};

/** What a device does now. The figures are those of the whole card and of all processes. */
typedef struct gantry_device_telemetry_t {
    uint32_t struct_size;            /**< The caller's sizeof. */
    uint32_t known;                  /**< GANTRY_TELEMETRY_...; fields without their bit are 0. */
    uint64_t total_bytes;            /**< All memory. */
    uint64_t used_bytes;             /**< Memory in use by all processes and the driver. */
    uint64_t free_bytes;             /**< Free memory. */
    uint32_t utilization_percent;    /**< Share of the last second in which kernels ran. */
    uint32_t memory_busy_percent;    /**< Share of it in which memory was read or written. */
    int32_t temperature_celsius;     /**< Temperature of the chip. */
    uint32_t power_milliwatts;       /**< Power that the card draws. */
    uint32_t power_limit_milliwatts; /**< The most that it may draw. */
    uint32_t clock_mhz;              /**< Clock of the multiprocessors or cores. */
    uint32_t most_clock_mhz;         /**< The highest clock. */
    uint32_t memory_clock_mhz;       /**< Clock of the memory. */
    uint32_t fan_percent;            /**< Speed of the fan; cards without one leave it unknown. */
    uint32_t ecc_enabled;            /**< 1: memory has ECC, and it is on. */
    uint64_t ecc_corrected;          /**< Memory errors corrected since the driver was loaded. */
    uint64_t ecc_uncorrected;        /**< Errors that could not be corrected; data was lost. */
    uint32_t slowed_by;              /**< GANTRY_SLOWED_...; 0: the clocks are the highest. */
    /** Share of the machine's processor time that all programs used, since the reading before, over
     * a quarter of a second at least; readings in between repeat it. */
    uint32_t processor_percent;
    double load_average; /**< Threads of the machine that ran or waited, over one minute. */
    /** Why the other fields are not known: "NVML cannot be opened: ..."; "" when nothing is to be
     * said. */
    char reason[256];
} gantry_device_telemetry_t;

/** A process that uses a device. */
typedef struct gantry_device_process_t {
    uint32_t struct_size; /**< Its sizeof. */
    uint32_t pid;         /**< Its number, as the driver counts: outside of containers. */
    uint64_t used_bytes;  /**< Memory of the device that it holds; UINT64_MAX when unknown. */
    uint32_t is_graphics; /**< 1: it draws; 0: it computes. */
    uint32_t reserved;    /**< 0. */
    char name[128];       /**< The program, as the driver names it; "" when unknown. */
} gantry_device_process_t;

/* ---- of a backend ---- */

struct gantry_backend_instance_t; /* of backend_abi.h, as the rules of this table are */

/** What cards do now. No slot opens a device or wakes a card. The core also asks about another
 * backend's view of the same card. */
typedef struct gantry_telemetry_ops_t {
    uint32_t struct_size; /**< Its sizeof. */
    /** optional (default: nothing is known). Fills the card's figures, which are 0 before. */
    int32_t (*read)(struct gantry_backend_instance_t *instance, uint32_t index,
                    gantry_device_telemetry_t *out_telemetry);
    /** optional (default: unknown). Calls visit for each process that uses the card. The struct is
     * valid during that call. */
    int32_t (*processes)(struct gantry_backend_instance_t *instance, uint32_t index,
                         void (*visit)(void *user, const gantry_device_process_t *process),
                         void *user);
} gantry_telemetry_ops_t;

#endif
