// SPDX-License-Identifier: MIT OR Apache-2.0
// Parameters that no kernel of `tests/files/` has: accessors of two and three dimensions, half and vectors by value, samplers,
// kernel handlers.
#include <sycl/accessor.hpp>
#include <sycl/buffer.hpp>
#include <sycl/queue.hpp>
#include <sycl/sampler.hpp>
#include <syclbin/constants.hpp>
#include <syclbin/group.hpp>
#include <syclbin/kernel.hpp>
#include <syclbin/vector.hpp>
namespace syclexp = sycl::ext::oneapi::experimental;
class Window; class Cube; class Turned; class Handled;
void host_code(sycl::queue &q, sycl::buffer<int, 2> &a, sycl::buffer<int, 3> &b, int *o) {
  q.submit([&](sycl::handler &h) {
    sycl::accessor in(a, h, sycl::read_only);
    h.parallel_for<Window>(sycl::nd_range<2>({4, 8}, {1, 1}), [=](sycl::nd_item<2> it) {
      o[it.get_global_linear_id()] = in[it.get_global_id()];
      if (it.get_global_linear_id() == 0) {
        o[32] = in.get_range()[0], o[33] = in.get_range()[1];
        o[34] = in.get_offset()[0], o[35] = in.get_offset()[1];
      }
    });
  });
  q.submit([&](sycl::handler &h) {
    sycl::accessor out(b, h, sycl::write_only);
    h.parallel_for<Cube>(sycl::nd_range<3>({2, 3, 4}, {1, 1, 1}), [=](sycl::nd_item<3> it) {
      out[it.get_global_id()] = it.get_global_id(0) * 100 + it.get_global_id(1) * 10 + it.get_global_id(2);
    });
  });
  q.submit([&](sycl::handler &h) {
    sycl::local_accessor<int, 2> tile(sycl::range<2>(4, 8), h);
    h.parallel_for<Turned>(sycl::nd_range<2>({4, 8}, {4, 8}), [=](sycl::nd_item<2> it) {
      tile[it.get_local_id()] = it.get_local_linear_id();
      sycl::group_barrier(it.get_group());
      o[it.get_global_linear_id()] = tile[3 - it.get_local_id(0)][7 - it.get_local_id(1)];
    });
  });
  q.submit([&](sycl::handler &h) {
    h.parallel_for<Handled>(sycl::nd_range<1>(4, 1), [=](sycl::nd_item<1> it, sycl::kernel_handler) {
      o[it.get_global_id(0)] = 3;
    });
  });
}
extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::single_task_kernel))
void values(sycl::half h, sycl::vec<float, 3> v, bool b, float *out) {
  out[0] = h, out[1] = v[0], out[2] = v[2], out[3] = b;
}
extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<1>))
void sampled(const int *in, sycl::sampler s, int *out, int factor) {
  size_t i = sycl::ext::oneapi::this_work_item::get_nd_item<1>().get_global_linear_id();
  out[i] = factor * in[i];
}
extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<1>))
void handled(const int *in, sycl::kernel_handler h, int *out, int factor) {
  size_t i = sycl::ext::oneapi::this_work_item::get_nd_item<1>().get_global_linear_id();
  out[i] = factor * in[i];
}
