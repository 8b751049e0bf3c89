// SPDX-License-Identifier: MIT OR Apache-2.0
// The compiler puts these kernels into two images, because only one of them needs fp64. Both have asserts.
#include <cassert>

#include <sycl/queue.hpp>

void split(sycl::queue &queue, float *x, double *y) {
  queue.parallel_for<class OfFloats>(sycl::range<1>(64), [=](sycl::id<1> i) {
    assert(x[i] < 100);
    x[i] += 1;
  });
  queue.parallel_for<class OfDoubles>(sycl::range<1>(64), [=](sycl::id<1> i) {
    assert(y[i] < 200);
    y[i] *= 2;
  });
}
