# SPDX-License-Identifier: Apache-2.0
"""Pictures of the curves as SVG, written by hand: rate over size, both logarithmic, a line for each device and number of threads."""

import math
import os

from curves_report import cliffs, curves_of, rate, size, valleys

WIDTH, HEIGHT = 760, 460
LEFT, RIGHT, TOP, BOTTOM = 78, 170, 44, 58  # the margins around the plot
COLOURS = {"cpu": ("#9ecae1", "#4292c6", "#08519c", "#08306b"), "opencl": ("#fdae6b", "#e6550d", "#a63603", "#7f2704")}
OTHER_COLOURS = ("#a1d99b", "#41ab5d", "#006d2c", "#00441b")
FONT = 'font-family="sans-serif" font-size="12"'


class Plot:
    """From bytes and rates to places in the picture."""

    def __init__(self, points):
        self.low_x = math.floor(math.log2(min(p["bytes"] for p in points)))
        self.high_x = max(self.low_x + 1, math.ceil(math.log2(max(p["bytes"] for p in points))))
        self.low_y = math.floor(math.log10(min(rate(p) for p in points)))
        self.high_y = max(self.low_y + 1, math.ceil(math.log10(max(rate(p) for p in points))))

    def x(self, count):
        share = (math.log2(count) - self.low_x) / (self.high_x - self.low_x)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(self, value):
        share = (math.log10(value) - self.low_y) / (self.high_y - self.low_y)
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)


def line(x1, y1, x2, y2, colour, width=1.0):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width}"/>'


def text(x, y, words, anchor="middle", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {FONT} fill="#222" {more}>{words}</text>'


def grid(plot, case):
    parts = []
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    every = 2 if plot.high_x - plot.low_x <= 14 else 4  # powers of two between labels
    for k in range(plot.low_x, plot.high_x + 1):
        if k % every == 0:
            parts.append(line(plot.x(2**k), TOP, plot.x(2**k), bottom, "#dddddd"))
            parts.append(text(plot.x(2**k), bottom + 17, size(2**k)))
    for k in range(plot.low_y, plot.high_y + 1):
        parts.append(line(LEFT, plot.y(10.0**k), right, plot.y(10.0**k), "#bbbbbb"))
        parts.append(text(LEFT - 7, plot.y(10.0**k) + 4, f"{10.0**k:g}", "end"))
        for digit in range(2, 10) if k < plot.high_y else ():
            parts.append(line(LEFT, plot.y(digit * 10.0**k), right, plot.y(digit * 10.0**k), "#eeeeee"))
    parts.append(f'<rect x="{LEFT}" y="{TOP}" width="{right - LEFT}" height="{bottom - TOP}" fill="none" stroke="#555"/>')
    parts.append(text((LEFT + right) / 2, HEIGHT - 16, "bytes of all inputs"))
    middle = (TOP + bottom) / 2
    parts.append(text(20, middle, case["unit"], more=f'transform="rotate(-90 20 {middle:.1f})"'))
    parts.append(text((LEFT + right) / 2, 24, f"{case['case']}: {case['what']}", more='font-weight="bold"'))
    return parts


def colour_of(device, place):
    return COLOURS.get(device.split(":")[0], OTHER_COLOURS)[min(place, 3)]


def curve(plot, points, colour):
    places = [(plot.x(p["bytes"]), plot.y(rate(p))) for p in points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    parts = [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>']
    parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
    for i in cliffs(points) + valleys(points):
        x, y = places[i]
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="9" fill="none" stroke="#d00000" stroke-width="2"/>')
    return parts


def legend(keys, colours, has_cliff):
    parts = []
    x, y = WIDTH - RIGHT + 14, TOP + 14
    for key in keys:
        parts += [line(x, y, x + 22, y, colours[key], 2), f'<circle cx="{x + 11}" cy="{y}" r="3" fill="{colours[key]}"/>']
        parts.append(text(x + 29, y + 4, f"{key[0]}, {key[1]} thread{'s' if key[1] > 1 else ''}", "start"))
        y += 20
    if has_cliff:
        parts.append(f'<circle cx="{x + 11}" cy="{y}" r="9" fill="none" stroke="#d00000" stroke-width="2"/>')
        parts.append(text(x + 29, y + 4, "cliff or valley", "start"))
    return parts


def picture(case, curves):
    plot = Plot([p for points in curves.values() for p in points])
    keys = sorted(curves)
    counts = {device: sorted(n for d, n in keys if d == device) for device, _ in keys}
    colours = {
        (device, n): colour_of(device, 4 - len(counts[device]) + counts[device].index(n) - (len(counts[device]) < 4))
        for device, n in keys
    }
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">']
    parts.append(f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>')
    parts += grid(plot, case)
    for key in keys:
        parts += curve(plot, curves[key], colours[key])
    parts += legend(keys, colours, any(cliffs(points) + valleys(points) for points in curves.values()))
    return "\n".join(parts + ["</svg>", ""])


def write_pictures(found, folder):
    """-> {case: file's name}"""
    names = {}
    for case in found["cases"]:
        curves = curves_of(found, case["case"])
        if not curves:
            continue
        names[case["case"]] = f"{case['case']}.svg"
        with open(os.path.join(folder, names[case["case"]]), "w") as file:
            file.write(picture(case, curves))
    return names
