// SPDX-License-Identifier: MIT OR Apache-2.0
// The Mandelbrot set, one work-item a pixel. Dimension 0 of the range counts rows, dimension 1
// columns: neighbours in the range are neighbours in memory.
#include <syclbin/math.hpp>

// After how many turns z = z * z + c leaves the circle of radius 2 for good; `turns` if it does not.
//
// Each sum of a product is a fused multiply-add, written as one: a compiler that may choose makes
// one here and two roundings there, and this close to the edge of the set every bit counts.
static unsigned escape(float cx, float cy, unsigned turns) {
  float x = 0, y = 0;
  for (unsigned turn = 0; turn < turns; ++turn) {
    if (sycl::fma(x, x, y * y) > 4) return turn;
    float next = sycl::fma(x, x, sycl::fma(-y, y, cx));
    y = sycl::fma(2 * x, y, cy);
    x = next;
  }
  return turns;
}

// `left` and `top` are the number at the first pixel, `step` lies between two pixels. A pixel is an
// index into the palette: 0 in the set, from 1 to 255 outside, again from 1 after every 255 turns.
SYCLBIN_KERNEL(2)
void mandelbrot(float left, float top, float step, unsigned turns, unsigned char *pixels) {
  auto item = syclbin::get_nd_item<2>();
  float cx = sycl::fma(float(item.get_global_id(1)), step, left);
  float cy = sycl::fma(float(item.get_global_id(0)), -step, top);
  unsigned turn = escape(cx, cy, turns);
  pixels[item.get_global_linear_id()] = turn == turns ? 0 : 1 + turn % 255;
}
