// SPDX-License-Identifier: MIT OR Apache-2.0
// One step of the wave equation on a tile of a grid. The cells around the tile belong to other tiles. They
// come in `halo`: the row above, the row below, the column to the left, the column to the right.
#include <syclbin/math.hpp>

// Each product is a part of a fused multiply-add, and all sums have one order. So a cell gets the same bits in
// the interior of one tile as on the border of another.
static float step(float now, float before, float speed, float up, float down, float left, float right) {
  float around = (up + down) + (left + right);
  float value = sycl::fma(speed, sycl::fma(-4.0f, now, around), sycl::fma(2.0f, now, -before));
  // Ahead of a wave, values would fade into denormal numbers, which are slow on CPUs.
  return sycl::fabs(value) < 1e-20f ? 0.0f : value;
}

// Copies the outermost cells, in the order of `halo`. The corners come twice. One work-item per element.
SYCLBIN_KERNEL(1)
void edges(const float *now, float *edges, unsigned rows, unsigned columns) {
  size_t i = syclbin::get_nd_item<1>().get_global_id(0), width = columns, height = rows;
  if (i < width) edges[i] = now[i];
  else if (i < 2 * width) edges[i] = now[(height - 1) * width + i - width];
  else if (i < 2 * width + height) edges[i] = now[(i - 2 * width) * width];
  else if (i < 2 * (width + height)) edges[i] = now[(i - 2 * width - height) * width + width - 1];
}

// Computes the cells that need no halo. The range has two rows and two columns fewer than the tile. Before the
// launch, `next` has the step before `now`.
SYCLBIN_KERNEL(2)
void interior(const float *now, const float *speed, float *next, unsigned rows, unsigned columns) {
  auto item = syclbin::get_nd_item<2>();
  size_t row = item.get_global_id(0) + 1, column = item.get_global_id(1) + 1, width = columns;
  if (row + 1 >= rows || column + 1 >= width) return;
  size_t i = row * width + column;
  next[i] = step(now[i], next[i], speed[i], now[i - width], now[i + width], now[i - 1], now[i + 1]);
}

// Computes the other cells: the first row, the last row, and between them the ends of each row.
SYCLBIN_KERNEL(1)
void border(const float *now, const float *speed, const float *halo, float *next, unsigned rows, unsigned columns) {
  size_t k = syclbin::get_nd_item<1>().get_global_id(0), width = columns, height = rows;
  if (k >= 2 * width + 2 * (height - 2)) return;
  size_t row = k < width ? 0 : height - 1, column = k < width ? k : k - width;
  if (k >= 2 * width) {
    row = 1 + (k - 2 * width) / 2;
    column = k % 2 ? width - 1 : 0;
  }
  size_t i = row * width + column;
  float up = row > 0 ? now[i - width] : halo[column];
  float down = row + 1 < height ? now[i + width] : halo[width + column];
  float left = column > 0 ? now[i - 1] : halo[2 * width + row];
  float right = column + 1 < width ? now[i + 1] : halo[2 * width + height + row];
  next[i] = step(now[i], next[i], speed[i], up, down, left, right);
}
