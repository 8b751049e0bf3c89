// SPDX-License-Identifier: MIT OR Apache-2.0
// Multiplies a matrix by one or more vectors, and looks up embedding rows. A specialization constant selects the weight
// format. Each row is divided into blocks of 32 weights. Quantized formats also store factors for each block: a scale and, in
// Q4_K, a minimum. A weight is number * scale, or number * scale - minimum.
#include <syclbin/constants.hpp>
#include <syclbin/math.hpp>

#include <sycl/bit_cast.hpp>

// Keep in the same order as FORMATS in src/matvec.rs.
enum Format : unsigned { F32, F16, BF16, Q8_0, Q4_0, Q4_K };
constexpr sycl::specialization_id<unsigned> format(F32);

// The 32-bit words of a block.
template <Format FORMAT> constexpr unsigned WORDS = FORMAT == F32 ? 32 : FORMAT <= BF16 ? 16 : FORMAT == Q8_0 ? 8 : 4;

// The factors of a block.
template <Format FORMAT> constexpr unsigned FACTORS = FORMAT <= BF16 ? 0 : FORMAT == Q4_K ? 2 : 1;

// Returns whether the program stored the matrix in this format.
template <Format FORMAT> inline bool fits(unsigned words_of_block, unsigned factors_of_block) {
  return words_of_block == WORDS<FORMAT> && factors_of_block == FACTORS<FORMAT>;
}

// Rows are stored in contiguous groups of 64. Within a group, rows are interleaved word by word: the first word of the
// first block of every row, then the second word. Neighbouring work-items therefore read neighbouring words.
constexpr size_t GROUP = 64;

// The number of vectors in a batch. Each weight is read and decoded only once per batch.
constexpr unsigned BATCH = 8;

inline float from_bf16(unsigned bits) { return sycl::bit_cast<float>(bits << 16); }

// Moves the exponent to its place and corrects its bias. Infinity becomes 65536: weights are finite.
inline float from_f16(unsigned bits) {
  unsigned rest = bits & 0x7fff;
  // Subnormal numbers are converted as integers, because a device may flush subnormal results to 0.
  float magnitude = rest < 0x400 ? float(rest) * 0x1p-24f : sycl::bit_cast<float>((rest << 13) + (112u << 23));
  return bits & 0x8000 ? -magnitude : magnitude;
}

// Calls `use` with the index and the unscaled value of each weight in a block. Consecutive words of the block are GROUP
// words apart.
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

// The scale and the minimum of a block. The factors of interleaved rows are interleaved too.
struct Factors { float scale, minimum; };

template <Format FORMAT> inline Factors factors_of(const float *factors, size_t place, size_t in_group) {
  const float *from = factors + FACTORS<FORMAT> * place * GROUP + in_group;
  return {FACTORS<FORMAT> > 0 ? from[0] : 1, FACTORS<FORMAT> > 1 ? from[GROUP] : 0};
}

// Carries a format in a type, so that a generic lambda can use it as a constant.
template <Format FORMAT> struct Constant { static constexpr Format value = FORMAT; };

// Calls `run` with the `Constant` of a format. Ignores unknown formats.
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

// Each work-group processes one group of rows along dimension 1, so the compiler can vectorize its contiguous reads.
// Dimension 0 splits the blocks of a row into parts, to give a GPU enough work-items. Each part writes one sum for each
// vector. `x` stores the vectors one after another.
template <Format FORMAT, unsigned VECTORS>
inline void multiply_by(const unsigned *words, const float *factors, const float *x, float *sums, unsigned groups,
                        unsigned blocks, unsigned parts) {
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
    Factors own = factors_of<FORMAT>(factors, place, in_group);
    for (unsigned v = 0; v < VECTORS; ++v) {
      sum[v] = sycl::fma(own.scale, of_block[v], sum[v]);
      if constexpr (FORMAT == Q4_K) {
        float of_x = 0;
        for (unsigned i = 0; i < 32; ++i) of_x += from[v * columns + i];
        sum[v] = sycl::fma(-own.minimum, of_x, sum[v]);
      }
    }
  }
  for (size_t v = 0; v < VECTORS; ++v) sums[((part * VECTORS + v) * groups + group) * GROUP + in_group] = sum[v];
}

// Does nothing if `words_of_block` and `factors_of_block` do not match the format.
SYCLBIN_KERNEL(2)
SYCLBIN_WORK_GROUP_SIZE(1, GROUP)
void multiply(const unsigned *words, const float *factors, const float *x, float *sums, unsigned groups,
              unsigned blocks, unsigned parts, unsigned words_of_block, unsigned factors_of_block,
              sycl::kernel_handler h) {
  with_format(h.get_specialization_constant<format>(), [&](auto of) {
    constexpr Format FORMAT = decltype(of)::value;
    if (fits<FORMAT>(words_of_block, factors_of_block))
      multiply_by<FORMAT, 1>(words, factors, x, sums, groups, blocks, parts);
  });
}

// Does the same for BATCH vectors.
SYCLBIN_KERNEL(2)
SYCLBIN_WORK_GROUP_SIZE(1, GROUP)
void multiply_batch(const unsigned *words, const float *factors, const float *x, float *sums, unsigned groups,
                    unsigned blocks, unsigned parts, unsigned words_of_block, unsigned factors_of_block,
                    sycl::kernel_handler h) {
  with_format(h.get_specialization_constant<format>(), [&](auto of) {
    constexpr Format FORMAT = decltype(of)::value;
    if (fits<FORMAT>(words_of_block, factors_of_block))
      multiply_by<FORMAT, BATCH>(words, factors, x, sums, groups, blocks, parts);
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

// Decodes the embedding row of each token into `x`. `state` holds the position, followed by the tokens. Each work-item
// decodes one block. Skips tokens outside the matrix.
SYCLBIN_KERNEL(1)
void embed(const unsigned *words, const float *factors, const unsigned *state, float *x, unsigned groups,
           unsigned blocks, unsigned tokens, unsigned words_of_block, unsigned factors_of_block,
           sycl::kernel_handler h) {
  size_t i = syclbin::get_nd_item<1>().get_global_id(0);
  if (i >= size_t(tokens) * blocks) return;
  size_t row = state[1 + i / blocks], group = row / GROUP;
  if (group >= groups) return;
  with_format(h.get_specialization_constant<format>(), [&](auto of) {
    constexpr Format FORMAT = decltype(of)::value;
    if (!fits<FORMAT>(words_of_block, factors_of_block)) return;
    size_t place = group * blocks + i % blocks, in_group = row % GROUP;
    Factors own = factors_of<FORMAT>(factors, place, in_group);
    decode<FORMAT>(words + WORDS<FORMAT> * place * GROUP + in_group,
                   [&](unsigned k, float weight) { x[32 * i + k] = weight * own.scale - own.minimum; });
  });
}
