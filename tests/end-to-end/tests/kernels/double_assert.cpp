// SPDX-License-Identifier: MIT OR Apache-2.0
// The only kernel of this source needs an aspect, so the compiler puts it into another image than code without aspects.
#include <cassert>
#include <syclbin/kernel.hpp>

SYCLBIN_KERNEL(1) void double_assert(double *x, double limit) {
  size_t i = syclbin::get_nd_item<1>().get_global_id(0);
  assert(x[i] < limit);
  x[i] = 2;
}
