// SPDX-License-Identifier: MIT OR Apache-2.0
// Kernels that only the driver compiles: sub-groups of 8, which B580 and Max 1550 lack, and the large register file.
#include <syclbin/kernel.hpp>

#include <sycl/ext/intel/experimental/grf_size_properties.hpp>

SYCLBIN_KERNEL(1)
SYCLBIN_PROPERTY(sub_group_size<8>)
void eight(unsigned *out) {
  out[syclbin::get_nd_item<1>().get_global_linear_id()] = 8;
}

// `many` of gpus.cpp, whose numbers fit into twice as many registers.
SYCLBIN_KERNEL(1)
SYCLBIN_PROPERTY(sub_group_size<16>)
SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::intel::experimental::grf_size<256>))
void large_file(const float *in, float *out, int rounds) {
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
