// SPDX-License-Identifier: MIT OR Apache-2.0
// A kernel that requires sub-groups of one size, and reports their size.
#include <syclbin/kernel.hpp>

SYCLBIN_KERNEL(1)
SYCLBIN_PROPERTY(sub_group_size<16>)
void lanes(unsigned *out) {
  auto item = syclbin::get_nd_item<1>();
  out[item.get_global_linear_id()] = item.get_sub_group().get_max_local_range()[0];
}
