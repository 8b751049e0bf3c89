// SPDX-License-Identifier: MIT OR Apache-2.0
// Structs of every kind as parameters, and what goes with them: accessors of more dimensions,
// required work-groups, variables of the module. structs.rs calls each kernel by its stub.
#include <sycl/accessor.hpp>
#include <sycl/bit_cast.hpp>
#include <sycl/buffer.hpp>
#include <sycl/ext/oneapi/bfloat16.hpp>
#include <sycl/ext/oneapi/device_global/device_global.hpp>
#include <sycl/queue.hpp>
#include <syclbin/group.hpp>
#include <syclbin/kernel.hpp>
#include <syclbin/local_memory.hpp>
#include <syclbin/vector.hpp>
#include <complex>
namespace syclexp = sycl::ext::oneapi::experimental;
namespace this_work_item = sycl::ext::oneapi::this_work_item;
using bf16 = sycl::ext::oneapi::bfloat16;
#define KERNEL SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<1>))
#define TASK SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::single_task_kernel))

namespace geo {
enum class Mode : unsigned char { A, B };
struct Inner { short s; char tag[3]; };
} // namespace geo

// Arrays, vectors, a struct inside, an enumeration, a bool, a half; padding between and behind.
struct Deep {
  geo::Inner in[2];
  geo::Mode mode;
  sycl::float3 v3;
  float grid[2][3];
  bool flag;
  sycl::half h;
  sycl::uint2 pair;
};

struct Span { float *data; int count; };
struct __attribute__((packed)) Packed { char tag; int number; short last; };
struct alignas(16) Aligned { float x; char c; };
struct Empty {};
struct Keywords { int type; float match; int self; unsigned char fn; };
union Either { int number; float real; };
struct WithUnion { Either either; int which; };
struct Bits { unsigned low : 3; unsigned high : 5; int whole; };
struct Hybrid { bf16 b; sycl::half h; };
namespace ns {
template <class T, int N> struct Pair { T a[N]; T b; };
} // namespace ns

extern "C" {
TASK void deep_by_value(Deep d, float *out) {
  out[0] = d.in[0].s, out[1] = d.in[1].s, out[2] = d.in[0].tag[2], out[3] = d.in[1].tag[0];
  out[4] = d.mode == geo::Mode::B;
  out[5] = d.v3.x(), out[6] = d.v3.z();
  out[7] = d.grid[0][2], out[8] = d.grid[1][0];
  out[9] = d.flag;
  out[10] = (float)d.h;
  out[11] = d.pair.x(), out[12] = d.pair.y();
}
KERNEL void deep_by_pointer(const Deep *from, Deep *to) {
  size_t i = this_work_item::get_nd_item<1>().get_global_linear_id();
  Deep d = from[i];
  d.in[1].s += d.in[0].s;
  d.in[0].tag[1] = 7;
  d.mode = d.mode == geo::Mode::A ? geo::Mode::B : geo::Mode::A;
  d.v3 = d.v3 * 2.0f;
  d.grid[1][2] = d.grid[0][0] + to[i].grid[1][2];
  d.flag = !d.flag;
  d.h = d.h + d.h;
  d.pair = sycl::uint2(d.pair.y(), d.pair.x());
  to[i] = d;
}
KERNEL void fill_span(Span span, float start) {
  int i = this_work_item::get_nd_item<1>().get_global_linear_id();
  if (i < span.count) span.data[i] = start + i;
}
KERNEL void sum_spans(const Span *spans, float *sums) {
  size_t i = this_work_item::get_nd_item<1>().get_global_linear_id();
  float sum = 0;
  for (int k = 0; k < spans[i].count; ++k) sum += spans[i].data[k];
  sums[i] = sum;
}
TASK void packed_both(Packed by, Packed *to) {
  to->tag = by.tag + 1;
  to->number += by.number;
  to->last = by.last;
}
TASK void aligned_both(Aligned by, Aligned *to) {
  to[1].x = by.x + to[0].x;
  to[1].c = by.c;
}
TASK void nothing(Empty empty, int *out) { *out = 5; }
TASK void keywords(Keywords by, Keywords *to) {
  to->type = by.type + 1;
  to->match = by.match * 2;
  to->self = by.self - 1;
  to->fn = by.fn;
}
TASK void unions(WithUnion by, WithUnion *to) {
  to->which = by.which;
  if (by.which) to->either.real = by.either.real * 2;
  else to->either.number = by.either.number + 1;
}
TASK void bits(Bits by, Bits *to) {
  to->low = by.low + 1;
  to->high = by.high;
  to->whole = by.whole;
}
TASK void hybrids(Hybrid by, Hybrid *to) {
  to->b = by.b;
  to->h = by.h + by.h;
}
KERNEL void shared_structs(syclexp::work_group_memory<ns::Pair<int, 2>[]> scratch, int *out) {
  auto item = this_work_item::get_nd_item<1>();
  int l = item.get_local_id(0), n = item.get_local_range(0);
  scratch[l].a[0] = item.get_global_id(0);
  scratch[l].b = 100 + l;
  sycl::group_barrier(item.get_group());
  out[item.get_global_id(0)] = scratch[n - 1 - l].a[0] + scratch[n - 1 - l].b;
}
// They stand nowhere else, so only the argument of the template names them.
struct OnlyLocal { int first[2]; short second; };
KERNEL void only_local(syclexp::work_group_memory<OnlyLocal[]> open, syclexp::work_group_memory<OnlyLocal> one,
                       syclexp::work_group_memory<sycl::id<2>[]> ids, int *out) {
  OnlyLocal &single = one;
  open[2].first[1] = 3, open[2].second = 4, single.second = 5, ids[1] = sycl::id<2>(6, 7);
  out[0] = open[2].first[1] * 1000 + open[2].second * 100 + single.second * 10 + static_cast<int>(ids[1][1]);
}
// `last` stands in the padding behind the base class, which is not trivial.
struct WithTail { sycl::half h; int number; short tail; };
struct InTail : WithTail { short last; };
TASK void in_tail(InTail by, InTail *to) { to->number = by.number + 1, to->last = by.last + to->tail; }
// What the compiler makes a memmove of: the pointers may be equal.
struct Moved { int numbers[9]; };
TASK void moved(const Moved *from, Moved *to, Moved *third) {
  Moved copy = *from;
  to->numbers[0] += 1;
  *third = copy;
}
// Only the bits, without a conversion.
TASK void brains(bf16 by, const bf16 *from, bf16 *to) {
  to[0] = by;
  to[1] = sycl::bit_cast<bf16>(uint16_t(sycl::bit_cast<uint16_t>(from[0]) ^ 0x8000));
}
TASK void mode_by_value(geo::Mode mode, geo::Mode *to) {
  *to = mode == geo::Mode::A ? geo::Mode::B : geo::Mode::A;
}
KERNEL SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::work_group_size<16>))
void groups_of_1(unsigned *out) {
  auto item = this_work_item::get_nd_item<1>();
  out[item.get_global_linear_id()] = item.get_group(0) * 100 + item.get_local_range(0);
}
SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<2>))
SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::work_group_size<2, 8>))
void groups_of_2(unsigned *out) {
  auto item = this_work_item::get_nd_item<2>();
  out[item.get_global_linear_id()] = item.get_group(0) * 1000 + item.get_group(1) * 100 +
                                     item.get_local_range(0) * 10 + item.get_local_range(1);
}
SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<3>))
SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::work_group_size<1, 2, 4>))
void groups_of_3(unsigned *out) {
  auto item = this_work_item::get_nd_item<3>();
  out[item.get_global_linear_id()] = item.get_group(0) * 10000 + item.get_group(1) * 1000 +
                                     item.get_group(2) * 100 + item.get_local_range(1) * 10 +
                                     item.get_local_range(2);
}
}

namespace ns {
TASK void add_pair(Pair<int, 2> by, Pair<int, 2> *to) {
  to->a[0] += by.a[0], to->a[1] += by.a[1], to->b += by.b;
}
} // namespace ns

syclexp::device_global<int[4]> table;
syclexp::device_global<float> bias;
namespace ns {
struct Shift { int by[2]; float scale; };
syclexp::device_global<Shift> shift;
} // namespace ns
extern "C" {
KERNEL void read_globals(const int *index, float *out) {
  size_t i = this_work_item::get_nd_item<1>().get_global_linear_id();
  const ns::Shift &shift = ns::shift.get();
  out[i] = (table[index[i] & 3] + bias.get() + shift.by[1] * 10) * shift.scale;
}
TASK void write_globals(int value, ns::Shift shift) {
  for (int i = 0; i < 4; ++i) table[i] = value * i;
  bias.get() = value * 0.5f;
  ns::shift.get().by[0] += value;
}
}

struct Parts {
  geo::Inner parts[3];
  ns::Pair<int, 2> pairs[2];
  int *out;
  void operator()(sycl::id<1> i) const {
    out[i] = parts[i].s * 10 + parts[i].tag[2] + pairs[i & 1].b;
  }
};
class Rows; class Cells; class Turned;
void host_code(sycl::queue &q, sycl::buffer<geo::Inner, 2> &a, sycl::buffer<int, 3> &b, int *o) {
  q.submit([&](sycl::handler &h) { h.parallel_for<Parts>(sycl::range<1>(3), Parts{{}, {}, o}); });
  q.submit([&](sycl::handler &h) {
    sycl::accessor in(a, h, sycl::read_only);
    h.parallel_for<Rows>(sycl::nd_range<2>({4, 8}, {1, 1}), [=](sycl::nd_item<2> it) {
      o[it.get_global_linear_id()] = in[it.get_global_id()].s;
    });
  });
  q.submit([&](sycl::handler &h) {
    sycl::accessor out(b, h, sycl::write_only);
    h.parallel_for<Cells>(sycl::nd_range<3>({2, 3, 4}, {1, 1, 1}), [=](sycl::nd_item<3> it) {
      out[it.get_global_id()] = it.get_global_id(0) * 100 + it.get_global_id(1) * 10 + it.get_global_id(2);
    });
  });
  q.submit([&](sycl::handler &h) {
    sycl::local_accessor<geo::Inner, 2> tile(sycl::range<2>(4, 8), h);
    h.parallel_for<Turned>(sycl::nd_range<2>({4, 8}, {4, 8}), [=](sycl::nd_item<2> it) {
      tile[it.get_local_id()].s = it.get_local_linear_id();
      sycl::group_barrier(it.get_group());
      o[it.get_global_linear_id()] = tile[3 - it.get_local_id(0)][7 - it.get_local_id(1)].s;
    });
  });
}

struct Wave { std::complex<double> amplitude; std::complex<float> phase[2]; };

// A class in a lambda is a template argument.
template <class Scale> struct Modulate {
  Wave wave;
  const std::complex<float> *in;
  std::complex<double> *out;
  void operator()(sycl::id<1> i) const {
    out[i] = {wave.amplitude.real() + in[i].imag(), Scale::of(wave.amplitude.imag() - wave.phase[1].real())};
  }
};
void modulate(sycl::queue &q, Wave wave, const std::complex<float> *in, std::complex<double> *out) {
  q.submit([&](sycl::handler &h) {
    struct Twice { static double of(double x) { return 2 * x; } };
    h.parallel_for(sycl::range<1>(2), Modulate<Twice>{wave, in, out});
  });
}
