// SPDX-License-Identifier: MIT OR Apache-2.0
// Kernels with images of one to three dimensions: sampled, read and written pixel by pixel.
#include <sycl/accessor.hpp>
#include <sycl/accessor_image.hpp>
#include <sycl/queue.hpp>
#include <sycl/sampler.hpp>
#include <syclbin/kernel.hpp>
#include <syclbin/vector.hpp>
namespace syclexp = sycl::ext::oneapi::experimental;
#define KERNEL(DIMENSIONS) SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<DIMENSIONS>))
namespace item = sycl::ext::oneapi::this_work_item;
using sycl::float2, sycl::float4, sycl::int2, sycl::int4, sycl::uint4;

template <class T, int Dimensions>
using Reads = sycl::accessor<T, Dimensions, sycl::access_mode::read, sycl::target::image>;
template <class T, int Dimensions>
using Writes = sycl::accessor<T, Dimensions, sycl::access_mode::write, sycl::target::image>;
template <class T, int Dimensions>
using Layers = sycl::accessor<T, Dimensions, sycl::access_mode::read, sycl::target::image_array>;

extern "C" {
KERNEL(1) void sample1(Reads<float4, 1> in, sycl::sampler s, const float *at, float4 *out) {
  size_t i = item::get_nd_item<1>().get_global_linear_id();
  out[i] = in.read(at[i], s);
}
KERNEL(1) void sample2(Reads<float4, 2> in, sycl::sampler s, const float2 *at, float4 *out) {
  size_t i = item::get_nd_item<1>().get_global_linear_id();
  out[i] = in.read(at[i], s);
}
KERNEL(1) void sample3(Reads<float4, 3> in, sycl::sampler s, const float4 *at, float4 *out) {
  size_t i = item::get_nd_item<1>().get_global_linear_id();
  out[i] = in.read(at[i], s);
}

// Each image gets the double of the other; the last index of a range is x.
KERNEL(1) void twice1(Reads<int4, 1> in, Writes<int4, 1> out) {
  int x = item::get_nd_item<1>().get_global_id(0);
  out.write(x, in.read(x) * 2);
}
KERNEL(2) void twice2(Reads<uint4, 2> in, Writes<uint4, 2> out) {
  auto own = item::get_nd_item<2>();
  int2 at(own.get_global_id(1), own.get_global_id(0));
  out.write(at, in.read(at) * 2u);
}
KERNEL(3) void twice3(Reads<float4, 3> in, Writes<float4, 3> out) {
  auto own = item::get_nd_item<3>();
  int4 at(own.get_global_id(2), own.get_global_id(1), own.get_global_id(0), 0);
  out.write(at, in.read(at) * 2.0f);
}

KERNEL(1) void layer(Layers<int4, 2> in, int number, int4 *out) { out[0] = in[number].read(int2(1, 0)); }
KERNEL(1) void refused(sycl::sampled_image_accessor<float4, 2, sycl::image_target::device> in, float *out) {
  out[0] = in.read(float2(0, 0)).x();
}
}

class Lambda;
struct Functor {
  Reads<int4, 1> in;
  int *out;
  void operator()(sycl::nd_item<1> own) const {
    int x = own.get_global_id(0);
    out[x] = in.read(x).x();
  }
};
void host(sycl::queue &q, Reads<uint4, 1> in, Functor functor, unsigned *out) {
  q.submit([&](sycl::handler &h) { h.parallel_for(sycl::nd_range<1>(4, 1), functor); });
  q.submit([&](sycl::handler &h) {
    h.parallel_for<Lambda>(sycl::nd_range<1>(4, 1), [=](sycl::nd_item<1> own) {
      int x = own.get_global_id(0);
      out[x] = in.read(x).y();
    });
  });
}
