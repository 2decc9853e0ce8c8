/* SPDX-License-Identifier: Apache-2.0 */
/* POSIX's lgamma_r, which MinGW has under the name of C's implementations. kernels/common/dialect.cl
 * declares it. */
extern double __lgamma_r(double x, int *out_sign);
double lgamma_r(double x, int *out_sign);

double lgamma_r(double x, int *out_sign) { return __lgamma_r(x, out_sign); }
