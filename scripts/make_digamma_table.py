#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Print tests/unit/support/digamma_table.inc: digamma of some float32 by mpmath, to check the tests' own routine.

Needs only mpmath: make_digamma_table.py > tests/unit/support/digamma_table.inc
"""
from mpmath import mp, mpf, digamma, findroot, floor, frexp, ldexp, nstr

mp.prec = 200


def float32(value):
    with mp.workprec(24):
        return +mpf(value)


def spell(value):
    """An exact hexadecimal constant of C."""
    mantissa, exponent = frexp(abs(value))
    return f"{'-' if value < 0 else ''}0x{int(ldexp(mantissa, 24)):x}p{int(exponent) - 24}f"


def inputs():
    for text in ("2e-38", "1e-30", "1e-3", "0.25", "0.7", "1", "1.25", "2", "3.7", "9", "12", "23.9", "24", "100", "1e6",
                 "1e20", "3e38"):
        yield float32(text)
        if mpf(text) < 1:
            yield float32("-" + text)
    root = float32(findroot(digamma, mpf("1.46")))
    for step in (-1000, -1, 0, 1, 1000):
        yield root + ldexp(step, -23)
    for below in (1, 2, 3, 4, 5, 6, 8, 11, 17, 40, 300, 5000, 100000):
        pole = mpf(-below)
        zero = findroot(digamma, (pole + mpf("0.01"), pole + mpf("0.99")), solver="anderson", tol=1e-40)
        yield float32(zero)
        yield float32(zero + mpf("0.01"))
        yield float32(pole + mpf(2) ** -5)


print("/* SPDX-License-Identifier: Apache-2.0 */")
print("/* Made by scripts/make_digamma_table.py: {x, digamma(x)}. */")
for x in inputs():
    print(f"{{{spell(x)}, {nstr(digamma(x), 25, min_fixed=0, max_fixed=0)}L}},")
