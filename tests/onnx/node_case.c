/* SPDX-License-Identifier: Apache-2.0 */
#include "node_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- files ---- */

static void *read_whole(const char *path, size_t *out_size) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    char *bytes = NULL;
    if (fseek(file, 0, SEEK_END) == 0) {
        const long size = ftell(file);
        rewind(file);
        bytes = size >= 0 ? malloc((size_t)size + 1) : NULL;
        *out_size = (size_t)size;
        if (bytes && fread(bytes, 1, *out_size, file) != *out_size) {
            free(bytes);
            bytes = NULL;
        }
    }
    fclose(file);
    if (bytes) bytes[*out_size] = '\0';
    return bytes;
}

/* A float of 4 or 8 bits that Gantry does not have: its bits are stored, and float32 has it. */
typedef struct small_type_t {
    const char *name;
    int fraction_bits, bias;
    unsigned sign; /* The bit of it; 0: none. */
} small_type_t;

static const small_type_t *find_small_type(const char *name) {
    static const small_type_t all[] = {{"float8_e4m3fnuz", 3, 8, 128},
                                       {"float8_e5m2fnuz", 2, 16, 128},
                                       {"float4_e2m1fn", 1, 1, 8},
                                       {"float8_e8m0fnu", 0, 127, 0}};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        if (strcmp(all[i].name, name) == 0) return &all[i];
    return NULL;
}

static float small_type_value(const small_type_t *type, unsigned bits) {
    if (!type->sign) return bits == 255 ? NAN : ldexpf(1, (int)bits - type->bias);
    if (bits == 128) return NAN;
    const unsigned one = 1u << type->fraction_bits, fraction = bits & (one - 1);
    const int exponent = (int)((bits & (type->sign - 1)) >> type->fraction_bits);
    const float scaled = exponent == 0 ? 2 * (float)fraction : (float)(one + fraction);
    const float size = ldexpf(scaled, exponent - type->bias - type->fraction_bits);
    return bits & type->sign ? -size : size;
}

/* Makes the numbers of bits. */
static bool widen_array(node_array_t *array, const small_type_t *type) {
    const uint8_t *bits = array->data;
    const size_t count = array->bytes;
    float *numbers = malloc(count * sizeof *numbers + 1);
    for (size_t i = 0; numbers && i < count; ++i) numbers[i] = small_type_value(type, bits[i]);
    free(array->data);
    array->data = numbers;
    array->bytes = count * sizeof *numbers;
    return numbers != NULL;
}

static bool parse_array(node_array_t *array, const void *npy, size_t size) {
    gantry_dtype_t stored;
    const small_type_t *small = find_small_type(array->type);
    if (gantry_parse_npy(npy, size, &stored, &array->shape, NULL, 0) != GANTRY_OK) return false;
    if (gantry_dtype_size(small ? GANTRY_UINT8 : array->dtype) != gantry_dtype_size(stored))
        return false;
    array->bytes = (size_t)gantry_shape_elements(&array->shape) * gantry_dtype_size(stored);
    array->data = malloc(array->bytes + 1);
    if (!array->data ||
        gantry_parse_npy(npy, size, &stored, &array->shape, array->data, array->bytes) != GANTRY_OK)
        return false;
    return !small || widen_array(array, small);
}

/* A model takes and gives integers of 2 and 4 bits as integers of 8, and floats that Gantry does
 * not have as float32. */
static gantry_dtype_t type_of(const char *name) {
    if (strcmp(name, "int4") == 0 || strcmp(name, "int2") == 0) return GANTRY_INT8;
    if (strcmp(name, "uint4") == 0 || strcmp(name, "uint2") == 0) return GANTRY_UINT8;
    return find_small_type(name) ? GANTRY_FLOAT32 : gantry_dtype_from_name(name);
}

static bool read_array(node_array_t *array, const char *path) {
    size_t size = 0;
    array->dtype = type_of(array->type);
    if (array->dtype == GANTRY_DTYPE_NONE) return true;
    void *npy = read_whole(path, &size);
    const bool good = npy && parse_array(array, npy, size);
    free(npy);
    return good;
}

/* ---- case.txt ---- */

static bool is_word(const char *line, const char *word, const char **out_rest) {
    const size_t length = strlen(word);
    if (strncmp(line, word, length) != 0 || line[length] != ' ') return false;
    *out_rest = line + length + 1;
    return true;
}

static void take_array(node_array_t *arrays, size_t *count, const char *type) {
    if (*count < NODE_MOST_ARRAYS)
        (void)snprintf(arrays[*count].type, sizeof arrays->type, "%s", type);
    ++*count;
}

static void take_line(node_case_t *self, const char *line) {
    const char *rest;
    if (is_word(line, "op", &rest)) (void)snprintf(self->op, sizeof self->op, "%s", rest);
    if (is_word(line, "left_out", &rest))
        (void)snprintf(self->left_out, sizeof self->left_out, "%s", rest);
    if (is_word(line, "expanded", &rest)) self->is_expanded = *rest == '1';
    if (is_word(line, "check", &rest)) self->is_drawn = strcmp(rest, "shapes") == 0;
    if (is_word(line, "rtol", &rest)) self->rtol = strtod(rest, NULL);
    if (is_word(line, "atol", &rest)) self->atol = strtod(rest, NULL);
    if (is_word(line, "in", &rest)) take_array(self->inputs, &self->input_count, rest);
    if (is_word(line, "out", &rest)) take_array(self->outputs, &self->output_count, rest);
}

static bool read_text(node_case_t *self, const char *path) {
    size_t size = 0;
    char *text = read_whole(path, &size), *rest = text;
    if (!text) return false;
    for (char *line; (line = rest) && *line;) {
        rest = strchr(line, '\n');
        if (rest) *rest++ = '\0';
        take_line(self, line);
    }
    free(text);
    return self->input_count <= NODE_MOST_ARRAYS && self->output_count <= NODE_MOST_ARRAYS;
}

static bool read_arrays(node_array_t *arrays, size_t count, const char *folder, const char *name,
                        const char *kind, char *why, size_t why_size) {
    for (size_t i = 0; i < count; ++i) {
        char path[4096];
        (void)snprintf(path, sizeof path, "%s/%s/%s_%zu.npy", folder, name, kind, i);
        if (read_array(&arrays[i], path)) continue;
        (void)snprintf(why, why_size, "%s of type %s: %s", path, arrays[i].type,
                       gantry_last_message());
        return false;
    }
    return true;
}

bool node_case_read(node_case_t *self, const char *folder, const char *name, char *why,
                    size_t why_size) {
    char path[4096];
    *self = (node_case_t){.rtol = 1e-3};
    (void)snprintf(path, sizeof path, "%s/%s/case.txt", folder, name);
    if (!read_text(self, path)) {
        (void)snprintf(why, why_size, "%s cannot be read, or has more than %d inputs or outputs",
                       path, NODE_MOST_ARRAYS);
        return false;
    }
    (void)snprintf(self->model, sizeof self->model, "%s/%s/model.onnx", folder, name);
    if (*self->left_out) return true;
    return read_arrays(self->inputs, self->input_count, folder, name, "in", why, why_size) &&
           read_arrays(self->outputs, self->output_count, folder, name, "out", why, why_size);
}

void node_case_deinit(node_case_t *self) {
    for (size_t i = 0; i < NODE_MOST_ARRAYS; ++i) {
        free(self->inputs[i].data);
        free(self->outputs[i].data);
    }
}

/* ---- numbers ---- */

/* The value of a binary number of so many bits of fraction; the lowest bits of it are given. */
static double small_value(unsigned bits, int exponent_bits, int fraction_bits, bool has_infinity) {
    const unsigned sign = bits >> (exponent_bits + fraction_bits);
    const unsigned exponent = (bits >> fraction_bits) & ((1u << exponent_bits) - 1);
    const unsigned fraction = bits & ((1u << fraction_bits) - 1), top = (1u << exponent_bits) - 1;
    const int bias = (1 << (exponent_bits - 1)) - 1 + fraction_bits;
    double value = exponent == 0 ? ldexp(fraction, 1 - bias)
                                 : ldexp(fraction + (1u << fraction_bits), (int)exponent - bias);
    if (exponent == top && has_infinity) value = fraction > 0 ? (double)NAN : (double)INFINITY;
    if (exponent == top && !has_infinity && fraction == (1u << fraction_bits) - 1)
        value = (double)NAN;
    return sign ? -value : value;
}

/* Whether the type is one that is compared with a tolerance; *out gets the element's value. */
static bool number_at(gantry_dtype_t dtype, const void *data, size_t at, double *out) {
    switch (dtype) {
        case GANTRY_FLOAT32: *out = ((const float *)data)[at]; return true;
        case GANTRY_FLOAT64: *out = ((const double *)data)[at]; return true;
        case GANTRY_FLOAT16:
            *out = small_value(((const uint16_t *)data)[at], 5, 10, true);
            return true;
        case GANTRY_BFLOAT16:
            *out = small_value(((const uint16_t *)data)[at], 8, 7, true);
            return true;
        case GANTRY_FLOAT8_E5M2:
            *out = small_value(((const uint8_t *)data)[at], 5, 2, true);
            return true;
        case GANTRY_FLOAT8_E4M3FN:
            *out = small_value(((const uint8_t *)data)[at], 4, 3, false);
            return true;
        default: return false;
    }
}

static double relative_of(const node_case_t *self, gantry_dtype_t dtype) {
    const double steps = dtype == GANTRY_FLOAT16 ? 0x1p-8 : dtype == GANTRY_BFLOAT16 ? 0x1p-5 : 0;
    return steps > self->rtol ? steps : self->rtol;
}

/* The case's absolute tolerance, and at least 4 steps of float32 of the largest element: the wanted
 * elements come from sums of this type. */
static double absolute_of(const node_case_t *self, const node_array_t *want, size_t elements) {
    double largest = 0, value = 0;
    for (size_t i = 0; i < elements; ++i) {
        (void)number_at(want->dtype, want->data, i, &value);
        if (isfinite(value)) largest = fmax(largest, fabs(value));
    }
    return fmax(self->atol, 0x1p-21 * largest);
}

/* ---- comparison ---- */

typedef struct difference_t {
    size_t count, first;
    double largest; /* NAN: one of the two is no number. */
} difference_t;

static void compare_numbers(const node_case_t *self, const node_array_t *want, const void *got,
                            size_t elements, difference_t *out) {
    const double rtol = relative_of(self, want->dtype), atol = absolute_of(self, want, elements);
    for (size_t i = 0; i < elements; ++i) {
        double a = 0, b = 0;
        (void)number_at(want->dtype, want->data, i, &a);
        (void)number_at(want->dtype, got, i, &b);
        const double distance = fabs(a - b);
        if (a == b || (isnan(a) && isnan(b)) || distance <= atol + rtol * fabs(a)) continue;
        if (out->count++ == 0) out->first = i;
        if (!(distance <= out->largest)) out->largest = distance;
    }
}

static void compare_bits(const node_array_t *want, const void *got, size_t elements,
                         difference_t *out) {
    const size_t size = gantry_dtype_size(want->dtype);
    for (size_t i = 0; i < elements; ++i) {
        if (memcmp((const char *)want->data + i * size, (const char *)got + i * size, size) == 0)
            continue;
        if (out->count++ == 0) out->first = i;
    }
}

static void write_element(const node_array_t *want, const void *data, size_t at, char out[40]) {
    double value;
    long long integer = 0;
    const size_t size = gantry_dtype_size(want->dtype);
    if (number_at(want->dtype, data, at, &value)) {
        (void)snprintf(out, 40, "%.9g", value);
        return;
    }
    memcpy(&integer, (const char *)data + at * size, size < sizeof integer ? size : sizeof integer);
    if (GANTRY_DTYPE_BIT(want->dtype) & GANTRY_DTYPES_SIGNED && size < sizeof integer &&
        integer >> (8 * size - 1))
        integer -= 1LL << (8 * size);
    (void)snprintf(out, 40, "%lld", integer);
}

static bool compare_data(const node_case_t *self, const node_array_t *want, const void *got,
                         char *why, size_t why_size) {
    const size_t elements = (size_t)gantry_shape_elements(&want->shape);
    difference_t difference = {0};
    double ignored;
    if (elements > 0 && number_at(want->dtype, want->data, 0, &ignored))
        compare_numbers(self, want, got, elements, &difference);
    else
        compare_bits(want, got, elements, &difference);
    if (difference.count == 0) return true;
    char a[40], b[40];
    write_element(want, got, difference.first, a);
    write_element(want, want->data, difference.first, b);
    (void)snprintf(why, why_size, "%zu of %zu elements differ, the first at %zu: %s, not %s; by %g",
                   difference.count, elements, difference.first, a, b, difference.largest);
    return false;
}

bool node_case_compare(const node_case_t *self, size_t index, const gantry_tensor_t *output,
                       char *why, size_t why_size) {
    const node_array_t *want = &self->outputs[index];
    const gantry_dtype_t dtype = gantry_tensor_dtype(output);
    const gantry_shape_t *shape = gantry_tensor_shape(output);
    if (dtype != want->dtype || !gantry_shape_equal(shape, &want->shape)) {
        char a[128], b[128];
        (void)gantry_shape_format(shape, a, sizeof a);
        (void)gantry_shape_format(&want->shape, b, sizeof b);
        (void)snprintf(why, why_size, "%s %s, not %s %s", gantry_dtype_name(dtype), a, want->type,
                       b);
        return false;
    }
    void *got = malloc(want->bytes + 1);
    bool good = got && gantry_tensor_read(output, got, want->bytes) == GANTRY_OK;
    if (!good)
        (void)snprintf(why, why_size, "it cannot be read: %s", gantry_last_message());
    else if (!self->is_drawn)
        good = compare_data(self, want, got, why, why_size);
    free(got);
    return good;
}
