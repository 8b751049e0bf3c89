// SPDX-License-Identifier: MIT OR Apache-2.0
// A function for kernels of other files.
#include <syclbin/kernel.hpp>

SYCL_EXTERNAL void fill(int *p, int n) {
  for (int i = 0; i < n; ++i) p[i] = i;
}
