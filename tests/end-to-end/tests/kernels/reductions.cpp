// SPDX-License-Identifier: MIT OR Apache-2.0
// Reductions with <syclbin/reduce.hpp>, none of them with sub-groups, 64-bit atomics or floating-point atomics.
#include <limits>
#include <syclbin/reduce.hpp>

SYCLBIN_KERNEL(1)
SYCLBIN_WORK_GROUP_SIZE(64)
void total(const float *x, size_t n, float *results, unsigned *finished) {
  syclbin::reduce(n, [=](size_t i) { return x[i]; }, 0.0f, sycl::plus<>(), results, finished);
}

// Two reductions in one kernel, in work-groups of any size.
SYCLBIN_KERNEL(1)
void extremes(const int *x, size_t n, int *least, int *most, unsigned *finished) {
  auto value = [=](size_t i) { return x[i]; };
  using Limits = std::numeric_limits<int>;
  syclbin::reduce(n, value, Limits::max(), sycl::minimum<>(), least, &finished[0]);
  syclbin::reduce(n, value, Limits::min(), sycl::maximum<>(), most, &finished[1]);
}

struct Best {
  float value;
  unsigned index;
};

// The largest number and its first index.
SYCLBIN_KERNEL(1)
SYCLBIN_WORK_GROUP_SIZE(3)
void largest(const float *x, size_t n, Best *results, unsigned *finished) {
  auto better = [](Best a, Best b) {
    return a.value > b.value || (a.value == b.value && a.index < b.index) ? a : b;
  };
  auto value = [=](size_t i) { return Best{x[i], unsigned(i)}; };
  Best none{-std::numeric_limits<float>::infinity(), ~0u};
  syclbin::reduce(n, value, none, better, results, finished);
}
