# SPDX-License-Identifier: Apache-2.0
"""A worker as the driver sees it: started, asked, stopped while others have their turn, and ended."""

import json
import os
import select
import signal
import subprocess
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))


class PeerError(Exception):
    """Why a peer has no figure; the peer goes on unless its process is gone."""


def packages_of(folder, name):
    """PYTHONPATH with the packages of a peer, which are in its subfolder; without one, with the first that has NumPy"""
    if not folder or not os.path.isdir(folder):
        return {}
    found = [os.path.join(folder, own) for own in sorted(os.listdir(folder))]
    found = [p for p in found if os.path.isdir(p if os.path.basename(p) == name else os.path.join(p, "numpy"))]
    found.sort(key=lambda path: os.path.basename(path) != name)
    path = [*found[:1], *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"PYTHONPATH": os.pathsep.join(path)} if found else {}


def settings(threads, build, folder, card):
    """All that a peer's libraries take from the environment; what has a call for it is set by the peer's file.
    Compiled code is cached in the folder."""
    cache = os.path.join(folder, "cache")
    count = str(threads)
    names = (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "NUMEXPR_MAX_THREADS",
        "NUMEXPR_NUM_THREADS",
        "POCL_MAX_PTHREAD_COUNT",
        "POCL_CPU_MAX_CU_COUNT",
        "CPU_COUNT",
    )
    return {
        **os.environ,
        **dict.fromkeys(names, count),
        "TF_CPP_MIN_LOG_LEVEL": "2",
        **({"PEERS_CARD": "1"} if card else {"CUDA_VISIBLE_DEVICES": ""}),
        "PYTHONDONTWRITEBYTECODE": "1",
        "GANTRY_BUILD": build,
        "XDG_CACHE_HOME": cache,
        "TORCHINDUCTOR_CACHE_DIR": cache,
    }


class Process:
    def __init__(self, name, python, threads, shrink, build, folder, card=False, packages=None):
        self.name, self.log = name, os.path.join(folder, f"peer-{name}.log")
        self.arguments = [python, os.path.join(HERE, "peer_worker.py"), name, str(threads), str(shrink)]
        self.environment = {**settings(threads, build, folder, card), **packages_of(packages, name)}
        self.child = None
        self.version = None

    def start(self, limit_s):
        with open(self.log, "w") as log:
            self.child = subprocess.Popen(
                self.arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=self.environment
            )
        self.version = self.ask(limit_s, do="open")["version"]

    def ask(self, limit_s, **command):
        """Lets the worker go on, waits for its answer, and stops it again."""
        if self.child is None:
            raise PeerError("its process is gone")
        os.kill(self.child.pid, signal.SIGCONT)
        try:
            self.child.stdin.write(json.dumps(command).encode() + b"\n")
            self.child.stdin.flush()
        except BrokenPipeError:
            self._lost()
        if not select.select([self.child.stdout], [], [], limit_s)[0]:
            self.end()
            raise PeerError(f"no answer within {limit_s} s")
        line = self.child.stdout.readline()
        if not line:
            self._lost()
        os.kill(self.child.pid, signal.SIGSTOP)
        reply = json.loads(line)
        for key in ("error", "lacks"):
            if key in reply:
                raise PeerError(reply[key])
        return reply

    def first_use(self, limit_s):
        """A fresh process from its start to the end of its first addition -> seconds, MiB resident at most"""
        with open(self.log, "a") as log:
            begin = time.perf_counter()
            child = subprocess.Popen(
                [*self.arguments, "first"], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment
            )
        killer = threading.Timer(limit_s, child.kill)
        killer.start()
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - begin
        killer.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            raise PeerError(f"its first use ended with {child.returncode}; see {self.log}")
        return seconds, usage.ru_maxrss / 1024

    def fresh(self, what, case, way, limit_s):
        """A fresh process that does what ("peak", "first_run") with the case -> what it found"""
        environment = {**self.environment, **({"PEERS_WAY": way} if way else {})}
        with open(self.log, "a") as log:
            try:
                done = subprocess.run(
                    [*self.arguments, what, case],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    env=environment,
                    timeout=limit_s,
                )
            except subprocess.TimeoutExpired:
                raise PeerError(f"no {what} within {limit_s} s") from None
        if done.returncode != 0:
            raise PeerError(f"its {what} ended with {done.returncode}; see {self.log}")
        return json.loads(done.stdout)

    def _lost(self):
        code = self.child.wait()
        self.child = None
        raise PeerError(f"its process ended ({code}); see {self.log}")

    def cpu_seconds(self):
        """of processor time so far; 0 where the system does not tell"""
        try:
            with open(f"/proc/{self.child.pid}/stat") as file:
                fields = file.read().rsplit(")", 1)[1].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except (OSError, AttributeError):
            return 0.0

    def end(self):
        if self.child is not None:
            self.child.kill()
            self.child.wait()
            self.child = None
