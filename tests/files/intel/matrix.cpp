// SPDX-License-Identifier: MIT OR Apache-2.0
// A product of matrices in the sizes that B580 and Max 1550 have instructions for.
#include <syclbin/kernel.hpp>

#include <sycl/ext/oneapi/matrix/matrix.hpp>

namespace matrix = sycl::ext::oneapi::experimental::matrix;
using matrix::layout;
using matrix::use;
using sycl::half;

template <typename T> auto global(T *pointer) {
  return sycl::address_space_cast<sycl::access::address_space::global_space,
                                  sycl::access::decorated::no>(pointer);
}

SYCLBIN_KERNEL(1)
SYCLBIN_PROPERTY(sub_group_size<16>)
void joint_matrix(half *a, half *b, float *c) {
  auto group = sycl::ext::oneapi::this_work_item::get_sub_group();
  matrix::joint_matrix<sycl::sub_group, half, use::a, 8, 16, layout::row_major> left;
  matrix::joint_matrix<sycl::sub_group, half, use::b, 16, 16, layout::row_major> right;
  matrix::joint_matrix<sycl::sub_group, float, use::accumulator, 8, 16> product;
  matrix::joint_matrix_load(group, left, global(a), 16);
  matrix::joint_matrix_load(group, right, global(b), 16);
  matrix::joint_matrix_fill(group, product, 0.0f);
  matrix::joint_matrix_mad(group, product, left, right, product);
  matrix::joint_matrix_store(group, product, global(c), 16, layout::row_major);
}
