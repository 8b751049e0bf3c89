// SPDX-License-Identifier: MIT OR Apache-2.0
// syclbin::printf, which prints from a kernel where the device can: the format is a literal, and `%s`
// takes a literal, too. For looking at a kernel while it is made; what is printed when is up to the driver.
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
