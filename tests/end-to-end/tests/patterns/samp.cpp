// SPDX-License-Identifier: MIT OR Apache-2.0
#include <sycl/sycl.hpp>
using namespace sycl;
int main() {
  queue q; float *out = malloc_device<float>(64, q); float *p = nullptr;
  image<2> img(p, image_channel_order::rgba, image_channel_type::fp32, range<2>(8, 8));
  q.submit([&](handler &h) {
    auto acc = img.get_access<float4, access::mode::read>(h);
    sampler s(coordinate_normalization_mode::unnormalized, addressing_mode::clamp_to_edge, filtering_mode::nearest);
    h.parallel_for(range<1>(64), [=](id<1> i) { out[i] = acc.read(float2(i % 8, i / 8), s)[0]; });
  });
  q.submit([&](handler &h) {
    auto acc = img.get_access<float4, access::mode::read>(h);
    sampler s(coordinate_normalization_mode::unnormalized, addressing_mode::clamp_to_edge, filtering_mode::nearest);
    h.parallel_for<class SampNamed>(range<1>(64), [=](id<1> i) { out[i] = acc.read(float2(i % 8, i / 8), s)[0]; });
  });
}
