/* Device text that only this backend uses: the build turns each kernels/X.cl into `const char gantry__text_X[]`, a
 * NUL-terminated string.
 * Owner: constant data of the library. Threads: thread-safe. */
#ifndef GANTRY_OPENCL_TEXT_H
#define GANTRY_OPENCL_TEXT_H

extern const char gantry__text_opencl_cpu_types[];
extern const char gantry__text_opencl_cpu_tile[];
extern const char gantry__text_opencl_cpu_matmul[];
extern const char gantry__text_opencl_cpu_conv[];
extern const char gantry__text_opencl_cpu_dots[];
extern const char gantry__text_opencl_cpu_rows[];
extern const char gantry__text_opencl_tensor_matmul[];

#endif
