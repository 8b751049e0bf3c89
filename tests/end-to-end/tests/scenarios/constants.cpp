// SPDX-License-Identifier: MIT OR Apache-2.0
// Two constants whose defaults a reader could confuse: each is the value that the other is given.
#include <syclbin/constants.hpp>
#include <syclbin/kernel.hpp>

constexpr sycl::specialization_id<int> a(256);
constexpr sycl::specialization_id<int> b(1024);

SYCLBIN_KERNEL(1)
void both(int *out, sycl::kernel_handler h) {
  out[0] = h.get_specialization_constant<a>();
  out[1] = h.get_specialization_constant<b>();
}
