// SPDX-License-Identifier: MIT OR Apache-2.0
// c = a * b, row by row: a has m rows and k columns, b has k rows and n columns.
//
// A work-group computes a square of c. It copies strips of a and b into work-group memory, where each element is read
// many times. A work-item computes 4 x 4 elements of the square in registers. Two sizes depend on the device, so the
// program chooses them: the side of a work-group, and the depth of a strip.
#include <syclbin/constants.hpp>
#include <syclbin/group.hpp>
#include <syclbin/local_memory.hpp>
#include <syclbin/math.hpp>

// The rows and columns of c that a work-item computes.
constexpr size_t EACH = 4;

constexpr sycl::specialization_id<unsigned> side(16);
constexpr sycl::specialization_id<unsigned> depth(64);

// Dimension 0 counts rows of c, dimension 1 columns. A work-item computes every `side`th column of its square, so that
// neighbouring work-items read and write neighbouring elements. `strips` has `room` elements for both strips. Does
// nothing if the work-group or the memory does not fit the constants.
SYCLBIN_KERNEL(2)
void matmul(const float *a, const float *b, float *c, unsigned m, unsigned n, unsigned k,
            syclbin::work_group_memory<float[]> strips, unsigned room, sycl::kernel_handler constants) {
  size_t edge = constants.get_specialization_constant<side>();
  size_t deep = constants.get_specialization_constant<depth>();
  size_t square = edge * EACH;
  auto item = syclbin::get_nd_item<2>();
  auto group = item.get_group();
  bool fits = item.get_local_range(0) == edge && item.get_local_range(1) == edge && 2 * square * deep <= room;
  if (!fits || deep == 0) return; // the whole group
  size_t y = item.get_local_id(0), x = item.get_local_id(1);
  size_t top = item.get_group(0) * square, left = item.get_group(1) * square;
  float *of_a = &strips[0], *of_b = of_a + square * deep;

  float sum[EACH][EACH] = {};
  for (size_t start = 0; start < k; start += deep) {
    // Pads the strips with zeros beyond the edges of the matrices.
    for (size_t row = y; row < square; row += edge)
      for (size_t column = x; column < deep; column += edge) {
        bool inside = top + row < m && start + column < k;
        of_a[row * deep + column] = inside ? a[(top + row) * k + start + column] : 0;
      }
    for (size_t row = y; row < deep; row += edge)
      for (size_t column = x; column < square; column += edge) {
        bool inside = start + row < k && left + column < n;
        of_b[row * square + column] = inside ? b[(start + row) * n + left + column] : 0;
      }
    sycl::group_barrier(group);

    for (size_t step = 0; step < deep; ++step) {
      float from_b[EACH];
      for (size_t j = 0; j < EACH; ++j) from_b[j] = of_b[step * square + x + j * edge];
      for (size_t i = 0; i < EACH; ++i) {
        float from_a = of_a[(y * EACH + i) * deep + step];
        for (size_t j = 0; j < EACH; ++j) sum[i][j] = sycl::fma(from_a, from_b[j], sum[i][j]);
      }
    }
    sycl::group_barrier(group); // the strips are free again
  }
  for (size_t i = 0; i < EACH; ++i)
    for (size_t j = 0; j < EACH; ++j) {
      size_t row = top + y * EACH + i, column = left + x + j * edge;
      if (row < m && column < n) c[row * n + column] = sum[i][j];
    }
}
