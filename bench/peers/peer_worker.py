# SPDX-License-Identifier: Apache-2.0
"""One peer in a process of its own: told over its standard input what to do, answers a line of JSON each time.

    {"do": "open"}                      -> {"version": ...}
    {"do": "load", "case": NAME}        -> {"ulp": ..., "way": ...}; the result was compared with the right one, or its
                                           numbers are in "sample", for the driver to compare the peers
    {"do": "turn", "seconds": S}        -> {"seconds": [per call, ...]}
    {"do": "drop"}                      -> {}
A reply with "error" or "lacks" says why the peer cannot. Between turns the driver stops this process, so that no thread
of it spins in another's time.

With "first" as a last argument it adds two vectors of four numbers, and ends. With "peak" and the name of a training
case it trains some epochs by PEERS_WAY, prints the MiB that are resident at most beyond the idle process, and ends.
With "first_run" and the name of a model's case it prints seconds and MiB of the load and the first run, and ends.
"""

import ctypes
import gc
import importlib
import json
import os
import signal
import sys
import time

MODULES = {"onednn": "peer_blas", "openblas": "peer_blas", "gantry_cpu": "peer_gantry", "gantry_gpu": "peer_gantry"}
LEAST_TIMED_S = 50e-6  # shorter calls are timed by the batch
WARM_UP_SHARE = 0.25  # of a turn's seconds
PEAK_EPOCHS = 3
SAMPLE = 1024  # numbers of a result


def die_with_driver():
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def take_standard_output():
    """Libraries print: what they print goes to standard error, the answers to the old standard output."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return answers


def sample_of(results):
    """some numbers of each result, evenly spread"""
    return [[float(x) for x in r.ravel()[:: max(1, r.size // SAMPLE)]] for r in results]


class Worker:
    def __init__(self, name, threads, shrink):
        self.name, self.threads, self.shrink = name, threads, shrink
        self.call = self.inputs = None

    def open(self, command):
        os.environ["PEER"] = self.name
        self.peer = importlib.import_module(MODULES.get(self.name, "peer_" + self.name))
        version = self.peer.open_peer(self.threads)
        import peer_cases

        makers = (peer_cases.all_cases, peer_cases.ops, peer_cases.models)
        self.cases = {case.name: case for make in makers for case in make(self.shrink)}
        self.compare = peer_cases.compare
        return {"version": version}

    def lacking(self, case):
        if case.kind in getattr(self.peer, "LACKS", {}):
            return self.peer.LACKS[case.kind]
        if not hasattr(self.peer, "case_" + case.kind):
            return getattr(self.peer, "REST", "not written for this peer")
        if case.params.get("name") in getattr(self.peer, "LACKING_FUNCTIONS", ()):
            return "no such function"
        return None

    def load(self, command):
        case = self.cases[command["case"]]
        reason = self.lacking(case)
        if reason:
            return {"lacks": reason}
        arrays = case.inputs()
        self.inputs = [] if case.is_training else [self.peer.put(array) for array in arrays]
        call = getattr(self.peer, "case_" + case.kind)(*(self.inputs or arrays), **case.params)
        want, ulp = case.right_results(arrays) if case.want else None, None
        fetch = list if case.is_training else self.peer.fetch
        # the second and third call may take other ways: tuned, captured
        for _ in range(0 if not want else 1 if case.is_training else 3):
            wrong, ulp = self.compare(case, want, fetch(call()))
            if wrong:
                return {"error": f"wrong result: {wrong}"}
        sample = sample_of(fetch(call())) if case.among else None
        self.call = call.timed() if hasattr(call, "timed") else self.finished(call)
        return {"ulp": ulp, "way": getattr(call, "way", None), "sample": sample}

    def finished(self, call):
        """call, and the wait for its result where the peer's calls return before it"""
        finish = getattr(self.peer, "finish", None)
        return call if finish is None else lambda: (call(), finish())

    def turn(self, command):
        call, clock, times = self.call, time.perf_counter, []
        gc.collect()
        gc.disable()
        calls, start = 0, clock()
        while calls == 0 or clock() - start < command["seconds"] * WARM_UP_SHARE:
            call()
            calls += 1
        batch = max(1, int(LEAST_TIMED_S / ((clock() - start) / calls)))
        end = clock() + command["seconds"]
        while not times or clock() < end:
            begin = clock()
            for _ in range(batch):
                call()
            times.append((clock() - begin) / batch)
        gc.enable()
        return {"seconds": times}

    def drop(self, command):
        inputs, self.call, self.inputs = self.inputs, None, None
        gc.collect()
        if hasattr(self.peer, "forget"):
            self.peer.forget(inputs or [])
        return {}


def use_first(name, threads):
    import numpy as np

    os.environ["PEER"] = name
    peer = importlib.import_module(MODULES.get(name, "peer_" + name))
    getattr(peer, "open_first", peer.open_peer)(threads)
    vectors = [peer.put(np.arange(4, dtype=np.float32)) for _ in range(2)]
    assert list(peer.fetch(peer.case_add(*vectors)())[0]) == [0, 2, 4, 6]


def resident_mib(field):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(field)) / 1024


def idle_mib():
    """from now on VmHWM is the most beyond it"""
    gc.collect()
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak is what is resident now
    return resident_mib("VmRSS")


def measure_peak(worker, name):
    """of a case's training, beyond the process that has the library open and the data made"""
    case = worker.cases[name]
    arrays = case.inputs()
    idle = idle_mib()
    training = getattr(worker.peer, "case_" + case.kind)(*arrays, **case.params)
    training()
    for _ in range(PEAK_EPOCHS):
        training.epoch()
    return {"peak_mib": resident_mib("VmHWM") - idle}


def measure_first_run(worker, name):
    """of a model: seconds of the load, and of it and the first run; the most memory up to the end of each"""
    case = worker.cases[name]
    inputs = [worker.peer.put(array) for array in case.inputs()]
    idle, begin = idle_mib(), time.perf_counter()
    call = getattr(worker.peer, "case_" + case.kind)(*inputs, **case.params)
    load = time.perf_counter() - begin
    load_mib, begin = resident_mib("VmHWM") - idle, time.perf_counter()
    worker.peer.fetch(call())
    seconds = load + time.perf_counter() - begin
    return {"load": load, "first": seconds, "load_mib": load_mib, "first_mib": resident_mib("VmHWM") - idle}


def main():
    name, threads, shrink = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    die_with_driver()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    answers = take_standard_output()
    if sys.argv[4:] == ["first"]:
        use_first(name, threads)
        return
    worker = Worker(name, threads, shrink)
    measure = {"peak": measure_peak, "first_run": measure_first_run}.get(next(iter(sys.argv[4:]), None))
    if measure:
        worker.open({})
        print(json.dumps(measure(worker, sys.argv[5])), file=answers, flush=True)
        return
    for line in sys.stdin:
        command = json.loads(line)
        try:
            reply = getattr(worker, command["do"])(command)
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), file=answers, flush=True)


if __name__ == "__main__":
    main()
