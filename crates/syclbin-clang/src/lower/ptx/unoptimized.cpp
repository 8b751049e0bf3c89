// Two specialization constants, read by a kernel that is compiled without optimization.
#include <sycl/sycl.hpp>
struct Stencil { float weight[3]; int radius; };
constexpr sycl::specialization_id<double> gain(2.5);
constexpr sycl::specialization_id<Stencil> stencil(Stencil{{0.25f, 0.5f, 0.25f}, 1});

extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::single_task_kernel))
void read(double *out, sycl::kernel_handler h) {
  Stencil s = h.get_specialization_constant<stencil>();
  out[0] = h.get_specialization_constant<gain>() + s.radius;
}
