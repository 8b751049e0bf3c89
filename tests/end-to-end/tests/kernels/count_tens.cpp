// SPDX-License-Identifier: MIT OR Apache-2.0
// A variable of its own, although count_ones.cpp has one of the same name.
#include <sycl/ext/oneapi/device_global/device_global.hpp>
#include <sycl/queue.hpp>
#include <syclbin/kernel.hpp>
namespace syclexp = sycl::ext::oneapi::experimental;

static syclexp::device_global<int> counter;

extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::single_task_kernel))
void count_tens(int *out) { *out = counter.get() += 10; }

// The same names as in the other source, but with a different type.
void scale(sycl::queue &q, float *out, double by) {
  auto times = [=](float x) { return static_cast<float>(x * by); };
  q.single_task([=] { *out = times(2); });
}
