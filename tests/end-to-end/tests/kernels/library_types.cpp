// SPDX-License-Identifier: MIT OR Apache-2.0
// Types of the SYCL and C++ libraries by value, by pointer and in structs. library_types.rs calls the kernels' stubs.
#include <array>
#include <complex>
#include <sycl/ext/oneapi/experimental/float_8bit/types.hpp>
#include <sycl/sycl.hpp>
namespace syclexp = sycl::ext::oneapi::experimental;
using bf16 = sycl::ext::oneapi::bfloat16;
#define KERNEL SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<1>))

static size_t own_index() { return sycl::ext::oneapi::this_work_item::get_nd_item<1>().get_global_linear_id(); }

struct Weights { bf16 row[3]; sycl::vec<bf16, 4> four; };
struct Quantized { syclexp::fp8_e4m3 code[2]; syclexp::fp8_e5m2 other; float scale; };
struct Pairs { syclexp::fp8_e4m3_x<2> two; syclexp::fp8_e8m0_x<2> scales[2]; };
struct Point { sycl::marray<float, 3> position; std::array<short, 3> cell; };
struct Window { sycl::range<2> size; sycl::id<2> start; sycl::id<1> row; };
struct Signal { std::complex<float> gain; std::array<std::complex<double>, 2> taps; };

extern "C" {
KERNEL void bfloats(Weights by, const bf16 *from, const Weights *in, Weights *to) {
  size_t i = own_index();
  to[i] = in[i];
  to[i].row[1] = from[i];
  to[i].row[2] = by.row[0];
  to[i].four[3] = by.four[2];
}
KERNEL void bfloat_vectors(sycl::vec<bf16, 4> by, const sycl::vec<bf16, 2> *from, sycl::vec<bf16, 2> *to) {
  size_t i = own_index();
  to[i] = {from[i][1], by[i]};
}
// Copies bits only, because conversions need a SPIR-V extension that `syclbin-clang` cannot emit.
KERNEL void quantized(Quantized by, const syclexp::fp8_e4m3 *from, Quantized *to) {
  size_t i = own_index();
  to[i].code[0] = from[i];
  to[i].code[1] = by.code[0];
  to[i].other = by.other;
  to[i].scale *= by.scale;
}
KERNEL void pairs(syclexp::fp8_e5m2_x<2> by, sycl::marray<syclexp::fp8_e4m3, 3> codes,
                  const std::array<syclexp::fp8_e4m3_x<2>, 2> *from, Pairs *to) {
  size_t i = own_index();
  to[i].two = from[i][1];
  to[i].scales[1].vals[0] = by.vals[1];
  to[i].scales[1].vals[1] = codes[i].vals[0];
}
KERNEL void bfloat_arrays(sycl::marray<bf16, 3> by, const std::array<bf16, 2> *from, sycl::marray<bf16, 2> *to) {
  size_t i = own_index();
  to[i] = {from[i][1], by[i]};
}
KERNEL void marrays(sycl::marray<float, 3> by, const sycl::marray<int, 5> *from, Point *to) {
  size_t i = own_index();
  to[i].position = by * float(from[i][4]);
}
KERNEL void arrays(std::array<float, 3> by, const std::array<short, 3> *from, Point *to) {
  size_t i = own_index();
  to[i].cell = from[i];
  to[i].position[2] += by[i];
}
KERNEL void complexes(std::complex<float> by, Signal signal, const std::complex<double> *from, Signal *to) {
  size_t i = own_index();
  to[i].gain = by + signal.gain;
  to[i].taps[1] = from[i] + signal.taps[0];
}
KERNEL void indices(sycl::id<2> id, sycl::range<3> range, Window by, const sycl::id<2> *from, Window *to) {
  size_t i = own_index();
  to[i].size = by.size * 2;
  to[i].start = from[i] + id;
  to[i].row = by.row[0] + range[2];
}
}
