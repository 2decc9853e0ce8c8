/* SPDX-License-Identifier: Apache-2.0 */
/* The binary interface between Gantry's core and a backend module. Of Gantry it
 * includes abi_types.h alone: element types, status codes, attribute kinds, log levels, faults.
 *
 * A backend presents physical devices, their memory, streams, events, transfers and (optionally)
 * programs and kernels. It never sees a tensor, a scope or an allocator. The core owns every object
 * it asked a backend to make and gives it back in reverse order.
 *
 * Rules of the interface
 * - A module exports one symbol, gantry_backend_query, which returns constant data and touches no
 *   driver.
 * - Every struct begins with struct_size, set by its maker to sizeof. Slots are only ever appended.
 *   A reader looks at a slot only when it lies inside struct_size (GANTRY_ABI_HAS). An out-struct
 * carries the caller's struct_size and is never written beyond it.
 * - Fixed-width integers only; text is UTF-8, owned by whoever filled it, valid as long as the
 *   object that carries it.
 * - Arrays of structs travel as arrays of pointers, so that a struct may grow.
 * - A slot returns 0 or one of Gantry's status codes (gantry_status_t); the text goes through
 *   host->set_error before it returns.
 * - "required" slots are never NULL; for an "optional" one the default is stated.
 * - Unavailable from a slot that works on an open device means that the device is lost for this
 *   process: the core fails everything that depends on it with that text, places nothing there any
 * more, and only gives back what it holds.
 * - Threads: query and open are init-only; device_info is thread-safe after open; stream slots but
 *   synchronize and flush are externally synchronised per stream; all others are thread-safe. No
 *   slot is called with a lock of the core held but the one that orders submissions on a stream. */
#ifndef GANTRY_BACKEND_ABI_H
#define GANTRY_BACKEND_ABI_H

#include <stddef.h>
#include <stdint.h>

#include <gantry/abi_types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GANTRY_ABI_VERSION 1u

/* True when the struct that p points to was made by someone who knew the slot. */
#define GANTRY_ABI_HAS(p, slot) \
    ((p)->struct_size >= (size_t)((const char *)&(p)->slot - (const char *)(p)) + sizeof((p)->slot))

/* Each backend defines these as its own; the core only holds pointers. */
typedef struct gantry_backend_instance_t gantry_backend_instance_t;
typedef struct gantry_backend_device_t gantry_backend_device_t;
typedef struct gantry_backend_stream_t gantry_backend_stream_t;
typedef struct gantry_backend_event_t gantry_backend_event_t;
typedef struct gantry_backend_program_t gantry_backend_program_t;
typedef struct gantry_backend_kernel_t gantry_backend_kernel_t;
typedef struct gantry_backend_graph_t gantry_backend_graph_t;

typedef struct gantry_op_call_t gantry_op_call_t;
typedef struct gantry_kernel_def_t gantry_kernel_def_t;
typedef struct gantry_device_info_t gantry_device_info_t;

/* ---- memory is named by spans only ---- */

/* A piece of device memory taken from the driver; the backend's own number, 0 is none. On a device
 * whose info has GANTRY_DEVICE_HOST_ADDRESSABLE it is the address of the first byte. */
typedef uint64_t gantry_region_t;

typedef struct gantry_span_t {
    gantry_region_t region;
    uint64_t offset_bytes;
    uint64_t size_bytes;
} gantry_span_t;

/* ---- what the core gives a backend ---- */

/* The levels (GANTRY_LEVEL_..., abi_types.h) under the names that backends may know them by. */
#define GANTRY_LOG_DEBUG GANTRY_LEVEL_DEBUG
#define GANTRY_LOG_INFO GANTRY_LEVEL_INFO
#define GANTRY_LOG_WARNING GANTRY_LEVEL_WARNING
#define GANTRY_LOG_ERROR GANTRY_LEVEL_ERROR

/* What was measured on a device and kept: see gantry_host_t. */
typedef struct gantry_tuning_t {
    uint32_t struct_size; /* the caller's */
    uint32_t line;        /* of the file it comes from, for messages */
    const char *values;   /* words apart by single blanks: "depth=512 rows=120" */
    const char *measured; /* when: "2026-11-22T01:02:03Z" */
    const char *file;
} gantry_tuning_t;

typedef struct gantry_host_t {
    uint32_t struct_size;
    uint32_t abi_version; /* the core's */
    void *self;           /* first argument of every slot below */
    void (*log)(void *self, int32_t level, const char *text); /* GANTRY_LEVEL_... */
    /* Keeps the failure's text for the calling thread and returns code. domain names who failed
     * ("OpenCL", "CUDA", "errno"); native_code is that one's own number. text names the object,
     * its value and what is accepted. */
    int32_t (*set_error)(void *self, int32_t code, const char *domain, int64_t native_code,
                         const char *text);
    /* ptr NULL allocates, new_bytes 0 frees, else resizes; NULL on failure (ptr then stays
     * valid). */
    void *(*reallocate)(void *self, void *ptr, uint64_t old_bytes, uint64_t new_bytes);
    /* The value of a runtime option or environment variable, "GANTRY_..." names only; NULL when
     * unset. Valid while the instance is open. */
    const char *(*option)(void *self, const char *name);
    /* optional (a core that has it says so by struct_size). 1 with the record of `what`
     * ("opencl.cpu_matmul.float32") that was measured on such a device: hardware, platform, driver,
     * compute units and vector width are the same; 0 when there is none. The record comes from a
     * file that anybody may have written: a backend checks the values before it uses them, and
     * takes its own where they are wrong. Texts are valid while the instance is open. */
    int32_t (*tuning)(void *self, const gantry_device_info_t *device, const char *what,
                      gantry_tuning_t *out_tuning);
} gantry_host_t;

/* ---- devices ---- */

enum { GANTRY_DEVICE_TYPE_CPU = 1, GANTRY_DEVICE_TYPE_GPU = 2, GANTRY_DEVICE_TYPE_ACCELERATOR = 3 };

enum {
    GANTRY_DEVICE_INTEGRATED = 1 << 0, /* a GPU that shares the host's memory */
    /* device memory is host memory: it counts against the machine's */
    GANTRY_DEVICE_HOST_BACKED = 1 << 1,
    GANTRY_DEVICE_HOST_ADDRESSABLE = 1 << 2, /* a region's number is a host address */
    GANTRY_DEVICE_LAZY_COMMIT = 1 << 3,      /* a region is backed only once touched */
    /* work is done when the submitting slot returns; streams may run at the same time */
    GANTRY_DEVICE_SYNCHRONOUS = 1 << 4,
    /* the driver keeps on disk what it compiled, and a binary costs compiling again */
    GANTRY_DEVICE_KEEPS_PROGRAMS = 1 << 5,
    /* a transfer of host memory that is not from host_alloc may return only when all work before it
     * on its stream is done; the core then waits before it locks the stream */
    GANTRY_DEVICE_WAITS_FOR_PAGEABLE = 1 << 6
};

/* Kinds of program text a device accepts. */
enum { GANTRY_PROGRAM_OPENCL_C = 1 << 0, GANTRY_PROGRAM_CUDA_C = 1 << 1 };

struct gantry_device_info_t {
    uint32_t struct_size;
    /* GANTRY_DEVICE_TYPE_... as the driver reports it; the core decides what a user sees */
    int32_t type;
    uint32_t flags;
    uint32_t compute_units;
    const char *hardware_name;
    const char *vendor;
    const char *driver_version;
    const char *platform_name;
    const char *platform_version;
    const char *pci_address;        /* "0000:65:00.0", "" when unknown */
    const char *uuid;               /* "GPU-8932f937-...", "" when unknown */
    const char *compute_capability; /* "9.0", "" when the notion does not exist */
    /* changes whenever a cached program binary must not be used any more */
    const char *build_hash;
    uint64_t total_bytes;
    uint64_t largest_allocation_bytes; /* 0: no bound but the total */
    uint64_t base_alignment_bytes;     /* a buffer's offset must be a multiple; power of two */
    uint64_t local_memory_bytes;
    /* bit (1 << dtype) for each element type that kernels may use */
    uint64_t dtype_mask;
    uint32_t max_work_group_size; /* work-items */
    uint32_t parameter_bytes;     /* of one launch, 0: no known bound */
    uint32_t native_vector_width; /* float32 lanes, 1 when not a vector machine */
    /* warp or wavefront, 0 when unknown; of a processor: the lanes it makes of
     * work-items, 0 where they are loops */
    uint32_t sub_group_size;
    uint32_t program_kinds; /* GANTRY_PROGRAM_... accepted, 0: none */
    uint32_t clock_mhz;
    int32_t least_priority; /* of streams: from this, the least urgent, ... */
    /* ... to this, the most urgent and smaller number; both 0: streams have none */
    int32_t greatest_priority;
    /* why program_kinds is 0 where programs could be expected, "" otherwise */
    const char *no_programs;
};

/* ---- memory ---- */

typedef struct gantry_memory_ops_t {
    uint32_t struct_size;
    /* required. ResourceExhausted when the driver has no more. The content is undefined. */
    int32_t (*region_alloc)(gantry_backend_device_t *device, uint64_t size_bytes,
                            gantry_region_t *out_region);
    /* required. No work that uses the region is pending. */
    void (*region_free)(gantry_backend_device_t *device, gantry_region_t region,
                        uint64_t size_bytes);
    /* optional (default: the host's heap). Host memory that transfers reach without a further
     * copy. */
    int32_t (*host_alloc)(gantry_backend_device_t *device, uint64_t size_bytes, void **out_ptr);
    void (*host_free)(gantry_backend_device_t *device, void *ptr, uint64_t size_bytes);
    /* optional (default: unknown). The driver's own figures. */
    int32_t (*memory_info)(gantry_backend_device_t *device, uint64_t *out_free_bytes,
                           uint64_t *out_total_bytes);
} gantry_memory_ops_t;

/* ---- streams and events ---- */

enum { GANTRY_STREAM_COMPUTE = 0, GANTRY_STREAM_TO_DEVICE = 1, GANTRY_STREAM_TO_HOST = 2 };

typedef struct gantry_stream_ops_t {
    uint32_t struct_size;
    /* required. An in-order queue. purpose is GANTRY_STREAM_..., a hint. */
    int32_t (*create)(gantry_backend_device_t *device, int32_t purpose,
                      gantry_backend_stream_t **out_stream);
    void (*destroy)(gantry_backend_stream_t *stream); /* required; waits for what is pending */
    /* optional (default: nothing): hands pending work to the device */
    int32_t (*flush)(gantry_backend_stream_t *stream);
    /* required; reports what failed since the last call */
    int32_t (*synchronize)(gantry_backend_stream_t *stream);
    /* required. Later work of stream waits for the event. The event may belong to another device of
     * the same backend; the slot flushes the queue the event was recorded on if the driver needs
     * that. */
    int32_t (*wait_event)(gantry_backend_stream_t *stream, gantry_backend_event_t *event);
    /* optional (default: create). priority lies within the device's range. */
    int32_t (*create_with_priority)(gantry_backend_device_t *device, int32_t purpose,
                                    int32_t priority, gantry_backend_stream_t **out_stream);
} gantry_stream_ops_t;

typedef struct gantry_event_ops_t {
    uint32_t struct_size;
    /* required */
    int32_t (*create)(gantry_backend_device_t *device, gantry_backend_event_t **out_event);
    /* required */
    void (*destroy)(gantry_backend_event_t *event);
    /* required. A wait keeps the record it was given: the event may be recorded again as soon as
     * wait_event and synchronize have returned. */
    int32_t (*record)(gantry_backend_event_t *event, gantry_backend_stream_t *stream);
    /* required. *out_done is 1 when all work before the record has ended; an error of that work
     * is the slot's error. */
    int32_t (*query)(gantry_backend_event_t *event, int32_t *out_done);
    int32_t (*synchronize)(gantry_backend_event_t *event); /* required */
} gantry_event_ops_t;

/* ---- transfers: submitted to a stream; host memory is valid until the stream has passed ---- */

/* The core checks what it asks for: spans have at least one byte, those of a copy are of one size
 * and do not overlap, and a pattern's size is one of those below. */
typedef struct gantry_transfer_ops_t {
    uint32_t struct_size;
    /* required */
    int32_t (*to_device)(gantry_backend_stream_t *stream, const gantry_span_t *target,
                         const void *source);
    /* required */
    int32_t (*to_host)(gantry_backend_stream_t *stream, void *target, const gantry_span_t *source);
    /* required */
    int32_t (*copy)(gantry_backend_stream_t *stream, const gantry_span_t *target,
                    const gantry_span_t *source);
    /* required. pattern_bytes is 1, 2, 4 or 8 and divides the span's offset and size. */
    int32_t (*fill)(gantry_backend_stream_t *stream, const gantry_span_t *target,
                    const void *pattern, uint32_t pattern_bytes);
    /* optional (default: through the host). The source lies on another device of the same
     * backend. */
    int32_t (*copy_peer)(gantry_backend_stream_t *stream, const gantry_span_t *target,
                         gantry_backend_device_t *source_device, const gantry_span_t *source);
} gantry_transfer_ops_t;

/* ---- programs ---- */

/* A program's text in parts that are joined with nothing between. Constant data: the core keys
 * its cache by label and content. */
typedef struct gantry_program_source_t {
    uint32_t struct_size;
    uint32_t kinds;    /* GANTRY_PROGRAM_... that this text is written for */
    const char *label; /* unique name, for messages and files: "portable/elementwise" */
    const char *const *parts;
    uint32_t part_count;
} gantry_program_source_t;

enum {
    GANTRY_LAUNCH_SPAN = 0,
    GANTRY_LAUNCH_SCALAR = 1,
    GANTRY_LAUNCH_LOCAL = 2,
    GANTRY_LAUNCH_BASE = 3
};

/* A SPAN becomes two kernel arguments: the region's base and a 64-bit unsigned offset in bytes. A
 * span with region 0 passes a null base. A BASE is a span whose offset the kernel finds in one of
 * its scalars: one argument, the region's base. A SCALAR is value's first size_bytes (1, 2, 4,
 * 8, or a small struct); LOCAL is size_bytes of work-group memory, one per launch. */
typedef struct gantry_launch_arg_t {
    uint32_t kind;
    uint32_t size_bytes;
    union {
        gantry_span_t span;
        const void *value;
    } as;
} gantry_launch_arg_t;

typedef struct gantry_launch_t {
    uint32_t struct_size;
    uint32_t dimensions;     /* 1 to 3 */
    uint64_t global_size[3]; /* work-items; a multiple of local_size */
    uint64_t local_size[3];  /* all 0: the driver chooses */
    const gantry_launch_arg_t *args;
    uint32_t arg_count;
} gantry_launch_t;

typedef struct gantry_kernel_info_t {
    uint32_t struct_size;
    uint32_t max_work_group_size; /* work-items; 0: unknown */
    uint64_t local_bytes;         /* declared in the kernel's text, LOCAL arguments not counted */
    /* per work-item, spilled registers included; 0: none or unknown */
    uint64_t private_bytes;
} gantry_kernel_info_t;

typedef struct gantry_program_ops_t {
    uint32_t struct_size;
    /* required. options are "-D" definitions only. A compiler's log goes into the error's text. */
    int32_t (*build)(gantry_backend_device_t *device, const gantry_program_source_t *source,
                     const char *options, gantry_backend_program_t **out_program);
    /* required; kernels found in it end with it */
    void (*destroy)(gantry_backend_program_t *program);
    /* optional (default: no binaries). Called with bytes NULL to learn the size. */
    int32_t (*binary)(gantry_backend_program_t *program, void *bytes, uint64_t *size_bytes);
    int32_t (*load_binary)(gantry_backend_device_t *device, const void *bytes, uint64_t size_bytes,
                           const char *label, gantry_backend_program_t **out_program);
    /* required */
    int32_t (*kernel_find)(gantry_backend_program_t *program, const char *name,
                           gantry_backend_kernel_t **out_kernel);
    /* required. Arguments travel with the launch and are copied before the slot returns; launches
     * of one kernel on several streams at the same time are safe. */
    int32_t (*launch)(gantry_backend_stream_t *stream, gantry_backend_kernel_t *kernel,
                      const gantry_launch_t *launch);
    /* optional (default: unknown). What a kernel needs of the device. */
    int32_t (*kernel_info)(gantry_backend_kernel_t *kernel, gantry_kernel_info_t *out_info);
} gantry_program_ops_t;

/* ---- graphs: work that is submitted once and launched as one, as often as wanted ----
 *
 *     begin_capture(s)   launch, copy, record...   end_capture(s)   launch(s, graph)   launch(...)
 *                        kept, not run             -> graph         runs               runs again
 *
 * - Between begin and end the stream takes launches of kernels, transfers, records of events, and
 *   waits for events recorded since begin. They are checked and kept; none runs before a launch of
 * the graph, which runs all of them in their order.
 * - An event recorded since begin orders the graph and nothing else: no launch records it, and
 *   until it is recorded outside again, every other use of it is FailedPrecondition. Another stream
 *   of the device that waits for one is captured too, as a branch, and takes the same calls; the
 * first stream must have waited for all of a branch before end, which is FailedPrecondition
 * otherwise.
 * - FailedPrecondition are also synchronize of a stream that is captured, its wait for an event
 *   that was recorded elsewhere, begin and launch where a capture has begun, and end where none
 * has. All other slots work as always: they take effect at once and are not kept.
 * - A call that fails on a captured stream may spoil the capture: the caller ends it, and destroys
 *   the graph if one comes of it. After end, failed or not, the streams take work as before. The
 * stream where a capture began may be destroyed before end; a branch may not.
 * - What a graph names stays until the graph is destroyed: regions, programs, and the host memory
 *   of its transfers. That is memory of host_alloc where the backend has the slot; each launch
 * reads and writes it as it is then. Scalars and patterns are copied.
 * - begin may answer Unimplemented: this device captures nothing, and the core submits its plan
 *   call by call. ResourceExhausted from end: no graph was made. Unavailable is what it is
 * everywhere: the device is lost.
 * - Threads: a capture may end on another thread than it began. launch and destroy are
 *   externally synchronised per graph. */
typedef struct gantry_graph_ops_t {
    uint32_t struct_size;
    int32_t (*begin_capture)(gantry_backend_stream_t *stream); /* required */
    /* required. *out_graph is NULL when it fails. A capture of nothing gives a graph that does
     * nothing. */
    int32_t (*end_capture)(gantry_backend_stream_t *stream, gantry_backend_graph_t **out_graph);
    /* required. On any stream of the graph's device; launches of one graph run one after the
     * other, whatever their streams. */
    int32_t (*launch)(gantry_backend_stream_t *stream, gantry_backend_graph_t *graph);
    /* required. No launch of it is pending; before its device is closed. */
    void (*destroy)(gantry_backend_graph_t *graph);
} gantry_graph_ops_t;

/* ---- kernels of ops ---- */

/* One tensor as a kernel sees it. */
typedef struct gantry_arg_t {
    uint32_t struct_size;
    int32_t dtype; /* gantry_dtype_t */
    int32_t rank;
    int32_t in_host_memory; /* 1: data points to the elements; 0: span names them */
    const int64_t *dims;
    int64_t element_count;
    gantry_span_t span;
    /* the first element when in host memory or on a HOST_ADDRESSABLE device, else NULL */
    void *data;
} gantry_arg_t;

/* One attribute of an op, defaults filled in. */
typedef struct gantry_attr_t {
    uint32_t struct_size;
    int32_t kind; /* GANTRY_ATTR_... */
    const char *name;
    int64_t i; /* BOOL, INT, TYPE; for SHAPE and INTS the count */
    double f;
    const char *s;
    const int64_t *list; /* SHAPE, INTS */
} gantry_attr_t;

/* How the core tells of bad data that a kernel found on its device. In text @ becomes the position
 * as a place in an array of place_dims, "[1,0]", and # the accepted numbers: "indices@ is not in
 * [0, #)". Texts are constant; ranks and counts are at most 8.
 *
 * When the fields behind accepted are there and value_text is set, the core keeps that input until
 * the slot was read, and $ becomes what stands at the place: "indices@ = $ is not in [0, #)". A
 * value that cannot be fetched leaves text. */
typedef struct gantry_fault_words_t {
    uint32_t struct_size;
    int32_t place_rank;
    int32_t accepted_count;
    const char *text;
    int64_t place_dims[8];
    int64_t accepted[8];
    const char *value_text; /* optional */
    /* optional (default: value_text): for a value of 0 to value_end - 1, which is bad for
     * another reason */
    const char *inside_text;
    int64_t value_end;
    int32_t value_input; /* an input of integers in device memory */
    int32_t value_count; /* numbers of a place, told of as a list, "[2, 1]"; 0: one number */
} gantry_fault_words_t;

/* What a kernel may ask of the core while it computes. The first argument is the call it was
 * given. */
typedef struct gantry_call_services_t {
    uint32_t struct_size;
    /* Device memory until the stream has passed this call; counted against the device's limit. */
    int32_t (*scratch)(gantry_op_call_t *call, uint64_t size_bytes, gantry_span_t *out_span);
    /* For an output whose shape depends on data (its element_count is -1 until then): makes output
     * `index`; outputs[index] is filled. rank and the dimensions that are known must agree with
     * it. Each such output is made before compute returns, also when it is empty. */
    int32_t (*allocate_output)(gantry_op_call_t *call, uint32_t index, int32_t rank,
                               const int64_t *dims);
    /* The kernel named `name` of source built with options, from the core's caches or built now.
     * Owned by the core. */
    int32_t (*kernel)(gantry_op_call_t *call, const gantry_program_source_t *source,
                      const char *options, const char *name, gantry_backend_kernel_t **out_kernel);
    int32_t (*launch)(gantry_op_call_t *call, gantry_backend_kernel_t *kernel,
                      const gantry_launch_t *launch);
    int32_t (*copy)(gantry_op_call_t *call, const gantry_span_t *target,
                    const gantry_span_t *source);
    int32_t (*fill)(gantry_op_call_t *call, const gantry_span_t *target, const void *pattern,
                    uint32_t pattern_bytes);
    /* 64 bytes of device memory (the span says how many), zero now: a kernel that meets bad data
     * writes {uint32 code, uint32 input, int64 position}, code one of GANTRY_FAULT_...; the core
     * reports it when something that depends on this call is read, or by
     * gantry_runtime_synchronize. Of several bad positions the first one is reported if each
     * goes, in place of position, into an atomic maximum: of 2^31 - position % 2^31, into the
     * 32-bit word 4 + position / 2^31, for positions below 12 * 2^31. */
    int32_t (*fault)(gantry_op_call_t *call, gantry_span_t *out_span);
    /* Keeps a failure's text and returns code. */
    int32_t (*fail)(gantry_op_call_t *call, int32_t code, const char *text);
    /* optional (a core that has it says so by struct_size). Waits for what the call has submitted,
     * then copies the span's first size_bytes to host memory: for the counts that the shape of
     * an output needs. */
    int32_t (*read)(gantry_op_call_t *call, const gantry_span_t *source, void *target,
                    uint64_t size_bytes);
    /* optional (a core that has it says so by struct_size). After fault: words for it, copied, in
     * place of those that the core has for the slot's code. */
    void (*fault_words)(gantry_op_call_t *call, const gantry_fault_words_t *words);
    /* optional (a core that has it says so by struct_size). What a vendor's library took of the
     * card for itself as it computed for the first time: counted with the driver's context. */
    void (*library_took)(gantry_op_call_t *call, uint64_t bytes);
} gantry_call_services_t;

struct gantry_op_call_t {
    uint32_t struct_size;
    uint32_t input_count;
    uint32_t output_count;
    uint32_t attr_count;
    const gantry_arg_t *const *inputs;
    gantry_arg_t *const *outputs;
    const gantry_attr_t *const *attrs; /* in the order of the op's definition */
    const char *op;                    /* "MatMul" */
    const gantry_kernel_def_t *kernel;
    const gantry_device_info_t *device_info;
    gantry_backend_device_t *device;
    gantry_backend_stream_t *stream;
    const gantry_call_services_t *services;
    void *core; /* the core's own */
};

/* "The op's type attribute `attr` is one of these": one entry per attribute the kernel restricts.
 * Kernels are not offered for types that the device's dtype_mask lacks, but for those whose mask
 * has complex64, with which no device computes: they move elements as bits. */
typedef struct gantry_type_constraint_t {
    /* "T"; NULL: the kernel computes with all of these, whatever the op's types are */
    const char *attr;
    uint64_t dtype_mask; /* bit (1 << dtype) */
} gantry_type_constraint_t;

enum {
    /* Output 0 may be the memory of any input as large as it: each of its elements is written after
     * the last read of that input's element at the same position, by the same worker, and of no
     * other. */
    GANTRY_KERNEL_IN_PLACE = 1 << 0
};

struct gantry_kernel_def_t {
    uint32_t struct_size;
    /* higher first among kernels of one op on one device; the portable pack uses 0 */
    int32_t priority;
    const char *op;
    const gantry_type_constraint_t *types;
    uint32_t type_count;
    uint32_t flags; /* GANTRY_KERNEL_... */
    /* Names of inputs and outputs that live in host memory, e.g. "axis". */
    const char *const *host_args;
    uint32_t host_arg_count;
    uint32_t reserved; /* 0 */
    /* optional (default: yes). 1 when the kernel takes this call; shapes, types and attributes
     * are known, memory is not. */
    int32_t (*supports)(const gantry_op_call_t *call);
    /* required. Submits the work to call->stream and returns; outputs are allocated, and one at
     * least is not empty. Of outputs whose shape depends on data none is allocated; such a call
     * comes even if its inputs are empty. */
    int32_t (*compute)(gantry_op_call_t *call);
    const void *data; /* the kernel's own constant */
};

/* ---- modules ---- */

typedef struct gantry_backend_t {
    uint32_t struct_size;
    uint32_t abi_version; /* of this table: at most the max_abi asked for */
    const char *name;     /* "opencl": lower-case letters, digits and '_' */
    const char *description;
    int32_t rank; /* when several backends see one card, the highest rank serves it */
    uint32_t reserved;
    /* required. Unavailable, with the reason as the error's text, when a library or driver is
     * absent. host outlives the instance. */
    int32_t (*open)(const gantry_host_t *host, gantry_backend_instance_t **out_instance);
    void (*close)(gantry_backend_instance_t *instance); /* required */
    /* required. Found by open; creates no context and takes no device memory. 0 is a normal
     * answer. */
    uint32_t (*device_count)(gantry_backend_instance_t *instance);
    /* required */
    int32_t (*device_info)(gantry_backend_instance_t *instance, uint32_t index,
                           gantry_device_info_t *out_info);
    /* required */
    int32_t (*device_open)(gantry_backend_instance_t *instance, uint32_t index,
                           gantry_backend_device_t **out_device);
    void (*device_close)(gantry_backend_device_t *device); /* required */
    /* optional (default: none). The backend's own kernels for that device; constant while the
     * instance is open. */
    uint32_t (*kernels)(gantry_backend_instance_t *instance, uint32_t index,
                        const gantry_kernel_def_t *const **out_kernels);
    /* optional. One line about libraries found or missing, for listings. */
    const char *(*libraries)(gantry_backend_instance_t *instance);
    const gantry_memory_ops_t *memory;     /* required */
    const gantry_stream_ops_t *stream;     /* required */
    const gantry_event_ops_t *event;       /* required */
    const gantry_transfer_ops_t *transfer; /* required */
    const gantry_program_ops_t *program;   /* optional: without it no kernel of a pack runs there */
    /* optional */
    const void *(*get_extension)(gantry_backend_instance_t *instance, const char *name);
    /* optional (default: unknown). The card's memory, of all processes together, without opening
     * the device: no context is made for it. Asked for another backend's view of the same card,
     * too. */
    int32_t (*card_memory)(gantry_backend_instance_t *instance, uint32_t index,
                           uint64_t *out_free_bytes, uint64_t *out_total_bytes);
    /* optional (default: the core submits its plan call by call) */
    const gantry_graph_ops_t *graph;
} gantry_backend_t;

/* Returns 0 and the table, or FailedPrecondition when the module needs a newer core than
 * max_abi. */
typedef int32_t (*gantry_backend_query_fn)(uint32_t max_abi, const gantry_backend_t **out_backend);
#define GANTRY_BACKEND_QUERY_SYMBOL "gantry_backend_query"

/* Kernels that come with no device: the core offers them on every device that accepts one of the
 * program kinds. */
typedef struct gantry_kernel_pack_t {
    uint32_t struct_size;
    uint32_t abi_version;
    const char *name;
    uint32_t program_kinds;
    uint32_t kernel_count;
    const gantry_kernel_def_t *const *kernels;
} gantry_kernel_pack_t;

typedef int32_t (*gantry_kernel_pack_query_fn)(uint32_t max_abi,
                                               const gantry_kernel_pack_t **out_pack);

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
