/* SPDX-License-Identifier: Apache-2.0 */
/* The draws of dropout in tests: the library's, or those of the generator of make_layer_cases.py,
 * which Keras had there. The linker puts __wrap_gantry__layer_dropout in place of the library's
 * function. Not thread-safe. */
#ifndef TESTS_TRAIN_DROPOUT_H
#define TESTS_TRAIN_DROPOUT_H

#include <stdint.h>

/* From now on draws are those of this state. */
void train_dropout_begin(uint32_t state);
/* From now on they are the library's again. */
void train_dropout_end(void);

#endif
