// SPDX-License-Identifier: MIT OR Apache-2.0
// A kernel that has no name of its own: a lambda, called by a class.
#include <sycl/queue.hpp>

class Named;
void host(sycl::queue &queue, int *out) {
  queue.parallel_for<Named>(sycl::nd_range<1>(8, 8), [=](sycl::nd_item<1> item) {
    out[item.get_global_linear_id()] = static_cast<int>(item.get_global_linear_id()) * 3;
  });
}
