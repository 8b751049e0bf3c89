// SPDX-License-Identifier: MIT OR Apache-2.0
// Explicit SIMD: a work-item handles 16 numbers.
#include <syclbin/kernel.hpp>

#include <sycl/ext/intel/esimd.hpp>

namespace esimd = sycl::ext::intel::esimd;

SYCLBIN_KERNEL(1)
SYCL_ESIMD_KERNEL void explicit_simd(float *x) {
  size_t first = 16 * syclbin::get_nd_item<1>().get_global_linear_id();
  esimd::simd<float, 16> numbers = esimd::block_load<float, 16>(x + first);
  esimd::block_store(x + first, numbers * 2.0f);
}
