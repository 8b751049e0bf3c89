// SPDX-License-Identifier: MIT OR Apache-2.0
// sycl::vec with its operators and swizzles, and the aliases for vector types: sycl::float4, sycl::int2 ...
#pragma once

#include <syclbin/kernel.hpp>

#if __has_include(<sycl/vector.hpp>) && \
    __has_include(<sycl/aliases.hpp>)
#include <sycl/vector.hpp>
// Some releases define vec::convert only in this separate header.
#if __has_include(<sycl/detail/vector_convert.hpp>)
#include <sycl/detail/vector_convert.hpp>
#endif
#include <sycl/aliases.hpp>
#else
#include <sycl/sycl.hpp>
#endif
