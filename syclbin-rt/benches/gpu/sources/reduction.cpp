// SPDX-License-Identifier: MIT OR Apache-2.0
// The sum of the numbers that each work-group takes: work-items add a stride each, sub-groups add what
// their work-items have, and the first sub-group adds what those left in work-group memory.
#include <syclbin/group.hpp>
#include <syclbin/local_memory.hpp>

SYCLBIN_KERNEL(1)
SYCLBIN_WORK_GROUP_SIZE(256)
void reduction(const float *values, size_t count, float *sums,
               syclbin::work_group_memory<float[32]> parts) {
  auto item = syclbin::get_nd_item<1>();
  auto sub_group = item.get_sub_group();
  float sum = 0;
  for (size_t i = item.get_global_linear_id(); i < count; i += item.get_global_range(0))
    sum += values[i];
  sum = sycl::reduce_over_group(sub_group, sum, sycl::plus<float>());
  float *of_sub_groups = &parts[0];
  if (sub_group.leader()) of_sub_groups[sub_group.get_group_linear_id()] = sum;
  sycl::group_barrier(item.get_group());
  if (sub_group.get_group_linear_id() == 0) {
    unsigned lane = sub_group.get_local_linear_id();
    sum = lane < sub_group.get_group_linear_range() ? of_sub_groups[lane] : 0;
    sum = sycl::reduce_over_group(sub_group, sum, sycl::plus<float>());
    if (sub_group.leader()) sums[item.get_group_linear_id()] = sum;
  }
}
