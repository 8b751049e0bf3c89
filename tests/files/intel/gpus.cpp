// SPDX-License-Identifier: MIT OR Apache-2.0
// Kernels that differ on Intel's GPUs: sub-groups of two sizes, and spills.
#include <syclbin/kernel.hpp>

SYCLBIN_KERNEL(1)
SYCLBIN_PROPERTY(sub_group_size<16>)
void sixteen(unsigned *out) {
  out[syclbin::get_nd_item<1>().get_global_linear_id()] = 16;
}

SYCLBIN_KERNEL(1)
SYCLBIN_PROPERTY(sub_group_size<32>)
void thirty_two(unsigned *out) {
  out[syclbin::get_nd_item<1>().get_global_linear_id()] = 32;
}

// More numbers than the registers of a work-item hold, so that some are spilled.
SYCLBIN_KERNEL(1)
SYCLBIN_PROPERTY(sub_group_size<16>)
void many(const float *in, float *out, int rounds) {
  auto i = syclbin::get_nd_item<1>().get_global_linear_id();
  float x[144];
#pragma unroll
  for (int k = 0; k < 144; ++k) x[k] = in[i * 144 + k];
  for (int r = 0; r < rounds; ++r)
#pragma unroll
    for (int k = 0; k < 144; ++k) x[k] *= x[(k + 77) % 144];
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 144; ++k) sum += x[k] * k;
  out[i] = sum;
}
