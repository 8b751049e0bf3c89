// SPDX-License-Identifier: MIT OR Apache-2.0
// Kernels that convert bfloat16, which needs DPC++'s device library; bfloat16.rs calls them by their stubs.
#include <sycl/ext/oneapi/bfloat16.hpp>
#include <syclbin/kernel.hpp>
namespace syclexp = sycl::ext::oneapi::experimental;
using sycl::ext::oneapi::bfloat16;
#define KERNEL SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<1>))

static size_t own_index() { return sycl::ext::oneapi::this_work_item::get_nd_item<1>().get_global_linear_id(); }

extern "C" {
// The dot product of a row of `a` and `b`, summed in float and rounded once.
KERNEL void dot(const bfloat16 *a, const bfloat16 *b, bfloat16 *out, unsigned length) {
  const bfloat16 *row = a + own_index() * length;
  float sum = 0;
  for (unsigned i = 0; i < length; ++i) sum += static_cast<float>(row[i]) * static_cast<float>(b[i]);
  out[own_index()] = sum;
}
KERNEL void round_trip(const float *in, bfloat16 *narrow, float *wide) {
  narrow[own_index()] = in[own_index()];
  wide[own_index()] = narrow[own_index()];
}
// Operators round each result.
KERNEL void scaled(bfloat16 *data, bfloat16 factor) { data[own_index()] = data[own_index()] * factor + bfloat16(1.0f); }
}
