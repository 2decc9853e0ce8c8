#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Promise (bench_curves): The curves of the bench run with small sizes, and find the known patterns in made-up rates.

The findings in rates that are made up, then a quick run of everything: test_curves.py BUILD. Asserts no time."""

import json
import os
import subprocess
import sys
import tempfile
import xml.dom.minidom

sys.dont_write_bytecode = True
import curves_report as report

HERE = os.path.dirname(os.path.abspath(__file__))


def points(rates, device="cpu:0", threads=1):
    sizes = [16 * 4**i for i in range(len(rates))]
    return [
        {"device": device, "threads": threads, "case": "add", "bytes": b, "work": r * 1e9, "median_s": 1.0}
        for b, r in zip(sizes, rates)
    ]


def check(is_so, what):
    if not is_so:
        sys.exit(f"wrong: {what}")


def check_findings():
    check(report.cliffs(points([1, 4, 1.9, 4, 5])) == [2], "a rate below half of both neighbours is a cliff")
    check(report.cliffs(points([1, 4, 2.1, 4, 5])) == [], "one above half is none")
    check(report.cliffs(points([1, 4, 1.9, 2, 1])) == [], "a fall that stays is none")
    slow, fast = points([1, 4]), [{**p, "median_s": 0.5} for p in points([1])]
    check(report.fastest([slow, fast]) == [fast[0], slow[1]] == report.fastest([fast, slow]), "of a point's rounds the fastest counts")
    check(report.cliffs(points([5, 1, 2])) == [] and report.cliffs(points([2, 1])) == [], "ends have one neighbour")
    check(report.valleys(points([1, 8, 1, 1, 8])) == [2, 3], "two low sizes are a valley")
    check(report.valleys(points([1, 8, 1, 8, 8])) == [], "a cliff is no valley")
    check(report.steps_down(points([1, 8, 3, 3])) == [2], "a fall that stays is a step down")
    times = points([1, 1, 1])
    times[0]["median_s"], times[1]["median_s"] = 1.0, 0.6
    check(report.detours(times) == [0], "a larger size in less time is a detour")
    found = {"cases": [{"case": "add", "unit": "GB/s", "what": ""}], "points": points([1, 2, 4]) + points([1, 1, 4], threads=2)}
    lines = report.findings(found)
    check([line[:4] for line in lines] == [("slower", "add", "cpu:0", 2)], f"more threads that are slower: {lines}")
    check(report.size(16) == "16 B" and report.size(1 << 30) == "1 GiB" and report.size(1536) == "1.5 KiB", "sizes")


def check_quick_run(build):
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, os.path.join(HERE, "run"), "--build", build, "--quick", "--out", folder]
        subprocess.run(command, check=True)
        with open(os.path.join(folder, "curves.json")) as file:
            found = json.load(file)
        cases = {case["case"] for case in found["cases"]}
        check({p["case"] for p in found["points"]} == cases, "every case has points")
        for case in cases:
            xml.dom.minidom.parse(os.path.join(folder, f"{case}.svg"))
            for curve in report.curves_of(found, case).values():
                check(len(curve) >= 2 and all(report.rate(p) > 0 for p in curve), f"{case} has a curve")
        with open(os.path.join(folder, "README.md")) as file:
            text = file.read()
        check(all(f"## {case}" in text for case in cases), "every case has a table")
        subprocess.run([*command[:2], "--draw", os.path.join(folder, "curves.json")], check=True)


if __name__ == "__main__":
    check_findings()
    check_quick_run(sys.argv[1])
