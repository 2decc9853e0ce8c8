# SPDX-License-Identifier: Apache-2.0
"""Compiles variables_shim.cc against the TensorFlow of a Python: python build_variables.py [--output FOLDER].

TensorFlow 2.19 and later do not export the functions with which a plug-in updates variables. The file made here
gives the plug-in these functions, for one version, which its name carries. It takes a C++17 compiler and about 15
seconds. Imports nothing of TensorFlow into this process."""
import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).with_name("variables_shim.cc")
VERSIONS = Path(__file__).resolve().parent.parent / "versions.txt"
ASK = "import tensorflow as tf; print('\\n'.join([tf.version.VERSION, tf.sysconfig.get_include(), tf.sysconfig.get_lib()]" \
      " + tf.sysconfig.get_compile_flags()))"


class Refused(Exception):
    """A build that cannot be; the text has the reason and the remedy."""


def file_name(version):
    """The name by which the plug-in finds the file of a TensorFlow version."""
    return f"libgantry_tensorflow_variables-{version}.so"


def ask_tensorflow(python=sys.executable):
    """Version, include folder, library folder and compile flags of the TensorFlow of a Python."""
    # no plug-in is loaded to learn four texts
    environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", GANTRY_BACKENDS="cpu")
    answer = subprocess.run([python, "-c", ASK], capture_output=True, text=True, env=environment)
    if answer.returncode != 0:
        last = (answer.stderr.strip().splitlines() or ["no message"])[-1]
        raise Refused(f"{python} cannot import tensorflow: {last}. Install tensorflow or tensorflow-cpu there.")
    version, include, library, *flags = answer.stdout.strip().splitlines()[-1000:]
    return version, Path(include), Path(library), flags


def known_versions():
    """The minor versions of versions.txt: "2.18" and so on."""
    lines = VERSIONS.read_text(encoding="utf-8").splitlines()
    return [line.rpartition(".")[0] for line in lines if line[:1].isdigit()]


def check_version(version):
    """Refuses a TensorFlow whose C++ classes this file was never compiled against."""
    known = known_versions()
    if not version.startswith(tuple(f"{minor}." for minor in known)):
        raise Refused(f"TensorFlow {version} is installed; its variables are known of {', '.join(known)}. Install one "
                      "of these, or a newer gantry-tensorflow; --untested compiles anyway.")


def find_compiler(wanted=None):
    """The C++ compiler: the wanted one, CXX, g++, c++ or clang++."""
    for name in (wanted, os.environ.get("CXX"), "g++", "c++", "clang++"):
        if name and shutil.which(name.split()[0]):
            return name.split()
    raise Refused("No C++ compiler was found (g++, c++, clang++). Install one, such as the package g++, or name it in CXX.")


def command(compiler, version, include, library, flags, output):
    """The command that compiles the file."""
    kept = [flag for flag in flags if flag.startswith("-D")]
    return [*compiler, "-std=c++17", "-O2", "-DNDEBUG", "-fPIC", "-shared", "-fvisibility=hidden", *kept,
            f'-DGANTRY_TF_VERSION="{version}"', "-isystem", str(include), str(SOURCE), f"-L{library}",
            "-l:libtensorflow_framework.so.2", "-o", str(output)]


def find_record(package):
    """The list of the wheel's files, by which pip uninstalls them; None where the package is no wheel's."""
    found = sorted(package.parent.glob("gantry_tensorflow-*.dist-info/RECORD"))
    return found[0] if len(found) == 1 else None


def record(output, package):
    """Adds a file in the wheel's folder to the wheel's list, so that pip uninstalls it with the wheel."""
    path, listed = output.resolve(), find_record(package)
    if listed is None or package not in path.parents:
        return
    line = f"{path.relative_to(package.parent).as_posix()},,"
    text = listed.read_text(encoding="utf-8")
    if line not in text.splitlines():
        listed.write_text(text + "\n" * (not text.endswith("\n")) + line + "\n", encoding="utf-8")


def build(folder, python=sys.executable, compiler=None, untested=False):
    """Compiles into the folder and returns the file's path."""
    version, include, library, flags = ask_tensorflow(python)
    if not untested:
        check_version(version)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    output = folder / file_name(version)
    part = output.with_suffix(f".{os.getpid()}.part")
    made = subprocess.run(command(find_compiler(compiler), version, include, library, flags, part), capture_output=True, text=True)
    if made.returncode != 0:
        part.unlink(missing_ok=True)
        raise Refused(f"The compiler failed for TensorFlow {version}:\n{made.stderr.strip()[-2000:]}")
    part.replace(output)    # a process that has the old file open keeps it
    return output


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="build_variables", description="Compiles the functions for variables of this TensorFlow.")
    parser.add_argument("--output", default=str(SOURCE.parent.parent / "lib"), help="folder for the file")
    parser.add_argument("--python", default=sys.executable, help="Python whose TensorFlow is meant")
    parser.add_argument("--compiler", help="C++ compiler (default: CXX, g++, c++, clang++)")
    parser.add_argument("--untested", action="store_true", help="accept a TensorFlow of any version")
    given = parser.parse_args(arguments)
    try:
        output = build(given.output, given.python, given.compiler, given.untested)
        record(output, SOURCE.parent.parent.resolve())
        print(output)
    except Refused as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
