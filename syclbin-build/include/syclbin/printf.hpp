// SPDX-License-Identifier: MIT OR Apache-2.0
// syclbin::printf prints from a kernel if the device supports it. The format string and the arguments for
// `%s` must be string literals. Use it for debugging: the driver decides when the output appears.
#pragma once

#include <syclbin/kernel.hpp>

#if __has_include(<sycl/ext/oneapi/experimental/builtins.hpp>)
#include <sycl/ext/oneapi/experimental/builtins.hpp>
#else
#include <sycl/sycl.hpp>
#endif

namespace syclbin {
using ::sycl::ext::oneapi::experimental::printf;
} // namespace syclbin
