// Types and parameters of many kinds, for what debug information tells of them.
#include <syclbin/kernel.hpp>
#include <syclbin/local_memory.hpp>
#include <syclbin/vector.hpp>

namespace geo {
enum class Mode : unsigned char { A, B };
struct Inner { short s; char tag[3]; };
}
enum Old { X = -1, Y };
struct Opaque;
struct Empty {};
struct Base { int base; };
struct Derived : Empty, Base { float more; };
struct Two : Base, geo::Inner { float more; };
template <class T, int N> struct Pair { T a[N]; T b; };
union Either { float f; int i[2]; };
struct __attribute__((packed)) Packed { bool bit : 1; unsigned field0; char last; };
struct alignas(32) Aligned { float x; char c; };
struct Counted { static const int COUNT = 3; long counter; struct { int unnamed; }; };
struct Bits { unsigned a : 3; unsigned b : 13; unsigned char c; unsigned d : 31; unsigned e : 2; short f; };
struct __attribute__((packed)) __attribute__((aligned(32))) Wide {
  unsigned long long a : 62;
  unsigned char b : 5;
  long long c : 22;
  int d : 14;
  signed char e : 8;
  long f : 62;
};
struct Deep {
  geo::Inner in[2];
  geo::Mode mode;
  sycl::vec<float, 3> v3;
  sycl::vec<sycl::half, 16> v16;
  const float *ptr;
  const Deep *next;
  void (*call)(int);
  float grid[2][3];
  bool flag;
  sycl::half h;
  Either either;
  Old old[2];
  const volatile int fixed;
  bool *const *flags;
};
using Number = unsigned long;

// What described.txt says of them.
#define AT(TYPE, MEMBER, OFFSET) static_assert(__builtin_offsetof(TYPE, MEMBER) == OFFSET);
#define SIZE(TYPE, SIZE, ALIGN) static_assert(sizeof(TYPE) == SIZE && alignof(TYPE) == ALIGN);
SIZE(geo::Inner, 6, 2) AT(geo::Inner, tag, 2)
SIZE(Derived, 8, 4) AT(Derived, more, 4)
SIZE(Wide, 32, 32)
SIZE(Two, 16, 4) AT(Two, s, 4) AT(Two, more, 12)
SIZE(Packed, 6, 1) AT(Packed, field0, 1) AT(Packed, last, 5)
SIZE(Aligned, 32, 32) AT(Aligned, c, 4)
SIZE(Counted, 16, 8) AT(Counted, unnamed, 8)
SIZE(Bits, 12, 4) AT(Bits, c, 2) AT(Bits, f, 10)
AT(Deep, mode, 12) AT(Deep, v3, 16) AT(Deep, v16, 32) AT(Deep, ptr, 64) AT(Deep, grid, 88) AT(Deep, flag, 112)
AT(Deep, h, 114) AT(Deep, either, 116) AT(Deep, old, 124) AT(Deep, fixed, 132) AT(Deep, flags, 136)
using Pairs = Pair<Pair<short, 2>, 3>;
SIZE(Pairs, 24, 2) AT(Pairs, b, 18)

extern "C" {
SYCLBIN_KERNEL(1) void scalars(bool a, char b, signed char sb, unsigned char c, short d, unsigned short e, int f,
                               unsigned g, long h, Number i, long long j, unsigned long long k, float l, double m,
                               sycl::half n, float *out) {
  *out = a + b + sb + c + d + e + f + g + h + i + j + k + l + m + (float)n;
}
SYCLBIN_KERNEL(1) void enums(geo::Mode m, Old o, geo::Mode *to, const Old *from) { *to = o == *from ? m : geo::Mode::B; }
SYCLBIN_KERNEL(1) void pointers(const geo::Inner *q, sycl::half *h, bool *f, int **pp, sycl::vec<float, 4> *v, void *any,
                                const void *from, Opaque *opaque, const int *const *deep, sycl::vec<int, 2> (*rows)[3]) {
  h[0] = q->s;
  f[0] = opaque != nullptr;
  *pp[0] = **deep;
  v[0] = sycl::vec<float, 4>(rows[0][1].x());
  *(int *)any = *(const int *)from;
}
SYCLBIN_KERNEL(1) void structs(Derived derived, Two two, Pair<float, 4> pair, Packed packed, Aligned aligned, Counted counted,
                               Bits bits, float *out) {
  *out = derived.more + two.s + pair.b + packed.field0 + aligned.x + counted.unnamed + bits.f;
}
SYCLBIN_KERNEL(1) void wide(Wide bits, int *out) { *out = bits.c; }
SYCLBIN_KERNEL(1) void points_to_wide(const Wide *bits, int *out) { *out = bits->c; }
SYCLBIN_KERNEL(1) void nested(const Deep *deep, Aligned *aligned, Packed *packed, Pair<Pair<short, 2>, 3> *pairs) {
  aligned->x = deep->in[1].s + packed->field0 + pairs->b.b;
}
}
namespace geo {
template <class T> SYCLBIN_PROPERTY(nd_range_kernel<1>) void scaled(T *data, Pair<T, 2> by, Mode mode) {
  data[0] = mode == Mode::A ? by.a[0] : by.b;
}
template void scaled<unsigned>(unsigned *, Pair<unsigned, 2>, Mode);
}
