// Two kernels, of which only the second needs a function that no file defines.
#include <syclbin/kernel.hpp>
SYCL_EXTERNAL int undefined(int x);
[[gnu::noinline]] static int middle(int x) { return undefined(x) + 1; }
SYCLBIN_KERNEL(1)
void negate(int *data) {
  size_t i = syclbin::get_nd_item<1>().get_global_linear_id();
  data[i] = -data[i];
}
SYCLBIN_KERNEL(1)
void call(int *data) {
  size_t i = syclbin::get_nd_item<1>().get_global_linear_id();
  data[i] = middle(data[i]);
}
