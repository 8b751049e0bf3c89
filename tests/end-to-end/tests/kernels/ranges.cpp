// SPDX-License-Identifier: MIT OR Apache-2.0
// Every way to launch a kernel in SYCL; ranges.rs launches them over ranges of its own.
#include <sycl/h_item.hpp>
#include <sycl/queue.hpp>
#include <sycl/reduction.hpp>
#include <syclbin/group.hpp>

class Named;
void one(sycl::queue &q, int *to, size_t n) {
  q.parallel_for(sycl::range<1>(n), [=](sycl::id<1> i) { to[i] = i[0] + 1; });
}
void two(sycl::queue &q, int *to, size_t n) {
  q.parallel_for(sycl::range<2>(n, n), [=](sycl::item<2> i) { to[i.get_linear_id()] = i[0] * 1000 + i[1]; });
}
void three(sycl::queue &q, int *to, size_t n) {
  q.parallel_for(sycl::range<3>(n, n, n), [=](sycl::item<3> i) {
    to[i.get_linear_id()] = (i[0] * 100 + i[1]) * 100 + i[2];
  });
}
void named(sycl::queue &q, int *to, size_t n) {
  q.submit([&](sycl::handler &h) {
    h.parallel_for<Named>(sycl::range<1>(n), [=](sycl::item<1> i) { to[i] = i.get_range(0); });
  });
}
void task(sycl::queue &q, int *to) {
  q.single_task([=] { *to = 9; });
}
void grouped(sycl::queue &q, int *to, size_t n) {
  q.parallel_for(sycl::nd_range<2>({n, n}, {2, 4}), [=](sycl::nd_item<2> i) {
    to[i.get_global_linear_id()] = i.get_group(0) * 100 + i.get_group(1) * 10 + i.get_local_linear_id();
  });
}
void summed(sycl::queue &q, int *to, size_t n) {
  q.parallel_for(sycl::nd_range<1>(n, 8), [=](sycl::nd_item<1> i) {
    int sum = sycl::reduce_over_group(i.get_group(), to[i.get_global_id(0)], sycl::plus<int>());
    if (i.get_local_id(0) == 0)
      to[i.get_global_id(0)] = sum;
  });
}
void required(sycl::queue &q, int *to, size_t n) {
  q.parallel_for(sycl::nd_range<1>(n, 4), [=](sycl::nd_item<1> i) [[sycl::reqd_work_group_size(4)]] {
    to[i.get_global_id(0)] = i.get_local_range(0);
  });
}
void hierarchical(sycl::queue &q, int *to, size_t n) {
  q.submit([&](sycl::handler &h) {
    h.parallel_for_work_group(sycl::range<1>(n), sycl::range<1>(4), [=](sycl::group<1> g) {
      int base = g.get_group_id(0) * 100;
      g.parallel_for_work_item([&](sycl::h_item<1> i) { to[i.get_global_id(0)] = base + i.get_local_id(0); });
    });
  });
}
void reduced(sycl::queue &q, const int *from, int *sum, size_t n) {
  q.parallel_for(sycl::range<1>(n), sycl::reduction(sum, sycl::plus<int>()),
                 [=](sycl::id<1> i, auto &all) { all += from[i]; });
}
