"""Elementwise ops beyond the first ones of golden_elementwise.py: one line each says reference, types and bound."""
import numpy as np

from golden_case import F32, FLOATING, FLOATS, VALUE, Recorder, random_values
from golden_elementwise import denormals, specials
from golden_shapes import EMPTY_SHAPES, SHAPES, text
from golden_types import further_unary, through_float32


def large(values):
    """Those whose products are not denormal: TensorFlow flushes such results."""
    return values[np.abs(values) != np.finfo(values.dtype).tiny]


def leaky_relu():
    def reference(inputs, attrs):
        x, alpha = inputs[0], np.float32(attrs.get("alpha", 0.2))
        slope = np.asarray(alpha).astype(x.dtype)   # rounded to the type first
        return through_float32(lambda x, y: np.where(x > 0, x, x * y))(x, slope)
    r = Recorder("LeakyRelu", reference=reference)
    for dtype in FLOATS:
        for alpha in (0.2, 0.0, -1.5, 3.0):
            r.add(f"{dtype.name}_special_values_alpha_{alpha}", [large(specials(dtype))], {"alpha": alpha}, tolerance=VALUE)
        r.add(f"{dtype.name}_denormals", [denormals(dtype)], numpy_only=True)
        for n in (1, 17, 1000):
            r.add(f"{dtype.name}_size_{n}", [random_values(dtype, (n,), "LeakyRelu")[:33]], {"alpha": 0.3})
        for shape in (SHAPES[:4] + SHAPES[-1:] + EMPTY_SHAPES[:2] if dtype == F32 else ()):
            r.add(f"{dtype.name}_shape_{text(shape)}", [random_values(dtype, shape, "LeakyRelu")])
    further_unary(r, "LeakyRelu", lambda x: x * x.dtype.type(0.25), FLOATING, VALUE, {"alpha": 0.25})
    return r


def build():
    return {"LeakyRelu": leaky_relu}
