// SPDX-License-Identifier: MIT OR Apache-2.0
// The functions of SYCL: sycl::sqrt, sycl::fma, sycl::clamp, sycl::dot, sycl::popcount ... Those of
// <cmath> may need a library of the device that is not linked.
#pragma once

#include <syclbin/kernel.hpp>

#if __has_include(<sycl/builtins.hpp>)
#include <sycl/builtins.hpp>
#else
#include <sycl/sycl.hpp>
#endif
