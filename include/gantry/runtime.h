/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime: one independent world of backends, devices and settings. Nothing is process-global
 * but that drivers are open; several may live side by side.
 *
 * Creating one finds backends and physical devices but makes no context and takes no device memory.
 * The first operation, or listing logical devices, initialises it; settings that shape devices are
 * frozen from then on. A child of fork must create a runtime of its own: with the parent's objects
 * every call that returns a status is FailedPrecondition there, gantry_scope_begin gives NULL, and
 * releasing or ending one does nothing. What the parent held is not given back in the child: that
 * leak is meant, since drivers, threads and locks do not survive fork. The runtime of a child
 * computes on the CPU. OpenCL and CUDA serve it only where no parent of it had found devices
 * through them, in a runtime that may be released since: else the backend is unavailable there,
 * gantry_backend_status says why, and ops fall back as on a machine without that backend. A program
 * that forks and wants GPUs in its children forks before its first runtime, keeps the parent off
 * them (backends "cpu"), or calls exec. Who used OpenCL in the parent without Gantry is not known
 * here; such a child chooses backends "cpu".
 * Owner: whoever created it releases it. Scopes, tensors, variables and generators keep it in
 * memory, but are refused after release.
 * Thread-safe, but for create's options, which are read during the call only. */
#ifndef GANTRY_RUNTIME_H
#define GANTRY_RUNTIME_H

#include <gantry/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gantry_runtime_t gantry_runtime_t;

/* text has no trailing newline. May be called from any thread; must not call Gantry. */
typedef void (*gantry_log_fn)(void *user, gantry_log_level_t level, const char *text);

/* One function for all host memory: ptr NULL allocates, new_bytes 0 frees, else resizes; NULL on
 * failure. Any thread. */
typedef void *(*gantry_reallocate_fn)(void *user, void *ptr, size_t old_bytes, size_t new_bytes);

/* A setting that may be left to the environment variable and then the default. */
typedef enum gantry_choice_t { GANTRY_DEFAULT = 0, GANTRY_OFF = 1, GANTRY_ON = 2 } gantry_choice_t;

/* What happens to an input that lies on another device than its op runs on. */
typedef enum gantry_device_policy_t {
    GANTRY_POLICY_DEFAULT = 0,
    GANTRY_POLICY_EXPLICIT = 1,        /* an error */
    GANTRY_POLICY_WARN = 2,            /* copied, logged */
    GANTRY_POLICY_SILENT = 3,          /* copied (the default) */
    GANTRY_POLICY_SILENT_FOR_INT32 = 4 /* int32 copied, others an error */
} gantry_device_policy_t;

/* Placement when an op cannot run where a user would want it. */
typedef enum gantry_placement_mode_t {
    GANTRY_PLACEMENT_DEFAULT = 0,
    GANTRY_PLACEMENT_PREFER = 1,    /* fall back, keep the reason (the default) */
    GANTRY_PLACEMENT_WARN_ONCE = 2, /* and log one warning per (op, reason) */
    /* an op that cannot run where it was asked, or on a GPU, is an error. An integer variable for
     * which no device is asked lives on the CPU, as in every mode */
    GANTRY_PLACEMENT_REQUIRE = 3
} gantry_placement_mode_t;

/* Whether it is recorded where the time goes; see profile.h. */
typedef enum gantry_profile_mode_t {
    GANTRY_PROFILE_DEFAULT = 0,
    GANTRY_PROFILE_OFF = 1, /* the default */
    GANTRY_PROFILE_ON = 2,
    /* and every op is waited for, so that the time of kernels can be told */
    GANTRY_PROFILE_WAIT = 3
} gantry_profile_mode_t;

/* Zero-filled means defaults. Precedence of every setting: call > option > environment > default;
 * gantry_get_setting tells who won. A field and a text of extra that set the same thing
 * differently are InvalidArgument, both named. */
typedef struct gantry_runtime_options_t {
    uint32_t struct_size;         /* sizeof(gantry_runtime_options_t) */
    gantry_log_level_t log_level; /* lowest level passed to log; default info (GANTRY_LOG_LEVEL) */
    gantry_log_fn log;            /* NULL: silent */
    void *log_user;
    gantry_reallocate_fn reallocate; /* NULL: the C library's */
    void *reallocate_user;
    /* folders or files, ':'-separated, searched before GANTRY_BACKEND_PATH and the library's own
     * folder */
    const char *backend_path;
    /* comma list of backend names to open, NULL: all (GANTRY_BACKENDS) */
    const char *backends;
    /* grammar of CUDA_VISIBLE_DEVICES (GANTRY_VISIBLE_DEVICES); NULL: not set */
    const char *visible_devices;
    /* present OpenCL devices of type CPU as GPUs (GANTRY_OPENCL_CPU=gpu) */
    gantry_choice_t opencl_cpu_as_gpu;
    gantry_choice_t soft_placement;         /* default on (GANTRY_SOFT_PLACEMENT) */
    gantry_choice_t log_placement;          /* default off (GANTRY_LOG_PLACEMENT) */
    gantry_placement_mode_t placement_mode; /* GANTRY_PLACEMENT=prefer|warn|require */
    /* GANTRY_DEVICE_POLICY=explicit|warn|silent|silent_for_int32 */
    gantry_device_policy_t device_policy;
    /* of every device; default on (TF_FORCE_GPU_ALLOW_GROWTH for GPUs, then
     * GANTRY_MEMORY_GROWTH) */
    gantry_choice_t memory_growth;
    /* of every device, its parts together; 0: from the device (GANTRY_MEMORY_LIMIT, bytes or
     * 512M, 2G, 50%) */
    uint64_t memory_limit_bytes;
    /* of the CPU backend; 0: one per usable core (GANTRY_CPU_THREADS) */
    int32_t intra_op_threads;
    /* folder of program binaries, "" none, NULL: GANTRY_KERNEL_CACHE, then the user's cache folder;
     * in that one PoCL's are not kept, which has a cache of its own */
    const char *kernel_cache;
    /* any variable of docs/environment.md for this runtime alone: "NAME=VALUE" texts,
     * NULL-terminated, or NULL; so are values per device given:
     * "GANTRY_MEMORY_LIMIT=GPU:0=2G,*=1G" */
    const char *const *extra;
    /* limit of every device as a part of its total, over 0 (from 1e-9) up to 1; 0: not set; beside
     * memory_limit_bytes the smaller holds (GANTRY_MEMORY_FRACTION) */
    double memory_fraction;
    /* "GPU:0=1024M,1024M;CPU:0=512M,512M": splits devices, which must exist; NULL: not set
     * (GANTRY_LOGICAL_DEVICES, grammar: docs/environment.md) */
    const char *logical_devices;
    /* host memory for staging, all devices together; 0: 1 GiB (GANTRY_PINNED_LIMIT) */
    uint64_t pinned_limit_bytes;
    /* largest region that growth takes at once unless one tensor needs more; 0: 1 GiB
     * (GANTRY_MEMORY_STEP) */
    uint64_t growth_step_bytes;
    /* a chunk is split when this much would be left over; 0: 64 KiB (GANTRY_MEMORY_SPLIT;
     * TensorFlow: 128 MiB) */
    uint64_t split_bytes;
    /* give empty regions back when memory runs out; default on (GANTRY_MEMORY_COLLECT,
     * TF_ENABLE_GPU_GARBAGE_COLLECTION) */
    gantry_choice_t garbage_collection;
    /* how long an allocation waits for memory that any thread may free; 0: only while another op
     * holds temporary memory, at most 10000 (GANTRY_OOM_RETRY_MS; TensorFlow: 10000) */
    int32_t oom_retry_ms;
    /* an op that finds no memory on its device runs on the CPU, recorded; default off
     * (GANTRY_OOM_FALLBACK) */
    gantry_choice_t oom_fallback;
    /* recorded from creation on; default off (GANTRY_PROFILE=off|on|wait) */
    gantry_profile_mode_t profile;
} gantry_runtime_options_t;

/* options may be NULL. *out_runtime is NULL after a failure. A machine without any GPU or OpenCL
 * is not a failure. */
GANTRY_API gantry_status_t gantry_runtime_create(const gantry_runtime_options_t *options,
                                                 gantry_runtime_t **out_runtime);

/* Waits for pending work, then ends it. From now on the pointer is as after free(), unless a scope,
 * tensor, variable or generator of the runtime still lives: then it and they are refused, each call
 * that returns a status with FailedPrecondition, and stay valid only to be ended or released.
 * NULL is allowed. */
GANTRY_API void gantry_runtime_release(gantry_runtime_t *runtime);

/* Initialises now what the first operation would. OK when it already is. */
GANTRY_API gantry_status_t gantry_runtime_initialize(gantry_runtime_t *runtime);

/* Waits until all submitted work has ended; the first error of it that nobody was told of, and
 * once. That is also what a kernel found on its device (an index out of range: InvalidArgument),
 * whether or not its result still lives; who reads what depends on it is told every time. The
 * runtime goes on. */
GANTRY_API gantry_status_t gantry_runtime_synchronize(gantry_runtime_t *runtime);

/* ---- backends ---- */

typedef enum gantry_backend_state_t {
    GANTRY_BACKEND_USABLE = 0,
    /* a library, driver or device is absent: normal on many machines */
    GANTRY_BACKEND_UNAVAILABLE = 1,
    /* damaged, of another ABI version, of a used name, or excluded by an option */
    GANTRY_BACKEND_REFUSED = 2
} gantry_backend_state_t;

typedef struct gantry_backend_status_t {
    uint32_t struct_size;
    gantry_backend_state_t state;
    const char *name;        /* "opencl"; the file's name when it could not be asked */
    const char *description; /* "" when it could not be asked */
    /* the module's file, "built in", or "none": there is no such backend here */
    const char *path;
    const char *reason;    /* why it is not usable; "" when it is */
    const char *libraries; /* which vendor libraries it found or missed; "" */
    uint32_t device_count;
} gantry_backend_status_t;

GANTRY_API size_t gantry_backend_status_count(const gantry_runtime_t *runtime);
/* Text is owned by the runtime. out_status->struct_size must be set. OutOfRange names the count. */
GANTRY_API gantry_status_t gantry_backend_status(const gantry_runtime_t *runtime, size_t index,
                                                 gantry_backend_status_t *out_status);

/* ---- what is set, and by whom ---- */

typedef enum gantry_setting_source_t {
    GANTRY_FROM_DEFAULT = 0,
    GANTRY_FROM_ENVIRONMENT = 1,
    GANTRY_FROM_OPTION = 2,
    GANTRY_FROM_CALL = 3
} gantry_setting_source_t;

struct gantry_physical_device_t;

typedef struct gantry_setting_t {
    uint32_t struct_size;
    gantry_setting_source_t source; /* who won */
    /* as the environment would spell it, of a device only its own part; "": taken from device or
     * machine; cut to fit */
    char value[256];
    /* "default", "GANTRY_MEMORY_LIMIT", "option memory_limit_bytes", "gantry_set_memory_limit" */
    char set_by[64];
    /* what lost, the strongest first: "option memory_limit_bytes=4M; GANTRY_MEMORY_LIMIT=2G"; "" */
    char overruled[128];
    bool per_device;
    bool frozen;          /* cannot be changed any more */
    const char *variable; /* "GANTRY_MEMORY_LIMIT"; constant, as are the following */
    const char *fallback; /* in words, what holds while value is "": "from the device" */
    const char *meaning;  /* docs/environment.md's */
} gantry_setting_t;

/* Every variable of docs/environment.md is one. Names: "memory_growth", "memory_limit",
 * "memory_fraction", "logical_devices", "visible_devices", ...; the list is fixed. */
GANTRY_API size_t gantry_setting_count(void);
GANTRY_API const char *gantry_setting_name(size_t index); /* NULL beyond the last */
/* device: for a setting that is per device, ignored for others; NULL asks for what holds where
 * nothing is said of a device. A setting that another one excludes (a limit beside a fraction of a
 * higher source) counts as lost. out_setting->struct_size must be set. NotFound lists the names. */
GANTRY_API gantry_status_t gantry_get_setting(gantry_runtime_t *runtime, const char *name,
                                              const struct gantry_physical_device_t *device,
                                              gantry_setting_t *out_setting);

/* ---- settings that may change at any time ---- */

GANTRY_API gantry_status_t gantry_set_soft_device_placement(gantry_runtime_t *runtime,
                                                            bool enabled);
GANTRY_API bool gantry_get_soft_device_placement(const gantry_runtime_t *runtime);
GANTRY_API gantry_status_t gantry_set_log_device_placement(gantry_runtime_t *runtime, bool enabled);
GANTRY_API gantry_status_t gantry_set_device_policy(gantry_runtime_t *runtime,
                                                    gantry_device_policy_t policy);
GANTRY_API gantry_device_policy_t gantry_get_device_policy(const gantry_runtime_t *runtime);
GANTRY_API gantry_status_t gantry_set_placement_mode(gantry_runtime_t *runtime,
                                                     gantry_placement_mode_t mode);

/* ---- thread counts: frozen by initialisation, 0 means the default ---- */

/* Of the CPU backend, the caller's among them; at most 1024. Until initialisation the last call
 * holds, before option and environment; afterwards an equal number is fine, another one
 * FailedPrecondition. */
GANTRY_API gantry_status_t gantry_set_intra_op_parallelism_threads(gantry_runtime_t *runtime,
                                                                   int32_t threads);
GANTRY_API int32_t gantry_get_intra_op_parallelism_threads(const gantry_runtime_t *runtime);

#ifdef __cplusplus
}
#endif
#endif
