/* SPDX-License-Identifier: Apache-2.0 */
/* The table of ops: one row for an op of a domain and a range of versions. The rows are in
 * table/rows_*.def, a file for each subject:
 *
 *     ROW(domain, op, from, to, least_inputs, most_inputs, most_outputs, function, attributes)
 *     ROW("", Conv, 1, 28, 2, 3, 1, conv, "s:auto_pad I:dilations i:group ...")
 *
 * to is the last version whose meaning the function has; function is the part of the name after
 * gantry__onnx_lower_. MANY: any number. attributes are all that the op has in these versions, each
 * with the letter of its kind in front: f float, i int, s text, t tensor, g graph, x sparse tensor,
 * p type; capital letters are lists of them. With "!" in place of ":" a node must have it. An
 * attribute that is not among them, of another kind or missing is refused before the function is
 * called. An op with an attribute "seed" draws, and is computed in each run.
 *
 * A row that says how large its results are, by a word of gantry__onnx_extent_t:
 *
 *     SIZED(extent, ...), with what ROW has
 *     SIZED(EXPANDS, "", Expand, 8, 28, 2, 2, 1, expand, "")
 *
 * A row whose nodes have lists, by a word of gantry__onnx_lists_t:
 *
 *     LISTS(lists, ...), with what ROW has
 *     LISTS(MADE, "", SplitToSequence, 11, 28, 1, 2, 1, split_to_sequence, "i:axis i:keepdims")
 *
 * An op that is one op of Gantry without attributes, of so many inputs and one output:
 *
 *     PLAIN(domain, op, from, to, inputs, gantry_op)
 *
 * A row without a function is a refusal:
 *
 *     NO_ROW(domain, op, reason)
 *
 * table/checks.def has the functions with a check of what a node says before it has inputs:
 *
 *     CHECK(function, check)
 *
 * check is the part of the name after gantry__onnx_check_. It reads the attributes but tensors and
 * graphs, and which inputs are given. A node that it refuses is refused when the model is loaded.
 *
 * Threads: constant. */
#ifndef GANTRY_ONNX_ROWS_H
#define GANTRY_ONNX_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include <gantry/status.h>

#include "onnx/base/limits.h"

#define GANTRY__ONNX_MANY UINT8_MAX

struct gantry__onnx_call_t;
/* Lowers a node. Returns OK, or the status of what failed, with the thread's last message. */
typedef gantry_status_t (*gantry__onnx_lower_fn)(struct gantry__onnx_call_t *call);

/* How many elements the results of a node have. From EXPANDS on they may be many more than those of
 * its inputs, so that no constant is made of them. */
typedef enum gantry__onnx_extent_t {
    GANTRY__ONNX_ANY = 0, /* The row does not say. */
    GANTRY__ONNX_BOUND,   /* At most those of all inputs multiplied. */
    GANTRY__ONNX_FILLS,   /* Input 0 is the shape. */
    GANTRY__ONNX_EXPANDS, /* Input 1 is the shape. */
    GANTRY__ONNX_REPEATS, /* Those of input 0, as often as the product of input 1. */
    GANTRY__ONNX_COUNTS,  /* The numbers from input 0 to input 1. */
    GANTRY__ONNX_GROWS    /* More than those of the inputs; the row does not say how many. */
} gantry__onnx_extent_t;

/* Which values of a node may be lists of tensors, or absent ones: sequences and optional values.
 * No constant is made of a node that may make one. */
typedef enum gantry__onnx_lists_t {
    GANTRY__ONNX_LISTS_NONE = 0,
    GANTRY__ONNX_LISTS_TAKEN = 1, /* Inputs. */
    GANTRY__ONNX_LISTS_MADE = 2,  /* Results. */
    GANTRY__ONNX_LISTS_BOTH = 3
} gantry__onnx_lists_t;

/* A row. It is small, and has few addresses, each of which costs 24 bytes more in the library. */
typedef struct gantry__onnx_row_t {
    const char *op;
    gantry__onnx_lower_fn lower; /* NULL: refused. */
    /* The attributes; Gantry's op, of PLAIN; the reason, of NO_ROW. */
    const char *text;
    uint8_t domain_bytes; /* Of the domain's text with its end, by which it is known. */
    uint8_t least_inputs, most_inputs, most_outputs;
    int16_t from, to;
    uint8_t extent; /* gantry__onnx_extent_t */
    uint8_t lists;  /* gantry__onnx_lists_t */
} gantry__onnx_row_t;

/* The row of a node; NULL with a failure that says why: an op that no row names, a version that no
 * row has, a refusal. "" and "ai.onnx" are one domain. */
const gantry__onnx_row_t *gantry__onnx_find_row(const char *domain, const char *op,
                                                int64_t version);
/* All rows, for lists. */
const gantry__onnx_row_t *gantry__onnx_rows(size_t *out_count);
/* All attributes of a row, as it has them: "" for none. */
const char *gantry__onnx_row_attributes(const gantry__onnx_row_t *row);
/* The letter of the attribute's kind; 0: the row does not have it. */
char gantry__onnx_row_attr(const gantry__onnx_row_t *row, const char *name);
/* The check of a row's nodes: its call has no run, scopes and inputs, and failures say the reason
 * only. NULL: there is none. */
gantry__onnx_lower_fn gantry__onnx_row_check(const gantry__onnx_row_t *row);
/* The letters by gantry__onnx_attr_kind_t: "?fistgFISTGxXpP". */
extern const char gantry__onnx_attr_letters[];

/* The functions that rows name. */
#define ROW(domain, op, from, to, least_inputs, most_inputs, most_outputs, function, attributes) \
    gantry_status_t gantry__onnx_lower_##function(struct gantry__onnx_call_t *call);
#define SIZED(extent, domain, op, from, to, least, most, outputs, function, attributes) \
    gantry_status_t gantry__onnx_lower_##function(struct gantry__onnx_call_t *call);
#define LISTS SIZED
#define PLAIN(domain, op, from, to, inputs, gantry_op)
#define NO_ROW(domain, op, reason)
#include "onnx/table/rows.def"
#undef ROW
#undef SIZED
#undef LISTS
#undef PLAIN
#undef NO_ROW
#define CHECK(function, check) \
    gantry_status_t gantry__onnx_check_##check(struct gantry__onnx_call_t *call);
#include "onnx/table/checks.def"
#undef CHECK
/* That of all PLAIN rows. */
gantry_status_t gantry__onnx_lower_plain(struct gantry__onnx_call_t *call);

#endif
