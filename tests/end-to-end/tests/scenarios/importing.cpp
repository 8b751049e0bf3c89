// SPDX-License-Identifier: MIT OR Apache-2.0
// Kernels that call a function of another file.
#include <syclbin/kernel.hpp>

SYCL_EXTERNAL void fill(int *p, int n);

extern "C" SYCLBIN_PROPERTY(single_task_kernel)
void fill_all(int *out, int n) { fill(out, n); }

SYCLBIN_KERNEL(1)
void fill_once(int *out, int n) {
  if (syclbin::get_nd_item<1>().get_global_linear_id() == 0) fill(out, n);
}
