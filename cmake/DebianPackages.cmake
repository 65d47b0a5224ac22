# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Run by CPack when the files of the packages lie in their folders: adds the files that Debian's rules require, and
# does debhelper's work. CPack's own ways are not used where they break the rules: it would call ldconfig
# in scripts of the package, and does not know symbols files.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
  return()
endif()
if(NOT CPACK_TANDEM_PREFIX STREQUAL "/usr" OR NOT CPACK_TANDEM_LIBDIR STREQUAL "lib/${CPACK_TANDEM_MULTIARCH}")
  message(FATAL_ERROR "Debian packages are made of a build for /usr, where libraries are in "
                      "lib/${CPACK_TANDEM_MULTIARCH}: use cmake --preset debian, or configure a new folder with "
                      "-DCMAKE_INSTALL_PREFIX=/usr")
endif()

# The descriptions begin on a new line.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")

# tandem_run(WHAT FOLDER OUTPUT_VARIABLE COMMAND...)
function(tandem_run what folder output)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${folder} OUTPUT_VARIABLE out ERROR_VARIABLE errors
                  RESULT_VARIABLE status OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${what}: ${status}: ${errors}")
  endif()
  set(${output} "${out}" PARENT_SCOPE)
endfunction()

# Compressed in the same way each time, without a name and a time.
function(tandem_compress file)
  tandem_run("gzip ${file}" / ignored gzip -9nf ${file})
  file(CHMOD ${file}.gz PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
endfunction()

# The changelogs and the copyright of a package.
function(tandem_documents root package)
  set(folder ${root}/usr/share/doc/${package})
  string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC) # SOURCE_DATE_EPOCH, where that is set
  configure_file(${CPACK_TANDEM_SOURCE}/packaging/debian/changelog.in ${folder}/changelog.Debian @ONLY)
  configure_file(${CPACK_TANDEM_SOURCE}/CHANGELOG.md ${folder}/changelog COPYONLY)
  configure_file(${CPACK_TANDEM_SOURCE}/packaging/debian/copyright ${folder}/copyright COPYONLY)
  file(CHMOD ${folder}/copyright PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  tandem_compress(${folder}/changelog.Debian)
  tandem_compress(${folder}/changelog)
endfunction()

# Finds the packages that have the libraries which these files need. Those of Tandem are named by hand.
function(tandem_dependencies output)
  file(MAKE_DIRECTORY ${CPACK_TANDEM_WORK}/debian)
  file(WRITE ${CPACK_TANDEM_WORK}/debian/control "")
  tandem_run(dpkg-shlibdeps ${CPACK_TANDEM_WORK} found
    dpkg-shlibdeps -O --ignore-missing-info -l${CPACK_TEMPORARY_DIRECTORY}/library/usr/${CPACK_TANDEM_LIBDIR} ${ARGN})
  string(REGEX REPLACE "^shlibs:Depends=" "" found "${found}")
  set(${output} "${found}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${CPACK_TANDEM_WORK})
file(MAKE_DIRECTORY ${CPACK_TANDEM_WORK})
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  set(package ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  set(root ${CPACK_TEMPORARY_DIRECTORY}/${component})
  tandem_documents(${root} ${package})
  file(GLOB pages ${root}/usr/share/man/man*/*)
  foreach(page IN LISTS pages)
    if(NOT IS_SYMLINK ${page} AND NOT page MATCHES "\\.gz$")
      tandem_compress(${page})
    endif()
  endforeach()
endforeach()

# The libraries.
file(WRITE ${CPACK_TANDEM_WORK}/triggers "activate-noawait ldconfig\n")
set(real_libraries "")
foreach(soname IN LISTS CPACK_TANDEM_SONAMES)
  file(REAL_PATH ${CPACK_TEMPORARY_DIRECTORY}/library/usr/${CPACK_TANDEM_LIBDIR}/${soname} real)
  file(RPATH_REMOVE FILE ${real})
  tandem_run(strip / ignored ${CPACK_TANDEM_STRIP} --strip-unneeded --remove-section=.comment
    --remove-section=.note ${real})
  list(APPEND real_libraries ${real})
  string(REGEX MATCH "^(lib[^.]+)\\.so\\.(.*)$" ignored ${soname})
  # A program needs the version that it was built against, or a newer one of the same SONAME.
  file(APPEND ${CPACK_TANDEM_WORK}/shlibs
    "${CMAKE_MATCH_1} ${CMAKE_MATCH_2} ${CPACK_DEBIAN_LIBRARY_PACKAGE_NAME} (>= ${CPACK_PACKAGE_VERSION})\n")
endforeach()
tandem_dependencies(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS ${real_libraries})
list(TRANSFORM real_libraries PREPEND -e)
tandem_run(dpkg-gensymbols ${CPACK_TANDEM_WORK} ignored
  dpkg-gensymbols -q -p${CPACK_DEBIAN_LIBRARY_PACKAGE_NAME} -v${CPACK_PACKAGE_VERSION} ${real_libraries}
  -O${CPACK_TANDEM_WORK}/symbols)
file(READ ${CPACK_TANDEM_WORK}/symbols symbols)
string(REPLACE " #MINVER#\n" " #MINVER#\n* Build-Depends-Package: ${CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME}\n"
  symbols "${symbols}")
file(WRITE ${CPACK_TANDEM_WORK}/symbols "${symbols}")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA
  ${CPACK_TANDEM_WORK}/triggers ${CPACK_TANDEM_WORK}/shlibs ${CPACK_TANDEM_WORK}/symbols)

# The development package.
set(development ${CPACK_TEMPORARY_DIRECTORY}/development/usr)
file(GLOB archives ${development}/${CPACK_TANDEM_LIBDIR}/*.a)
tandem_run(strip / ignored ${CPACK_TANDEM_STRIP} --strip-debug --remove-section=.comment --remove-section=.note
  --enable-deterministic-archives ${archives})
file(GLOB examples ${CPACK_TANDEM_SOURCE}/examples/*.c ${CPACK_TANDEM_SOURCE}/examples/*.cpp)
file(COPY ${examples} DESTINATION ${development}/share/doc/${CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME}/examples
  FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)

# The program. It finds the library without a run path.
file(GLOB programs ${CPACK_TEMPORARY_DIRECTORY}/tools/usr/bin/*)
foreach(program IN LISTS programs)
  file(RPATH_REMOVE FILE ${program})
  tandem_run(strip / ignored ${CPACK_TANDEM_STRIP} --strip-all --remove-section=.comment
    --remove-section=.note ${program})
endforeach()
if(programs)
  # where Debian's zsh has the completions of packages
  set(zsh ${CPACK_TEMPORARY_DIRECTORY}/tools/usr/share/zsh)
  file(RENAME ${zsh}/site-functions ${zsh}/vendor-completions)
  tandem_dependencies(found ${programs})
  string(APPEND CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS ", ${found}")
endif()
