/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/** @file
 * For C++17: user kernels, of kernel.h. tandem.hpp includes it, and objects.hpp says what holds of its
 * classes. */
#ifndef TANDEM_KERNELS_HPP
#define TANDEM_KERNELS_HPP

#include <tandem/objects.hpp>

namespace tandem {

/** An argument of a kernel: {"x", x}, {"s", 0.5}, {"n", 3}. */
class Argument {
  public:
    /** A tensor, which outlives the call. */
    Argument(const char *name, const Tensor &tensor) noexcept
        : argument_{name, tensor.get(), 0.0, 0} {}
    /** A number; for a parameter that is an integer, a whole one. */
    template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
    Argument(const char *name, T value) noexcept
        : argument_{name, nullptr, static_cast<double>(value), integer_of(value)} {}
    /** For the C functions. */
    const tdm_argument &get() const noexcept { return argument_; }

  private:
    template <typename T> static std::int64_t integer_of(T value) noexcept {
        if constexpr (std::is_floating_point_v<T>) {
            const bool fits =
                value >= T(-9223372036854775808.0) && value < T(9223372036854775808.0);
            const auto whole = fits ? static_cast<std::int64_t>(value) : 0;
            return static_cast<T>(whole) == value ? whole : 0; // 0: refused for an integer
        } else {
            return static_cast<std::int64_t>(value);
        }
    }
    tdm_argument argument_;
};

/** A user kernel: kernel.h says what the texts are. Parameters are TDM_TENSOR("x"), TDM_NUMBER("s"), … */
class Kernel : public Counted<tdm_kernel, tdm_kernel_retain, tdm_kernel_release> {
  public:
    using Counted::Counted;
    /** Of an expression. */
    static Kernel elementwise(const Device &device, const char *text,
                              const std::vector<tdm_parameter> &parameters) {
        return Kernel(detail::made<tdm_kernel *>(tdm_kernel_elementwise, device, text,
                                                 parameters.data(), parameters.size()));
    }
    /** Over rows. */
    static Kernel rows(const Device &device, const tdm_row_kernel &texts,
                       const std::vector<tdm_parameter> &parameters) {
        return Kernel(detail::made<tdm_kernel *>(tdm_kernel_rows, device, &texts, parameters.data(),
                                                 parameters.size()));
    }
    /** Of a text in the kernel dialect, in which KERNEL(entry) begins it. */
    static Kernel source(const Device &device, const char *text, const char *file,
                         const char *entry, const std::vector<tdm_parameter> &parameters) {
        return Kernel(detail::made<tdm_kernel *>(tdm_kernel_source, device, text, file, entry,
                                                 parameters.data(), parameters.size()));
    }
    /** Runs it: an argument for each parameter, in any order. */
    void run(const Queue &queue, std::initializer_list<Argument> arguments) const {
        std::vector<tdm_argument> all;
        for (const Argument &argument : arguments)
            all.push_back(argument.get());
        tandem::check(tdm_kernel_run(queue, get(), all.data(), all.size()));
    }
};

} // namespace tandem

#endif
