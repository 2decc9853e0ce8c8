/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent layers of golden cases, as loops or unrolled, and Keras's numbers of long sequences and
 * of kept states. Header only. */
#ifndef TESTS_TRAIN_RECURRENT_CASE_H
#define TESTS_TRAIN_RECURRENT_CASE_H

#include <gantry_train/train.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* The golden cases' layers get this option. */
static gantry_choice_t chosen_unroll;

static inline const gantry_recurrent_options_t *with_unroll(
    const gantry_recurrent_options_t *given) {
    static gantry_recurrent_options_t options;
    options = given ? *given : (gantry_recurrent_options_t){.name = NULL};
    options.unroll = chosen_unroll;
    return &options;
}

#define gantry_simple_rnn(units, ...) gantry_simple_rnn(units, with_unroll(__VA_ARGS__))
#define gantry_lstm(units, ...) gantry_lstm(units, with_unroll(__VA_ARGS__))
#define gantry_gru(units, ...) gantry_gru(units, with_unroll(__VA_ARGS__))

#include "train_layer_case.h"

enum { MOST = 1024, SOURCES = 16, BATCH = 2, STEPS = 4, FEATURES = 3, UNITS = 2, LONG = 50 };

static inline void must(gantry_status_t status) {
    if (status != GANTRY_OK) fail_msg("%s", gantry_last_message());
}

typedef struct recurrent_case_t {
    bool is_masked;
    size_t count;
    const double *numbers;
} recurrent_case_t;

/* Whether the input of a row STATEFUL is masked. */
#define LONG(index, layer)
#define STATEFUL(index, masked, layer) masked,
static const bool stateful_masked[] = {
#include "train_recurrent_cases.inc"
};
#undef LONG
#undef STATEFUL

enum { LONG_CASES = 7, STATEFUL_CASES = sizeof stateful_masked / sizeof stateful_masked[0] };

/* Keras's numbers of a row; keras/recurrent.json has those of the rows LONG first. */
static inline recurrent_case_t recurrent_case_read(const char *kind, size_t index) {
    static golden_file_t file;
    char name[32];
    const bool is_long = strcmp(kind, "long") == 0;
    (void)snprintf(name, sizeof name, "%s %zu", kind, index);
    const golden_tensor_t *numbers =
        train_numbers(&file, "keras/recurrent.json", is_long ? index : LONG_CASES + index, name);
    return (recurrent_case_t){.is_masked = !is_long && stateful_masked[index],
                              .count = numbers->bytes / sizeof(double),
                              .numbers = numbers->data};
}

static inline gantry_layer_t *make_long(size_t at) {
#define LONG(index, layer) \
    if (at == (index)) return layer;
#define STATEFUL(index, masked, layer)
#include "train_recurrent_cases.inc"
#undef LONG
#undef STATEFUL
    return NULL;
}

static inline gantry_layer_t *make_stateful(size_t at) {
#define LONG(index, layer)
#define STATEFUL(index, masked, layer) \
    if (at == (index)) return layer;
#include "train_recurrent_cases.inc"
#undef LONG
#undef STATEFUL
    return NULL;
}

#endif
