// SPDX-License-Identifier: MIT OR Apache-2.0
// Inline assembly, as Intel's GPUs understand it.
#include <syclbin/kernel.hpp>

SYCLBIN_KERNEL(1)
SYCLBIN_PROPERTY(sub_group_size<16>)
void assembly(const int *in, int *out) {
  size_t i = syclbin::get_nd_item<1>().get_global_linear_id();
  int value = in[i], sum = 0;
  asm("add (M1, 16) %0(0, 0)<1> %1(0, 0)<1;1,0> %1(0, 0)<1;1,0>" : "=rw"(sum) : "rw"(value));
  out[i] = sum;
}
