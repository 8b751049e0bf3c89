// A kernel with an assert, which calls a function with another.
#include <cassert>
#include <syclbin/kernel.hpp>
SYCL_EXTERNAL int twice(int x);
SYCLBIN_KERNEL(1)
void use(int *data) {
  size_t i = syclbin::get_nd_item<1>().get_global_linear_id();
  assert(data[i] > 0);
  data[i] = twice(data[i]);
}
