// SPDX-License-Identifier: MIT OR Apache-2.0
// Selections that LLVM optimizes to signed and unsigned conversions of booleans; signs.rs launches them.
#include <syclbin/kernel.hpp>

SYCLBIN_KERNEL(1)
void signs(const float *in, float *out, float *ones) {
  size_t i = syclbin::get_nd_item<1>().get_global_linear_id();
  float x = in[i];
  out[i] = x > 0 ? 1 : x < 0 ? -1 : 0;
  // These are 1 or 0.
  bool negative = x < 0;
  int number = negative;
  short small = x < 0 ? 1 : 0;
  ones[3 * i] = negative;
  ones[3 * i + 1] = number;
  ones[3 * i + 2] = (float)(int)(x > 0) - (float)(signed char)small + (float)(x < 0 ? 1ll : 0ll);
}
