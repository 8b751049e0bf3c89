// SPDX-License-Identifier: MIT OR Apache-2.0
// A picture, blurred: each pixel becomes the weighted mean of those around it. How far that reaches and
// what each distance weighs are specialization constants: the program sets them, and the driver
// compiles the kernel as if they stood here, so the loops have ends that it knows.
#include <syclbin/constants.hpp>
#include <syclbin/vector.hpp>

struct Weights {
  unsigned at[16]; // by distance, in rows as in columns
};

constexpr sycl::specialization_id<int> radius(1); // 0 to 15, others count as the nearest of these
constexpr sycl::specialization_id<Weights> weights(Weights{{2, 1}});

// One work-item a pixel, dimension 0 of the range counts rows. Beyond the edge the picture goes on with
// the pixels at the edge.
SYCLBIN_KERNEL(2)
void blur(const sycl::uchar4 *from, sycl::uchar4 *to, sycl::kernel_handler constants) {
  auto item = syclbin::get_nd_item<2>();
  int rows = item.get_global_range(0), columns = item.get_global_range(1);
  int row = item.get_global_id(0), column = item.get_global_id(1);
  // The contract makes launches safe, so no value that a program may set leads out of the weights, or
  // to a division by zero.
  int reach = constants.get_specialization_constant<radius>();
  reach = reach < 0 ? 0 : reach < 16 ? reach : 15;
  Weights weight = constants.get_specialization_constant<weights>();

  sycl::uint4 sum(0);
  unsigned all = 0;
  for (int dy = -reach; dy <= reach; ++dy) {
    int y = row + dy < 0 ? 0 : row + dy < rows ? row + dy : rows - 1;
    for (int dx = -reach; dx <= reach; ++dx) {
      int x = column + dx < 0 ? 0 : column + dx < columns ? column + dx : columns - 1;
      unsigned by = weight.at[dy < 0 ? -dy : dy] * weight.at[dx < 0 ? -dx : dx];
      sum += by * from[size_t(y) * columns + x].convert<unsigned>();
      all += by;
    }
  }
  if (all == 0) all = 1;
  to[item.get_global_linear_id()] = ((sum + all / 2) / all).convert<unsigned char>();
}
