// SPDX-License-Identifier: MIT OR Apache-2.0
// How often each byte occurs. A work-group counts in memory of its own, where an atomic addition
// is cheap, and adds what it counted to the result once.
#include <syclbin/atomic.hpp>
#include <syclbin/group.hpp>
#include <syclbin/local_memory.hpp>

constexpr size_t BINS = 256;

template <sycl::memory_scope SCOPE> static void add(unsigned &bin, unsigned count) {
  sycl::atomic_ref<unsigned, sycl::memory_order::relaxed, SCOPE>(bin).fetch_add(count);
}

// One work-item a bin: each clears its own, and adds it to the result in the end. `local` has its
// size from here, so Rust does not pass it.
SYCLBIN_KERNEL(1)
SYCLBIN_WORK_GROUP_SIZE(BINS)
void histogram(const unsigned char *bytes, size_t count, unsigned *bins,
               syclbin::work_group_memory<unsigned[BINS]> local) {
  auto item = syclbin::get_nd_item<1>();
  unsigned *counted = &local[0];
  size_t mine = item.get_local_linear_id();

  counted[mine] = 0;
  sycl::group_barrier(item.get_group());

  // All work-items together take a stride: as many bytes side by side as there are work-items.
  for (size_t i = item.get_global_id(0); i < count; i += item.get_global_range(0))
    add<sycl::memory_scope::work_group>(counted[bytes[i]], 1);
  sycl::group_barrier(item.get_group());

  add<sycl::memory_scope::device>(bins[mine], counted[mine]);
}
