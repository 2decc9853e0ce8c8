/* SPDX-License-Identifier: Apache-2.0 */
/* One device's description. Vendor extensions must be queried only when the device lists them,
 * because a driver may answer an unknown query with an error or with nonsense. */
#include <stdio.h>
#include <string.h>

#include "driver/driver_letters.h"
#include "opencl/opencl_backend.h"

/* cl_khr_pci_bus_info, cl_khr_device_uuid, cl_nv_device_attribute_query,
 * cl_amd_device_attribute_query */
#define DEVICE_PCI_BUS_INFO_KHR 0x410F
#define DEVICE_UUID_KHR 0x106A
#define DEVICE_COMPUTE_CAPABILITY_MAJOR_NV 0x4000
#define DEVICE_COMPUTE_CAPABILITY_MINOR_NV 0x4001
#define DEVICE_WARP_SIZE_NV 0x4003
#define DEVICE_PCI_BUS_NV 0x4008
#define DEVICE_PCI_SLOT_NV 0x4009
#define DEVICE_PCI_DOMAIN_NV 0x400A
#define DEVICE_TOPOLOGY_AMD 0x4037
#define DEVICE_BOARD_NAME_AMD 0x4038
#define DEVICE_WAVEFRONT_WIDTH_AMD 0x4043
#define TOPOLOGY_PCIE_AMD 1
/* cl_intel_device_attribute_query */
#define DEVICE_EUS_PER_SUB_SLICE_INTEL 0x4254
#define INTEL_VENDOR_ID 0x8086u
#define DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE 0x1067 /* OpenCL 3.0 */

/* Every type that needs only OpenCL's integers and float32; a half is stored as 16 bits. */
#define PLAIN_TYPES (GANTRY_DTYPES_ANY & ~GANTRY_DTYPE_BIT(GANTRY_FLOAT64))

typedef struct asked_t {
    const gantry_backend_instance_t *instance;
    gantry__opencl_record_t *record;
    char *extensions;
    char *device_name; /* CL_DEVICE_NAME */
    cl_int *failure;   /* that of a query that the driver must answer */
} asked_t;

/* ---- texts ---- */

/* A copy of a text without blanks at its ends. */
static char *trimmed_copy(const gantry_host_t *host, const char *bytes) {
    while (gantry__driver_is_blank(*bytes)) bytes++;
    size_t length = strlen(bytes);
    while (length > 0 && gantry__driver_is_blank(bytes[length - 1])) length--;
    char *copy = gantry__driver_alloc(host, length + 1);
    if (copy) memcpy(copy, bytes, length);
    return copy;
}

static cl_int ask_text(const gantry_backend_instance_t *instance, cl_platform_id platform,
                       cl_device_id device, cl_uint what, size_t bytes, char *out,
                       size_t *out_bytes) {
    return device ? instance->cl.clGetDeviceInfo(device, what, bytes, out, out_bytes)
                  : instance->cl.clGetPlatformInfo(platform, what, bytes, out, out_bytes);
}

/* Reads a text of the device, or of the platform when device is NULL. */
static cl_int driver_text(const gantry_backend_instance_t *instance, cl_platform_id platform,
                          cl_device_id device, cl_uint what, char **out_text) {
    size_t bytes = 0;
    cl_int native = ask_text(instance, platform, device, what, 0, NULL, &bytes);
    *out_text = NULL;
    if (native != CL_SUCCESS) return native;
    char *raw = gantry__driver_alloc(instance->host, bytes + 1);
    if (!raw) return GANTRY__OPENCL_NO_MEMORY;
    native = ask_text(instance, platform, device, what, bytes, raw, NULL);
    if (native == CL_SUCCESS) {
        *out_text = trimmed_copy(instance->host, raw);
        native = *out_text ? CL_SUCCESS : GANTRY__OPENCL_NO_MEMORY;
    }
    gantry__host_free(instance->host, raw, bytes + 1);
    return native;
}

cl_int gantry__opencl_platform_text(const gantry_backend_instance_t *instance,
                                    cl_platform_id platform, cl_platform_info what,
                                    char **out_text) {
    return driver_text(instance, platform, NULL, what, out_text);
}

/* Whether the list of extensions has this one, as a whole word. */
static bool has_extension(const char *extensions, const char *name) {
    size_t length = strlen(name);
    for (const char *at = strstr(extensions, name); at; at = strstr(at + 1, name)) {
        if ((at == extensions || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    }
    return false;
}

/* ---- numbers ---- */

/* The value, or 0 when the driver does not know it; any other failure is kept, because 0 may be an
 * answer. Drivers answer with 4 or 8 bytes, as the query's type is. */
static uint64_t opencl_device_info_number(const asked_t *asked, cl_device_info what) {
    union {
        cl_uint u32;
        cl_ulong u64;
    } value;
    size_t bytes = 0;
    cl_int native;

    memset(&value, 0, sizeof value);
    native = asked->instance->cl.clGetDeviceInfo(asked->record->device, what, sizeof value, &value,
                                                 &bytes);
    if (native != CL_SUCCESS) {
        *asked->failure = native != CL_INVALID_VALUE ? native : *asked->failure;
        return 0;
    }
    return bytes == sizeof value.u64 ? value.u64 : value.u32;
}

static uint32_t number32(const asked_t *asked, cl_device_info what) {
    uint64_t value = opencl_device_info_number(asked, what);
    return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

/* ---- what identifies the card ---- */

/* Reads AMD's topology: 24 bytes, a type and, for PCIe, bus, device and function at the end. */
static void find_pci_amd(const asked_t *asked) {
    struct {
        cl_uint type;
        unsigned char unused[17];
        unsigned char bus;
        unsigned char device;
        unsigned char function;
    } topology;

    memset(&topology, 0, sizeof topology);
    if (asked->instance->cl.clGetDeviceInfo(asked->record->device, DEVICE_TOPOLOGY_AMD,
                                            sizeof topology, &topology, NULL) == CL_SUCCESS &&
        topology.type == TOPOLOGY_PCIE_AMD) {
        gantry__record_set_pci(&asked->record->texts, 0, topology.bus, topology.device,
                               topology.function);
    }
}

static void opencl_device_info_find_pci(const asked_t *asked) {
    cl_uint place[4] = {0, 0, 0, 0}; /* domain, bus, device, function */
    uint32_t slot;
    if (has_extension(asked->extensions, "cl_khr_pci_bus_info") &&
        asked->instance->cl.clGetDeviceInfo(asked->record->device, DEVICE_PCI_BUS_INFO_KHR,
                                            sizeof place, place, NULL) == CL_SUCCESS) {
        gantry__record_set_pci(&asked->record->texts, place[0], place[1], place[2], place[3]);
    } else if (has_extension(asked->extensions, "cl_nv_device_attribute_query")) {
        /* the device without its function: driver 580 reports 6 for 0000:00:06.0 */
        slot = number32(asked, DEVICE_PCI_SLOT_NV);
        gantry__record_set_pci(&asked->record->texts, number32(asked, DEVICE_PCI_DOMAIN_NV),
                               number32(asked, DEVICE_PCI_BUS_NV), slot, 0);
    } else if (has_extension(asked->extensions, "cl_amd_device_attribute_query")) {
        find_pci_amd(asked);
    }
}

/* Finds the UUID. CPU-type devices get none, because several of one platform would share it. */
static void opencl_device_info_find_uuid(const asked_t *asked) {
    unsigned char b[16];
    memset(b, 0, sizeof b);
    if (asked->record->info.type == GANTRY_DEVICE_TYPE_CPU ||
        !has_extension(asked->extensions, "cl_khr_device_uuid") ||
        asked->instance->cl.clGetDeviceInfo(asked->record->device, DEVICE_UUID_KHR, sizeof b, b,
                                            NULL) != CL_SUCCESS) {
        return;
    }
    gantry__record_set_uuid(&asked->record->texts, b);
}

/* ---- the record ---- */

static int32_t opencl_device_info_find_type(const asked_t *asked) {
    uint64_t type = opencl_device_info_number(asked, CL_DEVICE_TYPE);
    if ((type & CL_DEVICE_TYPE_CPU) != 0) { /* first: a simulator may claim to be all of them */
        return GANTRY_DEVICE_TYPE_CPU;
    }
    return (type & CL_DEVICE_TYPE_GPU) != 0 ? GANTRY_DEVICE_TYPE_GPU
                                            : GANTRY_DEVICE_TYPE_ACCELERATOR;
}

/* Why the device cannot be used; NULL when it can be. */
static const char *refusal(const asked_t *asked, const char *version, const char *profile) {
    int major = 0;
    int minor = 0;
    const uint16_t probe = 1;
    bool is_little = *(const unsigned char *)&probe == 1;

    if (sscanf(version, "OpenCL %d.%d", &major, &minor) != 2 || major * 10 + minor < 12)
        return "OpenCL 1.2 or newer is needed";
    if (opencl_device_info_number(asked, CL_DEVICE_AVAILABLE) == CL_FALSE)
        return "the driver says that it is not available";
    if ((opencl_device_info_number(asked, CL_DEVICE_ENDIAN_LITTLE) == CL_TRUE) != is_little)
        return "its byte order is not the host's";
    if (opencl_device_info_number(asked, CL_DEVICE_GLOBAL_MEM_SIZE) == 0)
        return "it says that it has no memory";
    if (strcmp(profile, "FULL_PROFILE") != 0 &&
        !has_extension(asked->extensions, "cles_khr_int64")) {
        return "it has no 64-bit integers";
    }
    return NULL;
}

/* Whether the platform's vendor is the device's: the first words must be the same, as in "Intel(R)
 * Corporation". Mesa and PoCL name themselves. */
static bool is_makers_driver(const asked_t *asked) {
    const char *maker = asked->record->vendor;
    size_t word = strcspn(maker, " ,");
    char *vendor;
    if (driver_text(asked->instance, asked->record->platform, NULL, CL_PLATFORM_VENDOR, &vendor) !=
        CL_SUCCESS)
        return false;
    bool is_same = word > 0 && gantry__driver_same_letters(vendor, maker, word) &&
                   strcspn(vendor, " ,") == word;
    gantry__host_text_free(asked->instance->host, vendor);
    return is_same;
}

static void fill_flags(const asked_t *asked) {
    gantry_device_info_t *info = &asked->record->info;
    info->flags = GANTRY_DEVICE_LAZY_COMMIT;
    if (is_makers_driver(asked)) info->flags |= GANTRY_DEVICE_MAKERS_DRIVER;
    /* PoCL compiles a kernel for the size of its work-groups when it is launched first, and keeps
     * that. For a binary it compiles all of the program's kernels once more, for sizes of every
     * kind, which takes half of the time of a first run. */
    if (strcmp(asked->record->platform_name, "Portable Computing Language") == 0)
        info->flags |= GANTRY_DEVICE_KEEPS_PROGRAMS | GANTRY_DEVICE_GROUPS_GO_ON;
    if (info->type == GANTRY_DEVICE_TYPE_CPU) {
        info->flags |= GANTRY_DEVICE_HOST_BACKED;
    } else if (info->type == GANTRY_DEVICE_TYPE_GPU &&
               opencl_device_info_number(asked, CL_DEVICE_HOST_UNIFIED_MEMORY) == CL_TRUE) {
        info->flags |= GANTRY_DEVICE_HOST_BACKED | GANTRY_DEVICE_INTEGRATED;
    }
    if (info->type == GANTRY_DEVICE_TYPE_GPU) info->flags |= GANTRY_DEVICE_FLOAT_ATOMICS;
    if (info->type == GANTRY_DEVICE_TYPE_GPU &&
        number32(asked, CL_DEVICE_LOCAL_MEM_TYPE) == CL_GLOBAL)
        info->flags |= GANTRY_DEVICE_LOCAL_IS_GLOBAL;
    if (!(opencl_device_info_number(asked, CL_DEVICE_SINGLE_FP_CONFIG) & CL_FP_FMA))
        info->flags |= GANTRY_DEVICE_EMULATES_FMA;
}

/* The compute units as our kernels count them: what one work-group occupies. NVIDIA, AMD, Mali and
 * Mesa count these. Intel's own driver counts execution units, some of which make a sub-slice; a
 * driver that does not report how many has the number of most generations. */
static uint32_t count_units(const asked_t *asked) {
    enum { MOST_UNITS = 1 << 16, USUAL_EUS = 8 };
    uint32_t units = number32(asked, CL_DEVICE_MAX_COMPUTE_UNITS);
    if (asked->record->info.type == GANTRY_DEVICE_TYPE_GPU &&
        strncmp(asked->record->platform_name, "Intel", 5) == 0 &&
        number32(asked, CL_DEVICE_VENDOR_ID) == INTEL_VENDOR_ID) {
        bool is_told = has_extension(asked->extensions, "cl_intel_device_attribute_query");
        uint32_t eus = is_told ? number32(asked, DEVICE_EUS_PER_SUB_SLICE_INTEL) : 0;
        units /= eus > 0 ? eus : USUAL_EUS;
    }
    /* work is cut into as many parts, so a driver's 0 or nonsense must not spoil it */
    return units < 1 ? 1 : units < MOST_UNITS ? units : MOST_UNITS;
}

static uint64_t base_alignment(const asked_t *asked) {
    /* the driver counts in bits */
    uint64_t wanted = opencl_device_info_number(asked, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8;
    /* OpenCL's largest type, long16 */
    uint64_t alignment = 128;
    while (alignment < wanted) alignment *= 2;
    return alignment;
}

static void opencl_device_info_fill_numbers(const asked_t *asked) {
    gantry_device_info_t *info = &asked->record->info;
    info->compute_units = count_units(asked);
    info->total_bytes = opencl_device_info_number(asked, CL_DEVICE_GLOBAL_MEM_SIZE);
    info->largest_allocation_bytes = opencl_device_info_number(asked, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
    if (info->largest_allocation_bytes == 0 || info->largest_allocation_bytes > info->total_bytes)
        info->largest_allocation_bytes = info->total_bytes;
    info->base_alignment_bytes = base_alignment(asked);
    info->local_memory_bytes = opencl_device_info_number(asked, CL_DEVICE_LOCAL_MEM_SIZE);
    info->dtype_mask = PLAIN_TYPES;
    if (opencl_device_info_number(asked, CL_DEVICE_DOUBLE_FP_CONFIG) != 0)
        info->dtype_mask |= GANTRY_DTYPE_BIT(GANTRY_FLOAT64);
    info->max_work_group_size = number32(asked, CL_DEVICE_MAX_WORK_GROUP_SIZE);
    info->parameter_bytes = number32(asked, CL_DEVICE_MAX_PARAMETER_SIZE);
    info->native_vector_width = number32(asked, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
    if (info->native_vector_width == 0) info->native_vector_width = 1;
    info->program_kinds = opencl_device_info_number(asked, CL_DEVICE_COMPILER_AVAILABLE) == CL_TRUE
                              ? GANTRY_PROGRAM_OPENCL_C
                              : 0;
    info->clock_mhz = number32(asked, CL_DEVICE_MAX_CLOCK_FREQUENCY);
}

static void fill_vendor_numbers(const asked_t *asked) {
    gantry__opencl_record_t *record = asked->record;
    if (has_extension(asked->extensions, "cl_nv_device_attribute_query")) {
        (void)snprintf(record->texts.compute_capability, sizeof record->texts.compute_capability,
                       "%u.%u", number32(asked, DEVICE_COMPUTE_CAPABILITY_MAJOR_NV),
                       number32(asked, DEVICE_COMPUTE_CAPABILITY_MINOR_NV));
        record->info.sub_group_size = number32(asked, DEVICE_WARP_SIZE_NV);
    } else if (has_extension(asked->extensions, "cl_amd_device_attribute_query")) {
        record->info.sub_group_size = number32(asked, DEVICE_WAVEFRONT_WIDTH_AMD);
        record->has_amd_memory = true;
    }
}

/* Counts lanes. A processor without vectors that wants groups of several work-items makes lanes of
 * them (Mesa's llvmpipe). */
static void fill_lanes(const asked_t *asked, const char *version) {
    gantry_device_info_t *info = &asked->record->info;
    if (info->type == GANTRY_DEVICE_TYPE_CPU && info->native_vector_width == 1 &&
        strncmp(version, "OpenCL 3.", 9) == 0) {
        info->sub_group_size = number32(asked, DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE);
    }
}

/* Sets three levels, the smaller the more urgent; they need a queue made by OpenCL 2.0's
 * function. */
static void fill_priorities(const asked_t *asked, const char *version) {
    int major = 0;
    if (sscanf(version, "OpenCL %d", &major) == 1 && major >= 2 &&
        asked->instance->cl.create_queue_with_properties &&
        has_extension(asked->extensions, "cl_khr_priority_hints")) {
        asked->record->info.least_priority = 1;
        asked->record->info.greatest_priority = -1;
    }
}

static void fill_build(const asked_t *asked, const char *device_version) {
    gantry__opencl_record_t *record = asked->record;
    uint64_t flags = opencl_device_info_number(asked, CL_DEVICE_SINGLE_FP_CONFIG);
    bool can_round = (flags & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
    /* a GPU that has it has it in hardware; a processor may call a function */
    bool can_fuse = record->info.type == GANTRY_DEVICE_TYPE_GPU && (flags & CL_FP_FMA) != 0;
    /* the device's own name, too: boards of one name may carry different chips */
    const char *parts[] = {record->platform_name, record->platform_version,
                           record->hardware_name, asked->device_name ? asked->device_name : "",
                           device_version,        record->driver_version,
                           record->build_options, asked->extensions};
    /* -w: PoCL's compiler prints on stderr how many warnings there were, such as for loops that it
     * did not unroll. */
    (void)snprintf(record->build_options, sizeof record->build_options, "-w%s%s",
                   can_round ? " -cl-fp32-correctly-rounded-divide-sqrt" : "",
                   can_fuse ? " -DGANTRY_HAS_FMA" : "");
    record->has_dots = strncmp(device_version, "OpenCL 3.", 9) == 0 &&
                       has_extension(asked->extensions, "cl_khr_integer_dot_product");
    gantry__record_set_hash(&record->texts, parts, sizeof parts / sizeof parts[0]);
}

static void point_texts(gantry__opencl_record_t *record) {
    gantry_device_info_t *info = &record->info;
    gantry__record_point(info, &record->texts);
    info->hardware_name = record->hardware_name;
    info->vendor = record->vendor;
    info->driver_version = record->driver_version;
    info->platform_name = record->platform_name;
    info->platform_version = record->platform_version;
}

/* Writes the hardware's name. AMD's device name is the chip's code name, "gfx1100"; its name for
 * the board may be empty. */
static cl_int fill_hardware_name(asked_t *asked) {
    const gantry_backend_instance_t *instance = asked->instance;
    gantry__opencl_record_t *record = asked->record;
    cl_int native =
        driver_text(instance, NULL, record->device, CL_DEVICE_NAME, &asked->device_name);
    if (native != CL_SUCCESS) return native;
    if (has_extension(asked->extensions, "cl_amd_device_attribute_query")) {
        native = driver_text(instance, NULL, record->device, DEVICE_BOARD_NAME_AMD,
                             &record->hardware_name);
        if (native == GANTRY__OPENCL_NO_MEMORY) return native;
        if (native == CL_SUCCESS && record->hardware_name[0] != '\0') return native;
        gantry__host_text_free(instance->host, record->hardware_name);
    }
    record->hardware_name = gantry__driver_text(instance->host, asked->device_name);
    return record->hardware_name ? CL_SUCCESS : GANTRY__OPENCL_NO_MEMORY;
}

static cl_int fill_names(asked_t *asked) {
    const gantry_backend_instance_t *instance = asked->instance;
    gantry__opencl_record_t *record = asked->record;
    cl_int native = fill_hardware_name(asked);
    if (native == CL_SUCCESS)
        native = driver_text(instance, NULL, record->device, CL_DEVICE_VENDOR, &record->vendor);
    if (native == CL_SUCCESS) {
        native =
            driver_text(instance, NULL, record->device, CL_DRIVER_VERSION, &record->driver_version);
    }
    if (native == CL_SUCCESS) {
        native =
            driver_text(instance, record->platform, NULL, CL_PLATFORM_NAME, &record->platform_name);
    }
    if (native == CL_SUCCESS) {
        native = driver_text(instance, record->platform, NULL, CL_PLATFORM_VERSION,
                             &record->platform_version);
    }
    return native;
}

static void fill_rest(const asked_t *asked, const char *version) {
    asked->record->info.type = opencl_device_info_find_type(asked);
    fill_flags(asked);
    opencl_device_info_fill_numbers(asked);
    fill_vendor_numbers(asked);
    fill_lanes(asked, version);
    fill_priorities(asked, version);
    opencl_device_info_find_pci(asked);
    opencl_device_info_find_uuid(asked);
    fill_build(asked, version);
    point_texts(asked->record);
}

cl_int gantry__opencl_record_fill(const gantry_backend_instance_t *instance,
                                  gantry__opencl_record_t *record, char *reason,
                                  size_t reason_bytes) {
    cl_int failure = CL_SUCCESS;
    asked_t asked = {instance, record, NULL, NULL, &failure};
    const char *refused = NULL;
    cl_int native =
        driver_text(instance, NULL, record->device, CL_DEVICE_EXTENSIONS, &asked.extensions);
    char *version = NULL;
    char *profile = NULL;
    if (native != CL_SUCCESS || (native = fill_names(&asked)) != CL_SUCCESS ||
        (native = driver_text(instance, NULL, record->device, CL_DEVICE_VERSION, &version)) !=
            CL_SUCCESS ||
        (native = driver_text(instance, NULL, record->device, CL_DEVICE_PROFILE, &profile)) !=
            CL_SUCCESS) {
        (void)snprintf(reason, reason_bytes, "a device does not describe itself: %s (%d)",
                       gantry__driver_error_name(native), (int)native);
    } else if ((refused = refusal(&asked, version, profile)) != NULL && failure == CL_SUCCESS) {
        (void)snprintf(reason, reason_bytes, "device \"%.100s\" (%.60s) is left out: %s",
                       record->hardware_name, version, refused);
        native = CL_DEVICE_NOT_AVAILABLE;
    } else {
        fill_rest(&asked, version);
        native = failure;
    }
    if (failure != CL_SUCCESS) {
        (void)snprintf(reason, reason_bytes, "device \"%.100s\" does not describe itself: %s (%d)",
                       record->hardware_name, gantry__driver_error_name(failure), (int)failure);
    }
    gantry__host_text_free(instance->host, version);
    gantry__host_text_free(instance->host, profile);
    gantry__host_text_free(instance->host, asked.extensions);
    gantry__host_text_free(instance->host, asked.device_name);
    return native;
}

void gantry__opencl_record_deinit(const gantry_host_t *host, gantry__opencl_record_t *record) {
    gantry__host_text_free(host, record->hardware_name);
    gantry__host_text_free(host, record->vendor);
    gantry__host_text_free(host, record->driver_version);
    gantry__host_text_free(host, record->platform_name);
    gantry__host_text_free(host, record->platform_version);
}
