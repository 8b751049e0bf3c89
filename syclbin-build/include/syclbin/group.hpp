// SPDX-License-Identifier: MIT OR Apache-2.0
// Functions that all work-items of a group call together: sycl::group_barrier, sycl::reduce_over_group,
// sycl::joint_reduce, scans, sycl::any_of_group, sycl::group_broadcast, sycl::shift_group_left ...
#pragma once

#include <syclbin/kernel.hpp>

#if __has_include(<sycl/group_algorithm.hpp>) && \
    __has_include(<sycl/group_barrier.hpp>) && \
    __has_include(<sycl/functional.hpp>)
#include <sycl/group_algorithm.hpp>
#include <sycl/group_barrier.hpp>
#include <sycl/functional.hpp>
#else
#include <sycl/sycl.hpp>
#endif
