// SPDX-License-Identifier: MIT OR Apache-2.0
// A variable that lies in device memory of its own, and one that lies in the code.
#include <sycl/ext/oneapi/device_global/device_global.hpp>
#include <syclbin/kernel.hpp>
namespace syclexp = sycl::ext::oneapi::experimental;

syclexp::device_global<int> total;
syclexp::device_global<long, decltype(syclexp::properties(syclexp::device_image_scope))> last;

extern "C" SYCLBIN_PROPERTY(single_task_kernel)
void add(int value) { total.get() += value; }

extern "C" SYCLBIN_PROPERTY(single_task_kernel)
void exchange(long *value) {
  long before = last.get();
  last.get() = *value;
  *value = before;
}
