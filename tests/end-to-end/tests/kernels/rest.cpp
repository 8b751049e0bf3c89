// SPDX-License-Identifier: MIT OR Apache-2.0
// Kinds of kernels and parameters that the other sources of these tests do not have; rest.rs calls them by their stubs.
#include <sycl/queue.hpp>
#include <sycl/sampler.hpp>
#include <syclbin/constants.hpp>
#include <syclbin/group.hpp>
#include <syclbin/kernel.hpp>
#include <syclbin/local_memory.hpp>
#include <syclbin/vector.hpp>
namespace syclexp = sycl::ext::oneapi::experimental;
#define KERNEL SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<1>))

static size_t own_index() { return sycl::ext::oneapi::this_work_item::get_nd_item<1>().get_global_linear_id(); }

extern "C" {
KERNEL void sampled(const int *in, sycl::sampler s, int *out) { out[own_index()] = in[own_index()] + 1; }
KERNEL void handled(int *out, sycl::kernel_handler h, int value) { out[own_index()] = value; }
KERNEL void places(sycl::id<2> id, sycl::range<3> range, sycl::marray<short, 3> three, long *out) {
  out[0] = id[0] * 10 + id[1];
  out[1] = range[0] * 100 + range[1] * 10 + range[2];
  out[2] = three[0] * 100 + three[1] * 10 + three[2];
}
// Nothing is left of the parameters but one.
KERNEL void removed(const float *never, double neither, int *out, sycl::float4 nor) { out[own_index()] = 7; }
// Either pointer may be null.
KERNEL void masked(const int *mask, int *out, int *seen) {
  size_t i = own_index();
  out[i] = mask ? mask[i] : -1;
  if (seen) seen[i] = 1;
}
KERNEL SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::max_work_group_size<8>))
void bounded(int *out) { out[own_index()] = 5; }
KERNEL void dynamic(syclexp::dynamic_work_group_memory<int[]> scratch, int *out) {
  auto item = sycl::ext::oneapi::this_work_item::get_nd_item<1>();
  int *memory = scratch.get();
  memory[item.get_local_id(0)] = item.get_global_id(0) * 2;
  sycl::group_barrier(item.get_group());
  out[item.get_global_id(0)] = memory[item.get_local_range(0) - 1 - item.get_local_id(0)];
}
}

// Overloads, and instances of a template over types and numbers.
namespace over {
KERNEL void fill(int *out, int value) { out[own_index()] = value; }
KERNEL void fill(float *out, float value) { out[own_index()] = value; }
template <class T, int N> KERNEL void times(T *data) { data[own_index()] *= N; }
template void times<int, 3>(int *);
template void times<unsigned short, -2>(unsigned short *);
} // namespace over

namespace named {
class Lambda;
struct Functor {
  int *out;
  int value;
  void operator()(sycl::nd_item<1> i) const { out[i.get_global_linear_id()] = value; }
};
} // namespace named
void host(sycl::queue &q, int *out, int value) {
  q.submit([&](sycl::handler &h) { h.parallel_for(sycl::nd_range<1>(4, 1), named::Functor{out, value}); });
  q.submit([&](sycl::handler &h) {
    h.parallel_for<named::Lambda>(sycl::nd_range<1>(4, 1), [=](sycl::nd_item<1> i) { out[i.get_global_linear_id()] = value + 1; });
  });
  q.submit([&](sycl::handler &h) {
    h.parallel_for(sycl::nd_range<1>(4, 1), [=](sycl::nd_item<1> i) { out[i.get_global_linear_id()] = value + 2; });
  });
}
