# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# An overlay port that builds the checkout that it lies in: see packaging/README.md.
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../.." ABSOLUTE)

# The shared library is the one to link: what it opens at run time stays open, and its symbols have
# versions. The static one is installed with it, as tandem::tandem_static.
vcpkg_check_linkage(ONLY_DYNAMIC_LIBRARY)

vcpkg_check_features(OUT_FEATURE_OPTIONS feature_options
  FEATURES
    cuda        TANDEM_CUDA
    opencl      TANDEM_OPENCL
    safetensors TANDEM_SAFETENSORS
    tools       TANDEM_TOOLS)

vcpkg_find_acquire_program(PKGCONFIG)

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    ${feature_options}
    -DTANDEM_MPI=OFF
    -DTANDEM_TESTS=OFF
    "-DPKG_CONFIG_EXECUTABLE=${PKGCONFIG}")
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/tandem)
vcpkg_fixup_pkgconfig()

if("tools" IN_LIST FEATURES)
  vcpkg_copy_tools(TOOL_NAMES tdm AUTO_CLEAN)
endif()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
