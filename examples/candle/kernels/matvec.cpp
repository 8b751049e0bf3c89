// SPDX-License-Identifier: MIT OR Apache-2.0
// Multiplies a matrix in the format Q4_0, Q4_K, Q8_0 or F32 by a vector. A row is divided into blocks of 32 weights, each
// with a scale. Q4_0 packs two 4-bit numbers into a byte, and a weight is (number - 8) * scale. In Q4_K, a block also has
// a minimum, and a weight is number * scale - minimum. Q8_0 stores signed bytes, and F32 stores the weights themselves,
// with the scale 1.
#include <syclbin/math.hpp>

#include <sycl/bit_cast.hpp>

// 64 rows are a group. In a group, rows are side by side, so neighbouring work-items read neighbouring words: the
// first word of the first block of all rows, then the second word. A group is one stretch of memory.
constexpr size_t GROUP = 64;

// Multiplies a block in Q4_0 or Q4_K, whose words are GROUP apart, by 32 numbers.
template <int LEAST> inline float times_q4(const unsigned *words, const float *x) {
  float sum = 0;
  for (unsigned k = 0; k < 4; ++k) {
    unsigned word = words[k * GROUP];
    // The lower halves of all 16 bytes come first, then the upper halves.
    for (unsigned byte = 0; byte < 4; ++byte, word >>= 8) {
      unsigned i = 4 * k + byte;
      sum = sycl::fma(float(int(word & 15) + LEAST), x[i], sum);
      sum = sycl::fma(float(int(word >> 4 & 15) + LEAST), x[16 + i], sum);
    }
  }
  return sum;
}

// The same in Q8_0.
inline float times_q8(const unsigned *words, const float *x) {
  float sum = 0;
  for (unsigned k = 0; k < 8; ++k) {
    unsigned word = words[k * GROUP];
    for (unsigned byte = 0; byte < 4; ++byte, word >>= 8)
      sum = sycl::fma(float(static_cast<signed char>(word)), x[4 * k + byte], sum);
  }
  return sum;
}

// The same in F32.
inline float times_f32(const unsigned *words, const float *x) {
  float sum = 0;
  for (unsigned k = 0; k < 32; ++k) sum = sycl::fma(sycl::bit_cast<float>(words[k * GROUP]), x[k], sum);
  return sum;
}

// A group of rows is a work-group in dimension 1 of the range, so the driver sees that it reads neighbouring words
// at once. Dimension 0 divides the blocks of a row into parts, so that a GPU gets enough
// work-items. Each part has a sum.
template <unsigned WORDS, bool HAS_MINIMA, float TIMES(const unsigned *, const float *)>
void multiply(const unsigned *words, const float *scales, const float *minima, const float *x, float *sums,
              unsigned groups, unsigned blocks, unsigned parts) {
  auto item = syclbin::get_nd_item<2>();
  size_t part = item.get_group(0), group = item.get_group(1), in_group = item.get_local_id(1);
  if (part >= parts || group >= groups) return;
  float sum = 0;
  for (size_t block = part * blocks / parts, end = (part + 1) * blocks / parts; block < end; ++block) {
    size_t place = group * blocks + block;
    const float *from = x + 32 * block;
    float of_block = TIMES(words + WORDS * place * GROUP + in_group, from);
    sum = sycl::fma(scales[place * GROUP + in_group], of_block, sum);
    if constexpr (HAS_MINIMA) {
      float of_x = 0;
      for (unsigned i = 0; i < 32; ++i) of_x += from[i];
      sum = sycl::fma(-minima[place * GROUP + in_group], of_x, sum);
    }
  }
  sums[(part * groups + group) * GROUP + in_group] = sum;
}

SYCLBIN_KERNEL(2)
SYCLBIN_WORK_GROUP_SIZE(1, GROUP)
void multiply_q4(const unsigned *words, const float *scales, const float *minima, const float *x, float *sums,
                 unsigned groups, unsigned blocks, unsigned parts) {
  multiply<4, false, times_q4<-8>>(words, scales, minima, x, sums, groups, blocks, parts);
}

SYCLBIN_KERNEL(2)
SYCLBIN_WORK_GROUP_SIZE(1, GROUP)
void multiply_q4k(const unsigned *words, const float *scales, const float *minima, const float *x, float *sums,
                  unsigned groups, unsigned blocks, unsigned parts) {
  multiply<4, true, times_q4<0>>(words, scales, minima, x, sums, groups, blocks, parts);
}

SYCLBIN_KERNEL(2)
SYCLBIN_WORK_GROUP_SIZE(1, GROUP)
void multiply_q8(const unsigned *words, const float *scales, const float *minima, const float *x, float *sums,
                 unsigned groups, unsigned blocks, unsigned parts) {
  multiply<8, false, times_q8>(words, scales, minima, x, sums, groups, blocks, parts);
}

SYCLBIN_KERNEL(2)
SYCLBIN_WORK_GROUP_SIZE(1, GROUP)
void multiply_f32(const unsigned *words, const float *scales, const float *minima, const float *x, float *sums,
                  unsigned groups, unsigned blocks, unsigned parts) {
  multiply<32, false, times_f32>(words, scales, minima, x, sums, groups, blocks, parts);
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
