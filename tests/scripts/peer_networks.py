#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Promise (scripts.peer_networks): The residual network and the decoder of bench/peers give NumPy's losses and logits
# within the stated bounds in Gantry, PyTorch, JAX and TensorFlow.
#
# A peer that is not installed, or whose results are near those of no other, is left out.
#
# $1: sources, $2: the build, $3: a folder for files.
import json
import os
import subprocess
import sys
from pathlib import Path

SOURCES, BUILD, WORK = (Path(text) for text in sys.argv[1:])
PYTHON = next((p for p in [SOURCES / "build/peers/bin/python"] if p.exists()), sys.executable)
CASES = [f"{name}{precision}{kind}_32" for name in ("residual_50", "decoder_12") for precision in ("", "_bfloat16") for kind in ("", "_train")]

sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCES / "bench/peers"))
import peers_report


# The comparison of peers with each other.
def strangers(among, **samples):
    row = peers_report.Row({"among": among})
    row.samples = samples
    row.leave_out_strangers()
    return sorted(row.reasons)


near, far, nan = [[1.0, 2.0]], [[1.0, 2.5]], [[1.0, float("nan")]]
assert strangers(0.1, a=near, b=near, c=far) == ["c"], "one is off"
assert strangers(0.1, a=near, b=far) == ["a", "b"], "of two that differ none is known to be right"
assert strangers(0.1, a=near, b=nan, c=near) == ["b"] and strangers(0.3, a=near, b=far) == [] and strangers(0.1, a=far) == []
assert strangers(0.1, a=near, b=[[1.0, 2.0, 3.0]], c=near) == ["b"] and strangers(0.1, a=None, b=None) == []

if subprocess.run([PYTHON, "-c", "import numpy"], capture_output=True).returncode != 0:
    print(f"SKIP the networks: {PYTHON} has no NumPy, which bench/peers needs")
    sys.exit(77)
WORK.mkdir(parents=True, exist_ok=True)
figures = WORK / "figures.json"
figures.unlink(missing_ok=True)
command = [PYTHON, "-B", SOURCES / "bench/peers/run", "--quick", "--rounds", "0", "--threads", "1", "--no-install", "--python", PYTHON]
command += ["--build", BUILD, "--environment", WORK, "--peer", "gantry_cpu,torch,jax,tensorflow", "--case", ",".join(CASES), "--json", figures]
done = subprocess.run(command, env={**os.environ, "GANTRY_BACKENDS": "cpu"}, capture_output=True, text=True)
assert done.returncode == 0, done.stdout + done.stderr
found = json.loads(figures.read_text())
for peer, reason in found["left_out"].items():
    assert peer != "gantry_cpu", reason
    print(f"SKIP {peer}: {reason}")
assert sorted(row["name"] for row in found["rows"]) == sorted(CASES), found["rows"]
reasons = [(f"{row['name']}: {peer}: {reason}", reason) for row in found["rows"] for peer, reason in row["without"].items() if peer not in found["left_out"]]
wrong = [text for text, reason in reasons if not reason.startswith("no answer within")]  # a compiler on a slow machine
print("\n".join(f"SKIP {text}" for text, _ in reasons if text not in wrong))
assert not wrong, "\n".join(wrong)
print(f"{len(CASES)} cases have NumPy's results in {', '.join(found['versions'])}")
