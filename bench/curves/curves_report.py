# SPDX-License-Identifier: Apache-2.0
"""What the curves say: tables, and where a rate falls off.

Findings in the medians of one device and one number of threads:
    cliff       a rate below half of both its neighbours': not allowed
    valley      wider than one size: below half of the best rate at smaller sizes and of the best at larger ones
    detour      a larger size that takes less than 0.7 of the time
    step down   a rate below half of the size before, which stays low
and across numbers of threads:
    slower      a rate with more threads below 0.8 of that with fewer
"""

import datetime
import json
import os
import platform

PER_UNIT = 1e9  # of GB, GFLOP and Gel
CLIFF = 0.5
DETOUR = 0.7
SLOWER = 0.8
KINDS = ("cliff", "valley", "detour", "slower", "step down")


class Busy:
    """Processor seconds of the machine and of this process's children, from now on."""

    def __init__(self):
        self.machine, self.own, self.wall = machine_seconds(), own_seconds(), os.times().elapsed

    def others_share(self, cores):
        wall = os.times().elapsed - self.wall
        spent = machine_seconds() - self.machine - (own_seconds() - self.own)
        return round(max(0.0, spent / (wall * cores)), 3)


def machine_seconds():
    try:
        with open("/proc/stat") as file:
            fields = [int(f) for f in file.readline().split()[1:9]]
        return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return 0.0


def own_seconds():
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def hardware():
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


def head(started, busy, rounds):
    cores = os.cpu_count()
    return {
        "started": f"{started:%Y-%m-%d %H:%M} UTC",
        "ended": f"{datetime.datetime.now(datetime.timezone.utc):%H:%M} UTC",
        "hardware": hardware(),
        "cores": cores,
        "system": f"{platform.system()} {platform.release()}",
        "rounds": rounds,
        "share_of_other_processes": busy.others_share(cores),
    }


def write_json(found, file):
    """a line for each point"""
    points = ",\n".join(json.dumps(p) for p in found["points"])
    rest = json.dumps({key: found[key] for key in ("head", "cases")}, indent=1)
    file.write(f'{rest[:-2]},\n "points": [\n{points}\n]}}\n')


def fastest(rounds):
    """Of the points that were measured more than once, those with the least median, in the order of their first."""
    found = {}
    for point in (p for points in rounds for p in points):
        key = tuple(point[name] for name in ("device", "threads", "case", "bytes"))
        if key not in found or point["median_s"] < found[key]["median_s"]:
            found[key] = point
    return list(found.values())


def rate(point):
    return point["work"] / point["median_s"] / PER_UNIT


def curves_of(found, case):
    """{(device, threads): points in the order of size}"""
    curves = {}
    for point in found["points"]:
        if point["case"] == case:
            curves.setdefault((point["device"], point["threads"]), []).append(point)
    return {key: sorted(points, key=lambda p: p["bytes"]) for key, points in curves.items()}


def size(count):
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:g} {unit}"
        count /= 1024
    return f"{count:g} GiB"


# ---- findings ----


def cliffs(points):
    rates = [rate(p) for p in points]
    return [i for i in range(1, len(rates) - 1) if rates[i] < CLIFF * min(rates[i - 1], rates[i + 1])]


def valleys(points):
    rates = [rate(p) for p in points]
    found = [i for i in range(1, len(rates) - 1) if rates[i] < CLIFF * min(max(rates[:i]), max(rates[i + 1 :]))]
    return [i for i in found if i not in cliffs(points)]


def detours(points):
    times = [p["median_s"] for p in points]
    return [i for i in range(len(times) - 1) if times[i + 1] < DETOUR * times[i]]


def steps_down(points):
    rates = [rate(p) for p in points]
    found = [i for i in range(1, len(rates)) if rates[i] < CLIFF * rates[i - 1]]
    return [i for i in found if i not in cliffs(points) and i not in valleys(points)]


def findings(found):
    """[(what, case, device, threads, text)], cliffs first"""
    lines = []
    for case in found["cases"]:
        curves = curves_of(found, case["case"])
        for (device, threads), points in curves.items():
            for what, places in (("cliff", cliffs), ("valley", valleys), ("detour", detours), ("step down", steps_down)):
                for i in places(points):
                    near = points[max(0, i - 1) : i + 2]
                    text = ", ".join(f"{size(p['bytes'])}: {rate(p):.3g}" for p in near) + f" {case['unit']}"
                    lines.append((what, case["case"], device, threads, text))
        lines += slower_with_threads(case, curves)
    return sorted(lines, key=lambda line: KINDS.index(line[0]))


def slower_with_threads(case, curves):
    lines = []
    for device, threads in curves:
        fewer = [n for d, n in curves if d == device and n < threads]
        if not fewer:
            continue
        before = {p["bytes"]: rate(p) for p in curves[device, max(fewer)]}
        for p in curves[device, threads]:
            if p["bytes"] in before and rate(p) < SLOWER * before[p["bytes"]]:
                text = f"{size(p['bytes'])}: {rate(p):.3g} {case['unit']}, {before[p['bytes']]:.3g} with {max(fewer)}"
                lines.append(("slower", case["case"], device, threads, text))
    return lines


def summary(found):
    lines = findings(found)
    counts = {what: sum(1 for line in lines if line[0] == what) for what in KINDS}
    text = [f"{w}: {c} on {d} x {n}: {t}" for w, c, d, n, t in lines if w in ("cliff", "valley")]
    return "\n".join(text + ["; ".join(f"{count} of {what}" for what, count in counts.items())])


# ---- tables ----


def table(case, curves):
    """sizes down, devices and threads across"""
    keys = sorted(curves)
    sizes = sorted({p["bytes"] for points in curves.values() for p in points})
    marked = {(key, curves[key][i]["bytes"]) for key in keys for i in cliffs(curves[key]) + valleys(curves[key])}
    rates = {(key, p["bytes"]): rate(p) for key in keys for p in curves[key]}
    lines = ["| inputs | " + " | ".join(f"{device} x {threads}" for device, threads in keys) + " |"]
    lines.append("|---" + "|---:" * len(keys) + "|")
    for count in sizes:
        cells = (f"{rates[key, count]:.3g}{' !' if (key, count) in marked else ''}" if (key, count) in rates else "" for key in keys)
        lines.append(f"| {size(count)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def tables(found, pictures):
    about = found["head"]
    share = about["share_of_other_processes"]
    text = [
        "# Rates over size and threads",
        "",
        "Made by `bench/curves/run`; its README says how. Columns are device x threads; `!` marks a cliff or valley.",
        "",
        f"{about['hardware']}, {about['cores']} cores, {about['system']}; {about['started']} to {about['ended']};",
        f"rounds: {about['rounds']}; "
        f"other processes had {share:.0%} of the cores{': BUSY, not to be relied on' if share > 0.1 else ''}.",
    ]
    lines = findings(found)
    text += ["", "## Findings", ""] + [f"- {w}: {c} on {d} x {n}: {t}" for w, c, d, n, t in lines]
    text += ["- none"] if not lines else []
    for case in found["cases"]:
        curves = curves_of(found, case["case"])
        if not curves:
            continue
        text += ["", f"## {case['case']}", "", f"{case['what']}; {case['unit']}", ""]
        text += [f"![{case['case']}]({pictures[case['case']]})", "", table(case, curves)]
    return "\n".join(text) + "\n"
