// SPDX-License-Identifier: MIT OR Apache-2.0
// Kernels that call functions: mathematics, functions with small and large arguments, atomics, barriers.
#include <sycl/ext/oneapi/group_local_memory.hpp>
#include <syclbin/atomic.hpp>
#include <syclbin/group.hpp>
#include <syclbin/kernel.hpp>
#include <syclbin/math.hpp>

namespace syclx = sycl::ext::oneapi::experimental;
namespace work_item = sycl::ext::oneapi::this_work_item;

#define KERNEL(range)                                                                              \
  extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclx::nd_range_kernel<range>))
#define CALLED __attribute__((noinline))

KERNEL(1) void mathematics(const float *in, float *out) {
  size_t i = work_item::get_nd_item<1>().get_global_linear_id();
  float x = in[i], sum = 0;
  for (int step = 0; step < 5; ++step) {
    sum += sycl::sqrt(x) + sycl::rsqrt(x + 1) + sycl::sin(x) * sycl::exp2(-x);
    sum = sycl::fma(sum, 0.5f, sycl::floor(x)) + sycl::fmin(x, 2.0f) + sycl::fabs(sum);
    x += sycl::clamp(sum, -1.0f, 1.0f) + 0.25f;
  }
  out[i] = sum;
}

struct Pair {
  double first;
  short second;
  signed char third;
};

CALLED static Pair mixed(Pair pair, signed char by, unsigned char over, bool flip) {
  Pair result = {pair.first * over, short(pair.second + by), (signed char)(pair.third - over)};
  if (flip)
    result.third = -result.third;
  return result;
}

CALLED static long early(int n, long seed) {
  if (n < 0)
    return seed;
  for (int i = 0; i < n; ++i) {
    seed = seed * 6364136223846793005L + i;
    if (seed % 7 == 0)
      return seed - n;
  }
  return seed ^ n;
}

KERNEL(1) void functions(Pair given, const int *in, long *out) {
  size_t i = work_item::get_nd_item<1>().get_global_linear_id();
  Pair pair = given;
  for (int step = 0; step < 4; ++step)
    pair = mixed(pair, (signed char)in[i], (unsigned char)(in[i] * 3), (in[i] + step) & 1);
  out[3 * i] = early(in[i], long(pair.first)) + early(-in[i], 5);
  out[3 * i + 1] = pair.second;
  out[3 * i + 2] = pair.third;
}

// Reads parts of an array that is passed in memory by an index that is only known when it runs.
struct Table {
  int values[8];
};

CALLED static int chosen(Table table, int index) {
  table.values[(index + 1) & 7] += index;
  return table.values[index & 7];
}

KERNEL(1) void tables(Table table, const int *in, int *out) {
  size_t i = work_item::get_nd_item<1>().get_global_linear_id();
  int sum = 0;
  for (int step = 0; step < 8; ++step)
    sum = sum * 3 + chosen(table, in[i] + step);
  out[i] = sum;
}

using sycl::memory_order;
using sycl::memory_scope;
template <typename T, memory_order order, memory_scope scope>
using Atomic = sycl::atomic_ref<T, order, scope>;

KERNEL(1) void atomics(const unsigned *in, unsigned *bins, unsigned *total, int *extremes) {
  auto item = work_item::get_nd_item<1>();
  auto &own = *sycl::ext::oneapi::group_local_memory_for_overwrite<unsigned[16]>(item.get_group());
  size_t local = item.get_local_linear_id();
  if (local < 16)
    own[local] = 0;
  sycl::group_barrier(item.get_group());
  unsigned value = in[item.get_global_linear_id()];
  Atomic<unsigned, memory_order::relaxed, memory_scope::work_group>(own[value % 16]) += value;
  Atomic<unsigned, memory_order::acq_rel, memory_scope::device>(*total).fetch_add(value);
  Atomic<int, memory_order::relaxed, memory_scope::device>(extremes[0]).fetch_max(int(value));
  Atomic<int, memory_order::relaxed, memory_scope::system>(extremes[1]).fetch_min(int(value));
  Atomic<int, memory_order::relaxed, memory_scope::device> product(extremes[2]);
  int seen = product.load();
  while (!product.compare_exchange_strong(seen, int(seen * (value | 1u))))
    ;
  sycl::group_barrier(item.get_group());
  if (local < 16)
    Atomic<unsigned, memory_order::relaxed, memory_scope::device>(bins[local]) += own[local];
}

KERNEL(2) void positions(int *out) {
  auto item = work_item::get_nd_item<2>();
  int sum = 0;
  for (int dimension = 0; dimension < 2; ++dimension)
    sum = sum * 100 + int(item.get_global_id(dimension) * 10 + item.get_local_id(dimension) +
                          item.get_group(dimension) * item.get_local_range(dimension) +
                          item.get_group_range(dimension));
  out[item.get_global_linear_id()] = sum;
}
