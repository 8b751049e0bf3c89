// SPDX-License-Identifier: MIT OR Apache-2.0
// Work-group memory whose size the launch gives, without a parameter for it.
#include <sycl/ext/oneapi/work_group_scratch_memory.hpp>
#include <sycl/ext/oneapi/experimental/enqueue_functions.hpp>
#include <sycl/queue.hpp>
#include <syclbin/group.hpp>
#include <syclbin/kernel.hpp>
namespace syclexp = sycl::ext::oneapi::experimental;

extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<1>))
void reversed(int factor, int *out) {
  auto item = sycl::ext::oneapi::this_work_item::get_nd_item<1>();
  int *memory = static_cast<int *>(syclexp::get_work_group_scratch_memory());
  memory[item.get_local_id(0)] = factor * static_cast<int>(item.get_global_id(0));
  sycl::group_barrier(item.get_group());
  out[item.get_global_id(0)] = memory[item.get_local_range(0) - 1 - item.get_local_id(0)];
}

void turn(sycl::queue &q, int factor, int *out) {
  auto turned = [=](sycl::nd_item<1> item) {
    int *memory = static_cast<int *>(syclexp::get_work_group_scratch_memory());
    memory[item.get_local_id(0)] = factor * static_cast<int>(item.get_global_id(0));
    sycl::group_barrier(item.get_group());
    out[item.get_global_id(0)] = memory[item.get_local_range(0) - 1 - item.get_local_id(0)];
  };
  syclexp::launch_config config(sycl::nd_range<1>(8, 4), syclexp::properties{syclexp::work_group_scratch_size(16)});
  q.submit([&](sycl::handler &h) { syclexp::nd_launch(h, config, turned); });
}
