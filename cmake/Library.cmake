# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# tandem_export(TARGET): the symbols of a shared library that programs see, tdm_ alone, with the version that ELF files
# have for each; a Mach-O file has one for all, and a DLL what TDM_API says. Nothing may be undefined, but what programs
# have: on FreeBSD environ, and with Clang the functions of its sanitizers.
function(tandem_export target)
  if(APPLE) # not those of a static jansson
    set(list ${PROJECT_BINARY_DIR}/exported.txt)
    file(CONFIGURE OUTPUT ${list} CONTENT "_tdm_*\n")
    target_link_options(${target} PRIVATE -Wl,-exported_symbols_list,${list})
  elseif(NOT WIN32)
    set(map ${PROJECT_SOURCE_DIR}/lib/tandem.map)
    target_link_options(${target} PRIVATE -Wl,--version-script=${map}
      $<$<NOT:$<OR:$<PLATFORM_ID:FreeBSD>,$<C_COMPILER_ID:Clang>>>:-Wl,-z,defs>)
    set_target_properties(${target} PROPERTIES LINK_DEPENDS ${map})
  endif()
endfunction()

# tandem_pkg_config(NAME DESCRIPTION REQUIRES REQUIRES_PRIVATE): the package of pkg-config for libNAME.
function(tandem_pkg_config name description requires requires_private)
  # relative, so that an installation can be moved
  file(RELATIVE_PATH to_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/tandem.pc.in ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

# tandem_library(NAME DESCRIPTION BELOW SOURCE...): libtandem-NAME, shared and static, over the library BELOW, with the
# public headers of include/tandem, a package of pkg-config and targets for find_package.
function(tandem_library name description below)
  foreach(form shared static)
    set(target tandem_${name}_${form})
    string(TOUPPER ${form} type)
    add_library(${target} ${type} ${ARGN})
    set_target_properties(${target} PROPERTIES OUTPUT_NAME tandem-${name} VERSION ${PROJECT_VERSION}
      SOVERSION ${TANDEM_SOVERSION})
    target_include_directories(${target} PUBLIC
      $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(${target} PUBLIC ${below}_${form} PRIVATE $<BUILD_INTERFACE:tandem_warnings>)
  endforeach()
  target_compile_definitions(tandem_${name}_shared PRIVATE ${TANDEM_EXPORTS})
  set_target_properties(tandem_${name}_shared PROPERTIES EXPORT_NAME ${name} INSTALL_RPATH $<IF:$<PLATFORM_ID:Darwin>,@loader_path,$ORIGIN>
    BUILD_WITH_INSTALL_RPATH ON LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_LIBDIR}
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_LIBDIR})
  set_target_properties(tandem_${name}_static PROPERTIES EXPORT_NAME ${name}_static)
  tandem_export(tandem_${name}_shared)
  add_library(tandem::${name} ALIAS tandem_${name}_shared)
  add_library(tandem::${name}_static ALIAS tandem_${name}_static)
  install(TARGETS tandem_${name}_shared tandem_${name}_static EXPORT tandem-${name}-targets
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT library
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
  install(DIRECTORY include/tandem DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT tandem-${name}-targets NAMESPACE tandem:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tandem)
  string(REPLACE _ - requires ${below})
  tandem_pkg_config(tandem-${name} "${description}" ${requires} "")
endfunction()
