// SPDX-License-Identifier: MIT OR Apache-2.0
// c = a * b, for matrices of any size, row by row: a has m rows and k columns, b has k rows and n columns.
//
// A work-group computes a square of c. It brings what that needs of a and b, strip by strip, into
// work-group memory, where each element is read many times.
#include <syclbin/group.hpp>
#include <syclbin/local_memory.hpp>

constexpr unsigned SIDE = 16;            // work-items of a work-group, in each dimension
constexpr unsigned EACH = 4;             // elements of c of a work-item, in each dimension
constexpr unsigned SQUARE = SIDE * EACH; // elements of c of a work-group, in each dimension
constexpr unsigned DEPTH = 64;           // columns of a, and rows of b, that are brought at a time

// Dimension 0 counts rows of c, dimension 1 columns. A work-item has every 16th column of its square, so
// that those side by side read and write side by side, which is what processors and GPUs like.
SYCLBIN_KERNEL(2)
SYCLBIN_WORK_GROUP_SIZE(SIDE, SIDE)
void matmul(const float *a, const float *b, float *c, unsigned m, unsigned n, unsigned k,
            syclbin::work_group_memory<float[SQUARE * DEPTH]> a_strip,
            syclbin::work_group_memory<float[DEPTH * SQUARE]> b_strip) {
  auto item = syclbin::get_nd_item<2>();
  unsigned y = item.get_local_id(0), x = item.get_local_id(1);
  size_t top = item.get_group(0) * SQUARE, left = item.get_group(1) * SQUARE;
  float *of_a = &a_strip[0], *of_b = &b_strip[0];

  float sum[EACH][EACH] = {};
  for (size_t start = 0; start < k; start += DEPTH) {
    // Beyond the edges of the matrices there are zeros, which add nothing.
    for (unsigned row = y; row < SQUARE; row += SIDE)
      for (unsigned column = x; column < DEPTH; column += SIDE) {
        bool inside = top + row < m && start + column < k;
        of_a[row * DEPTH + column] = inside ? a[(top + row) * k + start + column] : 0;
      }
    for (unsigned row = y; row < DEPTH; row += SIDE)
      for (unsigned column = x; column < SQUARE; column += SIDE) {
        bool inside = start + row < k && left + column < n;
        of_b[row * SQUARE + column] = inside ? b[(start + row) * n + left + column] : 0;
      }
    sycl::group_barrier(item.get_group());

    // Unrolled, a step takes 25 instructions on an NVIDIA GPU instead of 31.
#pragma unroll 8
    for (unsigned depth = 0; depth < DEPTH; ++depth) {
      float from_b[EACH];
      for (unsigned j = 0; j < EACH; ++j) from_b[j] = of_b[depth * SQUARE + x + j * SIDE];
      for (unsigned i = 0; i < EACH; ++i) {
        float from_a = of_a[(y * EACH + i) * DEPTH + depth];
        for (unsigned j = 0; j < EACH; ++j) sum[i][j] += from_a * from_b[j];
      }
    }
    // Nobody brings the next strips while another still reads these.
    sycl::group_barrier(item.get_group());
  }

  for (unsigned i = 0; i < EACH; ++i)
    for (unsigned j = 0; j < EACH; ++j) {
      size_t row = top + y * EACH + i, column = left + x + j * SIDE;
      if (row < m && column < n) c[row * n + column] = sum[i][j];
    }
}
