// SPDX-License-Identifier: MIT OR Apache-2.0
// The file that stubs are generated from, and those that replace it: they define what differs.
#include <sycl/ext/oneapi/device_global/device_global.hpp>
#include <syclbin/constants.hpp>
#include <syclbin/kernel.hpp>
namespace syclexp = sycl::ext::oneapi::experimental;

#ifdef OTHER_TYPES
using Factor = double;
struct Body { int charge; float mass; };
constexpr sycl::specialization_id<float> bias(1);
syclexp::device_global<int[8]> table;
#else
using Factor = float;
struct Body { float mass; int charge; };
constexpr sycl::specialization_id<int> bias(1);
syclexp::device_global<int[4]> table;
#endif

#ifdef OTHER_CODE
SYCLBIN_KERNEL(1)
void added(int *out) {
  size_t i = syclbin::get_nd_item<1>().get_global_linear_id();
  out[i] = i;
}
#define SIGN -
#else
#define SIGN +
#endif

SYCLBIN_KERNEL(1)
void scale(float *data, Factor factor, sycl::kernel_handler h) {
  size_t i = syclbin::get_nd_item<1>().get_global_linear_id();
  data[i] = SIGN data[i] * factor + h.get_specialization_constant<bias>() + table[i & 3];
}

#ifndef LACKING
SYCLBIN_KERNEL(1)
void charges(const Body *bodies, int *out) {
  size_t i = syclbin::get_nd_item<1>().get_global_linear_id();
  out[i] = SIGN bodies[i].charge;
}
#endif
