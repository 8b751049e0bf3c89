// SPDX-License-Identifier: MIT OR Apache-2.0
// Each feature that the headers <syclbin/...> promise, and none of <sycl/sycl.hpp>.
#include <syclbin/atomic.hpp>
#include <syclbin/constants.hpp>
#include <syclbin/group.hpp>
#include <syclbin/kernel.hpp>
#include <syclbin/local_memory.hpp>
#include <syclbin/math.hpp>
#include <syclbin/printf.hpp>
#include <syclbin/vector.hpp>


SYCLBIN_KERNEL(1)
void ids1(int *out) {
  auto item = syclbin::get_nd_item<1>();
  out[item.get_global_id(0)] = item.get_global_linear_id() * 3;
}

SYCLBIN_KERNEL(2)
SYCLBIN_WORK_GROUP_SIZE(2, 4)
void ids2(int *out) {
  auto item = syclbin::get_nd_item<2>();
  auto group = syclbin::get_work_group<2>();
  sycl::id<2> id = item.get_global_id();
  sycl::range<2> range = item.get_global_range();
  out[id[0] * range[1] + id[1]] = id[0] * 1000 + id[1] * 100 + group.get_group_linear_id();
}

SYCLBIN_KERNEL(3)
void ids3(int *out) {
  auto item = syclbin::get_nd_item<3>();
  sycl::id<3> id = item.get_global_id();
  out[item.get_global_linear_id()] = id[0] * 100 + id[1] * 10 + id[2];
}

SYCLBIN_KERNEL(1)
void halves(const sycl::half *x, sycl::half *y) {
  size_t i = syclbin::get_nd_item<1>().get_global_linear_id();
  sycl::marray<float, 3> a{1.0f, 2.0f, static_cast<float>(x[i])};
  a += 0.5f;
  y[i] = static_cast<sycl::half>(a[0] + a[1] + a[2]) + x[i];
}

SYCLBIN_KERNEL(1)
void vectors(sycl::float4 a, const sycl::int2 *b, sycl::float4 *out) {
  size_t i = syclbin::get_nd_item<1>().get_global_linear_id();
  sycl::float4 v = a.swizzle<3, 2, 1, 0>() * 2.0f;
  v.lo() = v.swizzle<1, 0>();
  sycl::float2 c = b[i].convert<float>();
  out[i] = v + sycl::float4(c.x(), c.y(), c.x() + c.y(), 0);
}

SYCLBIN_KERNEL(1)
void maths(float x, double y, int n, float *out) {
  out[0] = sycl::sqrt(x);
  out[1] = sycl::fma(x, x, 1.0f);
  out[2] = sycl::clamp(x, -1.0f, 1.0f);
  out[3] = sycl::dot(sycl::float3(1, 2, x), sycl::float3(4, 5, 6));
  out[4] = sycl::popcount(n);
  out[5] = sycl::exp2(static_cast<float>(y));
  out[6] = sycl::abs(-n);
  out[7] = sycl::select(1.0f, 2.0f, n > 0);
}

SYCLBIN_KERNEL(1)
void atomics(int *count, float *most) {
  int i = syclbin::get_nd_item<1>().get_global_linear_id();
  sycl::atomic_ref<int, sycl::memory_order::relaxed, sycl::memory_scope::device> counted(*count);
  counted += i;
  sycl::atomic_ref<float, sycl::memory_order::relaxed, sycl::memory_scope::device,
                   sycl::access::address_space::global_space>
      largest(*most);
  largest.fetch_max(i * 0.5f);
  sycl::atomic_fence(sycl::memory_order::acq_rel, sycl::memory_scope::device);
}

SYCLBIN_KERNEL(1)
SYCLBIN_WORK_GROUP_SIZE(16)
void groups(const int *in, int *out, syclbin::work_group_memory<int[16]> shared) {
  auto item = syclbin::get_nd_item<1>();
  auto group = item.get_group();
  size_t i = item.get_global_linear_id(), l = item.get_local_linear_id();
  shared[l] = in[i];
  sycl::group_barrier(group);
  int other = shared[15 - l];
  int sum = sycl::reduce_over_group(group, other, sycl::plus<>());
  int before = sycl::exclusive_scan_over_group(group, other, sycl::plus<>());
  int first = sycl::group_broadcast(group, other, 0);
  bool any = sycl::any_of_group(group, other == in[i]);
  out[i] = sum + before * 100 + first * 10000 + any;
}

constexpr sycl::specialization_id<int> factor(3);
SYCLBIN_KERNEL(1)
void constants(int *out, sycl::kernel_handler handler) {
  out[0] = handler.get_specialization_constant<factor>() * 7;
}

SYCLBIN_KERNEL(1)
void prints(int n) {
  syclbin::printf("slim says %d\n", n);
}

template <typename T>
SYCLBIN_PROPERTY(nd_range_kernel<1>)
void twice(T *x) {
  x[syclbin::get_nd_item<1>().get_global_linear_id()] *= 2;
}
template void twice<int>(int *);
