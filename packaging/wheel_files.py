# SPDX-License-Identifier: Apache-2.0
"""What the scripts that pack wheels share: files, licences, the platform's tag and the archive."""
import base64
import hashlib
import os
import re
import subprocess
import sys
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# What each manylinux has.
SYSTEM = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2", "libz.so.1"}


def run(*command):
    done = subprocess.run(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {' '.join(command)} failed:\n{done.stdout[-4000:]}")
    return done.stdout


def read(path):
    with open(path, "rb") as file:
        return file.read()


def version():
    return re.search(rb'#define GANTRY_VERSION "([0-9.]+)"', read(os.path.join(ROOT, "include/gantry/version.h")))[1].decode()


def platform_of(paths, own):
    """manylinux_2_N: every system with glibc 2.N or newer, if the files need only it and the libraries `own`; otherwise
    linux."""
    foreign = set(re.findall(r"NEEDED\s+(\S+)", run("objdump", "-p", *paths))) - SYSTEM - set(own)
    if foreign:
        print(f"The wheel needs {' '.join(sorted(foreign))} of the system: its tag is linux, not manylinux")
        return f"linux_{os.uname().machine}"
    glibc = max(int(minor) for minor in re.findall(r"GLIBC_2\.(\d+)", run("objdump", "-T", *paths)))
    return f"manylinux_2_{glibc}_{os.uname().machine}"


def licences(build):
    """The project's licence and that of xxHash, which is compiled in: the first comment of its header."""
    folder = re.search(r"^GANTRY_XXHASH_INCLUDE:PATH=(.*)$", read(os.path.join(build, "CMakeCache.txt")).decode(), re.M)[1]
    header = os.path.join(folder, "xxhash.h")
    notice = read(header).partition(b"*/")[0] + b"*/\n"
    if b"copyright" not in notice.lower():
        sys.exit(f"{header} does not begin with its licence, which the wheel must hold")
    return {"LICENSE": read(os.path.join(ROOT, "LICENSE")), "LICENSE.xxHash": notice}


def pack(output, data, info, platform):
    """Writes the wheel and returns its path. Equal files give equal bytes: they have one time and an order."""
    record = "".join(f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data[name]).digest()).decode().rstrip('=')},{len(data[name])}\n"
                     for name in sorted(data)) + f"{info}/RECORD,,\n"
    os.makedirs(output, exist_ok=True)
    path = os.path.join(output, f"{info.removesuffix('.dist-info')}-py3-none-{platform}.whl")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name in [*sorted(data), f"{info}/RECORD"]:
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            entry.external_attr = 0o755 << 16 if ".so" in name else 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data.get(name, record.encode()))
    return path
