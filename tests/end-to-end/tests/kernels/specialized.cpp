// SPDX-License-Identifier: MIT OR Apache-2.0
// Specialization constants of every kind that SPIR-V can specialize, and what is done with them.
#include <array>
#include <syclbin/constants.hpp>
#include <syclbin/kernel.hpp>
#include <syclbin/vector.hpp>
namespace syclexp = sycl::ext::oneapi::experimental;
namespace this_work_item = sycl::ext::oneapi::this_work_item;
#define KERNEL extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<1>))

enum class Mode : unsigned char { Off, On, Auto };
struct Inner { char tag; double value; };
struct Outer { bool on; Inner inner[2]; Mode mode; short last; };
struct alignas(16) Padded { int a; };
struct Empty {};
union Either { int i; double d; };
struct Bits { int a : 3; int b : 7; bool c : 1; };

constexpr sycl::specialization_id<bool> yes(true);
constexpr sycl::specialization_id<bool> no(false);
constexpr sycl::specialization_id<signed char> tiny(-5);
constexpr sycl::specialization_id<unsigned short> small(65535);
constexpr sycl::specialization_id<sycl::half> half_value(sycl::half(1.5f));
constexpr sycl::specialization_id<long> big(-(1L << 40));
constexpr sycl::specialization_id<float> single(0.5f);
constexpr sycl::specialization_id<Mode> mode(Mode::Auto);
constexpr sycl::specialization_id<sycl::float4> quad(sycl::float4(1.f, 2.f, 3.f, 4.f));
constexpr sycl::specialization_id<sycl::int3> three(sycl::int3(1, -2, 3));
constexpr sycl::specialization_id<std::array<int, 5>> list(std::array<int, 5>{1, 2, 3, 4, 5});
constexpr sycl::specialization_id<Outer> outer(
    Outer{true, {{'a', 1.5}, {'b', 2.5}}, Mode::On, -3});
constexpr sycl::specialization_id<Padded> padded(Padded{4});
constexpr sycl::specialization_id<Empty> empty(Empty{});
constexpr sycl::specialization_id<Either> either(Either{.d = 3.0});
constexpr sycl::specialization_id<Bits> bits(Bits{1, 2, true});
constexpr sycl::specialization_id<int> zero{};
inline constexpr sycl::specialization_id<int> seen_by_all(77);
namespace app {
namespace { constexpr sycl::specialization_id<int> hidden(8); }
struct Holder { static constexpr sycl::specialization_id<unsigned> member{11}; };
template <class T> constexpr sycl::specialization_id<T> of_type(T(3));
}

KERNEL void scalars(double *out, sycl::kernel_handler h) {
  out[0] = h.get_specialization_constant<yes>() ? 10 : 20;
  out[1] = h.get_specialization_constant<no>() ? 10 : 20;
  out[2] = h.get_specialization_constant<tiny>();
  out[3] = h.get_specialization_constant<small>();
  out[4] = h.get_specialization_constant<half_value>();
  out[5] = h.get_specialization_constant<big>();
  out[6] = h.get_specialization_constant<single>();
  out[7] = static_cast<int>(h.get_specialization_constant<mode>());
  out[8] = h.get_specialization_constant<zero>();
}

KERNEL void places(double *out, sycl::kernel_handler h) {
  out[0] = h.get_specialization_constant<seen_by_all>();
  out[1] = h.get_specialization_constant<app::hidden>();
  out[2] = h.get_specialization_constant<app::Holder::member>();
  out[3] = h.get_specialization_constant<app::of_type<int>>();
  out[4] = h.get_specialization_constant<app::of_type<float>>();
}

KERNEL void composites(double *out, sycl::kernel_handler h) {
  auto q = h.get_specialization_constant<quad>();
  auto t = h.get_specialization_constant<three>();
  auto l = h.get_specialization_constant<list>();
  for (int i = 0; i < 4; ++i) out[i] = q[i];
  for (int i = 0; i < 3; ++i) out[4 + i] = t[i];
  for (int i = 0; i < 5; ++i) out[7 + i] = l[i];
  auto o = h.get_specialization_constant<outer>();
  out[12] = o.on;
  out[13] = o.inner[0].tag;
  out[14] = o.inner[0].value;
  out[15] = o.inner[1].tag;
  out[16] = o.inner[1].value;
  out[17] = static_cast<int>(o.mode);
  out[18] = o.last;
  out[19] = h.get_specialization_constant<padded>().a;
  [[maybe_unused]] auto e = h.get_specialization_constant<empty>();
  out[20] = h.get_specialization_constant<either>().d;
  auto b = h.get_specialization_constant<bits>();
  out[21] = b.a;
  out[22] = b.b;
  out[23] = b.c;
}

// Shares `big` and `single` with `scalars`, reads `big` three times, and picks between constants.
KERNEL void chosen(double *out, int n, sycl::kernel_handler h) {
  int i = this_work_item::get_nd_item<1>().get_global_linear_id();
  out[i] = i < n ? h.get_specialization_constant<single>()
                 : h.get_specialization_constant<app::of_type<float>>();
  out[i] += h.get_specialization_constant<big>() + h.get_specialization_constant<big>();
  if (i & 1)
    out[i] += h.get_specialization_constant<big>() * 2;
  else
    out[i] += h.get_specialization_constant<app::of_type<long>>() * 2;
}
