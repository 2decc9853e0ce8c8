/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * The runtime: an independent set of backends, devices and settings. A process may have several;
 * the drivers that they open are the only process-global state.
 *
 * gantry_runtime_create finds backends and physical devices, but makes no context and takes no
 * device memory. The first op, or listing logical devices, initialises the runtime; from then on
 * the settings that shape devices are frozen.
 *
 * Fork: a child must create a runtime of its own. With the parent's objects, every call that
 * returns a status is FailedPrecondition there, gantry_scope_begin returns NULL, and releasing or
 * ending an object does nothing. The child does not free the parent's resources: that leak is
 * intended, because drivers, threads and locks do not survive fork. The runtime of a child
 * computes on the CPU. OpenCL and CUDA serve it only if no parent found devices through them, not
 * even in a runtime released since. Otherwise the backend is unavailable in the child,
 * gantry_backend_status says why, and ops fall back as on a machine without that backend. A
 * program that forks and wants GPUs in its children forks before its first runtime, keeps the
 * parent off GPUs (backends "cpu"), or calls exec. Gantry cannot see whether the parent used
 * OpenCL without Gantry; such a child chooses backends "cpu".
 *
 * Owner: the caller that created a runtime releases it. Scopes, tensors, variables and generators
 * keep it in memory, but are refused after its release.
 *
 * Thread-safe. The options of gantry_runtime_create are read during the call only. */
#ifndef GANTRY_RUNTIME_H
#define GANTRY_RUNTIME_H

#include <gantry/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A runtime. The caller that created it releases it. */
typedef struct gantry_runtime_t gantry_runtime_t;

/** Receives a log line, without trailing newline, on any thread. It must not call Gantry. */
typedef void (*gantry_log_fn)(void *user, gantry_log_level_t level, const char *text);

/** One function for all host memory: ptr NULL allocates, new_bytes 0 frees, anything else
 * resizes. Returns NULL on failure. It is called on any thread. */
typedef void *(*gantry_reallocate_fn)(void *user, void *ptr, size_t old_bytes, size_t new_bytes);

/** A setting that may be left to the environment variable, and then to the default. */
typedef enum gantry_choice_t {
    GANTRY_DEFAULT = 0, /**< Not set here. */
    GANTRY_OFF = 1,     /**< Off. */
    GANTRY_ON = 2       /**< On. */
} gantry_choice_t;

/** Treatment of an input that is on another device than its op. */
typedef enum gantry_device_policy_t {
    GANTRY_POLICY_DEFAULT = 0,         /**< Not set here. */
    GANTRY_POLICY_EXPLICIT = 1,        /**< An error. */
    GANTRY_POLICY_WARN = 2,            /**< Copied, and logged. */
    GANTRY_POLICY_SILENT = 3,          /**< Copied; the default. */
    GANTRY_POLICY_SILENT_FOR_INT32 = 4 /**< int32 is copied; other types are an error. */
} gantry_device_policy_t;

/** Treatment of an op that cannot run where a user would want it. */
typedef enum gantry_placement_mode_t {
    GANTRY_PLACEMENT_DEFAULT = 0,   /**< Not set here. */
    GANTRY_PLACEMENT_PREFER = 1,    /**< Falls back and keeps the reason; the default. */
    GANTRY_PLACEMENT_WARN_ONCE = 2, /**< Also logs one warning per (op, reason). */
    /** An op that cannot run on the requested device, or on a GPU, is an error. An integer
     * variable without a requested device lives on the CPU, as in every mode. */
    GANTRY_PLACEMENT_REQUIRE = 3
} gantry_placement_mode_t;

/** How threads wait for a device. */
typedef enum gantry_wait_policy_t {
    GANTRY_WAIT_DEFAULT = 0, /**< Not set here. */
    GANTRY_WAIT_AUTO = 1,    /**< As the driver does; the default. */
    GANTRY_WAIT_SPIN = 2,    /**< Asks without a pause: soonest done, and takes a core. */
    GANTRY_WAIT_YIELD = 3,   /**< Asks, and offers the core to other threads in between. */
    GANTRY_WAIT_BLOCK = 4,   /**< Sleeps, and leaves the core to others. */
    GANTRY_WAIT_ADAPTIVE = 5 /**< Asks for a short time, as past waits were short; then sleeps. */
} gantry_wait_policy_t;

/** Whether the runtime records a profile; see profile.h. */
typedef enum gantry_profile_mode_t {
    GANTRY_PROFILE_DEFAULT = 0, /**< Not set here. */
    GANTRY_PROFILE_OFF = 1,     /**< Off; the default. */
    GANTRY_PROFILE_ON = 2,      /**< On. */
    /** On, and every op is waited for, so that the time of its kernels is known. */
    GANTRY_PROFILE_WAIT = 3
} gantry_profile_mode_t;

struct gantry_adopted_context_t;

/** Options of a runtime. Zero-filled means defaults. Precedence of every setting: call, option,
 * environment, default; gantry_get_setting says which one won. A field and a text of extra that
 * set one thing differently are InvalidArgument, and the message names both. */
typedef struct gantry_runtime_options_t {
    uint32_t struct_size; /**< Its sizeof. */
    /** Lowest level passed to log; default info (GANTRY_LOG_LEVEL). It drops no line that
     * log_placement asks for. */
    gantry_log_level_t log_level;
    gantry_log_fn log;               /**< Receives log lines; NULL: only GANTRY_LOG writes them. */
    void *log_user;                  /**< First argument of log. */
    gantry_reallocate_fn reallocate; /**< Host memory; NULL: the C library's. */
    void *reallocate_user;           /**< First argument of reallocate. */
    /** Folders or files, separated by ':', searched before GANTRY_BACKEND_PATH and the library's
     * own folder. */
    const char *backend_path;
    /** Names of the backends to open, separated by commas; NULL: all (GANTRY_BACKENDS). */
    const char *backends;
    /** Visible devices, in the grammar of CUDA_VISIBLE_DEVICES; NULL: not set
     * (GANTRY_VISIBLE_DEVICES). */
    const char *visible_devices;
    /** Presents OpenCL devices of type CPU as GPUs (GANTRY_OPENCL_CPU=gpu). */
    gantry_choice_t opencl_cpu_as_gpu;
    /** An op may fall back to another device; default on (GANTRY_SOFT_PLACEMENT). */
    gantry_choice_t soft_placement;
    /** Logs every placement; default off (GANTRY_LOG_PLACEMENT). */
    gantry_choice_t log_placement;
    gantry_placement_mode_t placement_mode; /**< GANTRY_PLACEMENT=prefer|warn|require. */
    /** GANTRY_DEVICE_POLICY=explicit|warn|silent|silent_for_int32. */
    gantry_device_policy_t device_policy;
    /** Growth of every device's pool; default on (TF_FORCE_GPU_ALLOW_GROWTH for GPUs, then
     * GANTRY_MEMORY_GROWTH). */
    gantry_choice_t memory_growth;
    /** Limit of every device, all its parts together; 0: from the device (GANTRY_MEMORY_LIMIT,
     * in bytes or as 512M, 2G, 50%). */
    uint64_t memory_limit_bytes;
    /** Threads of the CPU backend; 0: one per usable core (GANTRY_CPU_THREADS). */
    int32_t cpu_threads;
    /** Folder of program binaries; "" for none; NULL: GANTRY_KERNEL_CACHE, then the user's cache
     * folder. The user's cache folder keeps no binaries of PoCL, which has its own cache. */
    const char *kernel_cache;
    /** Any variable of docs/environment.md for this runtime only: "NAME=VALUE" texts,
     * NULL-terminated, or NULL. This is also how values per device are set:
     * "GANTRY_MEMORY_LIMIT=GPU:0=2G,*=1G". */
    const char *const *extra;
    /** Limit of every device as a fraction of its total, from 1e-9 up to 1; 0: not set. Of this
     * and memory_limit_bytes the smaller one holds (GANTRY_MEMORY_FRACTION). */
    double memory_fraction;
    /** Splits devices, which must exist: "GPU:0=1024M,1024M;CPU:0=512M,512M"; NULL: not set
     * (GANTRY_LOGICAL_DEVICES, grammar in docs/environment.md). */
    const char *logical_devices;
    /** Host memory for staging and gantry_pinned_alloc, all devices together; 0: 1 GiB
     * (GANTRY_PINNED_LIMIT). */
    uint64_t pinned_limit_bytes;
    /** The largest region that growth takes at once, unless one tensor needs more; 0: 1 GiB
     * (GANTRY_MEMORY_STEP). */
    uint64_t memory_step_bytes;
    /** A chunk is split if this much would be left over; 0: 64 KiB (GANTRY_MEMORY_SPLIT;
     * TensorFlow: 128 MiB). */
    uint64_t memory_split_bytes;
    /** Gives empty regions back when memory runs out; default on (GANTRY_MEMORY_COLLECT,
     * TF_ENABLE_GPU_GARBAGE_COLLECTION). */
    gantry_choice_t memory_collect;
    /** How long an allocation waits for memory that any thread may free, in milliseconds; 0:
     * only while another op holds temporary memory, at most 10000 (GANTRY_OOM_RETRY_MS;
     * TensorFlow: 10000). */
    int32_t oom_retry_ms;
    /** An op that finds no memory on its device runs on the CPU, and its record says so; default
     * off (GANTRY_OOM_FALLBACK). */
    gantry_choice_t oom_fallback;
    /** Records a profile from creation on; default off (GANTRY_PROFILE=off|on|wait). */
    gantry_profile_mode_t profile;
    /** Ops of a function that request no device go where they cost least, by what
     * `gantry tune --what crossover` measured; default off (GANTRY_CROSSOVER). A device that was
     * not measured is left out, and the records say so. */
    gantry_choice_t crossover;
    /** Writes a timeline to this file from creation on, as gantry_trace_start; NULL: not set
     * (GANTRY_TRACE). The file appears with the first op. If it cannot be written, the log has a
     * warning, and the program goes on. */
    const char *trace;
    /** How threads wait for every device; default auto (GANTRY_WAIT_POLICY, also per device). */
    gantry_wait_policy_t wait_policy;
    /** The most threads that run parts of one call of a function at the same time, as
     * gantry_set_inter_op_parallelism_threads: negative: only the caller's; 0: not set
     * (GANTRY_INTER_OP_THREADS). */
    int32_t inter_op_threads;
    /** A row of a result has the same bits by itself and in a batch of any size, on one device:
     * own products take the place of the vendors' libraries, no choice by the number of rows
     * changes a sum's order, crossover does not choose devices, and an op that finds no memory does
     * not move. Default off (GANTRY_BATCH_INVARIANT). gantry_op_info_t.batch_dependence says of
     * each op whether its definition is about the batch. A scope and a function choose for
     * themselves: gantry_scope_set_batch_invariant, gantry_function_options_t. */
    gantry_choice_t batch_invariant;
    /** Contexts of the program that devices are opened over: pointers to adopted_count structs;
     * interop.h says how. */
    const struct gantry_adopted_context_t *const *adopted;
    size_t adopted_count; /**< Entries of adopted. */
    /** Sums of floats may be made in any order where that is faster: scatters and sums of unsorted
     * segments on GPUs, by atomic additions. Their bits may then change from run to run. Default
     * off (GANTRY_ANY_ORDER). A scope chooses for itself: gantry_scope_set_any_order. Placement
     * records say what became of it. */
    gantry_choice_t any_order;
} gantry_runtime_options_t;

/** Creates a runtime. options may be NULL. *out_runtime is NULL after a failure. A machine
 * without a GPU or OpenCL is not a failure. */
GANTRY_API gantry_status_t gantry_runtime_create(const gantry_runtime_options_t *options,
                                                 gantry_runtime_t **out_runtime);

/** Waits for pending work and for started calls (gantry_function_start), then ends the runtime;
 * NULL does no harm. In a callback of a started call it does nothing, and gantry_last_message says
 * why. The pointer is then as after free(), unless a scope, tensor, variable or generator of the
 * runtime still lives. In that case runtime and objects may only be released or ended; every other
 * call with them that returns a status is FailedPrecondition. */
GANTRY_API void gantry_runtime_release(gantry_runtime_t *runtime);

/** Initialises the runtime now instead of at the first op. OK if it is initialised already. */
GANTRY_API gantry_status_t gantry_runtime_initialize(gantry_runtime_t *runtime);

/** Waits until all submitted work has ended, and all started calls (gantry_function_start), unless
 * it is called in a callback of one. Returns the first error of the work that no call reported yet,
 * once. Errors that kernels find on their device (an index out of range: InvalidArgument) are among
 * them, even if the result is released. Reading a result that depends on a failed op reports its
 * error every time. The runtime stays usable. */
GANTRY_API gantry_status_t gantry_runtime_synchronize(gantry_runtime_t *runtime);

/** Passes a line to the runtime's log function, as a line of the library itself: for libraries on
 * top. The function gets no line below the runtime's log_level; the file of GANTRY_LOG gets none
 * below the variable GANTRY_LOG_LEVEL. text NULL: "". */
GANTRY_API gantry_status_t gantry_runtime_log(gantry_runtime_t *runtime, gantry_log_level_t level,
                                              const char *text);

/* ---- backends ---- */

/** States of a backend. */
typedef enum gantry_backend_state_t {
    GANTRY_BACKEND_USABLE = 0, /**< Open, with any number of devices. */
    /** A library, driver or device is absent: normal on many machines. */
    GANTRY_BACKEND_UNAVAILABLE = 1,
    /** Damaged, of another ABI version, with a name already taken, or excluded by an option. */
    GANTRY_BACKEND_REFUSED = 2
} gantry_backend_state_t;

/** A backend that was found, or refused. The runtime owns the texts. */
typedef struct gantry_backend_status_t {
    uint32_t struct_size;         /**< Its sizeof. */
    gantry_backend_state_t state; /**< Whether it is usable. */
    /** "opencl"; the file's name if the module could not be queried. */
    const char *name;
    const char *description; /**< In words; "" if the module could not be queried. */
    /** The module's file, "built in", or "none": this build has no such backend. */
    const char *path;
    const char *reason;    /**< Why it is not usable; "" when it is. */
    const char *libraries; /**< Which vendor libraries it found or missed; "". */
    uint32_t device_count; /**< Its physical devices. */
    /** Why its drivers are opened without a trial even if one of them ended the last process: the
     * gantry command is not next to the library, crashes cannot be noted, or
     * GANTRY_DRIVER_QUARANTINE is off. "": they are tried, or the backend has none. */
    const char *untried;
} gantry_backend_status_t;

/** The number of backends that were found or refused. */
GANTRY_API size_t gantry_backend_status_count(const gantry_runtime_t *runtime);
/** Describes the backend with this index. out_status->struct_size must be set. OutOfRange names
 * the count. */
GANTRY_API gantry_status_t gantry_backend_status(const gantry_runtime_t *runtime, size_t index,
                                                 gantry_backend_status_t *out_status);

/* ---- settings and their sources ---- */

/** The source of a setting's value. */
typedef enum gantry_setting_source_t {
    GANTRY_FROM_DEFAULT = 0,     /**< The default. */
    GANTRY_FROM_ENVIRONMENT = 1, /**< An environment variable. */
    GANTRY_FROM_OPTION = 2,      /**< A field of gantry_runtime_options_t. */
    GANTRY_FROM_CALL = 3         /**< A call. */
} gantry_setting_source_t;

struct gantry_physical_device_t;

/** The value of a setting, and which sources lost. */
typedef struct gantry_setting_t {
    uint32_t struct_size;           /**< Its sizeof. */
    gantry_setting_source_t source; /**< Which source won. */
    /** The value as the environment would spell it, of a device only its own part; "": taken
     * from the device or the machine. Cut to fit. */
    char value[256];
    /** "default", "GANTRY_MEMORY_LIMIT", "option memory_limit_bytes", "gantry_set_memory_limit". */
    char set_by[64];
    /** The sources that lost, the strongest first: "option memory_limit_bytes=4M;
     * GANTRY_MEMORY_LIMIT=2G"; "". */
    char overruled[128];
    bool per_device;      /**< Each device may have its own value. */
    bool frozen;          /**< The setting cannot be changed any more. */
    const char *variable; /**< "GANTRY_MEMORY_LIMIT". This text and the two below are constant. */
    /** The value, in words, that holds while value is "": "from the device". */
    const char *fallback;
    const char *meaning; /**< The meaning, as in docs/environment.md. */
} gantry_setting_t;

/** The number of settings: one for each variable of docs/environment.md. */
GANTRY_API size_t gantry_setting_count(void);
/** The name of the setting with this index: "memory_growth", "memory_limit", "memory_fraction",
 * "logical_devices", "visible_devices" and so on. NULL beyond the last. */
GANTRY_API const char *gantry_setting_name(size_t index);
/** Reads a setting.
 *
 * device selects the value of a setting per device, and is ignored for others; NULL reads the
 * value for devices that have none of their own. A setting that another one excludes (a limit
 * together with a fraction of a stronger source) counts as lost. out_setting->struct_size must be
 * set. NotFound lists the names. */
GANTRY_API gantry_status_t gantry_get_setting(gantry_runtime_t *runtime, const char *name,
                                              const struct gantry_physical_device_t *device,
                                              gantry_setting_t *out_setting);

/** Whether only root and this process's user may write a file or folder, and all folders and links
 * on the way to it. What others may write is not used as a cache of kernels, as a tuning file or as
 * PoCL's folder. A path that does not exist passes. FailedPrecondition names what others may write;
 * other failures are the system's. */
GANTRY_API gantry_status_t gantry_check_writers(const char *path);

/* ---- settings that may change at any time ---- */

/** Chooses whether an op may fall back to another device, as
 * tf.config.set_soft_device_placement. */
GANTRY_API gantry_status_t gantry_set_soft_device_placement(gantry_runtime_t *runtime,
                                                            bool enabled);
/** Says whether an op may fall back to another device. */
GANTRY_API bool gantry_get_soft_device_placement(const gantry_runtime_t *runtime);
/** Chooses whether every placement is logged, as tf.debugging.set_log_device_placement. */
GANTRY_API gantry_status_t gantry_set_log_device_placement(gantry_runtime_t *runtime, bool enabled);
/** Says whether every placement is logged. */
GANTRY_API bool gantry_get_log_device_placement(const gantry_runtime_t *runtime);
/** Chooses the treatment of inputs on other devices; GANTRY_POLICY_DEFAULT restores the default. */
GANTRY_API gantry_status_t gantry_set_device_policy(gantry_runtime_t *runtime,
                                                    gantry_device_policy_t policy);
/** The treatment of inputs on other devices. */
GANTRY_API gantry_device_policy_t gantry_get_device_policy(const gantry_runtime_t *runtime);
/** Chooses the treatment of ops that cannot run where a user would want them. */
GANTRY_API gantry_status_t gantry_set_placement_mode(gantry_runtime_t *runtime,
                                                     gantry_placement_mode_t mode);
/** The treatment of ops that cannot run where a user would want them. */
GANTRY_API gantry_placement_mode_t gantry_get_placement_mode(const gantry_runtime_t *runtime);

/* ---- thread counts: frozen by initialisation ---- */

/** Chooses the threads of the CPU backend, including the calling one: at most 1024, 0 for the
 * default. It overrides option and environment, and the last call before initialisation counts.
 * Afterwards an equal number is accepted, and another one is FailedPrecondition. */
GANTRY_API gantry_status_t gantry_set_intra_op_parallelism_threads(gantry_runtime_t *runtime,
                                                                   int32_t threads);
/** The threads of the CPU backend; 0 for the default. */
GANTRY_API int32_t gantry_get_intra_op_parallelism_threads(const gantry_runtime_t *runtime);

/** Chooses the most threads that run parts of one call of a function at the same time, the calling
 * one included: at most 1024, of which a call uses 16. 0, the default: one for each CPU device that
 * has enough to do; negative: only the caller's thread. A function whose own option
 * inter_op_threads is not 0 uses that one. It is also how many calls of gantry_function_start run
 * at a time, as said there. This overrides option and environment, and the last call before
 * initialisation counts. Afterwards an equal number is accepted, and another one is
 * FailedPrecondition. */
GANTRY_API gantry_status_t gantry_set_inter_op_parallelism_threads(gantry_runtime_t *runtime,
                                                                   int32_t threads);
/** The most threads that run parts of one call of a function; 0 for the default. */
GANTRY_API int32_t gantry_get_inter_op_parallelism_threads(const gantry_runtime_t *runtime);

#ifdef __cplusplus
}
#endif
#endif
