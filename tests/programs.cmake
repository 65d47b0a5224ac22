# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# The programs of the tests that need the library and nothing of Linux: the others watch parts of that system, or stand in
# for them. The target test_programs builds these, which is all that can be done for a system that is compiled for alone.
add_custom_target(test_programs)

# add_tool(NAME SOURCE...): a program without the tests' framework.
function(add_tool name)
  add_executable(${name} ${ARGN})
  target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE tandem_warnings m)
endfunction()

# add_program(NAME SOURCE...): the same, as a part of the target test_programs.
function(add_program name)
  add_tool(${name} ${ARGN})
  add_dependencies(test_programs ${name})
endfunction()

add_program(accuracy accuracy/accuracy.c accuracy/several.c)
target_include_directories(accuracy PRIVATE ${PROJECT_SOURCE_DIR}/kernels)
target_link_libraries(accuracy PRIVATE tandem::tandem)
set(fuzzers expressions kernels inputs)
if(TANDEM_SANITIZE MATCHES thread) # which has nothing to see in a program of one thread
  set(fuzzers "")
endif()
foreach(program IN LISTS fuzzers)
  add_program(fuzz_${program} fuzz/${program}.c)
  target_compile_definitions(fuzz_${program} PRIVATE FUZZ_CORPUS="${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus")
  target_include_directories(fuzz_${program} PRIVATE ${PROJECT_SOURCE_DIR}/lib ${PROJECT_SOURCE_DIR}/kernels)
  target_link_libraries(fuzz_${program} PRIVATE tandem::tandem_static)
endforeach()
add_program(two_copies support/two_copies.c)
target_include_directories(two_copies PRIVATE ${PROJECT_SOURCE_DIR}/lib/include)
target_link_libraries(two_copies PRIVATE ${CMAKE_DL_LIBS})
add_program(probe_libraries support/libraries.c)
target_link_libraries(probe_libraries PRIVATE tandem::tandem ${CMAKE_DL_LIBS})
if(TANDEM_SAFETENSORS)
  add_program(resave python/resave.c)
  target_link_libraries(resave PRIVATE tandem::tandem)
endif()
