/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * The binary interface between Gantry's core and a backend module. Of Gantry it includes
 * only abi_types.h, abi_telemetry.h and abi_interop.h.
 *
 * A backend presents physical devices, their memory, streams, events and transfers, and optionally
 * programs and kernels. It never sees a tensor, a scope or an allocator. The core owns every
 * object that it had a backend make, and gives the objects back in reverse order.
 *
 * Rules of the interface:
 *
 * - A module exports one symbol, gantry_backend_query, which returns constant data and touches no
 *   driver.
 * - Every struct begins with struct_size, which its maker sets to sizeof. Slots are only ever
 *   appended. A reader uses a slot only if it is inside struct_size (GANTRY_ABI_HAS). An
 *   out-struct carries the caller's struct_size, and nothing is written beyond it.
 * - Integers have a fixed width. Text is UTF-8, owned by the side that filled it, and valid as long
 *   as the object that carries it.
 * - Arrays of structs are passed as arrays of pointers, so that a struct may grow.
 * - A slot returns 0 or another status code (gantry_status_t). It passes the text to
 *   host->set_error before it returns.
 * - A "required" slot is never NULL; the default of an "optional" one is stated.
 * - Unavailable from a slot that works on an open device means that the device is lost for this
 *   process. The core then fails everything that depends on it with that text, places nothing
 *   there any more, and only gives back its objects.
 * - Threads: query and open are init-only. device_info is thread-safe after open. Stream slots,
 *   except synchronize and flush, are externally synchronised per stream. All others are
 *   thread-safe. The core calls slots without holding a lock, except the one that orders
 *   submissions on a stream. */
#ifndef GANTRY_BACKEND_ABI_H
#define GANTRY_BACKEND_ABI_H

#include <stddef.h>
#include <stdint.h>

#include <gantry/abi_interop.h>
#include <gantry/abi_telemetry.h>
#include <gantry/abi_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The version of this interface. A table of version 1 has no member that version 2 gave a new
 * meaning: gantry_backend_t.interop. */
#define GANTRY_ABI_VERSION 2u

/** Whether the maker of the struct at p knew the slot. */
#define GANTRY_ABI_HAS(p, slot) \
    ((p)->struct_size >= (size_t)((const char *)&(p)->slot - (const char *)(p)) + sizeof((p)->slot))

/** An open backend. Each backend defines this type and the six below as its own; the core only
 * holds pointers. */
typedef struct gantry_backend_instance_t gantry_backend_instance_t;
typedef struct gantry_backend_device_t gantry_backend_device_t; /**< An open device. */
/** An in-order queue of a device. */
typedef struct gantry_backend_stream_t gantry_backend_stream_t;
typedef struct gantry_backend_event_t gantry_backend_event_t; /**< An event of a device. */
/** A program built for a device. */
typedef struct gantry_backend_program_t gantry_backend_program_t;
typedef struct gantry_backend_kernel_t gantry_backend_kernel_t; /**< A kernel of a program. */
/** Work captured from streams of a device. */
typedef struct gantry_backend_graph_t gantry_backend_graph_t;

typedef struct gantry_op_call_t gantry_op_call_t;       /**< One call of a kernel. */
typedef struct gantry_kernel_def_t gantry_kernel_def_t; /**< A kernel's definition. */
typedef struct gantry_device_info_t
    gantry_device_info_t; /**< A device, described by its backend. */

/* ---- spans of memory ---- */

/** A piece of device memory taken from the driver, by the backend's own number; 0 is none. On a
 * device with GANTRY_DEVICE_HOST_ADDRESSABLE it is the address of the first byte. */
typedef uint64_t gantry_region_t;

/** A part of a region. Memory is named by spans only. */
typedef struct gantry_span_t {
    gantry_region_t region; /**< The region. */
    uint64_t offset_bytes;  /**< Offset of the first byte. */
    uint64_t size_bytes;    /**< Size in bytes. */
} gantry_span_t;

/* ---- what the core gives a backend ---- */

/** A value that was measured on a device and kept; see gantry_host_t. */
typedef struct gantry_tuning_t {
    uint32_t struct_size; /**< The caller's sizeof. */
    uint32_t line;        /**< Line of the file, for messages. */
    const char *values;   /**< Words separated by single blanks: "depth=512 rows=120". */
    const char *measured; /**< When: "2026-11-22T01:02:03Z". */
    const char *file;     /**< The file's path. */
} gantry_tuning_t;

/** Services of the core for a backend. self is the first argument of each. */
typedef struct gantry_host_t {
    uint32_t struct_size; /**< Its sizeof. */
    uint32_t abi_version; /**< The core's version. */
    void *self;           /**< First argument of every slot below. */
    /** required. Logs a line; level is GANTRY_LEVEL_DEBUG to GANTRY_LEVEL_ERROR. */
    void (*log)(void *self, int32_t level, const char *text);
    /** required. Keeps the text of a failure for the calling thread, and returns code. domain
     * names who failed ("OpenCL", "CUDA", "errno"), native_code is the number used there. text
     * names the object, its value and what is accepted. */
    int32_t (*set_error)(void *self, int32_t code, const char *domain, int64_t native_code,
                         const char *text);
    /** required. ptr NULL allocates, new_bytes 0 frees, anything else resizes. Returns NULL on
     * failure; ptr then stays valid. */
    void *(*reallocate)(void *self, void *ptr, uint64_t old_bytes, uint64_t new_bytes);
    /** required. The value of a runtime option or environment variable, by its name
     * "GANTRY_..."; NULL when unset. Valid while the instance is open. */
    const char *(*option)(void *self, const char *name);
    /** optional. Returns 1 and the record of `what` ("opencl.cpu_matmul.float32") that was
     * measured on such a device: hardware, platform, driver, compute units and vector width are
     * equal. Returns 0 when there is none. Any user may have written the file: a backend checks
     * the values before it uses them, and falls back to its own. Texts are valid while the
     * instance is open. */
    int32_t (*tuning)(void *self, const gantry_device_info_t *device, const char *what,
                      gantry_tuning_t *out_tuning);
    /** optional. open says whose code it runs next: the next process names it after a crash. */
    void (*driver_enter)(void *self, const char *driver);
    /** optional. 0 if only root and the process's user may write a file or folder, and all folders
     * on the way to it; a missing path passes. Otherwise a status, with the reason as text. */
    int32_t (*check_writers)(void *self, const char *path, char *out_reason, uint64_t reason_bytes);
} gantry_host_t;

/* ---- devices ---- */

/** Types of devices. */
enum {
    GANTRY_DEVICE_TYPE_CPU = 1,        /**< A processor. */
    GANTRY_DEVICE_TYPE_GPU = 2,        /**< A GPU. */
    GANTRY_DEVICE_TYPE_ACCELERATOR = 3 /**< Any other device. */
};

/** Flags of a device. */
enum {
    GANTRY_DEVICE_INTEGRATED = 1 << 0, /**< A GPU that shares the host's memory. */
    /** Device memory is host memory, and counts against the machine's. */
    GANTRY_DEVICE_HOST_BACKED = 1 << 1,
    GANTRY_DEVICE_HOST_ADDRESSABLE = 1 << 2, /**< A region's number is a host address. */
    GANTRY_DEVICE_LAZY_COMMIT = 1 << 3,      /**< A region takes memory only when it is touched. */
    /** Work is done when the submitting slot returns. Streams may run at the same time. */
    GANTRY_DEVICE_SYNCHRONOUS = 1 << 4,
    /** The driver has its own on-disk program cache. Asking it for a binary would recompile, so
     * the core does not. */
    GANTRY_DEVICE_KEEPS_PROGRAMS = 1 << 5,
    /** A transfer of host memory that is not from host_alloc may return only when all work before
     * it on its stream is done. The core then waits before it locks the stream. */
    GANTRY_DEVICE_WAITS_FOR_PAGEABLE = 1 << 6,
    /** Local memory is a part of global memory: a copy into it gains nothing. */
    GANTRY_DEVICE_LOCAL_IS_GLOBAL = 1 << 7,
    GANTRY_DEVICE_MAKERS_DRIVER = 1 << 8, /**< The maker of the hardware made the driver. */
    /** No instruction computes fma of float32. Functions that call it take longer. */
    GANTRY_DEVICE_EMULATES_FMA = 1 << 9,
    GANTRY_DEVICE_GROUPS_GO_ON = 1 << 10, /**< Started work-groups go on while others wait. */
    GANTRY_DEVICE_FLOAT_ATOMICS = 1 << 11 /**< Atomic additions of float32 are fast. */
};

/** Kinds of program text that a device accepts. */
enum {
    GANTRY_PROGRAM_OPENCL_C = 1 << 0, /**< OpenCL C. */
    GANTRY_PROGRAM_CUDA_C = 1 << 1    /**< CUDA C, for NVRTC. */
};

struct gantry_device_info_t {
    uint32_t struct_size; /**< The caller's sizeof. */
    /** GANTRY_DEVICE_TYPE_... as the driver reports it; the core decides what a user sees. */
    int32_t type;
    uint32_t flags;                 /**< GANTRY_DEVICE_INTEGRATED and the flags after it. */
    uint32_t compute_units;         /**< Compute units, multiprocessors or cores. */
    const char *hardware_name;      /**< "NVIDIA H200". */
    const char *vendor;             /**< The vendor, as the driver names it. */
    const char *driver_version;     /**< The driver's version. */
    const char *platform_name;      /**< The driver's platform. */
    const char *platform_version;   /**< The platform's version. */
    const char *pci_address;        /**< "0000:65:00.0"; "" when unknown. */
    const char *uuid;               /**< "GPU-8932f937-..."; "" when unknown. */
    const char *compute_capability; /**< "9.0"; "" where there is no such notion. */
    /** Changes whenever cached program binaries become invalid. */
    const char *build_hash;
    uint64_t total_bytes;              /**< All memory of the device. */
    uint64_t largest_allocation_bytes; /**< Largest region; 0: no limit but the total. */
    uint64_t base_alignment_bytes;     /**< A buffer's offset must be a multiple; a power of two. */
    uint64_t local_memory_bytes;       /**< Memory of one work-group. */
    /** Bit (1 << dtype) for each element type that kernels may use. */
    uint64_t dtype_mask;
    uint32_t max_work_group_size; /**< The most work-items of a work-group. */
    uint32_t parameter_bytes;     /**< The most argument bytes of one launch; 0: no known limit. */
    uint32_t native_vector_width; /**< Lanes of float32; 1 when it is no vector machine. */
    /** Size of a warp or wavefront, 0 when unknown. On a processor: the lanes that it makes from
     * work-items, 0 if it runs them as loops. */
    uint32_t sub_group_size;
    uint32_t program_kinds; /**< GANTRY_PROGRAM_... accepted; 0: none. */
    uint32_t clock_mhz;     /**< Clock in MHz; 0 when unknown. */
    /** The least urgent number of streams; equal to greatest_priority when streams have none. */
    int32_t least_priority;
    int32_t greatest_priority; /**< Of streams, the most urgent and smallest number. */
    /** Why program_kinds is 0 where a user could expect programs; "" otherwise. */
    const char *no_programs;
    /** The index of the backend's driver that shows the device. Several drivers may show one card,
     * each once. 0 if there is one driver. */
    uint32_t driver;
};

/* ---- memory ---- */

/** Memory of a device. */
typedef struct gantry_memory_ops_t {
    uint32_t struct_size; /**< Its sizeof. */
    /** required. Allocates a region, with undefined content. ResourceExhausted when the driver
     * has no more. */
    int32_t (*region_alloc)(gantry_backend_device_t *device, uint64_t size_bytes,
                            gantry_region_t *out_region);
    /** required. Frees a region. No work that uses it is pending. */
    void (*region_free)(gantry_backend_device_t *device, gantry_region_t region,
                        uint64_t size_bytes);
    /** optional (default: the host's heap). Allocates host memory that transfers access without
     * another copy. */
    int32_t (*host_alloc)(gantry_backend_device_t *device, uint64_t size_bytes, void **out_ptr);
    /** required with host_alloc. Frees it. */
    void (*host_free)(gantry_backend_device_t *device, void *ptr, uint64_t size_bytes);
    /** optional (default: unknown). The driver's own figures. */
    int32_t (*memory_info)(gantry_backend_device_t *device, uint64_t *out_free_bytes,
                           uint64_t *out_total_bytes);
} gantry_memory_ops_t;

/* ---- streams and events ---- */

/** Purposes of streams. */
enum {
    GANTRY_STREAM_COMPUTE = 0,   /**< Kernels. */
    GANTRY_STREAM_TO_DEVICE = 1, /**< Transfers to the device. */
    GANTRY_STREAM_TO_HOST = 2    /**< Transfers to the host. */
};

/** Streams of a device. */
typedef struct gantry_stream_ops_t {
    uint32_t struct_size; /**< Its sizeof. */
    /** required. Creates an in-order queue. purpose is GANTRY_STREAM_..., a hint. */
    int32_t (*create)(gantry_backend_device_t *device, int32_t purpose,
                      gantry_backend_stream_t **out_stream);
    /** required. Waits for pending work, then destroys the queue. */
    void (*destroy)(gantry_backend_stream_t *stream);
    /** optional (default: nothing). Hands pending work to the device. */
    int32_t (*flush)(gantry_backend_stream_t *stream);
    /** required. Waits for pending work and reports failures since the last call. */
    int32_t (*synchronize)(gantry_backend_stream_t *stream);
    /** required. Later work of the stream waits for the event. The event may belong to another
     * device of the same backend. If the driver requires it, the slot flushes the queue on
     * which the event was recorded. */
    int32_t (*wait_event)(gantry_backend_stream_t *stream, gantry_backend_event_t *event);
    /** optional (default: create). priority is in the device's range. */
    int32_t (*create_with_priority)(gantry_backend_device_t *device, int32_t purpose,
                                    int32_t priority, gantry_backend_stream_t **out_stream);
    /** optional (default: nothing). Of an idle stream: 1 gives events recorded later times. */
    int32_t (*set_timed)(gantry_backend_stream_t *stream, int32_t timed);
} gantry_stream_ops_t;

/** Events of a device. */
typedef struct gantry_event_ops_t {
    uint32_t struct_size; /**< Its sizeof. */
    /** required. Creates an event. */
    int32_t (*create)(gantry_backend_device_t *device, gantry_backend_event_t **out_event);
    void (*destroy)(gantry_backend_event_t *event); /**< required. Destroys an event. */
    /** required. Records the event after the stream's work. A wait keeps the record that it was
     * given: the event may be recorded again once wait_event and synchronize have returned. */
    int32_t (*record)(gantry_backend_event_t *event, gantry_backend_stream_t *stream);
    /** required. *out_done is 1 when all work before the record has ended. An error of that work
     * is the slot's error. */
    int32_t (*query)(gantry_backend_event_t *event, int32_t *out_done);
    /** required. Waits until all work before the record has ended. */
    int32_t (*synchronize)(gantry_backend_event_t *event);
    /** optional (default: create). Creates an event whose records have times. */
    int32_t (*create_timed)(gantry_backend_device_t *device, gantry_backend_event_t **out_event);
    /** optional (default: no times). Nanoseconds between two passed records on timed streams. */
    int32_t (*elapsed)(gantry_backend_event_t *from, gantry_backend_event_t *to, int64_t *out_ns);
} gantry_event_ops_t;

/* ---- transfers ---- */

/** Transfers, submitted to a stream. Host memory is valid until the stream has passed the transfer.
 *
 * The core checks its requests: a span has at least one byte, the spans of a copy have one size
 * and do not overlap, and a pattern has one of the sizes below. */
typedef struct gantry_transfer_ops_t {
    uint32_t struct_size; /**< Its sizeof. */
    /** required. Copies from host memory to the target. */
    int32_t (*to_device)(gantry_backend_stream_t *stream, const gantry_span_t *target,
                         const void *source);
    /** required. Copies from the source to host memory. */
    int32_t (*to_host)(gantry_backend_stream_t *stream, void *target, const gantry_span_t *source);
    /** required. Copies inside the device. */
    int32_t (*copy)(gantry_backend_stream_t *stream, const gantry_span_t *target,
                    const gantry_span_t *source);
    /** required. Repeats a pattern. pattern_bytes is 1, 2, 4 or 8 and divides the span's offset
     * and size. */
    int32_t (*fill)(gantry_backend_stream_t *stream, const gantry_span_t *target,
                    const void *pattern, uint32_t pattern_bytes);
    /** optional (default: through the host). The source is on another device of the same
     * backend. */
    int32_t (*copy_peer)(gantry_backend_stream_t *stream, const gantry_span_t *target,
                         gantry_backend_device_t *source_device, const gantry_span_t *source);
} gantry_transfer_ops_t;

/* ---- programs ---- */

/** A program's text, in parts that are joined without separators. Constant data: the core's
 * cache uses label and content as its key.
 *
 * A kernel may make a part of its text from the call: the last three fields. The struct and the key
 * may then end with the call. The core makes the text when it builds the program; a backend gets it
 * as one more part. */
typedef struct gantry_program_source_t {
    uint32_t struct_size;     /**< Its sizeof. */
    uint32_t kinds;           /**< GANTRY_PROGRAM_... for which the text is written. */
    const char *label;        /**< Unique name, for messages and files: "portable/elementwise". */
    const char *const *parts; /**< The parts of the text. */
    uint32_t part_count;      /**< Entries of parts. */
    uint32_t reserved;        /**< 0. */
    /** For a source with make: the key of its text. Equal keys must give equal texts. */
    const void *key;
    uint64_t key_bytes; /**< Bytes at key. */
    /** optional (default: the parts are the text). Writes the text after the parts, as snprintf
     * does: as much as fits into `capacity`, with its 0. Returns its length. */
    uint64_t (*make)(const void *key, char *text, uint64_t capacity);
} gantry_program_source_t;

/** Kinds of launch arguments; see gantry_launch_arg_t. */
enum {
    GANTRY_LAUNCH_SPAN = 0,   /**< A region's base and an offset. */
    GANTRY_LAUNCH_SCALAR = 1, /**< A value. */
    GANTRY_LAUNCH_LOCAL = 2,  /**< Memory of the work-group. */
    GANTRY_LAUNCH_BASE = 3    /**< A region's base. */
};

/** An argument of a launch. A SPAN becomes two kernel arguments: the region's base, and a 64-bit
 * unsigned offset in bytes. A span with region 0 passes a null base. A BASE is a span whose
 * offset the kernel reads from one of its scalars: one argument, the region's base. A SCALAR
 * passes value's first size_bytes (1, 2, 4, 8, or a small struct). LOCAL is size_bytes of
 * work-group memory, one per launch. */
typedef struct gantry_launch_arg_t {
    uint32_t kind;       /**< GANTRY_LAUNCH_SPAN and the kinds after it. */
    uint32_t size_bytes; /**< Size of a SCALAR or of LOCAL memory. */
    /** The argument itself, by kind. */
    union {
        /** The value of SPAN and BASE. */
        gantry_span_t span;
        /** The value of SCALAR. */
        const void *value;
    } as;
} gantry_launch_arg_t;

/** A launch of a kernel. */
typedef struct gantry_launch_t {
    uint32_t struct_size;            /**< Its sizeof. */
    uint32_t dimensions;             /**< 1 to 3. */
    uint64_t global_size[3];         /**< Work-items; a multiple of local_size. */
    uint64_t local_size[3];          /**< Work-items of a group; all 0: the driver chooses. */
    const gantry_launch_arg_t *args; /**< The arguments. */
    uint32_t arg_count;              /**< Entries of args. */
} gantry_launch_t;

/** A kernel's use of its device. */
typedef struct gantry_kernel_info_t {
    uint32_t struct_size;         /**< The caller's sizeof. */
    uint32_t max_work_group_size; /**< Work-items; 0: unknown. */
    /** Declared in the kernel's text; LOCAL arguments do not count. */
    uint64_t local_bytes;
    uint64_t private_bytes; /**< Per work-item, including spilled registers; 0: none or unknown. */
} gantry_kernel_info_t;

/** Programs of a device, and launches. */
typedef struct gantry_program_ops_t {
    uint32_t struct_size; /**< Its sizeof. */
    /** required. Builds a program. options are "-D" definitions only. The compiler's log goes
     * into the error's text. */
    int32_t (*build)(gantry_backend_device_t *device, const gantry_program_source_t *source,
                     const char *options, gantry_backend_program_t **out_program);
    /** required. Destroys a program and the kernels found in it. */
    void (*destroy)(gantry_backend_program_t *program);
    /** optional (default: no binaries). Writes the program's binary; bytes NULL asks for its
     * size. */
    int32_t (*binary)(gantry_backend_program_t *program, void *bytes, uint64_t *size_bytes);
    /** required with binary. Makes a program from a binary. */
    int32_t (*load_binary)(gantry_backend_device_t *device, const void *bytes, uint64_t size_bytes,
                           const char *label, gantry_backend_program_t **out_program);
    /** required. Finds a kernel by name. It ends with its program. */
    int32_t (*kernel_find)(gantry_backend_program_t *program, const char *name,
                           gantry_backend_kernel_t **out_kernel);
    /** required. Submits a launch. The arguments are copied before the slot returns. Launches of
     * one kernel on several streams at the same time are safe. */
    int32_t (*launch)(gantry_backend_stream_t *stream, gantry_backend_kernel_t *kernel,
                      const gantry_launch_t *launch);
    /** optional (default: unknown). The kernel's use of its device. */
    int32_t (*kernel_info)(gantry_backend_kernel_t *kernel, gantry_kernel_info_t *out_info);
} gantry_program_ops_t;

/* ---- graphs ---- */

/** Graphs: work that is submitted once and launched as a whole, any number of times.
 *
 *     begin_capture(s)   launch, copy, record...   end_capture(s)   launch(s, graph)   launch(...)
 *                        kept, not run             -> graph         runs               runs again
 *
 * - Between begin and end the stream takes launches of kernels, transfers, records of events, and
 *   waits for events recorded since begin. They are checked and kept. A launch of the graph runs
 *   all of them in their order.
 * - An event recorded since begin orders the graph and nothing else: no launch records it. Until it
 *   is recorded outside again, every other use of it is FailedPrecondition. Another stream of the
 *   device that waits for such an event is captured too, as a branch, and takes the same calls. The
 *   first stream must have waited for all of a branch before end, or end is FailedPrecondition.
 * - Also FailedPrecondition: synchronize of a captured stream, its wait for an event that was
 *   recorded elsewhere, begin and launch on it, and end without a capture. All other slots work as
 *   always: they take effect at once and are not kept. The device's other streams take work, begin
 *   captures of their own, and launch graphs meanwhile.
 * - A call that fails on a captured stream may spoil the capture: the caller ends it, and destroys
 *   the graph if there is one. After end, failed or not, the streams take work as before. The
 *   stream where a capture began may be destroyed before end; a branch may not.
 * - Regions, programs and the host memory of transfers stay as long as the graph is launched. Once
 *   one of them is gone, the graph is only destroyed. That host memory comes from host_alloc if the
 *   backend has the slot; each launch reads and writes its present content. Scalars and patterns
 *   are copied.
 * - begin may return Unimplemented: the device captures nothing, and the core submits its plan call
 *   by call. ResourceExhausted from end: no graph was made. Unavailable: the device is lost.
 * - Threads: a capture may end on another thread than it began. launch and destroy are externally
 *   synchronised per graph. */
typedef struct gantry_graph_ops_t {
    uint32_t struct_size; /**< Its sizeof. */
    /** required. Begins to capture the stream. */
    int32_t (*begin_capture)(gantry_backend_stream_t *stream);
    /** required. Ends the capture and makes its graph; *out_graph is NULL when it fails. An
     * empty capture gives a graph that does nothing. */
    int32_t (*end_capture)(gantry_backend_stream_t *stream, gantry_backend_graph_t **out_graph);
    /** required. Runs the graph, on any stream of its device. Launches of one graph run one
     * after the other, whatever their streams. */
    int32_t (*launch)(gantry_backend_stream_t *stream, gantry_backend_graph_t *graph);
    /** required. Destroys the graph, before its device is closed. No launch of it is pending. */
    void (*destroy)(gantry_backend_graph_t *graph);
} gantry_graph_ops_t;

/* ---- kernels of ops ---- */

/** One tensor as a kernel sees it. */
typedef struct gantry_arg_t {
    uint32_t struct_size;   /**< Its sizeof. */
    int32_t dtype;          /**< gantry_dtype_t. */
    int32_t rank;           /**< Number of dimensions. */
    int32_t in_host_memory; /**< 1: data points to the elements; 0: span names them. */
    const int64_t *dims;    /**< The dimensions. */
    int64_t element_count;  /**< Number of elements; -1 while it depends on data. */
    /** The elements in device memory. A result begins at a multiple of base_alignment_bytes and of
     * 64 bytes. An input may be a view, which begins at a multiple of its elements' size. */
    gantry_span_t span;
    /** The first element, in host memory or on a HOST_ADDRESSABLE device; else NULL. */
    void *data;
} gantry_arg_t;

/** One attribute of an op, with defaults filled in. */
typedef struct gantry_attr_t {
    uint32_t struct_size; /**< Its sizeof. */
    int32_t kind;         /**< GANTRY_ATTR_BOOL and the kinds after it. */
    const char *name;     /**< The attribute's name. */
    int64_t i;            /**< The value of BOOL, INT and TYPE; the length of list. */
    double f;             /**< The value of FLOAT. */
    const char *s;        /**< The value of STRING. */
    const int64_t *list;  /**< The values of SHAPE and INTS. */
} gantry_attr_t;

/** The text of an error that a kernel found on its device. In text "@" becomes the place of the bad
 * element in an array of place_dims, "[1,0]", and "#" the accepted numbers: "indices@ is not in
 * [0, #)". Texts are constant; ranks and counts are at most 8.
 *
 * If value_text is set, the core keeps that input until the slot was read, and "$" becomes the
 * value at the place: "indices@ = $ is not in [0, #)". If the value cannot be fetched, the core
 * uses text. */
typedef struct gantry_fault_words_t {
    uint32_t struct_size;   /**< Its sizeof. */
    int32_t place_rank;     /**< Entries of place_dims. */
    int32_t accepted_count; /**< Entries of accepted. */
    const char *text;       /**< The text without the value. */
    int64_t place_dims[8];  /**< Dimensions of the array that the place is in. */
    int64_t accepted[8];    /**< The accepted numbers. */
    const char *value_text; /**< optional. The text with the value. */
    /** optional (default: value_text). The text for a value in [0, value_end), which is bad for
     * another reason. */
    const char *inside_text;
    int64_t value_end;   /**< See inside_text. */
    int32_t value_input; /**< The input with the value: integers in device memory. */
    int32_t value_count; /**< Numbers of a place, shown as a list, "[2, 1]"; 0: one number. */
} gantry_fault_words_t;

/** Services of the core for a kernel while it computes. The call is the first argument of each. */
typedef struct gantry_call_services_t {
    uint32_t struct_size; /**< Its sizeof. */
    /** Device memory until the stream has passed this call. It counts against the device's
     * limit. */
    int32_t (*scratch)(gantry_op_call_t *call, uint64_t size_bytes, gantry_span_t *out_span);
    /** Makes output `index`, whose shape depends on data (its element_count is -1 until then),
     * and fills outputs[index]. rank and the known dimensions must agree with it. The kernel
     * makes each such output before compute returns, even an empty one. */
    int32_t (*allocate_output)(gantry_op_call_t *call, uint32_t index, int32_t rank,
                               const int64_t *dims);
    /** The kernel `name` of source built with options, from the core's caches or built now. The
     * core owns it. */
    int32_t (*kernel)(gantry_op_call_t *call, const gantry_program_source_t *source,
                      const char *options, const char *name, gantry_backend_kernel_t **out_kernel);
    /** Submits a launch to the call's stream. */
    int32_t (*launch)(gantry_op_call_t *call, gantry_backend_kernel_t *kernel,
                      const gantry_launch_t *launch);
    /** Submits a copy to the call's stream. */
    int32_t (*copy)(gantry_op_call_t *call, const gantry_span_t *target,
                    const gantry_span_t *source);
    /** Submits a fill to the call's stream. */
    int32_t (*fill)(gantry_op_call_t *call, const gantry_span_t *target, const void *pattern,
                    uint32_t pattern_bytes);
    /** 64 bytes of device memory (the span has the size), zero now. A kernel that meets bad data
     * writes {uint32 code, uint32 input, int64 position} there; code is one of GANTRY_FAULT_....
     * The core reports it when a result that depends on this call is read, or by
     * gantry_runtime_synchronize.
     *
     * Several work-items may meet bad data. The first position is reported if each of them
     * uses, in place of position, an atomic maximum of 2^31 - position % 2^31 on the 32-bit
     * word 4 + position / 2^31, for positions below 12 * 2^31. */
    int32_t (*fault)(gantry_op_call_t *call, gantry_span_t *out_span);
    /** Keeps a failure's text and returns code. */
    int32_t (*fail)(gantry_op_call_t *call, int32_t code, const char *text);
    /** optional. Waits for the work that the call submitted, then copies the span's first
     * size_bytes to host memory: for counts that decide an output's shape. */
    int32_t (*read)(gantry_op_call_t *call, const gantry_span_t *source, void *target,
                    uint64_t size_bytes);
    /** optional. After fault: a text for it, copied, in place of the core's text for the code. */
    void (*fault_words)(gantry_op_call_t *call, const gantry_fault_words_t *words);
    /** optional. The use of the device by a kernel that `kernel` returned, from the slot
     * kernel_info of gantry_program_ops_t. Without that slot all fields except struct_size are
     * 0. */
    int32_t (*kernel_info)(gantry_op_call_t *call, gantry_backend_kernel_t *kernel,
                           gantry_kernel_info_t *out_info);
    /** optional. Reports the memory of the card that a vendor's library took for itself in its
     * first computation. It counts with the driver's context. */
    void (*library_took)(gantry_op_call_t *call, uint64_t bytes);
} gantry_call_services_t;

struct gantry_op_call_t {
    uint32_t struct_size;  /**< Its sizeof. */
    uint32_t input_count;  /**< Entries of inputs. */
    uint32_t output_count; /**< Entries of outputs. */
    uint32_t attr_count;   /**< Entries of attrs. */
    /** The inputs, in the order of the op's definition. */
    const gantry_arg_t *const *inputs;
    /** The outputs, in the order of the op's definition. */
    gantry_arg_t *const *outputs;
    /** The attributes, in the order of the op's definition. */
    const gantry_attr_t *const *attrs;
    const char *op;                          /**< The op: "MatMul". */
    const gantry_kernel_def_t *kernel;       /**< The kernel that is called. */
    const gantry_device_info_t *device_info; /**< The device, described. */
    gantry_backend_device_t *device;         /**< The device. */
    gantry_backend_stream_t *stream;         /**< The stream that takes the work. */
    const gantry_call_services_t *services;  /**< Services of the core. */
    void *core;                              /**< The core's own. */
    uint32_t flags;    /**< GANTRY_CALL_BATCH_INVARIANT and so on; other bits: the core's. */
    uint32_t reserved; /**< 0. */
};

/** "The op's type attribute `attr` is one of these": one entry for each attribute that the kernel
 * restricts.
 *
 * A kernel is not offered for types that the device's dtype_mask lacks. Kernels whose mask holds
 * all of GANTRY_DTYPES_ANY are exempt: they move elements as bits. */
typedef struct gantry_type_constraint_t {
    /** "T"; NULL: the kernel computes with all of these types, whatever the op's types are. */
    const char *attr;
    uint64_t dtype_mask; /**< Bit (1 << dtype). */
} gantry_type_constraint_t;

struct gantry_kernel_def_t {
    uint32_t struct_size; /**< Its sizeof. */
    /** The highest of several kernels of an op on a device is chosen; the portable pack uses 0. */
    int32_t priority;
    const char *op;                        /**< The op: "MatMul". */
    const gantry_type_constraint_t *types; /**< The types that the kernel takes. */
    uint32_t type_count;                   /**< Entries of types. */
    uint32_t flags;                        /**< GANTRY_KERNEL_IN_PLACE..., or 0. */
    /** Names of inputs and outputs in host memory: "axis". */
    const char *const *host_args;
    uint32_t host_arg_count; /**< Entries of host_args. */
    uint32_t promises;       /**< GANTRY_KERNEL_BATCH_INVARIANT and so on, or 0. */
    /** optional (default: yes). Returns 1 if the kernel takes this call. Shapes, types and
     * attributes are known, memory is not. */
    int32_t (*supports)(const gantry_op_call_t *call);
    /** required. Submits the work to call->stream and returns. The outputs are allocated, and at
     * least one is not empty. Outputs whose shape depends on data are not allocated; such a
     * call comes even if its inputs are empty. A kernel that fails, and whose supports() then
     * declines the same call, leaves the call to the next kernel. */
    int32_t (*compute)(gantry_op_call_t *call);
    const void *data; /**< The kernel's own constant. */
    /** optional (default: none). The libraries by which it computes, or may compute, except in a
     * call with GANTRY_CALL_BATCH_INVARIANT: "cuBLASLt". Placement records name them. */
    const char *library;
};

/* ---- modules ---- */

/** A backend: the table that a module returns. Slots of an instance or a device come first, then
 * the tables of a device. */
typedef struct gantry_backend_t {
    uint32_t struct_size; /**< Its sizeof. */
    uint32_t abi_version; /**< The table's version, at most the max_abi of the query. */
    /** "opencl": lower-case letters, digits and '_'. */
    const char *name;
    const char *description; /**< In words, for listings. */
    /** If several backends see one card, the highest rank serves it. */
    int32_t rank;
    uint32_t reserved; /**< 0. */
    /** required. Opens the backend. Unavailable, with the reason as the error's text, when a
     * library or driver is absent. host outlives the instance. */
    int32_t (*open)(const gantry_host_t *host, gantry_backend_instance_t **out_instance);
    void (*close)(gantry_backend_instance_t *instance); /**< required. Closes the instance. */
    /** required. The devices that open found; 0 is a normal answer. Creates no context and takes
     * no device memory. */
    uint32_t (*device_count)(gantry_backend_instance_t *instance);
    /** required. Describes a device. */
    int32_t (*device_info)(gantry_backend_instance_t *instance, uint32_t index,
                           gantry_device_info_t *out_info);
    /** required. Opens a device. */
    int32_t (*device_open)(gantry_backend_instance_t *instance, uint32_t index,
                           gantry_backend_device_t **out_device);
    void (*device_close)(gantry_backend_device_t *device); /**< required. Closes a device. */
    /** optional (default: none). The backend's own kernels for a device; constant while the
     * instance is open. */
    uint32_t (*kernels)(gantry_backend_instance_t *instance, uint32_t index,
                        const gantry_kernel_def_t *const **out_kernels);
    /** optional. One line about libraries found or missing, for listings. */
    const char *(*libraries)(gantry_backend_instance_t *instance);
    /** required. Memory. */
    const gantry_memory_ops_t *memory;
    /** required. Streams. */
    const gantry_stream_ops_t *stream;
    /** required. Events. */
    const gantry_event_ops_t *event;
    /** required. Transfers. */
    const gantry_transfer_ops_t *transfer;
    /** optional. Programs; without it no kernel of a pack runs there. */
    const gantry_program_ops_t *program;
    /** optional (default: the device shares nothing). Sharing with the program. Read only from
     * tables of version 2 or higher. */
    const gantry_interop_ops_t *interop;
    /** optional (default: unknown). The card's memory, of all processes together, without
     * opening the device: no context is made for it. The core also asks it for another
     * backend's view of the same card. */
    int32_t (*card_memory)(gantry_backend_instance_t *instance, uint32_t index,
                           uint64_t *out_free_bytes, uint64_t *out_total_bytes);
    /** optional (default: the core submits its plan call by call). Graphs. */
    const gantry_graph_ops_t *graph;
    /** optional (default: none). Writes, as snprintf does, the files whose code open runs, a line
     * each, and opens none. Returns the length. A backend that ended the process twice in a row is
     * left out until its module or one of these files changes. */
    uint64_t (*driver_files)(const gantry_host_t *host, char *text, uint64_t capacity);
    /** optional. How threads wait for a device opened later: a gantry_wait_policy_t, not 0. */
    int32_t (*set_wait_policy)(gantry_backend_instance_t *instance, uint32_t index, int32_t policy);
    /** optional (default: nothing is known). What a card does now. */
    const gantry_telemetry_ops_t *telemetry;
} gantry_backend_t;

/** Returns 0 and the table, or FailedPrecondition when the module needs a newer core than
 * max_abi. */
typedef int32_t (*gantry_backend_query_fn)(uint32_t max_abi, const gantry_backend_t **out_backend);
/** The symbol that a module exports, a gantry_backend_query_fn. */
#define GANTRY_BACKEND_QUERY_SYMBOL "gantry_backend_query"

/** Kernels that come without a device: the core offers them on every device that accepts one of
 * the program kinds. */
typedef struct gantry_kernel_pack_t {
    uint32_t struct_size;                      /**< Its sizeof. */
    uint32_t abi_version;                      /**< The version for which the pack was built. */
    const char *name;                          /**< The pack's name: "portable". */
    uint32_t program_kinds;                    /**< GANTRY_PROGRAM_... of its texts. */
    uint32_t kernel_count;                     /**< Entries of kernels. */
    const gantry_kernel_def_t *const *kernels; /**< The kernels. */
} gantry_kernel_pack_t;

/** Returns 0 and the pack, or FailedPrecondition when it needs a newer core than max_abi. */
typedef int32_t (*gantry_kernel_pack_query_fn)(uint32_t max_abi,
                                               const gantry_kernel_pack_t **out_pack);

/** @def GANTRY_BACKEND_EXPORT
 * Marks the function that a module exports. */
#if defined(_WIN32)
#define GANTRY_BACKEND_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define GANTRY_BACKEND_EXPORT __attribute__((visibility("default")))
#else
#define GANTRY_BACKEND_EXPORT
#endif

#ifdef __cplusplus
}
#endif
#endif
