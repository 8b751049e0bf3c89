// SPDX-License-Identifier: MIT OR Apache-2.0
// A kernel whose work-groups wait for each other.
#include <sycl/sycl.hpp>

namespace experimental = sycl::ext::oneapi::experimental;

// Each work-item adds its square and that of its mirror image in the range, which is in another work-group unless
// this is the middle one.
extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((experimental::nd_range_kernel<1>))
void mirrored(int *squares, int *sums) {
  auto item = sycl::ext::oneapi::this_work_item::get_nd_item<1>();
  size_t i = item.get_global_id(0);
  squares[i] = i * i;
  sycl::group_barrier(item.ext_oneapi_get_root_group());
  sums[i] = squares[i] + squares[item.get_global_range(0) - 1 - i];
}
