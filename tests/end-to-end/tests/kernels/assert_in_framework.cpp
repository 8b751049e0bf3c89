// SPDX-License-Identifier: MIT OR Apache-2.0
// A macro of a framework that calls `__assert_fail` itself, with its own declaration, also where NDEBUG is defined.
#define NDEBUG
#include <sycl/queue.hpp>
#include <sycl/usm.hpp>
#include <syclbin/group.hpp>
#include <cassert>

extern "C" {
extern SYCL_EXTERNAL void __assert_fail(const char *expr, const char *file, unsigned int line, const char *func);
}
#define KERNEL_ASSERT(condition)                                                                            \
  if (__builtin_expect(!(condition), 0)) {                                                                  \
    __assert_fail(#condition, "framework.h", 77u, __func__);                                                \
  }

template <class T> T checked(T value) {
  KERNEL_ASSERT(value < T(100));
  assert(false);
  return value;
}

int main() {
  sycl::queue queue;
  int *data = sycl::malloc_device<int>(8, queue);
  queue.parallel_for<class Framework>(sycl::nd_range<2>({2, 4}, {1, 4}), [=](sycl::nd_item<2> item) {
    size_t i = item.get_global_linear_id();
    int value = checked(data[i]);
    sycl::group_barrier(item.get_group());
    data[i] = value + 1;
  });
}
