// SPDX-License-Identifier: MIT OR Apache-2.0
// The operations of a decoder layer on a batch of tokens, stored one after another. `state` holds the position of the
// first token, followed by the tokens. Kernels read the position and tokens from this buffer instead of taking them as
// arguments, so the host can record the launches once and replay them for each batch.
#include <syclbin/group.hpp>
#include <syclbin/math.hpp>

#include <limits>

// The work-items of a work-group that computes one result together.
constexpr size_t GROUP = 256;
// The work-items that share an attention head.
constexpr size_t HEAD_GROUP = 64;

// out = x / sqrt(mean of x^2 + epsilon) * weight, for each token
SYCLBIN_KERNEL(1)
SYCLBIN_WORK_GROUP_SIZE(GROUP)
void rms_norm(const float *x, const float *weight, float *out, unsigned tokens, unsigned width, float epsilon) {
  auto item = syclbin::get_nd_item<1>();
  size_t token = item.get_group(0);
  if (token >= tokens) return; // the whole group
  x += token * width;
  out += token * width;
  float squares = 0;
  for (size_t i = item.get_local_id(0); i < width; i += GROUP) squares = sycl::fma(x[i], x[i], squares);
  squares = sycl::reduce_over_group(item.get_group(), squares, sycl::plus<float>());
  float scale = sycl::rsqrt(squares / width + epsilon);
  for (size_t i = item.get_local_id(0); i < width; i += GROUP) out[i] = x[i] * scale * weight[i];
}

// Rotary position embedding: rotates each pair of adjacent elements in a head by an angle proportional to the position.
// Each angle is divided by its factor: models trained for long contexts slow down some pairs.
SYCLBIN_KERNEL(1)
void rotate(float *x, const unsigned *state, const float *factors, unsigned tokens, unsigned heads, unsigned half,
            float base) {
  size_t i = syclbin::get_nd_item<1>().get_global_id(0), pairs = size_t(heads) * half;
  if (i >= tokens * pairs) return;
  size_t position = state[0] + i / pairs, pair = i % half;
  float angle = position * sycl::pow(base, -float(pair) / half) / factors[pair];
  float cosine = sycl::cos(angle), sine = sycl::sin(angle);
  float a = x[2 * i], b = x[2 * i + 1];
  x[2 * i] = a * cosine - b * sine;
  x[2 * i + 1] = b * cosine + a * sine;
}

// Appends the keys and values of the tokens to the cache. Drops tokens that do not fit.
SYCLBIN_KERNEL(1)
void remember(const float *key, const float *value, const unsigned *state, float *keys, float *values, unsigned tokens,
              unsigned width, unsigned longest) {
  size_t i = syclbin::get_nd_item<1>().get_global_id(0), place = size_t(state[0]) * width + i;
  if (i >= size_t(tokens) * width || place >= size_t(longest) * width) return;
  keys[place] = key[i];
  values[place] = value[i];
}

// out = softmax(query * keys / sqrt(size)) * values, for each token and head. A token attends to itself and to earlier
// tokens. Several heads may share keys and values.
SYCLBIN_KERNEL(1)
SYCLBIN_WORK_GROUP_SIZE(HEAD_GROUP)
void attend(const float *query, const float *keys, const float *values, const unsigned *state, float *scores,
            float *out, unsigned tokens, unsigned heads, unsigned shared_heads, unsigned size, unsigned longest) {
  auto item = syclbin::get_nd_item<1>();
  auto group = item.get_group();
  size_t number = item.get_group(0), local = item.get_local_id(0);
  if (number >= size_t(tokens) * heads || shared_heads == 0 || longest == 0) return; // the whole group
  size_t token = number / heads, head = number % heads;
  size_t shared = head * shared_heads / heads, stride = size_t(shared_heads) * size;
  size_t count = sycl::min(state[0] + token + 1, size_t(longest));
  float *mine = scores + number * longest;
  query += number * size;
  float scale = sycl::rsqrt(float(size)), largest = -std::numeric_limits<float>::infinity();
  for (size_t t = local; t < count; t += HEAD_GROUP) {
    const float *key = keys + t * stride + shared * size;
    float score = 0;
    for (size_t i = 0; i < size; ++i) score = sycl::fma(query[i], key[i], score);
    mine[t] = score * scale;
    largest = sycl::fmax(largest, mine[t]);
  }
  largest = sycl::reduce_over_group(group, largest, sycl::maximum<float>());
  float sum = 0;
  for (size_t t = local; t < count; t += HEAD_GROUP) sum += mine[t] = sycl::exp(mine[t] - largest);
  sum = sycl::reduce_over_group(group, sum, sycl::plus<float>());
  sycl::group_barrier(group); // all scores are written
  for (size_t i = local; i < size; i += HEAD_GROUP) {
    float result = 0;
    for (size_t t = 0; t < count; ++t) result = sycl::fma(mine[t], values[t * stride + shared * size + i], result);
    out[number * size + i] = result / sum;
  }
}

// gate = SiLU(gate) * up
SYCLBIN_KERNEL(1)
void gate_by(float *gate, const float *up, unsigned n) {
  size_t i = syclbin::get_nd_item<1>().get_global_id(0);
  if (i < n) gate[i] = gate[i] / (1 + sycl::exp(-gate[i])) * up[i];
}

// x += y
SYCLBIN_KERNEL(1)
void add(float *x, const float *y, unsigned n) {
  size_t i = syclbin::get_nd_item<1>().get_global_id(0);
  if (i < n) x[i] += y[i];
}

// Selects the most likely token as the next token, and advances the position.
SYCLBIN_KERNEL(1)
SYCLBIN_WORK_GROUP_SIZE(GROUP)
void choose(const float *logits, unsigned *state, unsigned vocabulary) {
  auto item = syclbin::get_nd_item<1>();
  auto group = item.get_group();
  float largest = -std::numeric_limits<float>::infinity();
  unsigned best = ~0u;
  for (size_t i = item.get_local_id(0); i < vocabulary; i += GROUP)
    if (logits[i] > largest) {
      largest = logits[i];
      best = unsigned(i);
    }
  float of_all = sycl::reduce_over_group(group, largest, sycl::maximum<float>());
  best = sycl::reduce_over_group(group, largest == of_all ? best : ~0u, sycl::minimum<unsigned>());
  if (item.get_global_id(0) == 0) {
    ++state[0];
    state[1] = best;
  }
}
