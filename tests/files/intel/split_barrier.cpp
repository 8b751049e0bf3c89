// SPDX-License-Identifier: MIT OR Apache-2.0
// A barrier in two halves.
#include <syclbin/kernel.hpp>

extern "C" SYCL_EXTERNAL void __spirv_ControlBarrierArriveINTEL(int scope, int memory, int semantics);
extern "C" SYCL_EXTERNAL void __spirv_ControlBarrierWaitINTEL(int scope, int memory, int semantics);

SYCLBIN_KERNEL(1)
void split_barrier(int *x) {
  __spirv_ControlBarrierArriveINTEL(2, 2, 0x208);
  x[syclbin::get_nd_item<1>().get_global_linear_id()] *= 2;
  __spirv_ControlBarrierWaitINTEL(2, 2, 0x208);
}
