// SPDX-License-Identifier: MIT OR Apache-2.0
// Sums, minima and other reductions over a range, in one launch:
//
//   SYCLBIN_KERNEL(1)
//   SYCLBIN_WORK_GROUP_SIZE(64)
//   void dot(const float *x, const float *y, size_t n, float *results, unsigned *finished) {
//     auto value = [=](size_t i) { return x[i] * y[i]; };
//     syclbin::reduce(n, value, 0.0f, sycl::plus<>(), results, finished);
//   }
//
// The size of the launch determines how many work-groups share the range. `results` needs one element per
// work-group; `finished` points to a single counter, initially 0. Afterwards, results[0] contains the result,
// the other elements contain intermediate results, and the counter is 0 again for the next launch. Concurrent
// launches need separate buffers.
#pragma once

#include <syclbin/atomic.hpp>
#include <syclbin/group.hpp>

#if __has_include(<sycl/ext/oneapi/group_local_memory.hpp>)
#include <sycl/ext/oneapi/group_local_memory.hpp>
#else
#include <sycl/sycl.hpp>
#endif

namespace syclbin {
// Combines value(0) to value(n - 1) with `operation`, which must be associative and commutative:
// sycl::plus<>(), sycl::minimum<>(), sycl::maximum<>(), or your own function. `identity` is the result for an
// empty range; combining it with a value must return the value. T must be a number or a struct without
// constructors. All work-items of the launch must call this function. The order of the operations depends only
// on `n` and the number and size of work-groups, so floating-point sums are reproducible on a given device.
template <typename T, typename Value, typename Operation>
__attribute__((always_inline)) inline void reduce(size_t n, Value value, T identity, Operation operation,
                                                  T *results, unsigned *finished) {
  auto item = get_nd_item<1>();
  auto group = item.get_group();
  size_t local = item.get_local_id(0), size = item.get_local_range(0);
  size_t own = item.get_group(0), groups = item.get_group_range(0);

  // Each work-group combines a contiguous part of the range, so that CPUs can prefetch it. The first loop has
  // the same bounds for all work-items, so that compilers can vectorize it and several loads are in flight.
  constexpr size_t AT_ONCE = 4;
  T values[AT_ONCE];
  for (T &each : values) each = identity;
  size_t rows = (n + size - 1) / size, part = (rows + groups - 1) / groups * size;
  size_t begin = own * part < n ? own * part : n, end = n - begin < part ? n : begin + part;
  for (; end - begin >= AT_ONCE * size; begin += AT_ONCE * size)
#pragma unroll
    for (size_t k = 0; k < AT_ONCE; ++k) values[k] = operation(values[k], value(begin + k * size + local));
  for (size_t i = begin + local; i < end; i += size) values[0] = operation(values[0], value(i));
  for (size_t k = 1; k < AT_ONCE; ++k) values[0] = operation(values[0], values[k]);

  // rusticl does not support reduce_over_group, and sub-groups are optional in OpenCL, so this is a tree
  // reduction in work-group memory. If a group is larger than SLOTS, its work-items take turns.
  constexpr size_t SLOTS = 64;
  T(&slots)[SLOTS] = *::sycl::ext::oneapi::group_local_memory_for_overwrite<T[SLOTS]>(group);
  auto combine = [&](T mine) {
    if (local < SLOTS) slots[local] = mine;
    for (size_t turn = SLOTS; turn < size; turn += SLOTS) {
      ::sycl::group_barrier(group);
      if (local >= turn && local - turn < SLOTS) slots[local - turn] = operation(slots[local - turn], mine);
    }
    for (size_t half = SLOTS / 2; half > 0; half /= 2) {
      ::sycl::group_barrier(group);
      if (local < half && local + half < size) slots[local] = operation(slots[local], slots[local + half]);
    }
  };
  combine(values[0]);

  // The last work-group to finish combines the results of all work-groups. This needs neither floating-point
  // nor 64-bit atomics, so it works for every T.
  bool &is_last = *::sycl::ext::oneapi::group_local_memory_for_overwrite<bool>(group);
  if (local == 0) {
    results[own] = slots[0];
    ::sycl::atomic_ref<unsigned, ::sycl::memory_order::acq_rel, ::sycl::memory_scope::device> count(*finished);
    is_last = count.fetch_add(1) == groups - 1;
  }
  ::sycl::group_barrier(group);
  if (!is_last) return;
  T rest = identity;
  for (size_t i = local; i < groups; i += size) rest = operation(rest, results[i]);
  combine(rest);
  if (local == 0) {
    results[0] = slots[0];
    *finished = 0;
  }
}
} // namespace syclbin
