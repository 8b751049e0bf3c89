// SPDX-License-Identifier: MIT OR Apache-2.0
// A kernel with a bindless image, which Intel's CPU driver does not build.
#include <sycl/ext/oneapi/bindless_images.hpp>
#include <syclbin/kernel.hpp>
#include <syclbin/vector.hpp>
namespace syclexp = sycl::ext::oneapi::experimental;

extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<1>))
void bindless(syclexp::sampled_image_handle image, float *out) {
  out[0] = syclexp::sample_image<float>(image, sycl::float2(0.5f, 0.5f));
}
