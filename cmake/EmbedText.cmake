# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT: the ASCII text of FILES, one after the other, as the C array SYMBOL (a literal would be too long for
# C11).
set(hex "")
set(names "")
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME)
  get_filename_component(path ${file} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_BINARY_DIR})
  file(READ ${path} one HEX)
  string(APPEND hex ${one})
  list(APPEND names ${name})
endforeach()
list(JOIN names ", " names)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
if(bytes MATCHES "0x[89a-f]")
  message(FATAL_ERROR "not ASCII: ${names}")
endif()
string(REGEX REPLACE "((0x..,){20})" "\\1\n" bytes "${bytes}")
file(WRITE ${OUTPUT} "/* Made by EmbedText.cmake from ${names}. */
extern const char ${SYMBOL}[];\nconst char ${SYMBOL}[] = {\n${bytes}0};\n")
