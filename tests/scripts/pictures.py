#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Promise: The pictures of docs/ are those that scripts/make-picture makes, and each is on a page.
# Promise: Every file and function that a picture of docs/flows.md names exists, and scripts/make-picture refuses one that
# does not.
# Promise: docs/flows.md names every file of a fused node.
#
# $1: sources.
import importlib.machinery
import importlib.util
import subprocess
import sys
from pathlib import Path

SOURCES = Path(sys.argv[1])
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("make_picture", str(SOURCES / "scripts/make-picture"))
script = importlib.util.module_from_spec(importlib.util.spec_from_loader("make_picture", loader))
loader.exec_module(script)

GOOD = ("gantry__op_infer", "src/op/op_infer.c", "words")
BAD = (
    (("gantry__op_infer", "src/op/no_such_file.c", "words"), "src/op/no_such_file.c: there is no such file"),
    (("gantry__op_infers", "src/op/op_infer.c", "words"), "src/op/op_infer.c has no function gantry__op_infers"),
    (("op_infer", "src/op/op_infer.c", "words"), "src/op/op_infer.c has no function op_infer"),
    (("gantry__op_infer", "src/op/op_infer.c", "w" * 39), "has 39 letters, at most 38"),
)
assert not list(script.faults([GOOD], SOURCES))
for step, message in BAD:
    found = list(script.faults([step], SOURCES))
    assert len(found) == 1 and message in found[0], f'no "{message}" in {found}'

flows = script.read_flows((SOURCES / "scripts/flows.txt").read_text())
assert len(flows) == 6 and all(len(steps) > 0 for _, parts in flows.values() for _, steps in parts), "flows without steps"
page = (SOURCES / "docs/flows.md").read_text()
assert all(f"]({name}.svg)" in page for name in flows), "a picture is not on docs/flows.md"
assert "](docs/gantry.svg)" in (SOURCES / "README.md").read_text(), "the picture of README.md is not there"

named = {f.stem for folder in ("src", "kernels") for f in (SOURCES / folder).rglob("*") if f.is_file() and ("fused" in f.name or "pass_fuse" in f.name)}
missing = sorted(stem for stem in named if stem not in page)
assert len(named) > 15 and not missing, f"docs/flows.md does not name {missing}"

sys.exit(subprocess.run([sys.executable, SOURCES / "scripts/make-picture", "--check"]).returncode)
