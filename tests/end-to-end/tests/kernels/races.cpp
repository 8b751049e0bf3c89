// SPDX-License-Identifier: MIT OR Apache-2.0
// Kernels with and without races between work-groups.
#include <syclbin/atomic.hpp>
#include <syclbin/group.hpp>
#include <syclbin/kernel.hpp>
#include <syclbin/local_memory.hpp>

// Reads an element that the next work-group writes.
SYCLBIN_KERNEL(1)
SYCLBIN_WORK_GROUP_SIZE(16)
void shift(int *x, unsigned n) {
  size_t i = syclbin::get_nd_item<1>().get_global_id(0);
  if (i + 1 < n) x[i] = x[i + 1];
}

// Several work-groups write one element.
SYCLBIN_KERNEL(1)
SYCLBIN_WORK_GROUP_SIZE(16)
void last_wins(const int *x, int *bins) {
  size_t i = syclbin::get_nd_item<1>().get_global_id(0);
  bins[x[i]] = i;
}

SYCLBIN_KERNEL(1)
void tally(const int *x, unsigned *bins) {
  size_t i = syclbin::get_nd_item<1>().get_global_id(0);
  sycl::atomic_ref<unsigned, sycl::memory_order::relaxed, sycl::memory_scope::device> bin(bins[x[i]]);
  ++bin;
}

// Reverses each work-group in place, through local memory.
SYCLBIN_KERNEL(1)
SYCLBIN_WORK_GROUP_SIZE(16)
void turn(int *x, sycl::ext::oneapi::experimental::work_group_memory<int[16]> scratch) {
  auto item = syclbin::get_nd_item<1>();
  size_t local = item.get_local_id(0);
  scratch[local] = x[item.get_global_id(0)];
  sycl::group_barrier(item.get_group());
  x[item.get_global_id(0)] = scratch[15 - local];
}

template <int D> void store_ids(unsigned *out) {
  auto item = syclbin::get_nd_item<D>();
  unsigned ids = 0, index = 0;
  for (int d = 0; d < D; ++d) {
    size_t position = item.get_global_id(d) - item.get_offset()[d];
    index = index * item.get_global_range(d) + position;
    ids = ids * 31 + item.get_global_id(d);
    ids = ids * 31 + item.get_group(d);
    ids = ids * 31 + item.get_local_id(d);
    ids = ids * 31 + item.get_group_range(d);
    ids = ids * 31 + item.get_local_range(d);
    ids = ids * 31 + item.get_offset()[d];
    bool fits = item.get_group(d) * item.get_local_range(d) + item.get_local_id(d) == position;
    if (!fits) ids = 0;
  }
  out[index] = ids + item.get_global_linear_id() * 7;
}
SYCLBIN_KERNEL(1) void ids1(unsigned *out) { store_ids<1>(out); }
SYCLBIN_KERNEL(2) void ids2(unsigned *out) { store_ids<2>(out); }
SYCLBIN_KERNEL(3) void ids3(unsigned *out) { store_ids<3>(out); }

struct Column {
  int *values;
  long scale;
};

// Changes memory that no argument is: the pointers are in a struct, and in memory.
SYCLBIN_KERNEL(1)
void scale(Column column, const Column *others) {
  size_t i = syclbin::get_nd_item<1>().get_global_id(0);
  column.values[i] *= column.scale;
  others->values[i] *= others->scale;
}
