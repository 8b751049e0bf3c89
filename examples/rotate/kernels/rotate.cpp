// SPDX-License-Identifier: MIT OR Apache-2.0
// A picture, rotated around its center. A work-item finds the place where its pixel was before, and the sampler
// mixes the four pixels around that place.
#include <sycl/sycl.hpp>
using Reads = sycl::accessor<sycl::float4, 2, sycl::access_mode::read, sycl::target::image>;
using Writes = sycl::accessor<sycl::float4, 2, sycl::access_mode::write, sycl::target::image>;

// Dimension 0 of the range counts rows. Coordinates of images begin with x, and the center of the first pixel is
// at (0.5, 0.5).
SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<2>))
void rotate(Reads from, sycl::sampler sampler, Writes to, float sine, float cosine) {
  auto item = sycl::ext::oneapi::this_work_item::get_nd_item<2>();
  int row = item.get_global_id(0), column = item.get_global_id(1);
  float center_x = item.get_global_range(1) * 0.5f, center_y = item.get_global_range(0) * 0.5f;
  float x = column + 0.5f - center_x, y = row + 0.5f - center_y;
  sycl::float2 before(center_x + x * cosine + y * sine, center_y - x * sine + y * cosine);
  to.write(sycl::int2(column, row), from.read(before, sampler));
}
