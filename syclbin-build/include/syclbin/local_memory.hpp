// SPDX-License-Identifier: MIT OR Apache-2.0
// Memory that a work-group shares: syclbin::work_group_memory<int[64]>, as a parameter of the kernel.
#pragma once

#include <syclbin/kernel.hpp>

#if __has_include(<sycl/ext/oneapi/experimental/work_group_memory.hpp>)
#include <sycl/ext/oneapi/experimental/work_group_memory.hpp>
#else
#include <sycl/sycl.hpp>
#endif

namespace syclbin {
using ::sycl::ext::oneapi::experimental::work_group_memory;
} // namespace syclbin
