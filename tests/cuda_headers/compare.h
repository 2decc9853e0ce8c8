/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a declaration of ours with NVIDIA's at compile time. */
#ifndef GANTRY_TESTS_CUDA_HEADERS_COMPARE_H
#define GANTRY_TESTS_CUDA_HEADERS_COMPARE_H

/* The functions must have the same type; an enumeration and unsigned int count as the same
 * parameter type. */
#define SAME_FUNCTION(result, function, parameters)                                           \
    _Static_assert(__builtin_types_compatible_p(result(*) parameters, __typeof__(&function)), \
                   #function);                                                                \
    extern int compared_##function;

#define SAME_NUMBER(ours, theirs) _Static_assert((long long)(ours) == (long long)(theirs), #theirs)

#endif
