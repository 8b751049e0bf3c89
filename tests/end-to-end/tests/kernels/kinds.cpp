// SPDX-License-Identifier: MIT OR Apache-2.0
// One kernel for each kind of parameter; signatures.rs says what each must come out as.
#include <sycl/accessor.hpp>
#include <sycl/ext/oneapi/bfloat16.hpp>
#include <sycl/queue.hpp>
#include <sycl/vector.hpp>
#include <syclbin/kernel.hpp>
namespace syclexp = sycl::ext::oneapi::experimental;
using bf16 = sycl::ext::oneapi::bfloat16;
#define KERNEL SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<1>))

namespace geo {
enum class Mode : unsigned char { A, B };
struct Inner { short s; char tag[3]; };
} // namespace geo
enum Old { X = -1, Y };
struct Opaque;
struct Particle { float mass; int id; double position[3]; sycl::float4 velocity; };
struct Deep {
  geo::Inner in[2];
  geo::Mode mode;
  sycl::float3 v3;
  const float *ptr;
  float grid[2][3];
  bool flag;
  sycl::half h;
  bf16 b;
  unsigned bits : 3;
};
template <class T, int N> struct Pair { T a[N]; T b; };
struct Base { int base; };
struct Derived : Base { float more; };

extern "C" {
KERNEL void scalars(bool a, char b, unsigned char c, short d, unsigned short e, int f, unsigned g,
                    long h, unsigned long i, float j, double k, sycl::half l, bf16 m, size_t n,
                    uint32_t o, float *out) {
  *out = a + b + c + d + e + f + g + h + i + j + (float)k + (float)l + (float)m + n + o;
}
KERNEL void enums(geo::Mode m, Old o, geo::Mode *to) { *to = o == X ? m : geo::Mode::B; }
KERNEL void pointers(Particle *p, const geo::Inner *q, sycl::half *h, bool *f, int **pp,
                     sycl::float4 *v, void *any, const void *from, Opaque *opaque) {
  p->mass = q->s;
  h[0] = (sycl::half)1.0f;
  f[0] = opaque != nullptr;
  *pp[0] = 2;
  v[0] = sycl::float4(1);
  *(int *)any = *(const int *)from;
}
KERNEL void by_value(Particle p, Deep d, Pair<float, 4> pair, sycl::float4 v4, sycl::int3 v3,
                     sycl::id<2> id, sycl::range<1> r, Derived derived, sycl::marray<float, 3> m,
                     float *out) {
  out[0] = p.mass + d.ptr[0] + pair.b + v4.x() + v3.y() + id[0] + r[0] + derived.more + m[0] +
           d.bits + (float)d.h + d.in[1].s;
}
KERNEL void local(syclexp::work_group_memory<int[64]> fixed, syclexp::work_group_memory<float> one,
                  syclexp::work_group_memory<float[]> open,
                  syclexp::work_group_memory<Particle[4]> particles,
                  syclexp::work_group_memory<int[2][8]> two,
                  syclexp::dynamic_work_group_memory<float[]> dynamic, int *out) {
  fixed[0] = 1;
  one = 2.f;
  open[1] = 3;
  particles[1].mass = 4;
  two[1][2] = 2;
  float *d = dynamic.get();
  d[0] = 1;
  out[0] = fixed[0] + (float)one + open[1] + particles[1].mass + two[1][2] + d[0];
}
KERNEL void accessors(sycl::local_accessor<float, 1> tile, sycl::local_accessor<Particle, 2> grid,
                      sycl::accessor<float, 1> out,
                      sycl::accessor<const int, 2, sycl::access_mode::read> in) {
  tile[0] = 1;
  grid[0][0].mass = 2;
  out[0] = tile[0] + grid[0][0].mass + in[0][0];
}
KERNEL void handled(int *out, sycl::kernel_handler h) { out[0] = 1; }
KERNEL void sampled(sycl::sampler s, float *out) { out[0] = 1; }
}

namespace geo {
template <class T> KERNEL void scaled(T *data, Pair<T, 2> by, Mode mode) {
  data[0] = mode == Mode::A ? by.a[0] : by.b;
}
template void scaled<unsigned>(unsigned *, Pair<unsigned, 2>, Mode);
} // namespace geo

struct Functor {
  Pair<int, 2> pair;
  float *out;
  unsigned unused;
  sycl::half h;
  sycl::local_accessor<int, 2> tile;
  void operator()(sycl::nd_item<1> i) const {
    tile[0][1] = pair.b;
    out[i.get_global_linear_id()] = (float)h + tile[0][1];
  }
};
class Captures;
void host(sycl::queue &q, float *out) {
  q.submit([&](sycl::handler &h) {
    sycl::local_accessor<int, 2> tile(sycl::range<2>(2, 2), h);
    h.parallel_for(sycl::nd_range<1>(16, 16), Functor{{}, out, 1, {}, tile});
  });
  q.submit([&](sycl::handler &h) {
    syclexp::work_group_memory<float[16]> w(h);
    h.parallel_for<Captures>(sycl::nd_range<1>(16, 16), [=](sycl::nd_item<1> i) {
      w[0] = 1;
      out[0] = w[0];
    });
  });
}
