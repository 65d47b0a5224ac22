# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
"""Conan 2 recipe. It builds the sources of the checkout that it lies in: see packaging/README.md."""

import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rm, rmdir
from conan.tools.gnu import PkgConfigDeps

required_conan_version = ">=2.4"


class TandemConan(ConanFile):
    name = "tandem"
    description = "One C API for compute on CPUs, OpenCL and CUDA devices"
    license = "Apache-2.0"
    topics = ("gpu", "opencl", "cuda", "linear-algebra", "tensors")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {
        "shared": [True, False],
        "opencl": [True, False],
        "cuda": [True, False],
        "safetensors": [True, False],
        "tools": [True, False],
        # instruction sets of the cpu kernels, e.g. "avx2;baseline"; "auto": all that the processor family has
        "cpu_isas": ["auto", "ANY"],
    }
    default_options = {
        "shared": True,
        "opencl": True,
        "cuda": False,
        "safetensors": True,
        "tools": True,
        "cpu_isas": "auto",
    }
    languages = "C"

    @property
    def _uses_jansson(self):
        return self.options.safetensors or self.options.tools

    def set_version(self):
        text = load(self, os.path.join(self.recipe_folder, "..", "..", "lib", "include", "tandem", "tandem.h"))
        self.version = ".".join(re.findall(r"#define TDM_VERSION_(?:MAJOR|MINOR|PATCH) ([0-9]+)", text))

    def export_sources(self):
        copy(self, "*", src=os.path.join(self.recipe_folder, "..", ".."), dst=self.export_sources_folder,
             excludes=(".git/*", "build*/*"))

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("Tandem is for Linux")
        if self.options.tools and not self.options.shared:
            raise ConanInvalidConfiguration("the program needs the shared library: set tools=False")

    def requirements(self):
        if self._uses_jansson:
            self.requires("jansson/[>=2.8 <3]")
        if self.options.opencl:
            # The headers alone: the libraries are opened at run time.
            self.requires("opencl-headers/[>=2020.06.16]", visible=False)
            self.requires("clblast/[>=1.5 <2]", headers=True, libs=False, run=False, visible=False)

    def build_requirements(self):
        self.tool_requires("cmake/[>=3.22]")
        if not self.conf.get("tools.gnu:pkg_config", check_type=str):
            self.tool_requires("pkgconf/[>=2.1 <3]")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["TANDEM_OPENCL"] = bool(self.options.opencl)
        toolchain.cache_variables["TANDEM_CUDA"] = "ON" if self.options.cuda else "OFF"
        toolchain.cache_variables["TANDEM_MPI"] = "OFF"
        toolchain.cache_variables["TANDEM_SAFETENSORS"] = bool(self.options.safetensors)
        toolchain.cache_variables["TANDEM_TOOLS"] = bool(self.options.tools)
        if self.options.cpu_isas != "auto":
            toolchain.cache_variables["TANDEM_CPU_ISAS"] = str(self.options.cpu_isas)
        # Dependencies that the profile leaves to the system are not listed.
        headers = {"opencl-headers": "TANDEM_CL_INCLUDE", "clblast": "TANDEM_CLBLAST_INCLUDE"}
        for dependency in self.dependencies.host.values():
            if dependency.ref.name in headers:
                toolchain.cache_variables[headers[dependency.ref.name]] = dependency.cpp_info.includedir
        toolchain.generate()
        CMakeDeps(self).generate()
        PkgConfigDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", src=self.source_folder, dst=os.path.join(self.package_folder, "licenses"))
        CMake(self).install()
        # Conan makes these itself.
        rmdir(self, os.path.join(self.package_folder, "lib", "cmake"))
        rmdir(self, os.path.join(self.package_folder, "lib", "pkgconfig"))
        # The build makes both forms of the library.
        rm(self, "*.a" if self.options.shared else "*.so*", os.path.join(self.package_folder, "lib"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "tandem")
        self.cpp_info.set_property("cmake_target_name", "tandem::all")
        core, comm = self.cpp_info.components["core"], self.cpp_info.components["comm"]
        core.libs, comm.libs = ["tandem"], ["tandem-comm"]
        core.set_property("cmake_target_name", "tandem::tandem")
        core.set_property("pkg_config_name", "tandem")
        comm.set_property("cmake_target_name", "tandem::comm")
        comm.set_property("pkg_config_name", "tandem-comm")
        comm.requires = ["core"]
        packages = [dependency.ref.name for dependency in self.dependencies.host.values()]
        if "jansson" in packages:
            core.requires = ["jansson::jansson"]
        if not self.options.shared:
            core.system_libs = ["dl", "m", "pthread"]
            if self.options.safetensors and "jansson" not in packages:
                core.system_libs.append("jansson")
