/* SPDX-License-Identifier: Apache-2.0 */
/* The links of chains: what a chain does to the value that it carries in registers
 * (fused_cpu_chain.c). Links with an operand have two codes, for an operand that is a block, and
 * for one that is a single element.
 *
 *     TWO(name, x, y, expression)    x: the carried value, y: the operand
 *     ONE(name, x, expression)
 *
 * Expressions are over vectors of float32 (fused_cpu_chain_simd.c), and must give the bits of the
 * rows of ops/elementwise.def. This file has no guard: it is included once per list that is made
 * from it. Owner: nothing. Threads: thread-safe. */
#ifdef TWO
TWO(add, x, y, x + y)
TWO(mul, x, y, (x * y))
TWO(sub, x, y, x - y)
TWO(sub_from, x, y, y - x)
TWO(div, x, y, x / y)
TWO(div_of, x, y, y / x)
TWO(maximum, x, y, chain_larger(x, y))
TWO(maximum_of, x, y, chain_larger(y, x))
TWO(minimum, x, y, chain_smaller(x, y))
TWO(minimum_of, x, y, chain_smaller(y, x))
TWO(difference, x, y, (x - y) * (x - y))
#endif
#ifdef ONE
ONE(neg, x, -x)
ONE(abs, x, chain_masked(x, (mask_t){0} + INT32_MAX))
ONE(square, x, (x * x))
ONE(relu, x, chain_masked(x, ~(x < 0.0f)))
#endif
