// SPDX-License-Identifier: MIT OR Apache-2.0
// A kernel with an assert; asserts.rs launches it in a process of its own.
#include <cassert>
#include <syclbin/kernel.hpp>

SYCLBIN_KERNEL(1)
void halve(int *data) {
  size_t i = syclbin::get_nd_item<1>().get_global_linear_id();
  assert(data[i] % 2 == 0);
  data[i] /= 2;
}
