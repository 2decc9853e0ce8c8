#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Promise: The pages and pictures of cards in bench/results are those that scripts/make-card-page makes of their tables.
# Promise: A report of scripts/check-gpu begins with a summary and a picture, and gives a reason for each figure below what
# is wanted; no table that it makes has an empty cell.
# Promise: The table of scripts/check-gpu --peers goes into the report of the same card and commit; another report, and one
# for which nothing was measured, stays as it is, with the reason.
#
# $1: sources, $2: a folder for files.
import json
import re
import shutil
import subprocess
import sys
import xml.dom.minidom
from pathlib import Path

SOURCES, WORK = Path(sys.argv[1]), Path(sys.argv[2])
GIVEN = SOURCES / "tests/scripts/card_page"
shutil.rmtree(WORK, ignore_errors=True)
WORK.mkdir(parents=True)


def make(*arguments, code=0):
    """-> what the script prints"""
    done = subprocess.run([sys.executable, "-B", SOURCES / "scripts/make-card-page", *arguments], capture_output=True, text=True)
    assert done.returncode == code, f"{arguments}: exit code {done.returncode}, not {code}: {done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def page_of(name):
    return Path(shutil.copy(GIVEN / f"{name}.page", WORK / f"{name}.md"))


def expect(text, *parts):
    at = 0
    for part in parts:
        assert part in text[at:], f'no "{part}" after character {at} of\n{text}'
        at = text.index(part, at)


def no_empty_cells(text):
    for line in text.splitlines():
        if line.startswith("|") and line != "| | |":
            assert not re.search(r"\|\s*-?\s*\|", line), f"a cell without a figure: {line}"


def peers(**changes):
    path = WORK / f"{'_'.join(changes)}.json"
    path.write_text(json.dumps({**json.loads((GIVEN / "peers.json").read_text()), **changes}))
    return path


# The pages of the tree, and that a difference is found.
pages = sorted(page for page in (SOURCES / "bench/results").glob("nvidia-*.md") if re.fullmatch(r"nvidia-[a-z0-9]+", page.stem))
assert len(pages) >= 2, f"only {len(pages)} pages of cards"
make("--check", *pages)
for page in pages:
    summary, wrong = page.read_text().split("\n## What is wrong\n")[0], re.findall(r"^- .*, wanted .*", page.read_text(), re.M)
    assert all(re.search(r" \d[\d.]* (ms|of \w.*), wanted \S.*\. Why: \S", line) for line in wrong) and len(wrong) > 9, wrong
    assert page.read_text().count("MISSED") <= len(wrong) and f"]({page.stem}.svg)" in summary
    no_empty_cells(summary)
other = Path(shutil.copy(pages[0], WORK))
other.write_text(other.read_text().replace("0.15", "0.16"))
assert "differs" in make("--check", other, code=1)

# A report, and the table of --peers in it.
page = page_of("first")
make(page)
first = page.read_text()
expect(first, "# NVIDIA Test 9", "## Summary", "2 steps passed, 1 failed, 2 were left out",
       "| an op, cuda:0 | 2 | cuLaunchKernel | 0.75 | 0.63 (add of 4 elements, in a row) | 0.90 (add of 4 elements, each waited for) |",
       "![Gantry's speed against others](first.svg)", "- card_stream: 18 of 18 figures are not measured: left out: not done",
       "- no run on this page has: PyTorch, JAX, TensorFlow, training of", "## What is wrong", "- **conformance on cuda:0**: FAILED",
       "- card_launch, add of 4 elements, in a row on cuda:0: 0.628 of cuLaunchKernel, wanted >= 0.833 x. Why: the host's time",
       "- card_start, beyond driver and cuBLASLt on cuda:0: 69.84 ms, wanted <= 50 ms. Why: ", "Not checked:", "## The card", "## Figures")
make("--peers", GIVEN / "peers.json", page)
merged = page.read_text()
assert merged == (GIVEN / "merged.page").read_text(), f"{page} is not tests/scripts/card_page/merged.page"
no_empty_cells(merged.split("## What is wrong")[0])
make("--check", page)
make("--peers", GIVEN / "peers.json", page)
assert page.read_text() == merged, "the same table twice makes another page"
image = (WORK / "first.svg").read_text()
xml.dom.minidom.parseString(image)
expect(image, "prefers-color-scheme: dark", "transformer, batch 16", "1.25", 'class="below"', "0.50")

# Not of this report: it stays as it is.
nothing = peers(rows=[], left_out={"jax": "ImportError: libcudart.so.13"})
for wanted, name in (("measured on card Other 8, and the page is of card NVIDIA Test 9", peers(card="Other 8")),
                     ("measured on commit ffff, and the page is of commit 0a1b2c3d", peers(commit="ffff")),
                     ("no case that Gantry and a framework ran", nothing), ("- JAX: ImportError: libcudart.so.13", nothing),
                     ("it cannot be read", WORK / "missing.json"), ("it cannot be read", GIVEN / "first.page")):
    assert wanted in make("--peers", name, page, code=3), wanted
    assert page.read_text() == merged and (WORK / "first.svg").read_text() == image, f"{wanted}: the page is another"
make("--peers", GIVEN / "peers.json", WORK / "missing.md", code=3)
assert not (WORK / "missing.md").exists()

# A page of the table only, of a run on a busy machine that was cut.
make("--peers", peers(share_of_other_processes=0.5), "--new", WORK / "new.md")
expect((WORK / "new.md").read_text(), "# NVIDIA Test 9, 2026-11-21", "Nothing was checked in this run.", "JAX; the machine was busy", "TensorFlow: ModuleNotFoundError",
       "## What is wrong", "bincount: 0.50 of PyTorch, wanted >= 0.9 x. Why: a sort of keys and 14 launches in that run", "the run's time was over before 2 cases: unique, softmax")

# An OpenCL card against the processor.
page = page_of("opencl")
make(page)
expect(page.read_text(), "| elementwise, opencl:0 | 2 | cpu:0 | 1.00 | 0.50 (exp) | 2.00 (a + b) |", "No step failed.")
assert "Below what is wanted" not in page.read_text()
# The tables that scripts/check-gpu makes of the bench's file; a figure that is missing has its step's reason.
script = (SOURCES / "scripts/check-gpu").read_text()
functions = "\n".join(re.search(rf"^{name}\(\) {{.*?^}}$", script, re.M | re.S)[0] for name in ("rows_table", "targets_table"))
(WORK / "steps").write_text("| bench: card_stream | left out: no time left |  |\n| bench: card_launch | passed | 3 |\n")
shutil.copy(GIVEN / "bench.json", WORK)
made = subprocess.run(["sh", "-c", f"WORK='{WORK}' VIEW=''\n{functions}\ntargets_table\nrows_table against_cpu"], capture_output=True, text=True, check=True).stdout
expect(made, "| card_launch | add of 4 elements, in a row | cuda:0 | 6.347 us | cuLaunchKernel | 0.628 | >= 0.833 x | MISSED |",
       "| card_start | beyond driver and cuBLASLt | cuda:0 | 49.84 ms | a fixed bound | none | <= 50 ms | reached |",
       "- card_launch: 2 of 3 figures are not measured: the bench left them out", "- card_stream: 18 of 18 figures are not measured: left out: no time left",
       "1 reached, 1 missed.", "| elementwise | a + b | opencl:0 | 40 GB/s | cpu:0 | 2.000 |")
no_empty_cells(made)
print(f"{len(pages)} pages of cards are those of their tables")
