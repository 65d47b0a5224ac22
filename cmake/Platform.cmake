# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# The platform layer, lib/platform: the folders that implement it for the system that is compiled for. Their two headers
# are found by name.
set(platform ${CMAKE_CURRENT_SOURCE_DIR}/lib/platform)
set(TANDEM_PLATFORM_FILES "")
set(TANDEM_PLATFORM_LIBRARIES Threads::Threads ${CMAKE_DL_LIBS})
set(TANDEM_PC_LIBRARIES "-ldl -lpthread") # the same for pkg-config
set(TANDEM_EXPORTS "") # definitions for a shared library's own files
if(WIN32)
  set(folders windows)
  set(TANDEM_PLATFORM_LIBRARIES advapi32 ntdll)
  set(TANDEM_PC_LIBRARIES "-ladvapi32 -lntdll")
  set(TANDEM_EXPORTS TDM_EXPORTS)
elseif(APPLE)
  set(folders posix darwin)
elseif(CMAKE_SYSTEM_NAME STREQUAL "FreeBSD")
  set(folders posix freebsd)
  set(TANDEM_PLATFORM_FILES ${platform}/linux/library.c ${platform}/linux/threads.c)
else()
  set(folders posix linux)
endif()
foreach(folder IN LISTS folders)
  file(GLOB files CONFIGURE_DEPENDS ${platform}/${folder}/*.c)
  list(APPEND TANDEM_PLATFORM_FILES ${files})
  include_directories(${platform}/${folder})
endforeach()
# For programs alone, where the program tdm is built.
set(TANDEM_PLATFORM_PROGRAM_FILES ${TANDEM_PLATFORM_FILES})
list(FILTER TANDEM_PLATFORM_PROGRAM_FILES INCLUDE REGEX "/(child|program)\\.c$")
list(FILTER TANDEM_PLATFORM_FILES EXCLUDE REGEX "/(child|program)\\.c$")
