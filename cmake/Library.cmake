# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Until 1.0 a minor version may break programs (docs/stability.md).
set(TANDEM_SOVERSION ${PROJECT_VERSION_MAJOR})
if(PROJECT_VERSION VERSION_LESS 1)
  set(TANDEM_SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
endif()

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

# tandem_publish(NAME DESCRIPTION REQUIRES REQUIRES_PRIVATE): what NAME_shared and NAME_static are to others: files,
# symbols, the public headers of include/tandem, targets here and for find_package, and a package of pkg-config.
function(tandem_publish name description requires requires_private)
  string(REPLACE _ - file ${name})
  string(REPLACE tandem_ "" short ${name})
  foreach(form shared static)
    set_target_properties(${name}_${form} PROPERTIES OUTPUT_NAME ${file} VERSION ${PROJECT_VERSION}
      SOVERSION ${TANDEM_SOVERSION})
    target_include_directories(${name}_${form} PUBLIC
      $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  endforeach()
  # Where the program looks for it, relative to itself: as when it is installed.
  set_target_properties(${name}_shared PROPERTIES EXPORT_NAME ${short}
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_LIBDIR}
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_LIBDIR})
  set_target_properties(${name}_static PROPERTIES EXPORT_NAME ${short}_static)
  tandem_export(${name}_shared)
  add_library(tandem::${short} ALIAS ${name}_shared)
  add_library(tandem::${short}_static ALIAS ${name}_static)
  install(TARGETS ${name}_shared ${name}_static EXPORT ${file}-targets
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT library
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
  install(DIRECTORY include/tandem DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT ${file}-targets NAMESPACE tandem:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tandem)
  # relative, so that an installation can be moved
  file(RELATIVE_PATH to_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/tandem.pc.in ${CMAKE_CURRENT_BINARY_DIR}/${file}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${file}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

# tandem_library(NAME DESCRIPTION BELOW SOURCE...): libtandem-NAME, shared and static, over the library BELOW.
function(tandem_library name description below)
  foreach(form shared static)
    string(TOUPPER ${form} type)
    add_library(tandem_${name}_${form} ${type} ${ARGN})
    target_link_libraries(tandem_${name}_${form} PUBLIC ${below}_${form} PRIVATE $<BUILD_INTERFACE:tandem_warnings>)
  endforeach()
  target_compile_definitions(tandem_${name}_shared PRIVATE ${TANDEM_EXPORTS})
  set_target_properties(tandem_${name}_shared PROPERTIES BUILD_WITH_INSTALL_RPATH ON
    INSTALL_RPATH $<IF:$<PLATFORM_ID:Darwin>,@loader_path,$ORIGIN>)
  string(REPLACE _ - requires ${below})
  tandem_publish(tandem_${name} "${description}" ${requires} "")
endfunction()
