// Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
// The C++ of README.md as it stands there, with the weights that readme.c has left.
#include "block.h"

#include <tandem/tandem.hpp>

int main() {
    make_numbers();
    const std::vector<float> numbers(x_numbers, x_numbers + ROWS * COLS);
#include "readme_cpp.inc"
    check(tdm_queue_finish(queue)); // a program has a function of that name, too
    check_block("README.md", result.data());
    std::printf("%s, Tandem %s\n", tdm_device_get_info(tdm_queue_get_device(queue))->id,
                tdm_version());
}
