// SPDX-License-Identifier: MIT OR Apache-2.0
// Classes of one name in functions of two namespaces.
#include <sycl/queue.hpp>
namespace a { void copy(sycl::queue &q, int *p) { q.parallel_for<class K>(sycl::range<1>(64), [=](sycl::id<1> i) { p[i] = 1; }); } }
namespace b { void copy(sycl::queue &q, int *p) { q.parallel_for<class K>(sycl::range<1>(64), [=](sycl::id<1> i) { p[i] = 2; }); } }
int main() {}
