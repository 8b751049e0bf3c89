// SPDX-License-Identifier: MIT OR Apache-2.0
// Multiplies a matrix by one vector or by several, and reads its rows. A specialization constant chooses the format of
// the weights. A row is divided into blocks of 32 weights, each with a scale.
#include <syclbin/constants.hpp>
#include <syclbin/math.hpp>

#include <sycl/bit_cast.hpp>

// The program numbers the formats in the same order.
enum Format : unsigned { F32, F16, BF16, Q8_0, Q4_0, Q4_K };
constexpr sycl::specialization_id<unsigned> format(F32);

// The 32-bit words of a block.
template <Format FORMAT> constexpr unsigned WORDS = FORMAT == F32 ? 32 : FORMAT <= BF16 ? 16 : FORMAT == Q8_0 ? 8 : 4;

// 64 rows are a group. In a group, rows are side by side, so neighbouring work-items read neighbouring words: the
// first word of the first block of all rows, then the second word. A group is one stretch of memory.
constexpr size_t GROUP = 64;

// The vectors that a matrix is multiplied by at once, so that each weight is read and decoded only once.
constexpr unsigned BATCH = 8;

inline float from_bf16(unsigned bits) { return sycl::bit_cast<float>(bits << 16); }

// Moves the exponent to its place and corrects its bias. Infinity becomes 65536: weights are finite.
inline float from_f16(unsigned bits) {
  float magnitude = sycl::bit_cast<float>((bits & 0x7fff) << 13) * 0x1p112f;
  return bits & 0x8000 ? -magnitude : magnitude;
}

// Calls `use` with the number and the value of each weight of a block, whose words are GROUP apart. The value is to be
// multiplied by the block's scale.
template <Format FORMAT, class F> inline void decode(const unsigned *words, F use) {
  for (unsigned k = 0; k < WORDS<FORMAT>; ++k) {
    unsigned word = words[k * GROUP];
    if constexpr (FORMAT == F32) {
      use(k, sycl::bit_cast<float>(word));
    } else if constexpr (FORMAT == F16) {
      use(2 * k, from_f16(word & 0xffff));
      use(2 * k + 1, from_f16(word >> 16));
    } else if constexpr (FORMAT == BF16) {
      use(2 * k, from_bf16(word & 0xffff));
      use(2 * k + 1, from_bf16(word >> 16));
    } else if constexpr (FORMAT == Q8_0) {
      for (unsigned byte = 0; byte < 4; ++byte, word >>= 8) use(4 * k + byte, float(static_cast<signed char>(word)));
    } else {
      // A byte packs two 4-bit numbers. The lower halves of all 16 bytes come first, then the upper halves.
      constexpr int LEAST = FORMAT == Q4_0 ? -8 : 0;
      for (unsigned byte = 0; byte < 4; ++byte, word >>= 8) {
        use(4 * k + byte, float(int(word & 15) + LEAST));
        use(16 + 4 * k + byte, float(int(word >> 4 & 15) + LEAST));
      }
    }
  }
}

// A format as a type.
template <Format FORMAT> struct Constant { static constexpr Format value = FORMAT; };

// Calls `run` with the format as a type.
template <class F> inline void with_format(unsigned number, F run) {
  switch (number) {
  case F32: return run(Constant<F32>());
  case F16: return run(Constant<F16>());
  case BF16: return run(Constant<BF16>());
  case Q8_0: return run(Constant<Q8_0>());
  case Q4_0: return run(Constant<Q4_0>());
  case Q4_K: return run(Constant<Q4_K>());
  }
}

// A group of rows is a work-group in dimension 1 of the range, so the driver sees that it reads neighbouring words
// at once. Dimension 0 divides the blocks of a row into parts, so that a GPU gets enough work-items. Each part has a sum
// for each of the vectors in `x`, which follow each other.
template <Format FORMAT, unsigned VECTORS>
inline void multiply_by(const unsigned *words, const float *scales, const float *minima, const float *x, float *sums,
                        unsigned groups, unsigned blocks, unsigned parts) {
  auto item = syclbin::get_nd_item<2>();
  size_t part = item.get_group(0), group = item.get_group(1), in_group = item.get_local_id(1);
  if (part >= parts || group >= groups) return;
  size_t columns = size_t(32) * blocks;
  float sum[VECTORS] = {};
  for (size_t block = part * blocks / parts, end = (part + 1) * blocks / parts; block < end; ++block) {
    size_t place = group * blocks + block;
    const float *from = x + 32 * block;
    float of_block[VECTORS] = {};
    decode<FORMAT>(words + WORDS<FORMAT> * place * GROUP + in_group, [&](unsigned i, float weight) {
      for (unsigned v = 0; v < VECTORS; ++v) of_block[v] = sycl::fma(weight, from[v * columns + i], of_block[v]);
    });
    float scale = scales[place * GROUP + in_group];
    for (unsigned v = 0; v < VECTORS; ++v) sum[v] = sycl::fma(scale, of_block[v], sum[v]);
    if constexpr (FORMAT == Q4_K) {
      float minimum = minima[place * GROUP + in_group];
      for (unsigned v = 0; v < VECTORS; ++v) {
        float of_x = 0;
        for (unsigned i = 0; i < 32; ++i) of_x += from[v * columns + i];
        sum[v] = sycl::fma(-minimum, of_x, sum[v]);
      }
    }
  }
  for (size_t v = 0; v < VECTORS; ++v) sums[((part * VECTORS + v) * groups + group) * GROUP + in_group] = sum[v];
}

// In Q4_K, a block also has a minimum, and a weight is number * scale - minimum; other formats do not read `minima`.
// Does nothing if `words_of_block` does not fit the format.
SYCLBIN_KERNEL(2)
SYCLBIN_WORK_GROUP_SIZE(1, GROUP)
void multiply(const unsigned *words, const float *scales, const float *minima, const float *x, float *sums,
              unsigned groups, unsigned blocks, unsigned parts, unsigned words_of_block, sycl::kernel_handler h) {
  with_format(h.get_specialization_constant<format>(), [&](auto of) {
    constexpr Format FORMAT = decltype(of)::value;
    if (words_of_block == WORDS<FORMAT>)
      multiply_by<FORMAT, 1>(words, scales, minima, x, sums, groups, blocks, parts);
  });
}

// The same for BATCH vectors.
SYCLBIN_KERNEL(2)
SYCLBIN_WORK_GROUP_SIZE(1, GROUP)
void multiply_batch(const unsigned *words, const float *scales, const float *minima, const float *x, float *sums,
                    unsigned groups, unsigned blocks, unsigned parts, unsigned words_of_block,
                    sycl::kernel_handler h) {
  with_format(h.get_specialization_constant<format>(), [&](auto of) {
    constexpr Format FORMAT = decltype(of)::value;
    if (words_of_block == WORDS<FORMAT>)
      multiply_by<FORMAT, BATCH>(words, scales, minima, x, sums, groups, blocks, parts);
  });
}

// Adds up the parts of each of the `n` results.
SYCLBIN_KERNEL(1)
void add_up(const float *sums, float *y, unsigned n, unsigned parts) {
  size_t i = syclbin::get_nd_item<1>().get_global_id(0);
  if (i >= n) return;
  float sum = 0;
  for (size_t part = 0; part < parts; ++part) sum += sums[part * n + i];
  y[i] = sum;
}

// Copies a row for each token to `x`. The tokens follow the position in `state`. A work-item decodes a block.
SYCLBIN_KERNEL(1)
void embed(const unsigned *words, const float *scales, const float *minima, const unsigned *state, float *x,
           unsigned groups, unsigned blocks, unsigned tokens, unsigned words_of_block, sycl::kernel_handler h) {
  size_t i = syclbin::get_nd_item<1>().get_global_id(0);
  if (i >= size_t(tokens) * blocks) return;
  size_t row = state[1 + i / blocks], group = row / GROUP;
  if (group >= groups) return;
  with_format(h.get_specialization_constant<format>(), [&](auto of) {
    constexpr Format FORMAT = decltype(of)::value;
    if (words_of_block != WORDS<FORMAT>) return;
    size_t place = group * blocks + i % blocks, in_group = row % GROUP;
    float scale = scales[place * GROUP + in_group];
    float minimum = FORMAT == Q4_K ? minima[place * GROUP + in_group] : 0;
    decode<FORMAT>(words + WORDS<FORMAT> * place * GROUP + in_group,
                   [&](unsigned k, float weight) { x[32 * i + k] = weight * scale - minimum; });
  });
}
