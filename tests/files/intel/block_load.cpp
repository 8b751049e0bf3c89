// SPDX-License-Identifier: MIT OR Apache-2.0
// A sub-group loads a block of a matrix.
#include <syclbin/kernel.hpp>

using int2 = int __attribute__((ext_vector_type(2)));
extern "C" SYCL_EXTERNAL void __spirv_Subgroup2DBlockLoadINTEL(int size, int width, int height, int count,
                                                               const void *base, int bytes, int rows,
                                                               int pitch, int2 corner, void *to);

SYCLBIN_KERNEL(1)
SYCLBIN_PROPERTY(sub_group_size<16>)
void block_load(const short *in, short *out) {
  short part[8];
  __spirv_Subgroup2DBlockLoadINTEL(2, 16, 8, 1, in, 64, 64, 64, int2{0, 0}, part);
  size_t i = syclbin::get_nd_item<1>().get_global_linear_id();
  for (int k = 0; k < 8; ++k) out[8 * i + k] = part[k];
}
