# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Options of the compiler and the linker that keep a mistake from becoming an attack; tests/hardening looks
# for them in the built files.
include(CheckCCompilerFlag)
include(CheckCSourceCompiles)
include(CheckLinkerFlag)
include(CheckPIESupported)
check_pie_supported()

# Some compilers only warn of what they do not know, or not for this processor.
set(CMAKE_REQUIRED_FLAGS -Werror)
foreach(flag -fstack-protector-strong -fstack-clash-protection)
  string(MAKE_C_IDENTIFIER "TANDEM_HAS${flag}" has)
  check_c_compiler_flag(${flag} ${has})
  if(${has})
    add_compile_options(${flag})
  endif()
endforeach()

foreach(flag -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
  string(MAKE_C_IDENTIFIER "TANDEM_HAS${flag}" has)
  check_linker_flag(C ${flag} ${has})
  if(${has})
    add_link_options(${flag})
  endif()
endforeach()
unset(CMAKE_REQUIRED_FLAGS)

# Checked copies in the C library need an optimising compiler, and hide from sanitizers what they would
# report better. Where the level is not known its header says so.
set(TANDEM_FORTIFY "")
if(NOT TANDEM_SANITIZE)
  foreach(level 3 2)
    set(CMAKE_REQUIRED_FLAGS "-O2 -Werror -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=${level}")
    check_c_source_compiles("#include <string.h>\nint main(void) { return 0; }" TANDEM_HAS_FORTIFY_${level})
    unset(CMAKE_REQUIRED_FLAGS)
    if(TANDEM_HAS_FORTIFY_${level})
      set(TANDEM_FORTIFY ${level})
      break()
    endif()
  endforeach()
endif()
if(TANDEM_FORTIFY)
  set(optimising $<CONFIG:Release,RelWithDebInfo,MinSizeRel>)
  add_compile_options($<${optimising}:-U_FORTIFY_SOURCE> $<${optimising}:-D_FORTIFY_SOURCE=${TANDEM_FORTIFY}>)
endif()

# Callers' threads may have stacks of 64 KiB (tests: suite:small-stack). Sanitizers' frames and those of
# counted code are larger.
function(tandem_limit_frames target bytes)
  if(NOT TANDEM_SANITIZE AND NOT TANDEM_COVERAGE)
    target_compile_options(${target} PRIVATE
      $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-Wframe-larger-than=${bytes}>)
  endif()
endfunction()
