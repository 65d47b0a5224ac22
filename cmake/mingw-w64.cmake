# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Windows on x86_64, compiled elsewhere: by Clang and LLVM's linker with the headers and import libraries of mingw-w64,
# against the C library that is a part of Windows 10 and 11 (UCRT). On Debian: apt install clang lld llvm mingw-w64.
#   cmake -S . -B build/windows -G Ninja --toolchain cmake/mingw-w64.cmake
# GCC does not keep the stack aligned for AVX on Windows.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR AMD64)
set(triple x86_64-w64-mingw32)
set(CMAKE_C_COMPILER clang)
set(CMAKE_CXX_COMPILER clang++)
set(CMAKE_C_COMPILER_TARGET ${triple})
set(CMAKE_CXX_COMPILER_TARGET ${triple})
foreach(tool AR RANLIB)
  string(TOLOWER llvm-${tool} name)
  find_program(CMAKE_${tool} ${name} REQUIRED)
endforeach()
set(CMAKE_RC_COMPILER ${triple}-windres)

# Of the two forms of its library that GCC has, the one with the system's threads.
file(GLOB gcc_folders /usr/lib/gcc/${triple}/*-win32)
list(GET gcc_folders -1 gcc_folder)
set(CMAKE_C_FLAGS_INIT -D_UCRT)
set(CMAKE_CXX_FLAGS_INIT -D_UCRT)
foreach(kind EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "-fuse-ld=lld -L${gcc_folder}")
endforeach()
string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT " -static") # programs need no DLL of the compiler's
# The first before mingw-w64's own functions: its fma() rounds twice. The second is what checked copies call.
set(CMAKE_C_STANDARD_LIBRARIES "-lucrt -l:libssp.a")
set(CMAKE_CXX_STANDARD_LIBRARIES "-lucrt -l:libssp.a")

set(CMAKE_FIND_ROOT_PATH /usr/${triple} ${CMAKE_PREFIX_PATH})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR wine)
