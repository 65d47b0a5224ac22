/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/** @file
 * For C++17: the objects of the C API as classes that end them, its statuses as exceptions and, by operations.hpp,
 * its operations as functions that return tensors:
 *
 *     tandem::Device device = tandem::Device::open();
 *     tandem::Queue queue(device);
 *     tandem::Tensor x = tandem::Tensor::from_host(queue, numbers, {2, 3});
 *     tandem::Tensor y = tandem::softmax(queue, x);
 *     std::vector<float> result = y.to_host<float>(queue);
 *
 * Nothing here does anything that the C functions do not. A class converts to the pointer that these
 * take, so that they can be called as they are, in tandem::check, which throws where the call failed:
 *
 *     tandem::check(tdm_softmax(queue, x, x)); */
#ifndef TANDEM_TANDEM_HPP
#define TANDEM_TANDEM_HPP

#include <tandem/kernels.hpp>
#include <tandem/objects.hpp>
#include <tandem/operations.hpp>

#endif
