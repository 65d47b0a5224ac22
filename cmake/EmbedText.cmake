# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT: the ASCII text of FILE as the C array SYMBOL (a literal would be too long for C11).
get_filename_component(name ${FILE} NAME)
file(READ ${FILE} hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
if(bytes MATCHES "0x[89a-f]")
  message(FATAL_ERROR "${FILE} is not ASCII")
endif()
string(REGEX REPLACE "((0x..,){20})" "\\1\n" bytes "${bytes}")
file(WRITE ${OUTPUT} "/* Made by EmbedText.cmake from ${name}. */
extern const char ${SYMBOL}[];\nconst char ${SYMBOL}[] = {\n${bytes}0};\n")
