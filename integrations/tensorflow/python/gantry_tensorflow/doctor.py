# SPDX-License-Identifier: Apache-2.0
"""Says whether TensorFlow and Gantry work together in this Python. Each check has a line, and a remedy if it fails."""

import importlib.util
import json
import os
import signal
import subprocess
import sys

from gantry_tensorflow import places

PASSED, FAILED, NOT_POSSIBLE = "passed", "failed", "not possible"
SECONDS = 900  # the first run on PoCL compiles kernels
INSTALL = f'pip install "tensorflow-cpu~={places.NEWEST_TESTED}"'
BUILD_VARIABLES = "python -m gantry_tensorflow build-variables"
LONGEST = 400  # characters of an error


class Checks:
    """The lines. `not possible`: the machine cannot answer, or the user requested it."""

    def __init__(self):
        self.lines = []

    def add(self, state, text, remedy=None):
        self.lines.append({"state": state, "text": text, **({"remedy": remedy} if remedy and state != PASSED else {})})

    def judge(self, is_good, good, bad, remedy):
        self.add(PASSED if is_good else FAILED, good if is_good else bad, remedy)
        return is_good

    def count(self, state):
        return sum(line["state"] == state for line in self.lines)

    def print(self):
        for line in self.lines:
            print(f"{line['state']:12}  {line['text']}")
            if "remedy" in line:
                print(f"{'':12}  remedy: {line['remedy']}")
        print(", ".join(f"{self.count(state)} {state}" for state in (PASSED, FAILED, NOT_POSSIBLE)))


def shorten(error):
    """An error's text in one line, cut between two words."""
    words = " ".join(str(error).split())
    return words if len(words) <= LONGEST else words[:LONGEST].rsplit(" ", 1)[0] + " ..."


# ---- files, without TensorFlow ----


def check_files(checks):
    missing = [path for path in (places.PLUGIN, places.LIBRARY, places.COMMAND) if not os.path.isfile(path)]
    checks.judge(not missing, f"files of gantry-tensorflow {places.VERSION}: {places.PACKAGE}",
                 f"files of gantry-tensorflow: {', '.join(missing)} is missing",
                 "pip install --force-reinstall --no-deps gantry-tensorflow")


def check_distributions(checks):
    """Whether a TensorFlow is installed. Two of them share one folder, and the last one installed wins."""
    found = places.installed_tensorflow()
    names = ", ".join(f"{name} {version}" for name, version in found)
    if not found:
        is_there = importlib.util.find_spec("tensorflow")
        return checks.judge(is_there, "TensorFlow: installed without pip", "TensorFlow is not installed in this Python", INSTALL)
    if len(found) > 1:
        checks.add(FAILED, f"TensorFlow: {names} are installed together, and overwrite each other's files",
                   f"pip uninstall -y {' '.join(name for name, _ in found)}, then {INSTALL}")
    name, version = found[0]
    if places.is_tested(version):
        checks.add(PASSED, f"TensorFlow: {names}")
    else:
        checks.add(NOT_POSSIBLE, f"TensorFlow: {names} was not tested; tested are {', '.join(places.TESTED)}", INSTALL)
    return True


def check_folders(checks):
    """TensorFlow loads every file of each plug-in folder, then what TF_PLUGGABLE_DEVICE_LIBRARY_PATH names."""
    here, mine = os.path.realpath(places.PLUGIN_FOLDER), os.path.realpath(places.PLUGIN)
    files, named = places.plugin_files(), os.environ.get("TF_PLUGGABLE_DEVICE_LIBRARY_PATH", "")
    if named and not os.path.exists(named):
        checks.add(FAILED, f"plug-in: TF_PLUGGABLE_DEVICE_LIBRARY_PATH names {named}, which does not exist",
                   "unset TF_PLUGGABLE_DEVICE_LIBRARY_PATH")
    loads = [file for file in files if os.path.realpath(file) == mine]
    if len(loads) > 1:  # the plug-in counts its loads
        checks.add(PASSED, f"plug-in: TensorFlow loads it {len(loads)} times, as {' and '.join(loads)}; the first one serves, "
                           "and the others do no harm")
    else:
        checks.judge(loads, f"plug-in: TensorFlow looks for it in {here}",
                     f"plug-in: TensorFlow does not look into {here}, which is no folder site-packages of this Python",
                     f"use a virtual environment (python -m venv), or export TF_PLUGGABLE_DEVICE_LIBRARY_PATH={here}")
    others = [file for file in files if file not in loads]
    checks.judge(not others, "plug-in: no other plug-in is installed",
                 f"plug-in: others are installed: {', '.join(others)}; two plug-ins for GPUs exclude each other",
                 "pip uninstall the other one, or this one; unset TF_PLUGGABLE_DEVICE_LIBRARY_PATH if it names the other one")


# ---- a process with TensorFlow ----


def run_probe():
    """The steps of probe.py by name, and how the process ended: None if well."""
    environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="2")
    try:
        done = subprocess.run([sys.executable, "-m", "gantry_tensorflow.probe"], env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return {}, f"it ran for {SECONDS} s without an end"
    steps = {}
    for line in done.stdout.splitlines():
        try:
            record = json.loads(line)
            steps[record["step"]] = record
        except (ValueError, KeyError, TypeError):
            pass  # a line of another library
    if done.returncode < 0:
        return steps, f"the process died by {signal.Signals(-done.returncode).name}{first_error(done.stderr)}"
    return steps, None


def first_error(text):
    """The first message of level E or F of TensorFlow or Gantry."""
    for line in text.splitlines():
        if line[:1] in "EF" and (line[1:5].isdigit() or line[1:].startswith(" gantry")):
            return f": {shorten(line)}"
    return ""


def check_import(checks, steps, ending):
    record = steps.get("import", steps.get("import_tensorflow"))
    error = record.get("error") if record else ending
    return checks.judge(not error, "TensorFlow imports with the plug-in", f"TensorFlow does not import: {shorten(error)}",
                        f"mend the failed checks above; else {INSTALL}" if checks.count(FAILED) else INSTALL)


def check_cuda(checks, steps):
    if not steps["import"]["is_cuda"]:
        return True
    checks.add(FAILED, "TensorFlow is built for CUDA: its GPU kernels and Gantry's have the same names, and ops find both",
               f"pip uninstall -y tensorflow, then {INSTALL}; Gantry serves CUDA cards as well")
    return False


def count_gpus(count):
    return f"{count} GPU" if count == 1 else f"{count} GPUs"


def gpu_remedy(details, wanted):
    """What gives TensorFlow that many GPUs, of which it has those with these names of hardware."""
    if os.environ.get("GANTRY_VISIBLE_DEVICES"):
        return f"unset GANTRY_VISIBLE_DEVICES, which is \"{os.environ['GANTRY_VISIBLE_DEVICES']}\""
    several = f'export POCL_DEVICES="{" ".join(["pthread"] * wanted)}"' if wanted > 1 else ""
    if details and all("(opencl:" in name and name.startswith(("pthread", "cpu", "basic")) for name in details):
        return several  # PoCL is there
    if details:
        return f'export GANTRY_LOGICAL_DEVICES="GPU:0={",".join(["1G"] * (wanted - len(details) + 1))}", which splits the first card'
    steps = ["apt-get install ocl-icd-libopencl1 pocl-opencl-icd"]
    steps += ["export GANTRY_OPENCL_CPU=gpu"] * (os.environ.get("GANTRY_OPENCL_CPU") != "gpu")
    steps += [several] * (bool(several) and len(os.environ.get("POCL_DEVICES", "").split()) < wanted)
    return ", then ".join(steps)


def check_devices(checks, steps, require):
    loaded = steps.get("plugins", {}).get("files", [])
    if not checks.judge(any(os.path.basename(file) == os.path.basename(places.PLUGIN) for file in loaded),
                        "plug-in: loaded by TensorFlow", "plug-in: not loaded by TensorFlow", "see the lines above"):
        return []
    names, details = steps.get("devices", {}).get("names", []), steps.get("devices", {}).get("details", [])
    wanted = max(require, 1)
    if not names and not require:
        checks.add(NOT_POSSIBLE, "devices: TensorFlow sees no GPU of Gantry; `gantry doctor` says why", gpu_remedy(details, wanted))
    else:
        checks.judge(len(names) >= wanted, f"devices: TensorFlow sees {len(names)}: " + ", ".join(
            name.replace("/physical_device:", "") for name in names),
            f"devices: TensorFlow sees {count_gpus(len(names))}, and --require asks for {wanted}; `gantry doctor` "
            "says why", gpu_remedy(details, wanted))
    return names


def check_work(checks, steps, ending):
    compute = steps.get("compute", {})
    problem = compute.get("error") or "; ".join(compute.get("wrong", [])) or (not compute and ending) or ""
    checks.judge(not problem, f"ops: MatMul and Add are right on {count_gpus(compute.get('count', 0))}",
                 f"ops: {shorten(problem)}", "`gantry doctor` looks at the devices without TensorFlow")
    if not compute:
        return
    for name, good, remedy in (
            ("variables", "they live on the GPU and are updated there", BUILD_VARIABLES),
            ("Keras", "compile and a training step, with jit_compile as Keras chooses it",
             "pass jit_compile=False to compile; if variables fail above, mend that first")):
        record = steps.get(name.lower())
        problem = record.get("error") if record else ending or "no answer"
        checks.judge(not problem, f"{name}: {good}", f"{name}: {shorten(problem)}", remedy)
        if not record:  # the process is dead
            return
    if not steps["variables"].get("has_references", True):
        checks.add(NOT_POSSIBLE, "variables: those of TensorFlow 1 stay on the CPU, and ops of XLA (Keras's JaxLayer) fail, without "
                   "the file of build-variables", BUILD_VARIABLES)


def check_notes(checks):
    checks.add(NOT_POSSIBLE, "virtual devices: TensorFlow ignores tf.config.set_logical_device_configuration for plug-ins",
               'export GANTRY_LOGICAL_DEVICES="GPU:0=1G,1G"')


def collect(require):
    checks = Checks()
    check_files(checks)
    has_tensorflow = check_distributions(checks)
    check_folders(checks)
    if has_tensorflow:
        steps, ending = run_probe()
        if check_import(checks, steps, ending) and check_cuda(checks, steps):
            if check_devices(checks, steps, require):
                check_work(checks, steps, ending)
                check_notes(checks)
    return checks


def run(as_json=False, require=0):
    """Prints the checks. Returns 1 if one failed."""
    checks = collect(require)
    if as_json:
        print(json.dumps({"version": places.VERSION, "checks": checks.lines}))
    else:
        checks.print()
    return 1 if checks.count(FAILED) else 0
