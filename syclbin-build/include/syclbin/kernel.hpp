// SPDX-License-Identifier: MIT OR Apache-2.0
// What a kernel needs to be one, and no more: a compile with this takes about a sixth of the time of
// one with <sycl/sycl.hpp>.
//
//   #include <syclbin/kernel.hpp>
//
//   SYCLBIN_KERNEL(1)
//   void saxpy(float a, const float *x, float *y, unsigned n) {
//     size_t i = syclbin::get_nd_item<1>().get_global_linear_id();
//     if (i < n) y[i] = a * x[i] + y[i];
//   }
//
// Of SYCL:  id, range, item, nd_item, group, sub_group, nd_item::barrier, half, marray; the properties
//           of kernels and SYCL_EXT_ONEAPI_FUNCTION_PROPERTY; ext::oneapi::this_work_item
// Of ours:  the macros that begin with SYCLBIN_, and the namespace syclbin, which has other names for
//           what SYCL has, so both spellings mean the same
//
// The rest has headers of its own, because each of them takes its time:
//
//   <syclbin/vector.hpp>        vec with its operators and swizzles: float4, int2 ...
//   <syclbin/math.hpp>          the functions of SYCL: sqrt, fma, clamp, dot, popcount ...
//   <syclbin/atomic.hpp>        atomic_ref, atomic_fence, multi_ptr
//   <syclbin/group.hpp>         group_barrier, reduce_over_group, group_broadcast, shuffles ...
//   <syclbin/local_memory.hpp>  work_group_memory
//   <syclbin/constants.hpp>     specialization_id, kernel_handler
//   <syclbin/printf.hpp>        printf
//
// Anything else (accessors, samplers, streams, USM functions, queues) is in <sycl/sycl.hpp>. It can be
// included beside these, in any order, and then they cost nothing.
#pragma once

#ifndef __has_include
#error "<syclbin/kernel.hpp> needs a DPC++ compiler: clang++ -fsycl or icpx -fsycl of 2025.2 or newer, or syclbin-clang"
#elif __has_include(<sycl/ext/oneapi/free_function_queries.hpp>) &&                                     \
    __has_include(<sycl/ext/oneapi/kernel_properties/properties.hpp>) &&                                \
    __has_include(<sycl/half_type.hpp>) && __has_include(<sycl/marray.hpp>)
#include <sycl/ext/oneapi/free_function_queries.hpp>
#include <sycl/ext/oneapi/kernel_properties/properties.hpp>
#include <sycl/half_type.hpp>
#include <sycl/marray.hpp>
#elif __has_include(<sycl/sycl.hpp>)
// A release that arranges its headers in another way: slower, and still right.
#include <sycl/sycl.hpp>
#else
#error "the headers of SYCL are not found; <syclbin/kernel.hpp> needs a DPC++ compiler: clang++ -fsycl or icpx -fsycl of 2025.2 or newer, or syclbin-clang"
#endif

#if defined(__has_include) && !defined(SYCL_EXT_ONEAPI_FUNCTION_PROPERTY)
#error "these headers of SYCL have no free-function kernels; use DPC++ 2025.2 or newer, and compile with -fsycl"
#endif

// Makes the function that follows a kernel over a range of so many dimensions (1, 2 or 3). Its name is
// that of the function, in any namespace, so a name can be used once. For a template or for overloads
// write SYCLBIN_PROPERTY(nd_range_kernel<1>) and leave `extern "C"` out.
#define SYCLBIN_KERNEL(DIMENSIONS) extern "C" SYCLBIN_PROPERTY(nd_range_kernel<DIMENSIONS>)

// Gives a kernel a property of sycl::ext::oneapi::experimental, after SYCLBIN_KERNEL. One for each: two
// in one would be a comma expression, and the function no kernel, which compilers do not say.
#define SYCLBIN_PROPERTY(...)                                                                           \
  SYCLBIN_DESCRIBED(#__VA_ARGS__)                                                                       \
  SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((::sycl::ext::oneapi::experimental::__VA_ARGS__))

// What describes kernels finds their dimensions in this; the code that runs does not have it.
#ifdef SYCLBIN_DESCRIBE
#define SYCLBIN_DESCRIBED(PROPERTY) [[clang::annotate("syclbin: " PROPERTY)]]
#else
#define SYCLBIN_DESCRIBED(PROPERTY)
#endif

// Compiles a kernel for work-groups of this size and no other: one number for each dimension, the one
// that counts slowest first.
#define SYCLBIN_WORK_GROUP_SIZE(...) SYCLBIN_PROPERTY(work_group_size<__VA_ARGS__>)

// Compiles a kernel for sub-groups of this size.
#define SYCLBIN_SUB_GROUP_SIZE(SIZE) SYCLBIN_PROPERTY(sub_group_size<SIZE>)

namespace syclbin {
// get_nd_item<D>(), get_work_group<D>(), get_sub_group(): where the running work-item is.
using namespace ::sycl::ext::oneapi::this_work_item;
} // namespace syclbin
