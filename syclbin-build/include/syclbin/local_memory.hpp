// SPDX-License-Identifier: MIT OR Apache-2.0
// Memory shared by a work-group: declare a kernel parameter of type syclbin::work_group_memory<int[64]>.
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
