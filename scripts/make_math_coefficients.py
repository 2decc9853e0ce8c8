#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make the constants of the files math_*.cl in kernels/math.

Every polynomial is the minimax fit (Remez's exchange on a fine grid) of the function named beside it, under a weight
that turns the fit's error into relative error of the final result. Coefficients are rounded to the target format one
at a time; after each rounding the remaining ones are fitted again, so that they compensate the rounding. The lowest power goes first,
but the highest when 0 lies inside the range: the other order would leave functions that all vanish at 0, and their
best fit need not alternate. Needs only mpmath.

    make_math_coefficients.py            write the constants between the markers of each file
    make_math_coefficients.py --check    change nothing; exit 1 when a file does not hold these constants
    make_math_coefficients.py --print    show each polynomial's error
"""
import argparse
import pathlib
import sys

from mpmath import mp, mpf, asin, atan, atanh, cos, exp, floor, lu_solve, log, matrix, pi, sin, sinh, sqrt, tan, tanh

mp.prec = 200

KERNELS = pathlib.Path(__file__).resolve().parent.parent / "kernels" / "math"
BEGIN = "/* constants: made by scripts/make_math_coefficients.py */"
END = "/* constants end */"


class Format:
    """A binary floating-point format: how its numbers are rounded and spelled."""

    def __init__(self, bits, digits, suffix):
        self.bits, self.digits, self.suffix = bits, digits, suffix

    def round(self, value, bits=None):
        bits = bits or self.bits
        if value == 0:
            return mpf(0)
        with mp.workprec(bits):
            return +value

    def spell(self, value):
        text = mp.nstr(value, self.digits, min_fixed=0, max_fixed=0, strip_zeros=False)
        mantissa, _, exponent = text.partition("e")
        return f"{mantissa}e{int(exponent or 0)}{self.suffix}"


FLOAT = Format(24, 9, "f")
DOUBLE = Format(53, 17, "")


def extrema_of(errors):
    """Indices of the largest |error| of each run of equal sign: the error curve's alternation."""
    best = []
    for index, error in enumerate(errors):
        if best and (errors[best[-1]] >= 0) == (error >= 0):
            if abs(error) > abs(errors[best[-1]]):
                best[-1] = index
        else:
            best.append(index)
    return best


def remez(target, weight, low, high, powers):
    """Coefficients of the powers with the least max |weight (target - sum c_i x^i)| over [low, high]; that maximum."""
    size = len(powers)
    count = 40 * (size + 1)
    grid = [(low + high) / 2 - (high - low) / 2 * cos(pi * i / count) for i in range(count + 1)]
    wanted = [target(x) for x in grid]
    weights = [weight(x) for x in grid]
    rows = [[x**p for p in powers] for x in grid]
    reference = [int((i + 0.5) * count / (size + 1)) for i in range(size + 1)]
    best = None
    for _ in range(30):
        system, right = matrix(size + 1), matrix(size + 1, 1)
        for row, index in enumerate(reference):
            for column in range(size):
                system[row, column] = rows[index][column]
            system[row, size] = (-1) ** row / weights[index]
            right[row] = wanted[index]
        solution = lu_solve(system, right)
        errors = [weights[i] * (wanted[i] - sum(rows[i][c] * solution[c] for c in range(size)))
                  for i in range(count + 1)]
        worst = max(abs(e) for e in errors)
        if best is None or worst < best[1]:
            best = [solution[c] for c in range(size)], worst
        found = extrema_of(errors)
        while len(found) > size + 1:
            found.pop(0 if abs(errors[found[0]]) < abs(errors[found[-1]]) else -1)
        if len(found) < size + 1 or found == reference:
            break
        reference = found
    return best


def fit(target, weight, low, high, size, form):
    """Minimax polynomial of `size` coefficients in the format's numbers, and the largest weighted error."""
    fixed = {}
    free = list(range(size))
    while free:

        def rest(x):
            return target(x) - sum(c * x**i for i, c in fixed.items())

        found, _ = remez(rest, weight, low, high, free)
        index = 0 if low > 0 else -1
        fixed[free.pop(index)] = form.round(found[index])
    coefficients = [fixed[power] for power in range(size)]
    points = [low + (high - low) * (i + mpf(1) / 2) / 1000 for i in range(1000)]
    error = max(abs(weight(x) * (target(x) - sum(c * x**i for i, c in enumerate(coefficients)))) for x in points)
    return coefficients, error


def even(function):
    """f of x^2 from f of x."""
    return lambda u: function(sqrt(u))


# The functions fitted. Each is the tail left when the leading terms, which are exact, are taken out. None of them can
# be evaluated at 0, its removable singularity: ranges from 0 start at TINY, and off_zero moves a point away.
def exp_tail(r):
    return (exp(r) - 1 - r) / r**2


def log_tail(f):
    return (log(1 + f) - f + f**2 / 2) / f**3


def sin_tail(x):
    return (sin(x) - x) / x**3


def cos_tail(x):
    return (cos(x) - 1 + x**2 / 2) / x**4


def atanh_tail(s):
    """log((1 + s) / (1 - s)) = 2 s + s * tail * s^2."""
    return (log((1 + s) / (1 - s)) - 2 * s) / s**3


def odd_tail(function, start):
    """(f(x) - x) / x^3 - start of an odd function that begins with x."""
    return lambda x: (function(x) - x) / x**3 - mpf(start)


def off_zero(function):
    return lambda x: function(x if abs(x) > TINY else TINY)


TINY = mpf(2) ** -40
HALF_LN2 = log(mpf(2)) / 2 * (1 + mpf(2) ** -8)
FAR_LEAD = 15  # zeros before 2 / pi, which gantry__reduce_far_f32 requires
SPAN = [sqrt(mpf(1) / 2) - 1, sqrt(mpf(2)) - 1]


def exp_fit(size, form):
    return fit(off_zero(exp_tail), off_zero(lambda r: r**2 / exp(r)), -HALF_LN2, HALF_LN2, size, form)


def log_fit(size, form):
    return fit(off_zero(log_tail), off_zero(lambda f: f**3 / log(1 + f)), SPAN[0], SPAN[1], size, form)


def atanh_fit(size, form):
    top = SPAN[1] / (2 + SPAN[1])
    return fit(even(atanh_tail), lambda u: u, TINY, top**2, size, form)


def odd_fit(function, limit, size, form, start=0):
    """f(x) = x + x^3 (start + P(x^2)) for |x| <= limit."""
    limit = mpf(limit) * (1 + TINY)
    return fit(even(odd_tail(function, start)), even(lambda x: x**3 / function(x)), TINY, limit**2, size, form)


def sin_fit(size, form):
    return fit(even(sin_tail), even(lambda x: x**3 / sin(x)), TINY, (pi / 4 * (1 + TINY))**2, size, form)


def cos_fit(size, form):
    return fit(even(cos_tail), even(lambda x: x**4 / cos(x)), TINY, (pi / 4 * (1 + TINY))**2, size, form)


def split(value, form, *widths):
    """value as a sum of numbers of the given widths in bits, highest first, the last one of the format's full width."""
    parts = []
    for width in widths:
        parts.append(form.round(value, width))
        value -= parts[-1]
    parts.append(form.round(value))
    return parts


class Block:
    """The text of one file's constants."""

    def __init__(self, form, tag):
        self.form, self.tag, self.lines, self.report = form, tag, [BEGIN], []

    def constant(self, name, value):
        self.lines.append(f"#define GANTRY_{name}_{self.tag} {self.form.spell(value)}")

    def parts(self, names, value, *widths):
        """The constant as a sum, see split; a name for each part, separated by blanks."""
        for name, part in zip(names.split(), split(value, self.form, *widths)):
            self.constant(name, part)

    def words(self, name, value, lead, count):
        """The first bits of 0 < value < 1, after `lead` zeros, as 32-bit integers."""
        for index in range(count):
            word = int(floor(value * mpf(2) ** (32 * (index + 1) - lead))) % 2**32
            self.lines.append(f"#define GANTRY_{name}_WORD_{index} 0x{word:08x}u")

    def polynomial(self, name, fitted):
        coefficients, error = fitted
        for index, value in enumerate(coefficients):
            self.constant(f"{name}_{index}", value)
        self.report.append(f"{self.tag} {name}: {len(coefficients)} coefficients, 2^{mp.nstr(log(error, 2), 4)}")

    def append(self, other):
        """Puts the constants of another format after these."""
        self.lines += other.lines[1:]
        self.report += other.report

    def text(self):
        return "\n".join(self.lines + [END])


def float32_block():
    block = Block(FLOAT, "F32")
    block.constant("LOG2E", FLOAT.round(1 / log(mpf(2))))
    block.parts("LN2_HI LN2_LO", log(mpf(2)), 16)
    block.constant("LN2", FLOAT.round(log(mpf(2))))
    block.constant("TWO_OVER_PI", FLOAT.round(2 / pi))
    block.parts("PIO2_HI PIO2_MID PIO2_LO", pi / 2, 24, 14)
    block.polynomial("EXP", exp_fit(5, FLOAT))
    block.polynomial("LOG", log_fit(9, FLOAT))
    block.polynomial("TANH", odd_fit(tanh, "0.55", 5, FLOAT))
    block.polynomial("SIN", sin_fit(3, FLOAT))
    block.polynomial("COS", cos_fit(3, FLOAT))
    return block


def trig_block():
    block = Block(FLOAT, "F32")
    block.parts("HALF_PI HALF_PI_LOW", pi / 2, 24)
    with mp.workprec(320):
        block.words("TWO_OVER_PI", 2 / pi, FAR_LEAD, 7)
    block.polynomial("TAN", odd_fit(tan, pi / 4, 7, FLOAT, "0.5"))
    block.polynomial("ASIN", odd_fit(asin, "0.5", 5, FLOAT))
    block.polynomial("ATAN", odd_fit(atan, 1, 9, FLOAT, "-0.25"))
    return block


def hyperbolic_block():
    block = Block(FLOAT, "F32")
    block.polynomial("SINH", odd_fit(sinh, 1, 4, FLOAT))
    block.polynomial("ATANH", odd_fit(atanh, "0.5", 6, FLOAT))
    return block


def float64_block():
    block = Block(DOUBLE, "F64")
    block.constant("LOG2E", DOUBLE.round(1 / log(mpf(2))))
    block.parts("LN2_HI LN2_LO", log(mpf(2)), 53)
    block.constant("TWO_OVER_PI", DOUBLE.round(2 / pi))
    block.parts("PIO2_HI PIO2_MID PIO2_LO", pi / 2, 53, 33)
    block.polynomial("EXP", exp_fit(11, DOUBLE))
    block.polynomial("LOG", atanh_fit(7, DOUBLE))
    block.polynomial("SIN", sin_fit(6, DOUBLE))
    block.polynomial("COS", cos_fit(6, DOUBLE))
    return block


FILES = (
    ("math_float32.cl", float32_block),
    ("math_float32_trig.cl", trig_block),
    ("math_float32_hyperbolic.cl", hyperbolic_block),
    ("math_float64.cl", float64_block),
)


def main(description, files, begin=BEGIN):
    """The main function of a coefficient script: writes the blocks of `files` to the kernels, between the line `begin` and END."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 on a difference")
    parser.add_argument("--print", action="store_true", help="show the constants and each polynomial's error")
    arguments = parser.parse_args()
    stale = 0
    for name, make in files:
        block = make()
        block.lines[0] = begin
        if arguments.print:
            print(block.text(), *block.report, sep="\n")
            continue
        path = KERNELS / name
        old = path.read_text()
        new = old[: old.index(begin)] + block.text() + old[old.index(END) + len(END) :]
        if arguments.check and old != new:
            print(f"{path.name} does not hold the constants this script makes", file=sys.stderr)
            stale = 1
        elif old != new:
            path.write_text(new)
    return stale


if __name__ == "__main__":
    sys.exit(main(__doc__, FILES))
