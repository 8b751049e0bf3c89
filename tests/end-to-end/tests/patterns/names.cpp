// SPDX-License-Identifier: MIT OR Apache-2.0
#include <sycl/sycl.hpp>
#include <type_traits>
typedef struct { int first; float second; } S;
void generic(sycl::queue &q, int *out) {
  auto launch = [=](auto I, sycl::queue &q) {
    constexpr int n = decltype(I)::value;
    q.parallel_for(sycl::range<1>(1), [=](sycl::id<1>) { out[0] = n; });
  };
  launch(std::integral_constant<int, 32>{}, q);
  launch(std::integral_constant<int, 64>{}, q);
  launch(std::integral_constant<int, 128>{}, q);
  launch(std::integral_constant<int, 1024>{}, q);
}
void reads(sycl::queue &q, float *in, float *out) {
  q.parallel_for(sycl::range<1>(64), [=](sycl::id<1> i) { out[i] = in[i]; });
}
void unnamed_struct(sycl::queue &q, S *in, float *out) {
  q.parallel_for(sycl::range<1>(64), [=](sycl::id<1> i) { out[i] = in[i].first * in[i].second; });
}
void unnamed_value(sycl::queue &q, S in, float *out, long n) {
  q.parallel_for(sycl::range<1>(64), [=](sycl::id<1> i) { if (i < n) out[i] = in.first * in.second; });
}
int main() {}
