/* SPDX-License-Identifier: Apache-2.0 */
/* The control of a CLBlast that computes nothing: it keeps the arguments of each call and returns
 * the code that a test sets.
 *
 * A test opens the library by its path. The library has CLBlast's name, so a later dlopen of
 * CLBlast returns it. Externally synchronised. */
#ifndef TESTS_FAKE_CLBLAST_H
#define TESTS_FAKE_CLBLAST_H

#include <stddef.h>

#define FAKE_CLBLAST_CALLS 64

typedef struct fake_clblast_operand_t {
    void *buffer;
    size_t offset;
    size_t ld;
    size_t stride; /* 0 for one product */
} fake_clblast_operand_t;

typedef struct fake_clblast_call_t {
    int is_batched;
    int is_double;
    int a_form;
    int b_form;
    size_t m;
    size_t n;
    size_t k;
    size_t count; /* of products: 1 unless batched */
    fake_clblast_operand_t a;
    fake_clblast_operand_t b;
    fake_clblast_operand_t c;
    void *temp;
} fake_clblast_call_t;

typedef struct fake_clblast_t {
    int code;          /* the result of products */
    size_t temp_bytes; /* temporary memory of one product */
    size_t call_count; /* may exceed the number of kept calls */
    fake_clblast_call_t calls[FAKE_CLBLAST_CALLS];
} fake_clblast_t;

/* The one function that CLBlast does not have: "fake_clblast". */
typedef fake_clblast_t *(*fake_clblast_fn)(void);

#endif
