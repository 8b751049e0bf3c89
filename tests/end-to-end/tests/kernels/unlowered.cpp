// SPDX-License-Identifier: MIT OR Apache-2.0
// A specialization constant that SPIR-V has no form for.
#include <syclbin/constants.hpp>
#include <syclbin/kernel.hpp>
namespace syclexp = sycl::ext::oneapi::experimental;
struct Place {
  int index;
  const int *memory;
};
namespace app {
constexpr sycl::specialization_id<Place> place(Place{1, nullptr});
}

extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::single_task_kernel))
void reads_a_pointer(int *out, sycl::kernel_handler h) {
  *out = h.get_specialization_constant<app::place>().index;
}
