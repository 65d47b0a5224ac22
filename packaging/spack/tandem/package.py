# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
"""Spack recipe for a checkout of Tandem: see packaging/README.md."""

from spack_repo.builtin.build_systems.cmake import CMakePackage, generator

from spack.package import *


class Tandem(CMakePackage):
    """One C API for compute on CPUs, OpenCL and CUDA devices. Devices, buffers, queues and tensors look
    alike on all of them, and the device is chosen at run time."""

    license("Apache-2.0")

    # There is no address of an archive yet: build a checkout with `spack dev-build`.
    version("0.3.0")

    variant("opencl", default=True, description="Build the opencl backend")
    variant("cuda", default=False, description="Build the cuda backend")
    variant("safetensors", default=True, description="Files of named tensors")
    variant("tools", default=True, description="Build the program tdm")

    generator("ninja")

    depends_on("c", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("pkgconfig", type="build", when="+safetensors")
    depends_on("pkgconfig", type="build", when="+tools")
    depends_on("jansson@2.8:", when="+safetensors")
    depends_on("jansson@2.8:", when="+tools")
    # The headers are needed to build. The libraries are opened at run time.
    depends_on("opencl-c-headers", type="build", when="+opencl")
    depends_on("clblast", type=("build", "run"), when="+opencl")
    depends_on("openblas", type="run")
    depends_on("cuda@11.8:13", type="run", when="+cuda")

    conflicts("platform=darwin", msg="Tandem is for Linux")
    conflicts("platform=windows", msg="Tandem is for Linux")

    def cmake_args(self):
        return [
            self.define_from_variant("TANDEM_OPENCL", "opencl"),
            self.define("TANDEM_CUDA", "ON" if self.spec.satisfies("+cuda") else "OFF"),
            self.define_from_variant("TANDEM_SAFETENSORS", "safetensors"),
            self.define_from_variant("TANDEM_TOOLS", "tools"),
            self.define("TANDEM_MPI", "OFF"),
            self.define("TANDEM_TESTS", False),
        ]

    def setup_run_environment(self, env):
        # Where the library looks first for what it opens.
        names = ["openblas"]
        if self.spec.satisfies("+opencl"):
            names.append("clblast")
        if self.spec.satisfies("+cuda"):
            names.append("cuda")
        for name in names:
            for directory in self.spec[name].libs.directories:
                env.prepend_path("TANDEM_LIBRARY_PATH", directory)
