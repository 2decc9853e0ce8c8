#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make the constants of kernels/math/math_float32_pair.cl, _special.cl, _gamma.cl and _activation.cl
and of math_float64_special.cl and math_erf.cl.

make_math_coefficients.py describes the fits and the options; this script does the same for functions without a closed
form. Constants kept as a sum of two floats end in _HIGH and _LOW. Needs only mpmath.

    make_math_coefficients_special.py            write the constants between the markers of the files
    make_math_coefficients_special.py --check    change nothing; exit 1 when a file does not hold these constants
    make_math_coefficients_special.py --print    show the constants and each polynomial's error
"""
import functools
import sys

from mpmath import mp, mpf, digamma, erf, erfc, erfinv, euler, exp, findroot, gamma, log, loggamma, pi, psi, sqrt, zeta

import make_math_coefficients as common
from make_math_coefficients import DOUBLE, FLOAT, TINY, Block, even, fit, off_zero, split

BEGIN = "/* constants: made by scripts/make_math_coefficients_special.py */"


def pair(block, name, value):
    """A constant as the sum of two numbers of the block's format."""
    block.parts(f"{name}_HIGH {name}_LOW", value, block.form.bits)


def polynomial_with_pairs(block, name, pairs, target, weight, low, high, size):
    """A minimax polynomial whose `pairs` lowest coefficients are pairs and the others floats."""
    fixed = {}
    for power in range(size - 1, pairs - 2, -1):

        def rest(x):
            return target(x) - sum(c * x**i for i, c in fixed.items())

        found, _ = common.remez(rest, weight, low, high, list(range(power + 1)))
        if power >= pairs:
            fixed[power] = FLOAT.round(found[power])
    fixed.update({power: sum(split(found[power], FLOAT, 24)) for power in range(pairs)})
    for power in range(pairs):
        pair(block, f"{name}_{power}", fixed[power])
    for power in range(pairs, size):
        block.constant(f"{name}_{power}", fixed[power])
    points = [low + (high - low) * (i + mpf(1) / 2) / 1000 for i in range(1000)]
    error = max(abs(weight(x) * (target(x) - sum(c * x**i for i, c in fixed.items()))) for x in points)
    block.report.append(f"{block.tag} {name}: {size} coefficients, 2^{mp.nstr(log(error, 2), 4)}")


def pair_block():
    """log((1 + s) / (1 - s)) = 2 s (1 + z / 3 + z^2 / 5 + z^3 P(z)), z = s^2."""
    block = Block(FLOAT, "F32")
    block.parts("PAIR_LN2_HIGH PAIR_LN2_MIDDLE PAIR_LN2_LOW", log(mpf(2)), 16, 16)
    pair(block, "THIRD", mpf(1) / 3)
    pair(block, "FIFTH", mpf(1) / 5)
    top = (common.SPAN[1] / (2 + common.SPAN[1])) ** 2

    def tail(z):
        s = sqrt(z)
        return (log((1 + s) / (1 - s)) / (2 * s) - 1 - z / 3 - z**2 / 5) / z**3

    block.polynomial("PAIR_LOG", fit(off_zero(tail), lambda z: z**3, TINY, top, 3, FLOAT))
    return block


def scaled_tail(shift, most, scaled):
    """The fit of scaled(z) (z + shift) - 1 as a function of z / (z + shift) - 1/2, for a scaled that ends at `most`."""

    def target(w):
        u = w + mpf(1) / 2
        z = shift * u / (1 - u)
        return scaled(z) * (z + shift) - 1

    return fit(target, lambda w: 1 / (1 + target(w)), -mpf(1) / 2, most / (most + shift) - mpf(1) / 2, 10, FLOAT)


# Chooses, among these shifts' neighbours in steps of 1/16, the shifts whose coefficients lose least by rounding.
ERFC_SHIFT, GELU_SHIFT = mpf("2.375"), mpf("4.1875")
ERF_NEAR = mpf("1.0625")


@functools.lru_cache(None)
def erfinv_over_x(w):
    """erfinv(x) / x as a function of w = -log(1 - x^2)."""
    x = sqrt(1 - exp(-w))
    return erfinv(x) / x


def erfinv_fits(block, near, near_size, far, far_size):
    """erfinv(x) / x less 0.875 for w <= near, around the middle; and less sqrt(w) for sqrt(w) from far[0] to far[1], around
    far[2]."""
    middle = near / 2
    block.polynomial("ERFINV", fit(lambda t: erfinv_over_x(t + middle) - mpf("0.875"), lambda t: 1 / erfinv_over_x(t + middle),
                                   TINY - middle, middle, near_size, block.form))
    low, high, around = far
    block.polynomial("ERFINV_FAR", fit(lambda t: erfinv_over_x((t + around) ** 2) - (t + around),
                                       lambda t: 1 / erfinv_over_x((t + around) ** 2), low - around, high - around, far_size,
                                       block.form))


def erf_block():
    block = Block(FLOAT, "F32")
    block.polynomial("ERF", fit(even(lambda x: erf(x) / x - 1), lambda u: 1, TINY, ERF_NEAR**2, 7, FLOAT))
    block.polynomial("ERF_FAR", fit(lambda t: sqrt(sqrt(erfc(1 + t))), lambda t: 4 * sqrt(sqrt(erfc(1 + t))) ** 3,
                                    ERF_NEAR - 1, mpf(3), 8, FLOAT))
    erfinv_fits(block, mpf(5), 10, (sqrt(mpf(5)), mpf(4), mpf(3)), 10)
    block.append(erf64_block())
    return block


def special_block():
    block = Block(FLOAT, "F32")
    block.constant("ERFC_SHIFT", ERFC_SHIFT)
    block.polynomial("ERFC", scaled_tail(ERFC_SHIFT, mpf("10.25"), lambda z: erfc(z) * exp(z * z)))
    return block


SELU_SCALE, SELU_ALPHA = mpf("1.0507009873554804934193349852946"), mpf("1.6732632423543772848170429916717")


def activation_block():
    block = Block(FLOAT, "F32")
    block.constant("GELU_SHIFT", GELU_SHIFT)
    block.polynomial("GELU", scaled_tail(GELU_SHIFT, mpf("14.5"),
                                         lambda a: erfc(a / sqrt(mpf(2))) * exp(a * a / 2) / 2))
    pair(block, "GELU_1", 2 * sqrt(2 / pi))
    pair(block, "GELU_3", 2 * sqrt(2 / pi) * mpf("0.044715"))
    block.constant("SELU_MORE", FLOAT.round(SELU_SCALE - 1))
    block.parts("SELU_ALPHA_HIGH SELU_ALPHA_LOW", SELU_SCALE * SELU_ALPHA, 12)
    return block


def stirling(x):
    return loggamma(x) - ((x - mpf(1) / 2) * (log(x) - 1) + (log(2 * pi) - 1) / 2)


def digamma_tail(x):
    return log(x) - 1 / (2 * x) - digamma(x)


def zero_row(block, name, order, root):
    """Around a negative zero of polygamma(order - 1), where order 0 stands for log |gamma|: its place as a pair, the
    range of the row, and the Taylor coefficients from the first power on."""
    pair(block, f"{name}_AT", root)
    block.constant(f"{name}_WIDTH", FLOAT.round(abs(root - mp.nint(root)) / 256))
    for power in range(1, 5):
        block.constant(f"{name}_{power}", FLOAT.round(psi(order + power - 1, root) / mp.factorial(power)))


# Near these places the general formulas are too inaccurate; tests/unit/math/exhaustive_math_float32.c shows this.
LGAMMA_ZEROS = ("-2.457", "-2.748", "-3.1436", "-3.9553", "-4.0394")
DIGAMMA_ZEROS = ("-0.504", "-1.573", "-2.611", "-3.635", "-4.653", "-5.667", "-6.678", "-66.796", "-95.808")


def digamma_at(root):
    return lambda d: digamma(root + d) / d if abs(d) > TINY else psi(1, root)


def gamma_block():
    block = Block(FLOAT, "F32")

    def at_two(t):
        return loggamma(2 + t) / t if abs(t) > TINY else 1 - euler

    polynomial_with_pairs(block, "GAMMA2", 2, at_two, lambda t: 1, mpf(-1), mpf("0.25"), 12)
    pair(block, "TWELFTH", mpf(1) / 12)
    limit = 1 / mpf("2.25") ** 2
    block.polynomial("STIRLING", fit(lambda w: (stirling(1 / sqrt(w)) / sqrt(w) - mpf(1) / 12) / w, lambda w: w * sqrt(w),
                                     mpf(2) ** -20, limit, 5, FLOAT))
    pair(block, "STIRLING_BASE", (log(2 * pi) - 1) / 2)
    # sin(pi t) / (pi t) = 1 + u (a + u (b + u P(u))), u = t^2, |t| <= 1/2
    pair(block, "SINC_1", -pi**2 / 6)
    pair(block, "SINC_2", pi**4 / 120)

    def sinc_tail(u):
        x = pi * sqrt(u)
        return (mp.sin(x) / x - 1 + u * pi**2 / 6 - u**2 * pi**4 / 120) / u**3

    block.polynomial("SINC", fit(off_zero(sinc_tail), lambda u: u**3, mpf(2) ** -10, mpf(1) / 4, 4, FLOAT))
    # pi cot(pi t) = 1 / t - t (a + u (b + u (c + u (d + u (e + u P(u))))))
    for index in range(5):
        pair(block, f"COT_HEAD_{index}", 2 * zeta(2 * index + 2))

    def cot_tail(u):
        t = sqrt(u)
        return ((1 / t - pi * mp.cot(pi * t)) / t - sum(2 * zeta(2 * i + 2) * u**i for i in range(5))) / u**5

    block.polynomial("COT", fit(cot_tail, lambda u: u**5, mpf(2) ** -10, mpf(1) / 4, 8, FLOAT))
    root = findroot(digamma, mpf("1.4616"))
    pair(block, "PSI_ROOT_LESS_1", root - 1)

    polynomial_with_pairs(block, "PSI", 1, digamma_at(root), lambda d: 1, 1 - root, 2 - root, 12)
    block.polynomial("PSI_FAR", fit(lambda w: (digamma_tail(1 / sqrt(w)) / w - mpf(1) / 12) / w, lambda w: w * w,
                                    mpf(2) ** -20, mpf(1) / 4, 9, FLOAT))
    for index, near in enumerate(LGAMMA_ZEROS):
        zero_row(block, f"LGAMMA_ZERO{index}", 0, findroot(lambda x: log(abs(gamma(x))), mpf(near)))
    for index, near in enumerate(DIGAMMA_ZEROS):
        zero_row(block, f"DIGAMMA_ZERO{index}", 1, findroot(digamma, mpf(near)))
    return block


def special64_block():
    block = Block(DOUBLE, "F64")
    pair(block, "SQRT_HALF", sqrt(mpf(1) / 2))
    pair(block, "GELU_1", 2 * sqrt(2 / pi))
    pair(block, "GELU_3", 2 * sqrt(2 / pi) * mpf("0.044715"))
    block.constant("TWO_OVER_ROOT_PI", DOUBLE.round(2 / sqrt(pi)))
    block.constant("SELU_SCALE", DOUBLE.round(SELU_SCALE))
    block.constant("SELU_ALPHA", DOUBLE.round(SELU_SCALE * SELU_ALPHA))
    block.constant("PI", DOUBLE.round(pi))
    root = findroot(digamma, mpf("1.4616"))
    pair(block, "PSI_ROOT_LESS_1", root - 1)
    block.polynomial("PSI", fit(digamma_at(root), lambda d: 1, 1 - root, 2 - root, 22, DOUBLE))
    block.polynomial("PSI_FAR", fit(lambda w: digamma_tail(1 / sqrt(w)) / w, lambda w: w, mpf(2) ** -20, mpf(1) / 36, 8,
                                    DOUBLE))
    return block


def erf64_block():
    block = Block(DOUBLE, "F64")
    block.polynomial("ERF", fit(even(lambda x: erf(x) / x - 1), lambda u: 1, TINY, mpf(1), 12, DOUBLE))
    # The errors' share of erf: the error of 2^P is as large as erfc.
    block.polynomial("ERFC_LOG2", fit(lambda t: log(erfc(1 + t), 2), lambda t: erfc(1 + t) * log(mpf(2)), TINY, mpf(5),
                                      18, DOUBLE))
    half = (1 + TINY) / 2
    block.polynomial("EXP2", fit(off_zero(lambda f: (mpf(2) ** f - 1) / f), off_zero(lambda f: abs(f) / mpf(2) ** f),
                                 -half, half, 11, DOUBLE))
    erfinv_fits(block, mpf("6.25"), 25, (mpf("2.5"), mpf("6.0625"), mpf("4.25")), 30)
    return block


FILES = (("math_float32_pair.cl", pair_block), ("math_float32_special.cl", special_block),
         ("math_float32_activation.cl", activation_block), ("math_float32_gamma.cl", gamma_block),
         ("math_float64_special.cl", special64_block), ("math_erf.cl", erf_block))


if __name__ == "__main__":
    sys.exit(common.main(__doc__, FILES, BEGIN))
