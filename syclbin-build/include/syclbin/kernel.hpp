// SPDX-License-Identifier: MIT OR Apache-2.0
// The minimum that a kernel needs. This header compiles in about a sixth of the time that <sycl/sycl.hpp>
// takes.
//
//   #include <syclbin/kernel.hpp>
//
//   SYCLBIN_KERNEL(1)
//   void saxpy(float a, const float *x, float *y, unsigned n) {
//     size_t i = syclbin::get_nd_item<1>().get_global_id(0);
//     if (i < n) y[i] = a * x[i] + y[i];
//   }
//
// From SYCL: id, range, item, nd_item, group, sub_group, nd_item::barrier, half, marray; kernel
//            properties and SYCL_EXT_ONEAPI_FUNCTION_PROPERTY; ext::oneapi::this_work_item
// Our own:   the macros that begin with SYCLBIN_, and the namespace syclbin, which contains short aliases
//            for SYCL names
//
// Other features are in separate headers, because each adds to the compile time:
//
//   <syclbin/vector.hpp>        vec with its operators and swizzles: float4, int2 ...
//   <syclbin/math.hpp>          SYCL's built-in functions: sqrt, fma, clamp, dot, popcount ...
//   <syclbin/atomic.hpp>        atomic_ref, atomic_fence, multi_ptr
//   <syclbin/group.hpp>         group_barrier, reduce_over_group, group_broadcast, shuffles ...
//   <syclbin/reduce.hpp>        reductions over a range
//   <syclbin/local_memory.hpp>  work_group_memory
//   <syclbin/constants.hpp>     specialization_id, kernel_handler
//   <syclbin/printf.hpp>        printf
//
// The rest of SYCL (accessors, samplers, streams, USM functions, queues) is in <sycl/sycl.hpp>. If you
// include it too, in any order, these headers add no compile time.
#pragma once

#ifndef __has_include
#error "<syclbin/kernel.hpp> needs a DPC++ compiler: clang++ -fsycl or icpx -fsycl (version 2025.2 or newer), or syclbin-clang"
#elif __has_include(<sycl/ext/oneapi/free_function_queries.hpp>) &&                                     \
    __has_include(<sycl/ext/oneapi/kernel_properties/properties.hpp>) &&                                \
    __has_include(<sycl/half_type.hpp>) && __has_include(<sycl/marray.hpp>)
#include <sycl/ext/oneapi/free_function_queries.hpp>
#include <sycl/ext/oneapi/kernel_properties/properties.hpp>
#include <sycl/half_type.hpp>
#include <sycl/marray.hpp>
#elif __has_include(<sycl/sycl.hpp>)
// This DPC++ release arranges its headers differently: including everything is slower, but still correct.
#include <sycl/sycl.hpp>
#else
#error "the SYCL headers were not found; <syclbin/kernel.hpp> needs a DPC++ compiler: clang++ -fsycl or icpx -fsycl (version 2025.2 or newer), or syclbin-clang"
#endif

#if defined(__has_include) && !defined(SYCL_EXT_ONEAPI_FUNCTION_PROPERTY)
#error "these SYCL headers do not support free-function kernels; use DPC++ 2025.2 or newer, and compile with -fsycl"
#endif

// Declares the following function as a kernel over a range with DIMENSIONS dimensions (1, 2 or 3). The
// symbol is the function name without its namespace, so each name can be used only once. For templates
// and overloads, use SYCLBIN_PROPERTY(nd_range_kernel<1>) instead, without `extern "C"`.
#define SYCLBIN_KERNEL(DIMENSIONS) extern "C" SYCLBIN_PROPERTY(nd_range_kernel<DIMENSIONS>)

// Adds a property of sycl::ext::oneapi::experimental to a kernel, after SYCLBIN_KERNEL. Use one macro per
// property: two in one macro form a comma expression, and the function is then silently not a kernel.
#define SYCLBIN_PROPERTY(...)                                                                           \
  SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((::sycl::ext::oneapi::experimental::__VA_ARGS__))

// Compiles a kernel for work-groups of exactly this size: one number per dimension, slowest-varying first.
#define SYCLBIN_WORK_GROUP_SIZE(...) SYCLBIN_PROPERTY(work_group_size<__VA_ARGS__>)

// Compiles a kernel for sub-groups of this size.
#define SYCLBIN_SUB_GROUP_SIZE(SIZE) SYCLBIN_PROPERTY(sub_group_size<SIZE>)

namespace syclbin {
// get_nd_item<D>(), get_work_group<D>(), get_sub_group(): the position of the current work-item.
using namespace ::sycl::ext::oneapi::this_work_item;
} // namespace syclbin
