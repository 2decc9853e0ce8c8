/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the case file and runs the pack's kernel definitions over it. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_text.h"
#include "kernels/elementwise/fused_shape.h"
#include "ops/type_rows.h"

enum {
    MOST_TENSORS = 12,
    MOST_DIMS = 8,
    MOST_ATTRS = 8,
    MOST_KERNEL_DEFS = 512,
    MOST_LINE = 512,
    MOST_LIST = 64
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- the packs ---- */

#define PACK(name) \
    int32_t gantry_pack_query_##name(uint32_t max_abi, const gantry_kernel_pack_t **out_pack);
GANTRY_CUDA_TEXT_PACKS
#undef PACK

static const gantry_kernel_pack_query_fn queries[] = {
#define PACK(name) gantry_pack_query_##name,
    GANTRY_CUDA_TEXT_PACKS
#undef PACK
};

typedef struct defs_t {
    const gantry_kernel_def_t *list[MOST_KERNEL_DEFS];
    bool covered[MOST_KERNEL_DEFS];
    size_t count;
} defs_t;

static void collect(defs_t *defs) {
    for (size_t i = 0; i < COUNT(queries); ++i) {
        const gantry_kernel_pack_t *pack = NULL;
        if (queries[i](GANTRY_ABI_VERSION, &pack) != 0) continue;
        for (uint32_t k = 0; k < pack->kernel_count && defs->count < MOST_KERNEL_DEFS; ++k)
            defs->list[defs->count++] = pack->kernels[k];
    }
}

/* ---- the OpenCL backend's product on tensor cores: inline PTX, the same in CUDA's dialect ---- */

#if defined(GANTRY_CUDA_TEXT_OPENCL)
#include "opencl/opencl_backend.h"
#include "opencl/matmul/opencl_matmul.h"

static gantry_backend_device_t tensor_device = {.matmul = GANTRY__OPENCL_MATMUL_TENSOR};

static void collect_tensor(defs_t *defs) {
    for (size_t i = 0; i < GANTRY__OPENCL_MATMUL_OPS && defs->count < MOST_KERNEL_DEFS; ++i)
        defs->list[defs->count++] = &gantry__opencl_tensor_kernels[i];
}

static gantry_backend_device_t *tensor_card(const gantry_kernel_def_t *def) {
    return def->supports == gantry__opencl_tensor_kernels[0].supports ? &tensor_device : NULL;
}
#else
static void collect_tensor(defs_t *defs) { (void)defs; }

static gantry_backend_device_t *tensor_card(const gantry_kernel_def_t *def) {
    (void)def;
    return NULL;
}
#endif

/* ---- the CUDA backend's convolutions without cuDNN ---- */

static void collect_conv_plain(defs_t *defs) {
    if (defs->count + TEXT_MOST_CONV_PLAIN <= MOST_KERNEL_DEFS)
        defs->count += cuda_text_list_conv_plain(&defs->list[defs->count]);
}

/* ---- devices: properties that the host code reads ---- */

/* A small card, a large one whose work-groups go on, and a part that imitates small work-groups. */
static const struct {
    uint32_t units, group, flags;
} sizes[] = {{4, 1024, 0}, {132, 1024, GANTRY_DEVICE_GROUPS_GO_ON}, {4, 64, 0}};
enum { LARGE_CARD = 1 };

static gantry_device_info_t describe(size_t size) {
    return (gantry_device_info_t){.struct_size = sizeof(gantry_device_info_t),
                                  .type = GANTRY_DEVICE_TYPE_GPU,
                                  .flags = sizes[size].flags,
                                  .compute_units = sizes[size].units,
                                  .base_alignment_bytes = 256,
                                  .local_memory_bytes = 48 << 10,
                                  .dtype_mask = UINT64_MAX,
                                  .max_work_group_size = sizes[size].group,
                                  .parameter_bytes = 4096,
                                  .native_vector_width = 1,
                                  .sub_group_size = 32,
                                  .program_kinds = GANTRY_PROGRAM_CUDA_C};
}

/* ---- types ---- */

typedef struct types_t {
    const gantry_kernel_def_t *def;
    int32_t chosen[8]; /* per constraint of the def */
} types_t;

#define NAMED_TYPE(short) GANTRY_ID_##short,
static const int32_t named_types[] = {GANTRY_ELEMENT_TYPES(NAMED_TYPE)};

/* 0 when the word is neither a type nor a restricted attribute. */
static int32_t type_of(const types_t *types, const char *word) {
    for (size_t i = 0; i < COUNT(named_types); ++i) {
        if (strcmp(gantry__type_name(named_types[i]), word) == 0) return named_types[i];
    }
    for (uint32_t i = 0; i < types->def->type_count; ++i) {
        const char *attr = types->def->types[i].attr;
        if (attr && strcmp(attr, word) == 0) return types->chosen[i];
    }
    return 0;
}

/* The next combination; false after the last. First call with chosen all 0. */
static bool next_types(types_t *types) {
    bool first = types->def->type_count == 0 || types->chosen[0] == 0;
    for (uint32_t i = 0; i < types->def->type_count; ++i) {
        uint64_t mask = types->def->types[i].dtype_mask;
        int32_t *dtype = &types->chosen[i];
        bool carry = false;
        do {
            if (++*dtype > 63) {
                *dtype = 1;
                carry = true;
            }
        } while (!(mask >> *dtype & 1));
        if (!first && !carry) return true;
    }
    return first && types->def->type_count > 0;
}

/* ---- one call ---- */

typedef struct tensor_t {
    gantry_arg_t arg;
    int64_t dims[MOST_DIMS];
    int64_t values[MOST_DIMS]; /* of one in host memory */
} tensor_t;

typedef struct case_t {
    tensor_t tensors[MOST_TENSORS];
    gantry_attr_t attrs[MOST_ATTRS];
    int64_t lists[MOST_ATTRS][MOST_LIST];
    const gantry_arg_t *inputs[MOST_TENSORS];
    gantry_arg_t *outputs[MOST_TENSORS];
    const gantry_attr_t *attr_list[MOST_ATTRS];
    gantry_op_call_t call;
    char words[MOST_LINE];
} case_t;

static void put_value(tensor_t *tensor, int32_t index, int64_t value) {
    unsigned char *at = (unsigned char *)tensor->values;
    const int32_t narrow = (int32_t)value;
    const float single = (float)value;
    const double wide = (double)value;
    switch (tensor->arg.dtype) {
        case 1: memcpy(at + 4 * index, &single, 4); break;
        case 2: memcpy(at + 8 * index, &wide, 8); break;
        case 3: memcpy(at + 4 * index, &narrow, 4); break;
        default: memcpy(at + 8 * index, &value, 8); break;
    }
}

/* "T[2,3]" or "int32{1}"; false when that cannot be read. */
static bool read_tensor(const types_t *types, char *word, tensor_t *tensor) {
    char *open = strpbrk(word, "[{");
    bool on_host = open && *open == '{';
    if (!open) return false;
    *open = '\0';
    gantry_arg_t *arg = &tensor->arg;
    *arg = (gantry_arg_t){
        .struct_size = sizeof *arg, .dtype = type_of(types, word), .in_host_memory = on_host};
    arg->element_count = 1;
    arg->dims = tensor->dims;
    int32_t count = 0;
    for (char *at = open + 1; *at && *at != ']' && *at != '}'; at += *at == ',') {
        int64_t value = strtoll(at, &at, 10);
        if (count == MOST_DIMS || (*at != ',' && *at != ']' && *at != '}')) return false;
        if (on_host)
            put_value(tensor, count++, value);
        else
            arg->element_count *= tensor->dims[count++] = value;
    }
    arg->rank = on_host ? count > 1 : count;
    if (on_host) arg->element_count = tensor->dims[0] = count;
    if (on_host)
        arg->data = tensor->values;
    else
        arg->span = (gantry_span_t){.region = 1, .size_bytes = (uint64_t)arg->element_count * 8};
    return arg->dtype != 0;
}

/* An instruction of a fused program, or a type; false when the word is neither. */
static bool read_name(const types_t *types, const char *word, int64_t *out_number) {
    static const struct {
        const char *name;
        int64_t id;
    } instructions[] = {
#define GANTRY_ELEMENTWISE(name, function, summary, form, types, result, check, math, expression) \
    {#name, GANTRY_K_ROW_##name},
#define GANTRY_FUSED_OTHER(name) {#name, GANTRY_K_FUSED_##name},
#define GANTRY_FUSED_REDUCTION(name) {#name, GANTRY_K_FUSED_##name},
#include "ops/elementwise.def"
#include "ops/fused.def"
#undef GANTRY_ELEMENTWISE
#undef GANTRY_FUSED_OTHER
#undef GANTRY_FUSED_REDUCTION
    };
    *out_number = type_of(types, word);
    for (size_t i = 0; i < COUNT(instructions) && *out_number == 0; ++i) {
        if (strcmp(instructions[i].name, word) != 0) continue;
        *out_number = instructions[i].id;
        return true;
    }
    return *out_number != 0;
}

/* [1,2,2,1] or [Mul,float32,0,1,0], whose length is written. */
static bool read_list(const types_t *types, const char *text, int64_t list[MOST_LIST],
                      int64_t *out_count) {
    char word[32];
    int bytes = 0;
    for (const char *at = text + 1; *at && *at != ']'; at += at[bytes] == ',' ? bytes + 1 : bytes) {
        char *end;
        if (*out_count == MOST_LIST || sscanf(at, "%31[^],]%n", word, &bytes) != 1) return false;
        list[*out_count] = strtoll(word, &end, 10);
        if (*end && !read_name(types, word, &list[*out_count])) return false;
        ++*out_count;
    }
    return true;
}

/* name=1, name=0.5, name=VALID or name=[1,2,2,1]. */
static bool read_attr(const types_t *types, char *word, gantry_attr_t *attr,
                      int64_t list[MOST_LIST]) {
    char *value = strchr(word, '=');
    if (!value) return false;
    *value++ = '\0';
    *attr = (gantry_attr_t){.struct_size = sizeof *attr,
                            .kind = GANTRY_ATTR_INT,
                            .name = word,
                            .list = list,
                            .s = value};
    if (*value == '[') {
        attr->kind = GANTRY_ATTR_INTS;
        return read_list(types, value, list, &attr->i);
    } else if (isalpha((unsigned char)*value)) {
        attr->kind = GANTRY_ATTR_STRING;
    } else if (strchr(value, '.')) {
        attr->kind = GANTRY_ATTR_FLOAT;
        attr->f = strtod(value, NULL);
    } else {
        attr->i = strtoll(value, NULL, 10);
    }
    return true;
}

/* The words after the colon. */
static bool read_call(const char *text, const types_t *types, case_t *item) {
    memset(item, 0, sizeof *item);
    gantry_op_call_t *call = &item->call;
    uint32_t tensors = 0;
    bool output = false;
    snprintf(item->words, sizeof item->words, "%s", text);
    for (char *word = strtok(item->words, " "); word; word = strtok(NULL, " ")) {
        if (strcmp(word, "->") == 0) {
            output = true;
        } else if (strchr(word, '=')) {
            if (call->attr_count == MOST_ATTRS ||
                !read_attr(types, word, &item->attrs[call->attr_count],
                           item->lists[call->attr_count]))
                return false;
            item->attr_list[call->attr_count] = &item->attrs[call->attr_count];
            call->attr_count++;
        } else {
            if (tensors == MOST_TENSORS || !read_tensor(types, word, &item->tensors[tensors]))
                return false;
            if (output)
                item->outputs[call->output_count++] = &item->tensors[tensors].arg;
            else
                item->inputs[call->input_count++] = &item->tensors[tensors].arg;
            tensors++;
        }
    }
    call->struct_size = sizeof *call;
    call->inputs = item->inputs;
    call->outputs = item->outputs;
    call->attrs = item->attr_list;
    return call->output_count > 0;
}

/* ---- all calls ---- */

/* Runs the call on the card of that size. */
static bool run_on(const gantry_kernel_def_t *def, const types_t *types, const char *text,
                   size_t size, text_recorder_t *recorder) {
    text_list_t *list = recorder->list;
    case_t item;
    gantry_device_info_t info = describe(size);
    if (!read_call(text, types, &item)) {
        printf("FAIL this case cannot be read: %s\n", recorder->what);
        list->failures++;
        return false;
    }
    item.call.op = def->op;
    item.call.kernel = def;
    item.call.device = tensor_card(def);
    if (!item.call.device) item.call.device = cuda_text_conv_plain_card(def);
    item.call.device_info = &info;
    item.call.services = &cuda_text_services;
    item.call.core = recorder;
    if (def->supports && !def->supports(&item.call)) return true;
    uint32_t before = list->failures;
    int32_t status = def->compute(&item.call);
    if (status != 0 && list->failures == before) {
        printf("FAIL %s: status %d\n", recorder->what, (int)status);
        list->failures++;
    }
    return true;
}

static bool run_call(const gantry_kernel_def_t *def, const types_t *types, const char *text,
                     text_list_t *list) {
    char what[MOST_LINE + 96];
    snprintf(what, sizeof what, "%s: %s", def->op, text);
    text_recorder_t recorder = {.list = list, .what = what};
    for (size_t size = 0; size < COUNT(sizes); ++size) {
        if (!run_on(def, types, text, size, &recorder)) return false;
    }
    return true;
}

bool cuda_text_count(const char *line, text_list_t *list, text_counts_t *out_counts) {
    defs_t defs = {.count = 0};
    text_recorder_t recorder = {.list = list, .what = line};
    const char *colon = strchr(line, ':');
    const size_t length = colon ? (size_t)(colon - line) : 0;
    collect(&defs);
    for (size_t i = 0; i < defs.count; ++i) {
        types_t types = {.def = defs.list[i]};
        if (strncmp(types.def->op, line, length) != 0 || types.def->op[length] != '\0') continue;
        bool is_read = run_on(types.def, &types, colon + 1, LARGE_CARD, &recorder);
        *out_counts = recorder.counts;
        return is_read;
    }
    printf("FAIL the packs have no op of this line: %s\n", line);
    return false;
}

static void run_op(defs_t *defs, const char *op, const char *text, text_list_t *list) {
    bool found = false;
    for (size_t i = 0; i < defs->count; ++i) {
        types_t types = {.def = defs->list[i]};
        if (strcmp(defs->list[i]->op, op) != 0) continue;
        found = defs->covered[i] = true;
        bool more = next_types(&types);
        if (types.def->type_count == 0) (void)run_call(types.def, &types, text, list);
        while (more && run_call(types.def, &types, text, list)) more = next_types(&types);
    }
    if (found) return;
    printf("FAIL the packs have no op %s\n", op);
    list->failures++;
}

static void run_line(defs_t *defs, char *line, text_list_t *list) {
    char *rest = NULL, *colon = strchr(line, ':');
    line[strcspn(line, "\r\n")] = '\0';
    if (*line == '#' || *line == '\0') return;
    if (!colon) {
        printf("FAIL this line has no colon: %s\n", line);
        list->failures++;
        return;
    }
    *colon = '\0';
    for (char *op = strtok_r(line, ",", &rest); op; op = strtok_r(NULL, ",", &rest))
        run_op(defs, op, colon + 1, list);
}

/* ---- ops with a row in ops/ and no line: one call from the row ---- */

#define ROW_TYPE(set) GANTRY_##set##_IS_ONE("bool", "T")
#define RESULT_SAME(types) ROW_TYPE(types)
#define RESULT_BOOL(types) "bool"
#define RESULT_BYTE(types) "uint8"
#define OF_ONE(types, result, attr) \
    ROW_TYPE(types) "[4096]" attr " -> " RESULT_##result(types) "[4096]"
#define OF_TWO(types, result) \
    ROW_TYPE(types) "[64,64] " ROW_TYPE(types) "[64] -> " RESULT_##result(types) "[64,64]"
#define CALL_UNARY(types, result) OF_ONE(types, result, "")
#define CALL_ACTIVATION(types, result) OF_ONE(types, result, "")
#define CALL_VALUE(types, result) OF_ONE(types, result, " alpha=0.25")
#define CALL_CHOICE(types, result) OF_ONE(types, result, " approximate=0")
#define CALL_PRECISION(types, result) OF_ONE(types, result, " exponent_bits=5 mantissa_bits=10")
#define CALL_UNARY_CHOICE(types, result) OF_ONE(types, result, "")
#define CALL_BINARY_CHOICE(types, result) OF_TWO(types, result)
#define CALL_VARIANT(types, result) ""
#define CALL_BINARY_VARIANT(types, result) ""
#define CALL_BINARY(types, result) OF_TWO(types, result)
#define CALL_ANGLE(types, result) OF_TWO(types, result)
#define CALL_EQUALITY(types, result) OF_TWO(types, result)
#define CALL_AXES(types) ROW_TYPE(types) "[64,10000] int32{1} -> " ROW_TYPE(types) "[64]"
#define CALL_WHOLE(types) ROW_TYPE(types) "[100000] -> " ROW_TYPE(types) "[]"

static const struct {
    const char *op, *call;
} row_calls[] = {
#define GANTRY_ELEMENTWISE(name, function, summary, form, types, result, check, math, expression) \
    {#name, CALL_##form(types, result)},
#include "ops/elementwise.def"
#define GANTRY_REDUCTION(name, function, summary, form, types, tree, finish, empty) \
    {#name, CALL_##form(types)},
#include "ops/reduce.def"
};

static bool run_row(defs_t *defs, const char *op, text_list_t *list) {
    for (size_t i = 0; i < COUNT(row_calls); ++i) {
        if (strcmp(row_calls[i].op, op) != 0) continue;
        run_op(defs, op, row_calls[i].call, list);
        return true;
    }
    return false;
}

void cuda_text_record(const char *case_file, text_list_t *list) {
    char line[MOST_LINE];
    defs_t defs = {.count = 0};
    FILE *file = fopen(case_file, "r");
    if (!file) {
        printf("FAIL %s cannot be opened\n", case_file);
        list->failures++;
        return;
    }
    collect(&defs);
    collect_tensor(&defs);
    collect_conv_plain(&defs);
    while (fgets(line, sizeof line, file)) run_line(&defs, line, list);
    fclose(file);
    for (size_t i = 0; i < defs.count; ++i) {
        if (defs.covered[i] || run_row(&defs, defs.list[i]->op, list)) continue;
        printf("FAIL op %s of the packs has no line in %s\n", defs.list[i]->op, case_file);
        list->failures++;
    }
}
