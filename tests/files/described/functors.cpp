// Functors, lambdas, accessors, device globals and specialization constants, for what debug information tells of them.
#include <sycl/sycl.hpp>
namespace syclexp = sycl::ext::oneapi::experimental;
#define KERNEL SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<1>))

struct Particle { float mass; double position[3]; };
syclexp::device_global<int[4]> counts;
syclexp::device_global<Particle> origin;
constexpr sycl::specialization_id<float> SCALE(2.0f);

extern "C" {
KERNEL void accessors(sycl::local_accessor<float, 1> tile, sycl::local_accessor<Particle, 2> grid,
                      sycl::accessor<float, 1> out,
                      sycl::accessor<const int, 2, sycl::access_mode::read> in) {
  tile[0] = 1;
  grid[0][0].mass = 2;
  out[0] = tile[0] + grid[0][0].mass + in[0][0];
}
KERNEL void local(syclexp::work_group_memory<int[64]> fixed, syclexp::work_group_memory<float[]> open,
                  syclexp::dynamic_work_group_memory<float[]> dynamic, int *out) {
  fixed[0] = 1;
  open[1] = 3;
  dynamic.get()[0] = 1;
  out[0] = fixed[0] + open[1] + counts[1] + origin.get().mass;
}
KERNEL void handled(float *out, sycl::kernel_handler h) { out[0] = h.get_specialization_constant<SCALE>(); }
KERNEL void sampled(sycl::sampler s, sycl::id<2> at, sycl::range<1> size, sycl::marray<float, 3> m, float *out) {
  out[0] = at[0] + size[0] + m[0];
}
}

struct Functor {
  float weights[2];
  float *out;
  unsigned unused;
  sycl::local_accessor<int, 2> tile;
  void operator()(sycl::nd_item<1> i, sycl::kernel_handler h) const {
    tile[0][1] = 1;
    out[i.get_global_linear_id()] = h.get_specialization_constant<SCALE>() + weights[1] + tile[0][1];
  }
};
class Captures;
void host(sycl::queue &q, float *out) {
  q.submit([&](sycl::handler &h) {
    sycl::local_accessor<int, 2> tile(sycl::range<2>(2, 2), h);
    h.parallel_for(sycl::nd_range<1>(16, 16), Functor{{}, out, 1, tile});
  });
  q.submit([&](sycl::handler &h) {
    syclexp::work_group_memory<float[16]> w(h);
    h.parallel_for<Captures>(sycl::nd_range<1>(16, 16), [=](sycl::nd_item<1> i) {
      w[0] = 1;
      out[0] = w[0];
    });
  });
}
