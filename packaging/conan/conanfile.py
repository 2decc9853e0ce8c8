# SPDX-License-Identifier: Apache-2.0
"""The Conan recipe of Gantry's libraries, in a clone or an unpacked tarball: conan create packaging/conan --build=missing"""
import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load

ROOT = os.path.join("..", "..")
SOURCES = ("CMakeLists.txt", "LICENSE", "*.md", "backends/*", "bench/README.md", "cmake/*", "docs/*", "examples/*", "host/*", "include/*",
           "integrations/*", "kernels/*", "onnx/*", "ops/*", "src/*", "train/*")


class Gantry(ConanFile):
    name = "gantry"
    package_type = "library"
    languages = "C"
    license = "Apache-2.0"
    description = "One compute backend for every device of a machine"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "opencl": [True, False]}
    default_options = {"shared": True, "opencl": True}

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, ROOT, "include/gantry/version.h"))
        self.version = re.search(r'#define GANTRY_VERSION "([0-9.]+)"', header)[1]

    def export_sources(self):
        for pattern in SOURCES:
            folder, name = os.path.split(pattern)
            copy(self, name, os.path.join(self.recipe_folder, ROOT, folder), os.path.join(self.export_sources_folder, folder))

    def requirements(self):
        # Both are headers that only the build of the library reads.
        self.requires("xxhash/[>=0.8 <1]", libs=False, visible=False)
        if self.options.opencl:
            self.requires("opencl-headers/[>=2022]", libs=False, visible=False)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        off = ["MPI"] + [f"BUILD_{part}" for part in ("TOOLS", "EXAMPLES", "TESTS", "BENCH")]
        toolchain.cache_variables.update((f"GANTRY_{name}", "OFF") for name in off)
        toolchain.cache_variables["GANTRY_OPENCL"] = bool(self.options.opencl)
        toolchain.cache_variables["GANTRY_XXHASH_INCLUDE"] = self.dependencies["xxhash"].cpp_info.includedir
        if self.options.opencl:
            toolchain.cache_variables["GANTRY_OPENCL_INCLUDE"] = self.dependencies["opencl-headers"].cpp_info.includedir
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "Gantry")
        system = ["pthread", "dl", "m"] if self.settings.os == "Linux" else []
        for name, needs in (("gantry", []), ("gantry_train", ["gantry"]), ("gantry_onnx", ["gantry"])):
            part = self.cpp_info.components[name]
            part.set_property("cmake_target_name", f"Gantry::{name}")
            part.set_property("pkg_config_name", name)
            part.libs, part.requires, part.system_libs = [name], needs, system
