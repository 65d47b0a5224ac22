# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Debian packages, by `cpack -G DEB` in a build for the prefix /usr (packaging/README.md). The parts are the
# components of the install rules: library, development and tools. DebianPackages.cmake follows those of
# Debian's rules that CPack does not know, between its installing and its packing.
set(TANDEM_MAINTAINER "The Tandem authors <tandem@example.org>" CACHE STRING
    "Who answers for the packages: Name <address>")
set(TANDEM_DEBIAN_REVISION 1 CACHE STRING "Debian's part of the packages' version")

get_target_property(soversion tandem_shared SOVERSION)
set(debian_version ${PROJECT_VERSION}-${TANDEM_DEBIAN_REVISION})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tandem)
set(CPACK_PACKAGE_CONTACT "${TANDEM_MAINTAINER}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
    WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL library development)
if(TANDEM_TOOLS)
  list(APPEND CPACK_COMPONENTS_ALL tools)
endif()
set(CPACK_COMPONENTS_GROUPING IGNORE)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${TANDEM_DEBIAN_REVISION})
set(CPACK_DEBIAN_PACKAGE_SOURCE tandem)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

set(about "Tandem computes on whatever a machine has: NVIDIA GPUs through CUDA, any GPU
through OpenCL, and plain CPUs. Devices, buffers, queues and tensors look the
same on all of them, and a program chooses its device at run time.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libtandem${soversion})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
# Opened when a program first needs them.
set(CPACK_DEBIAN_LIBRARY_PACKAGE_RECOMMENDS "ocl-icd-libopencl1, libclblast1, libopenblas0")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SUGGESTS "libdnnl2 | libdnnl3.6, gcc | clang, libc6-dev")
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "compute on CPUs, OpenCL and CUDA devices - shared library
${about}
.
This package contains the shared libraries. OpenCL's loader, CLBlast, a CBLAS
and CUDA are opened when a program first needs them, and can be missing.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libtandem-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libtandem${soversion} (= ${debian_version})")
if(TANDEM_SAFETENSORS)
  # pkg-config needs the files of a static Tandem's dependencies, also for a shared one
  string(APPEND CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS ", libjansson-dev")
endif()
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "compute on CPUs, OpenCL and CUDA devices - development files
${about}
.
This package contains the headers, the static libraries, the files for CMake
and pkg-config, and examples.")

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME tandem-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "libtandem${soversion} (= ${debian_version})")
set(CPACK_DEBIAN_TOOLS_DESCRIPTION "compute on CPUs, OpenCL and CUDA devices - program
${about}
.
This package contains the program that lists the devices and what they are
doing, says which drivers and libraries are missing or broken, measures how
fast the devices are, and tidies the folder of compiled kernels.")

# For DebianPackages.cmake; only variables that begin with CPACK_ reach it.
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/DebianPackages.cmake)
set(CPACK_TANDEM_SOURCE ${PROJECT_SOURCE_DIR})
set(CPACK_TANDEM_WORK ${PROJECT_BINARY_DIR}/debian)
set(CPACK_TANDEM_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_TANDEM_LIBDIR ${CMAKE_INSTALL_LIBDIR})
set(CPACK_TANDEM_MULTIARCH "${CMAKE_LIBRARY_ARCHITECTURE}")
set(CPACK_TANDEM_STRIP ${CMAKE_STRIP})
set(CPACK_TANDEM_SONAMES libtandem.so.${soversion} libtandem-comm.so.${soversion})
set(CPACK_TANDEM_DEBIAN_VERSION ${debian_version})
include(CPack)
