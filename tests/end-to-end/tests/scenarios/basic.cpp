// SPDX-License-Identifier: MIT OR Apache-2.0
// A plain kernel, and one that never reads its first parameter.
#include <syclbin/kernel.hpp>

SYCLBIN_KERNEL(1)
void iota(float start, float *out) {
  size_t i = syclbin::get_nd_item<1>().get_global_linear_id();
  out[i] = start + i;
}

SYCLBIN_KERNEL(1)
void indices(float unused, float *out) {
  size_t i = syclbin::get_nd_item<1>().get_global_linear_id();
  out[i] = i;
}
