// SPDX-License-Identifier: MIT OR Apache-2.0
// A matrix in the format Q4_0, times a vector. 32 weights of a row are a block: a scale, and 16 bytes with a
// number from 0 to 15 in each half. A weight is its number minus 8, times the scale.
#include <syclbin/math.hpp>

// 64 rows are a group. In a group, rows are side by side, so neighbouring work-items read neighbouring words: the
// first word of the first block of all rows, then the second word. A group is one stretch of memory.
constexpr size_t GROUP = 64;

// A group of rows is a work-group in dimension 1 of the range, so the driver sees that it reads neighbouring words
// at once. Dimension 0 divides the blocks of a row into parts, so that a GPU gets enough
// work-items. Each part has a sum.
SYCLBIN_KERNEL(2)
SYCLBIN_WORK_GROUP_SIZE(1, GROUP)
void multiply(const unsigned *words, const float *scales, const float *x, float *sums, unsigned groups,
              unsigned blocks, unsigned parts) {
  auto item = syclbin::get_nd_item<2>();
  size_t part = item.get_group(0), group = item.get_group(1), in_group = item.get_local_id(1);
  if (part >= parts || group >= groups) return;
  float sum = 0;
  for (size_t block = part * blocks / parts, end = (part + 1) * blocks / parts; block < end; ++block) {
    const float *from = x + 32 * block;
    float of_block = 0;
    for (unsigned k = 0; k < 4; ++k) {
      unsigned word = words[(4 * (group * blocks + block) + k) * GROUP + in_group];
      // The lower halves of all 16 bytes come first, then the upper halves.
      for (unsigned byte = 0; byte < 4; ++byte, word >>= 8) {
        unsigned i = 4 * k + byte;
        of_block = sycl::fma(float(int(word & 15) - 8), from[i], of_block);
        of_block = sycl::fma(float(int(word >> 4 & 15) - 8), from[16 + i], of_block);
      }
    }
    sum = sycl::fma(scales[(group * blocks + block) * GROUP + in_group], of_block, sum);
  }
  sums[(part * groups + group) * GROUP + in_group] = sum;
}

// Adds up the parts of each row.
SYCLBIN_KERNEL(1)
void add_up(const float *sums, float *y, unsigned groups, unsigned parts) {
  size_t row = syclbin::get_nd_item<1>().get_global_id(0), rows = GROUP * groups;
  if (row >= rows) return;
  float sum = 0;
  for (size_t part = 0; part < parts; ++part) sum += sums[part * rows + row];
  y[row] = sum;
}
