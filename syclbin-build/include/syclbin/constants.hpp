// SPDX-License-Identifier: MIT OR Apache-2.0
// Specialization constants, which a program sets before it loads a kernel:
//
//   constexpr sycl::specialization_id<int> radius(2);
//
//   SYCLBIN_KERNEL(1)
//   void blur(const float *in, float *out, sycl::kernel_handler h) {
//     int r = h.get_specialization_constant<radius>(); // 2, or the value that the program set
//     ...
//   }
#pragma once

#include <syclbin/kernel.hpp>

#if __has_include(<sycl/specialization_id.hpp>) && \
    __has_include(<sycl/kernel_handler.hpp>)
#include <sycl/specialization_id.hpp>
#include <sycl/kernel_handler.hpp>
#else
#include <sycl/sycl.hpp>
#endif
