// SPDX-License-Identifier: MIT OR Apache-2.0
// Numbers of every kind by value, and pointers to some; kernels.rs calls these by their stubs.
#include <syclbin/group.hpp>
#include <syclbin/kernel.hpp>
#include <syclbin/local_memory.hpp>
#include <syclbin/vector.hpp>
namespace syclexp = sycl::ext::oneapi::experimental;
#define KERNEL SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<1>))

enum class Mode : unsigned char { A, B };
enum Old { X = -1, Y };

extern "C" {
KERNEL void numbers(bool a, char b, unsigned char c, short d, unsigned short e, int f, unsigned g,
                    long h, unsigned long i, float j, sycl::half l, size_t n, uint32_t o,
                    float *out) {
  *out = a + b + c + d + e + f + g + h + i + j + (float)l + n + o;
}
KERNEL void modes(Mode m, Old o, Mode *to) { *to = o == X ? m : Mode::B; }
KERNEL void double_halves(const sycl::half *in, sycl::half *out) {
  size_t i = sycl::ext::oneapi::this_work_item::get_nd_item<1>().get_global_linear_id();
  out[i] = in[i] + in[i];
}
KERNEL void raw(const void *from, void *to) { *(int *)to = *(const int *)from + 1; }
KERNEL void mixed(sycl::float4 by, sycl::float3 *points) {
  points[0] = points[0] * by.w() + sycl::float3(by.x(), by.y(), by.z());
}
KERNEL void shared(syclexp::work_group_memory<int[]> scratch, int *out) {
  auto item = sycl::ext::oneapi::this_work_item::get_nd_item<1>();
  scratch[item.get_local_id(0)] = item.get_global_id(0);
  sycl::group_barrier(item.get_group());
  out[item.get_global_id(0)] = scratch[item.get_local_range(0) - 1 - item.get_local_id(0)];
}
}
