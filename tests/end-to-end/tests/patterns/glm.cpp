// SPDX-License-Identifier: MIT OR Apache-2.0
#include <sycl/accessor.hpp>
#include <sycl/ext/oneapi/group_local_memory.hpp>
#include <sycl/queue.hpp>
#include <sycl/usm.hpp>
#include <syclbin/group.hpp>
#include <syclbin/kernel.hpp>
// The work-item with the highest number of a group writes what the first one reads.
template <typename Item> void pass_on(const Item &it, float *d, float &last) {
  if (it.get_local_id(0) == it.get_local_range(0) - 1) last = d[it.get_global_id(0)];
  sycl::group_barrier(it.get_group());
  if (it.get_local_id(0) == 0) d[it.get_global_id(0)] = last;
}
SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<1>))
void single(float *d, sycl::local_accessor<float, 0> last) {
  pass_on(sycl::ext::oneapi::this_work_item::get_nd_item<1>(), d, last);
}
int main() {
  sycl::queue q;
  float *d = sycl::malloc_device<float>(64, q);
  typedef double arr[4];
  arr *e = sycl::malloc_device<arr>(64, q);
  q.parallel_for<class one>(sycl::nd_range<1>(64, 8), [=](sycl::nd_item<1> it) {
    auto &m = *sycl::ext::oneapi::group_local_memory_for_overwrite<float[8]>(it.get_group());
    m[it.get_local_id(0)] = d[it.get_global_id(0)]; it.barrier(); d[it.get_global_id(0)] = m[7 - it.get_local_id(0)];
  });
  q.parallel_for<class two>(sycl::nd_range<1>(64, 8), [=](sycl::nd_item<1> it) {
    auto &m = *sycl::ext::oneapi::group_local_memory_for_overwrite<float[8]>(it.get_group());
    auto &n = *sycl::ext::oneapi::group_local_memory_for_overwrite<double[8]>(it.get_group());
    m[it.get_local_id(0)] = d[it.get_global_id(0)]; n[it.get_local_id(0)] = 2; it.barrier(); d[it.get_global_id(0)] = m[7 - it.get_local_id(0)] * n[7 - it.get_local_id(0)];
  });
  q.submit([&](sycl::handler &h) {
    sycl::local_accessor<float, 0> last(h);
    h.parallel_for<class captured>(sycl::nd_range<1>(64, 8), [=](sycl::nd_item<1> it) { pass_on(it, d, last); });
  });
  q.parallel_for<class arrays>(sycl::nd_range<1>(64, 8), [=](sycl::nd_item<1> it) {
    e[it.get_global_id(0)][1] = 3;
  });
}
