// SPDX-License-Identifier: MIT OR Apache-2.0
// y = a * x + y, one work-item an element. This header has what a kernel needs; <sycl/sycl.hpp> works
// as well and takes six times as long to compile.
#include <syclbin/kernel.hpp>

SYCLBIN_KERNEL(1)
void saxpy(float a, const float *x, float *y, unsigned n) {
  size_t i = syclbin::get_nd_item<1>().get_global_id(0);
  if (i < n) y[i] = a * x[i] + y[i];
}
