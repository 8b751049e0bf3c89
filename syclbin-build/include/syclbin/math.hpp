// SPDX-License-Identifier: MIT OR Apache-2.0
// SYCL's built-in functions: sycl::sqrt, sycl::fma, sycl::clamp, sycl::dot, sycl::popcount ... For
// std::sqrt and similar functions, include <cmath>.
#pragma once

#include <syclbin/kernel.hpp>

#if __has_include(<sycl/builtins.hpp>)
#include <sycl/builtins.hpp>
#else
#include <sycl/sycl.hpp>
#endif
