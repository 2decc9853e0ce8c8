# SPDX-License-Identifier: Apache-2.0
"""From times to figures, ratios, a table and JSON."""

import datetime
import json
import math
import os
import platform
import statistics

GANTRY = ("gantry_cpu", "gantry_gpu")
OURS = (*GANTRY, "onnxruntime_gantry")
WORST = 10
FIRST_RUN = ("load", "first", "load_mib", "first_mib")


NETWORKS = ("mlp_", "text_classifier_", "digits_cnn_", "transformer_", "residual_50_", "decoder_12_")


def is_network(case):
    return case.startswith(NETWORKS)


def last_line(text):
    return (text.strip().splitlines() or ["it says nothing"])[-1]


def figure(case, seconds):
    """in the case's unit"""
    if case["unit"] == "us":
        return seconds * 1e6
    return case["amount"] / seconds * (1 if case["unit"] == "samples/s" else 1e-9)


def distance(results, others):
    """the largest difference, as a part of the largest value; infinity where one is no number or shapes differ"""
    parts = [0.0]
    for own, other in zip(results, others, strict=True):
        scale = max(map(abs, own + other), default=0.0) or 1.0
        parts += [abs(a - b) / scale for a, b in zip(own, other)] + [math.inf] * (len(own) != len(other))
    return math.inf if any(part != part for part in parts) else max(parts)


class Row:
    """One case: the seconds of a call, for each peer one number a round."""

    def __init__(self, case):
        self.case, self.rounds, self.best, self.reasons, self.ulp, self.ways, self.peaks = case, {}, {}, {}, {}, {}, {}
        self.samples = {}  # of results that are compared among the peers
        self.first_runs = {}  # of a model, for each peer what each process found

    def add(self, peer, times):
        self.rounds.setdefault(peer, []).append(statistics.median(times))
        self.best[peer] = min(self.best.get(peer, times[0]), *times)

    def leave_out_strangers(self):
        """each peer whose results are near to those of no other"""
        allowed, samples = self.case["among"], {p: s for p, s in self.samples.items() if s}
        for peer in samples if len(samples) > 1 else ():
            off = min(distance(samples[peer], samples[other]) for other in samples if other != peer)
            if not off <= allowed:
                self.reasons[peer] = f"wrong result: off by {off:.3g} of the largest from the nearest other peer, where {allowed:g} is allowed"

    def median(self, peer):
        return statistics.median(self.rounds[peer])

    def fastest_peer(self):
        return min((p for p in self.rounds if p not in OURS), key=self.median, default=None)

    def ratio(self, peer):
        """How many times as fast as the fastest other peer: the middle of the rounds' quotients."""
        fastest = self.fastest_peer()
        if fastest is None or peer not in self.rounds:
            return None
        return statistics.median(f / g for f, g in zip(self.rounds[fastest], self.rounds[peer]))

    def first_run(self, peer, what):
        return statistics.median(found[what] for found in self.first_runs[peer])

    def is_missed(self, peer):
        least = self.case["least"][GANTRY.index(peer)]
        return least is not None and self.ratio(peer) is not None and self.ratio(peer) < least

    def as_json(self):
        peers = {
            p: {
                "seconds": self.median(p),
                "best_seconds": self.best[p],
                "figure": figure(self.case, self.median(p)),
                **({"worst_ulp": self.ulp[p]} if self.ulp.get(p) is not None else {}),
                **({"way": self.ways[p]} if self.ways.get(p) else {}),
                **({what: self.first_run(p, what) for what in FIRST_RUN} if p in self.first_runs else {}),
                **({"peak_mib": round(self.peaks[p], 1)} if p in self.peaks else {}),
            }
            for p in self.rounds
        }
        ratios = {p: self.ratio(p) for p in GANTRY if self.ratio(p) is not None}
        missed = [p for p in GANTRY if self.is_missed(p)]
        return {
            **self.case,
            "missed": missed,
            "peers": peers,
            "fastest_peer": self.fastest_peer(),
            "ratios": ratios,
            "without": self.reasons,
        }


# ---- the machine ----


def processor():
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown processor"


def busy_seconds():
    """of all cores since the machine started"""
    try:
        with open("/proc/stat") as file:
            fields = [int(x) for x in file.readline().split()[1:]]
        return (sum(fields[:8]) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return 0.0


def head(threads, started):
    wall = (datetime.datetime.now(datetime.timezone.utc) - started).total_seconds()
    return {
        "date": started.strftime("%Y-%m-%d %H:%M UTC"),
        "processor": processor(),
        "cores": os.cpu_count(),
        "threads": threads,
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "wall_seconds": round(wall, 1),
    }


# ---- the table ----


def short(value):
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def medians(row):
    """a line for a run that is stopped before its table"""
    return ", ".join(f"{p} {short(figure(row.case, row.median(p)))} {row.case['unit']}" for p in row.rounds)


def print_table(rows, peers):
    widths = {p: max(9, len(p)) for p in peers}
    first = max([15, *(len(row.case["name"]) for row in rows)])
    print(f"\n{'case':{first}} {'unit':8}", *(f"{p:>{widths[p]}}" for p in peers), f" {'cpu x':>6}  {'gpu x':>6}  of")
    for row in rows:
        cells = [short(figure(row.case, row.median(p))) if p in row.rounds else "-" for p in peers]
        ratios = [
            f"{row.ratio(p):6.2f}{'!' if row.is_missed(p) else ' '}" if row.ratio(p) is not None else f"{'-':>6} "
            for p in GANTRY
        ]
        print(
            f"{row.case['name']:{first}} {row.case['unit']:8}",
            *(f"{c:>{widths[p]}}" for c, p in zip(cells, peers)),
            "",
            *ratios,
            row.fastest_peer() or "",
        )
    print(
        "\ncpu x, gpu x: how many times as fast as the fastest peer, which is named, Gantry is on /CPU:0 and on /GPU:0;"
        " !: below what is wanted"
    )


def print_ulp(rows, peers):
    rows = [row for row in rows if any(v is not None for v in row.ulp.values())]
    if not rows:
        return
    print("\nlargest error in ulp, against float64:")
    for row in rows:
        print(f"  {row.case['name']:13}", *(f"{p} {row.ulp[p]:.3g};" for p in peers if row.ulp.get(p) is not None))


def print_ways(rows):
    """of the cases in which a peer had several"""
    rows = [row for row in rows if any(row.ways.values())]
    if not rows:
        return
    print("\nthe fastest way of each:")
    for row in rows:
        print(f"  {row.case['name']}:", ", ".join(f"{p} {way}" for p, way in row.ways.items() if way))


def print_peaks(rows):
    rows = [row for row in rows if row.peaks]
    if not rows:
        return
    print("\nmost memory in training by that way, in MiB resident beyond the idle process:")
    for row in rows:
        print(f"  {row.case['name']}:", ", ".join(f"{p} {mib:.0f}" for p, mib in row.peaks.items()))


def print_models(rows):
    """Gantry's time and memory as parts of ONNX Runtime's, by the library and by the provider"""
    for peer in OURS:
        found = [row for row in rows if {peer, "onnxruntime"} <= row.first_runs.keys()]
        if found:
            print_models_of(peer, found)


def print_models_of(peer, rows):
    first = max(len(row.case["name"]) for row in rows)
    columns = ("run", "load", "first", "load MiB", "of", "first MiB", "of")
    print(f"\nmodels in {peer}, of ONNX Runtime's:\n{'':{first}}", *(f"{name:>9}" for name in columns))
    parts = {"run": [], "load": [], "first": []}
    for row in rows:
        ours, theirs = ({w: row.first_run(p, w) for w in FIRST_RUN} for p in (peer, "onnxruntime"))
        found = (1 / row.ratio(peer), ours["load"] / theirs["load"], ours["first"] / theirs["first"])
        for kept, part in zip(parts.values(), found):
            kept.append(part)
        mib = (side[what] for what in FIRST_RUN[2:] for side in (ours, theirs))
        print(f"{row.case['name']:{first}}", *(f"{part:9.2f}" for part in found), *(f"{size:9.1f}" for size in mib))
    for name, summary in (("geometric mean", statistics.geometric_mean), ("worst", max)):
        print(f"{name:{first}}", *(f"{summary(kept):9.2f}" for kept in parts.values()))
    print("load: a model or session is made; first: that and the first run; MiB: most resident beyond the idle process")


def print_worst(rows):
    ratios = sorted(
        (row.ratio(p), row.case["name"], p, row.fastest_peer())
        for row in rows
        for p in GANTRY
        if row.ratio(p) is not None
    )
    if not ratios:
        return
    count = max(min(WORST, len(ratios)), sum(row.is_missed(p) for row in rows for p in GANTRY))
    print(f"\nthe worst {count}:")
    for ratio, name, peer, fastest in ratios[:count]:
        print(f"  {ratio:8.2g}  {name:15} {peer}, beside {fastest}")


def print_reasons(rows):
    print("\ndashes:")
    together = {}
    for row in rows:
        for peer, reason in row.reasons.items():
            together.setdefault((peer, reason), []).append(row.case["name"])
    for (peer, reason), names in together.items():
        print(f"  {peer}: {reason} ({', '.join(names) if len(names) <= 6 else f'{len(names)} cases'})")


def print_starts(starts):
    if not starts:
        return
    print("\nfrom a process's start to the end of its first addition, through Python (numpy is Python and NumPy alone):")
    for peer, found in starts.items():
        seconds, mib = (statistics.median(values) for values in zip(*found))
        print(f"  {peer:12} {seconds:6.2f} s, {mib:5.0f} MiB resident")


def print_report(rows, about, versions, starts):
    peers = list(versions)
    print(f"{about['processor']}, {about['cores']} cores, {about['system']}")
    others = about["share_of_other_processes"]
    judgement = ": BUSY, the figures are no good" if others > 0.1 else ""
    print(f"{about['date']}; {about['threads']} threads each; other processes had {others:.0%} of the cores{judgement}")
    for name, version in versions.items():
        print(f"  {name}: {version}")
    print_table(rows, peers)
    print_ulp(rows, peers)
    print_ways(rows)
    print_peaks(rows)
    print_models(rows)
    print_worst(rows)
    print_starts(starts)
    print_reasons(rows)


def write_json(path, rows, about, versions, starts):
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, "w") as file:
        rows = [row.as_json() for row in rows]
        json.dump({**about, "versions": versions, "starts": starts, "rows": rows}, file, indent=1)
        file.write("\n")
