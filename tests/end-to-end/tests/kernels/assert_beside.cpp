// SPDX-License-Identifier: MIT OR Apache-2.0
// A second source with an assert, and a kernel that has none.
#include <cassert>
#include <syclbin/kernel.hpp>

SYCLBIN_KERNEL(1)
void positive(const int *data) {
  int value = data[syclbin::get_nd_item<1>().get_global_linear_id()];
  assert(value > 0 && "positive");
}
SYCLBIN_KERNEL(1)
void plain(int *data) { data[syclbin::get_nd_item<1>().get_global_linear_id()] += 1; }
