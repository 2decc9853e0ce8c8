/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/table/rows.h"

#include <inttypes.h>
#include <string.h>

#include "shared/fail.h"

#define MANY GANTRY__ONNX_MANY
/* The columns of gantry__onnx_row_t, of any form. */
#define ENTRY(domain, op, from, to, least, most, outputs, lower, text, extent, lists) \
    {#op, lower, text, sizeof domain, least, most, outputs, from, to, extent, lists},
#define ROW(domain, op, from, to, least, most, outputs, function, attributes) \
    SIZED(ANY, domain, op, from, to, least, most, outputs, function, attributes)
#define SIZED(extent, domain, op, from, to, least, most, outputs, function, attributes)          \
    ENTRY(domain, op, from, to, least, most, outputs, gantry__onnx_lower_##function, attributes, \
          GANTRY__ONNX_##extent, GANTRY__ONNX_LISTS_NONE)
#define LISTS(lists, domain, op, from, to, least, most, outputs, function, attributes)           \
    ENTRY(domain, op, from, to, least, most, outputs, gantry__onnx_lower_##function, attributes, \
          GANTRY__ONNX_ANY, GANTRY__ONNX_LISTS_##lists)
#define PLAIN(domain, op, from, to, inputs, gantry_op)                                   \
    ENTRY(domain, op, from, to, inputs, inputs, 1, gantry__onnx_lower_plain, #gantry_op, \
          GANTRY__ONNX_BOUND, GANTRY__ONNX_LISTS_NONE)
#define NO_ROW(domain, op, reason)                                                 \
    ENTRY(domain, op, 1, INT16_MAX, 0, MANY, MANY, NULL, reason, GANTRY__ONNX_ANY, \
          GANTRY__ONNX_LISTS_NONE)
static const gantry__onnx_row_t onnx_rows[] = {
#include "onnx/table/rows.def"
    NO_ROW("", , "")};
#undef ROW
#undef SIZED
#undef LISTS
#undef ENTRY
#undef PLAIN
#undef NO_ROW

const char gantry__onnx_attr_letters[] = "?fistgFISTGxXpP";

const gantry__onnx_row_t *gantry__onnx_rows(size_t *out_count) {
    *out_count = sizeof onnx_rows / sizeof *onnx_rows - 1;
    return onnx_rows;
}

/* No two of them have equally many bytes. */
static const char *const row_domains[] = {"",
                                          "ai.onnx.ml",
                                          "com.microsoft",
                                          "ai.onnx.preview",
                                          "com.microsoft.nchwc",
                                          "ai.onnx.preview.training"};

/* The bytes that rows of the domain have; 0: no row has it. */
static size_t domain_bytes_of(const char *domain) {
    for (size_t i = 0; i < sizeof row_domains / sizeof *row_domains; ++i) {
        if (strcmp(row_domains[i], domain) == 0) return strlen(domain) + 1;
    }
    return 0;
}

const char *gantry__onnx_row_attributes(const gantry__onnx_row_t *row) {
    return row->lower && row->lower != gantry__onnx_lower_plain ? row->text : "";
}

gantry__onnx_lower_fn gantry__onnx_row_check(const gantry__onnx_row_t *row) {
    static const struct {
        gantry__onnx_lower_fn lower, check;
    } checks[] = {
#define CHECK(function, check) {gantry__onnx_lower_##function, gantry__onnx_check_##check},
#include "onnx/table/checks.def"
#undef CHECK
    };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; ++i) {
        if (checks[i].lower == row->lower) return checks[i].check;
    }
    return NULL;
}

static const char *name_of_domain(const char *domain) { return *domain ? domain : "ai.onnx"; }

/* No row has the version: says which ones have it. */
static const gantry__onnx_row_t *fail_version(const char *domain, const char *op, int64_t version,
                                              const gantry__onnx_row_t *other) {
    (void)gantry__fail(GANTRY_UNIMPLEMENTED,
                       "this library has %s of operator sets %d to %d"
                       " of %s; the model imports %" PRId64,
                       op, other->from, other->to, name_of_domain(domain), version);
    return NULL;
}

const gantry__onnx_row_t *gantry__onnx_find_row(const char *domain, const char *op,
                                                int64_t version) {
    const gantry__onnx_row_t *other = NULL;
    if (strcmp(domain, "ai.onnx") == 0) domain = "";
    const size_t domain_bytes = domain_bytes_of(domain);
    for (const gantry__onnx_row_t *row = onnx_rows; *row->op; ++row) {
        if (row->op[0] != op[0] || strcmp(row->op, op) != 0 || row->domain_bytes != domain_bytes)
            continue;
        if (!row->lower) {
            (void)gantry__fail(GANTRY_UNIMPLEMENTED, "%s", row->text);
            return NULL;
        }
        if (version >= row->from && version <= row->to) return row;
        if (!other || (version > other->to && row->to > other->to)) other = row;
    }
    if (other) return fail_version(domain, op, version, other);
    (void)gantry__fail(GANTRY_UNIMPLEMENTED, "this library has no op %s of %s", op,
                       name_of_domain(domain));
    return NULL;
}

char gantry__onnx_row_attr(const gantry__onnx_row_t *row, const char *name) {
    const size_t bytes = strlen(name);
    for (const char *at = gantry__onnx_row_attributes(row); *at;) {
        const size_t word = strcspn(at, " ");
        if (word == bytes + 2 && memcmp(at + 2, name, bytes) == 0) return *at;
        at += word + (at[word] == ' ');
    }
    return 0;
}
