/* The device text of the portable pack: the build turns each kernels/X.cl into `const char gantry__text_X[]`, a NUL-terminated string.
 *
 * A program's parts, in this order: dialect, launch, types, [math_float32, math_float64], the family's own text.
 * Owner: constant data of the library. Threads: thread-safe. */
#ifndef GANTRY_PORTABLE_TEXT_H
#define GANTRY_PORTABLE_TEXT_H

/* common parts */
extern const char gantry__text_dialect[];
extern const char gantry__text_launch[];
extern const char gantry__text_types[];
extern const char gantry__text_math_float32[];
extern const char gantry__text_math_float64[];

/* families: one line each */
extern const char gantry__text_elementwise[];
extern const char gantry__text_random[];
extern const char gantry__text_reduce[];
extern const char gantry__text_matmul[];
extern const char gantry__text_move[];

#endif
