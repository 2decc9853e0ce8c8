# SPDX-License-Identifier: Apache-2.0
"""Where the wheel's files are, and which TensorFlow is installed with them."""

import importlib.metadata
import importlib.util
import os
import site
import sys
import sysconfig

PACKAGE = os.path.dirname(os.path.abspath(__file__))
SITE = os.path.dirname(PACKAGE)
PLUGIN_FOLDER = os.path.join(SITE, "tensorflow-plugins")
PLUGIN = os.path.join(PLUGIN_FOLDER, "libgantry_tensorflow.so")
LIBRARY = os.path.join(PACKAGE, "lib", "libgantry.so.0")
BUILD_VARIABLES = os.path.join(PACKAGE, "shim", "build_variables.py")
COMMAND = os.path.join(PACKAGE, "bin", "gantry")


def read_versions():
    """The releases of versions.txt, oldest first: the wheel has that file in the package, a clone two folders above."""
    for folder in (PACKAGE, os.path.dirname(SITE)):
        path = os.path.join(folder, "versions.txt")
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                return tuple(line.strip() for line in file if line[:1].isdigit())
    raise FileNotFoundError(f"gantry-tensorflow: {PACKAGE} has no versions.txt; install the wheel again")


# The releases that gantry-tensorflow is tested with; another last number is accepted, too.
RELEASES = read_versions()
TESTED = tuple(".".join(release.split(".")[:2]) for release in RELEASES)
NEWEST_TESTED = RELEASES[-1]

# Distributions whose import name is "tensorflow"; the second value: built for CUDA on Linux x86-64.
DISTRIBUTIONS = (("tensorflow-cpu", False), ("tensorflow", True), ("tf-nightly-cpu", False), ("tf-nightly", True),
                 ("tensorflow-rocm", False))

try:
    VERSION = importlib.metadata.version("gantry-tensorflow")
except importlib.metadata.PackageNotFoundError:  # the source tree
    VERSION = "0"


def installed_tensorflow():
    """Lists (name, version) of each installed distribution of TensorFlow."""
    found = []
    for name, _ in DISTRIBUTIONS:
        try:
            found.append((name, importlib.metadata.version(name)))
        except importlib.metadata.PackageNotFoundError:
            pass
    return found


def tensorflow_folder():
    """TensorFlow's package folder, or None. Does not import it."""
    try:
        spec = importlib.util.find_spec("tensorflow")
    except (ImportError, ValueError):
        return None
    places = list(spec.submodule_search_locations or []) if spec else []
    return places[0] if places else None


def plugin_folders():
    """The folders that TensorFlow loads plug-ins from, by the rule of tensorflow/__init__.py."""
    folders = [site.USER_SITE] if site.ENABLE_USER_SITE and site.USER_SITE else []
    folders += [path for path in sys.path if "site-packages" in path]
    folders += site.getsitepackages() if hasattr(site, "getsitepackages") else []
    folders += [sysconfig.get_path(kind, scheme) for scheme in sysconfig.get_scheme_names()
                for kind in ("purelib", "platlib")]
    wanted = []
    for folder in folders:
        path = os.path.realpath(os.path.join(folder, "tensorflow-plugins"))
        if os.path.isdir(path) and path not in wanted:
            wanted.append(path)
    return wanted


def plugin_files():
    """The files that TensorFlow loads as plug-ins, one for each load: those of the folders, and what the variable names."""
    named = os.environ.get("TF_PLUGGABLE_DEVICE_LIBRARY_PATH", "")
    files = [os.path.join(folder, file) for folder in plugin_folders() + ([named] if os.path.isdir(named) else [])
             for file in sorted(os.listdir(folder)) if ".so" in file]
    return files + ([named] if os.path.isfile(named) else [])


def is_tested(version):
    return ".".join(version.split(".")[:2]) in TESTED
