/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in's form of a cubin or PTX: one string with the source, the options and the sizes of
 * the structs that kernels take by value. This file also queries a built program for its kernels'
 * parameters. Threads: thread-safe. */
#ifndef GANTRY_TESTS_STAND_IN_IMAGE_H
#define GANTRY_TESTS_STAND_IN_IMAGE_H

#include "stand_in_pocl.h"

#define STAND_IN_TYPES 64
#define STAND_IN_TYPE_BYTES 96

typedef struct stand_in_type_t {
    char name[STAND_IN_TYPE_BYTES];
    uint32_t bytes;
    uint32_t alignment;
} stand_in_type_t;

typedef struct stand_in_image_t {
    int architecture; /* 90 for 9.0 */
    int is_real;      /* for this architecture only; otherwise for this and all later ones */
    int type_count;
    stand_in_type_t types[STAND_IN_TYPES];
    char *options;
    char *source;
} stand_in_image_t;

/* malloc; *out_bytes counts the final zero. NULL: no memory. */
STAND_IN_API char *stand_in__write_image(const stand_in_image_t *image, size_t *out_bytes);
/* 0, or -1: damaged, or not an image. Release with stand_in__release_image. */
int stand_in__read_image(const char *text, stand_in_image_t *out_image);
void stand_in__release_image(stand_in_image_t *image);

/* The size of a parameter of this type in bytes; 0: not a type of the language. */
uint32_t stand_in__scalar_bytes(const char *type);
/* Learns the sizes of the types that the program's kernels take by value and that are not of the
 * language. 0 or -1. */
STAND_IN_API int stand_in__find_types(cl_program program, const char *source, const char *options,
                                      stand_in_image_t *image);

#endif
