// SPDX-License-Identifier: MIT OR Apache-2.0
// sycl::atomic_ref, sycl::atomic_fence, and sycl::multi_ptr (a pointer with an address space).
#pragma once

#include <syclbin/kernel.hpp>

#if __has_include(<sycl/atomic_ref.hpp>) && \
    __has_include(<sycl/atomic_fence.hpp>) && \
    __has_include(<sycl/multi_ptr.hpp>)
#include <sycl/atomic_ref.hpp>
#include <sycl/atomic_fence.hpp>
#include <sycl/multi_ptr.hpp>
#else
#include <sycl/sycl.hpp>
#endif
