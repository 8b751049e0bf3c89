// SPDX-License-Identifier: MIT OR Apache-2.0
// Selections that LLVM optimizes to signed and unsigned conversions of booleans, and negations; signs.rs launches them.
#include <syclbin/group.hpp>
#include <syclbin/kernel.hpp>
#include <syclbin/math.hpp>
#include <syclbin/vector.hpp>

SYCLBIN_KERNEL(1)
void signs(const float *in, float *out, float *ones) {
  size_t i = syclbin::get_nd_item<1>().get_global_linear_id();
  float x = in[i];
  out[i] = x > 0 ? 1 : x < 0 ? -1 : 0;
  // These are 1 or 0.
  bool negative = x < 0;
  int number = negative;
  short small = x < 0 ? 1 : 0;
  ones[4 * i] = negative;
  ones[4 * i + 1] = number;
  ones[4 * i + 2] = (float)(int)(x > 0) - (float)(signed char)small + (float)(x < 0 ? 1ll : 0ll);
  ones[4 * i + 3] = sycl::vec<int, 1>(x < 0 ? 1 : 0).convert<float>()[0];
}

// Negations that live across a barrier.
static auto waiting() {
  auto item = syclbin::get_nd_item<1>();
  sycl::group_barrier(item.get_group());
  return item.get_global_linear_id();
}

SYCLBIN_KERNEL(1)
void negated(const float *in, float *out) {
  size_t i = syclbin::get_nd_item<1>().get_global_linear_id();
  float minus = -in[i], root = -sycl::sqrt(in[i]), product = -(in[i] * root), sum = sycl::fma(minus, 2.f, 1.f);
  waiting();
  out[4 * i] = minus;
  out[4 * i + 1] = root;
  out[4 * i + 2] = product;
  out[4 * i + 3] = sum;
}
SYCLBIN_KERNEL(1)
void negated_double(const double *in, double *out) {
  double root = -sycl::sqrt(in[syclbin::get_nd_item<1>().get_global_linear_id()]);
  out[waiting()] = root;
}
SYCLBIN_KERNEL(1)
void negated_float4(const sycl::float4 *in, sycl::float4 *out) {
  sycl::float4 root = -sycl::sqrt(in[syclbin::get_nd_item<1>().get_global_linear_id()]);
  out[waiting()] = root;
}
SYCLBIN_KERNEL(1)
void negated_beside_sum(const float *in, float *out, int *sums) {
  auto item = syclbin::get_nd_item<1>();
  size_t i = item.get_global_linear_id();
  float root = -sycl::sqrt(in[i]);
  sums[i] = sycl::reduce_over_group(item.get_group(), 1, sycl::plus<>());
  out[i] = root;
}
