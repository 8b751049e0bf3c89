#include <syclbin/kernel.hpp>

// Work-item i computes y[i].
SYCLBIN_KERNEL(1)
void saxpy(float a, const float *x, float *y, unsigned n) {
  size_t i = syclbin::get_nd_item<1>().get_global_id(0);
  if (i < n) y[i] = a * x[i] + y[i];
}
