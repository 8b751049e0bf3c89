// Specialization constants of every type.
#include <sycl/sycl.hpp>
namespace ns {
enum class Mode { a = 1, b = 200 };
struct Big { double d[3]; int i; char c; bool operator==(const Big&) const; };
struct Tiny { char a; short b; };
struct One { int a; };
}
constexpr sycl::specialization_id<bool> flag(true);
constexpr sycl::specialization_id<char> c8(-5);
constexpr sycl::specialization_id<unsigned char> u8(250);
constexpr sycl::specialization_id<short> s16(-300);
constexpr sycl::specialization_id<unsigned short> u16(65000);
constexpr sycl::specialization_id<unsigned> u32(7);
constexpr sycl::specialization_id<long> s64(-9);
constexpr sycl::specialization_id<float> f32(1.5f);
constexpr sycl::specialization_id<double> f64(2.5);
constexpr sycl::specialization_id<int> zero(0);
constexpr sycl::specialization_id<ns::Mode> mode(ns::Mode::b);
constexpr sycl::specialization_id<ns::Big> big(ns::Big{{1,2,3},4,5});
constexpr sycl::specialization_id<ns::Tiny> tiny(ns::Tiny{1,-2});
constexpr sycl::specialization_id<ns::One> one(ns::One{3});
constexpr sycl::specialization_id<ns::Big> zbig(ns::Big{});
constexpr sycl::specialization_id<sycl::half> h16(sycl::half(0.5f));
namespace n2 { constexpr sycl::specialization_id<int> inner(77); }
#define K SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<1>))
extern "C" K void scalars(double *o, sycl::kernel_handler h) {
  o[0] = h.get_specialization_constant<flag>() ? 1.5 : 2.5;
  o[1] = h.get_specialization_constant<c8>();
  o[2] = h.get_specialization_constant<u8>();
  o[3] = h.get_specialization_constant<s16>();
  o[4] = h.get_specialization_constant<u16>();
  o[5] = h.get_specialization_constant<u32>();
  o[6] = h.get_specialization_constant<s64>();
  o[7] = h.get_specialization_constant<f32>();
  o[8] = h.get_specialization_constant<f64>();
  o[9] = h.get_specialization_constant<zero>();
  o[10] = (int)h.get_specialization_constant<mode>();
  o[12] = h.get_specialization_constant<n2::inner>();
}
extern "C" K void composites(double *o, sycl::kernel_handler h) {
  auto b = h.get_specialization_constant<big>();
  o[0] = b.d[1] + b.i + b.c;
  auto t = h.get_specialization_constant<tiny>();
  o[1] = t.a + t.b;
  o[2] = h.get_specialization_constant<one>().a;
  auto z = h.get_specialization_constant<zbig>();
  o[3] = z.d[2] + z.i;
  o[4] = h.get_specialization_constant<s64>();
}
extern "C" K void halves(float *o, sycl::kernel_handler h) {
  o[0] = h.get_specialization_constant<h16>();
}
