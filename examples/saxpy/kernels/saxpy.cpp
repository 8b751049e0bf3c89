// y = a * x + y, one work-item an element. These two headers are all that a free-function kernel
// needs; <sycl/sycl.hpp> works as well and takes ten times as long to compile.
#include <sycl/ext/oneapi/free_function_queries.hpp>
#include <sycl/ext/oneapi/kernel_properties/properties.hpp>

namespace syclexp = sycl::ext::oneapi::experimental;

extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<1>))
void saxpy(float a, const float *x, float *y, unsigned n) {
  size_t i = sycl::ext::oneapi::this_work_item::get_nd_item<1>().get_global_linear_id();
  if (i < n) y[i] = a * x[i] + y[i];
}
