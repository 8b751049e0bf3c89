// SPDX-License-Identifier: MIT OR Apache-2.0
// What both sources share: headers of SYCL that are enough for them, and a macro for a kernel of one dimension.
#pragma once
#include <sycl/ext/oneapi/free_function_queries.hpp>
#include <sycl/ext/oneapi/kernel_properties/properties.hpp>

#define KERNEL                                                                                     \
  extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY(                                                    \
      (sycl::ext::oneapi::experimental::nd_range_kernel<1>))

inline size_t index() {
  return sycl::ext::oneapi::this_work_item::get_nd_item<1>().get_global_linear_id();
}
