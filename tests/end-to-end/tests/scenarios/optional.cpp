// SPDX-License-Identifier: MIT OR Apache-2.0
// A kernel for every device, one for those that have `double`, and one for GPUs.
#include <sycl/aspects.hpp>
#include <syclbin/kernel.hpp>

extern "C" SYCLBIN_PROPERTY(single_task_kernel)
void whole(int *out, int n) {
  for (int i = 0; i < n; ++i) out[i] = i;
}

extern "C" SYCLBIN_PROPERTY(single_task_kernel)
void halved(int *out, int n) {
  for (int i = 0; i < n; ++i) {
    double x = i;
    out[i] = static_cast<int>(x / 2.0);
  }
}

struct [[__sycl_detail__::__uses_aspects__(sycl::aspect::gpu)]] OfGpus {
  int factor = -1;
};

extern "C" SYCLBIN_PROPERTY(single_task_kernel)
void of_gpus(int *out, int n) {
  OfGpus of;
  for (int i = 0; i < n; ++i) out[i] = i * of.factor;
}
