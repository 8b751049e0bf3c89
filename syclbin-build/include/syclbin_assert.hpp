// SPDX-License-Identifier: MIT OR Apache-2.0
// Records a failed `assert` in a device variable, which the program reads when it waits for the kernel. This header is
// included before each source. It adds nothing to code without asserts.
#pragma GCC system_header
#if defined(__SYCL_DEVICE_ONLY__) && !defined(SYCLBIN_NATIVE_ASSERT) && !defined(SYCLBIN_ASSERT_HPP)
#define SYCLBIN_ASSERT_HPP

#if defined(__SPIR__) || defined(__SPIRV__)
extern __attribute__((sycl_device)) unsigned
__spirv_AtomicCompareExchange(__attribute__((opencl_global)) unsigned *, int, int, int, unsigned, unsigned) noexcept;
extern __attribute__((sycl_device)) __SIZE_TYPE__ __spirv_BuiltInGlobalInvocationId(int) noexcept;
#endif

namespace syclbin {
// A device global, stored directly in each image. It lacks device_image_scope, which would allow only one image. The
// runtime relies on the variable's name and layout.
struct [[__sycl_detail__::global_variable_allowed, __sycl_detail__::device_global,
         __sycl_detail__::add_ir_attributes_global_variable("sycl-device-global-size", 1056)]] FailedAssert {
  unsigned failed;
  unsigned line;
  unsigned long long item[3];
  char condition[256];
  char file[256];
  char function[512];
};
static_assert(sizeof(FailedAssert) == 1056);
inline FailedAssert failed_assert;

namespace assert_detail {
#define SYCLBIN_DEVICE __attribute__((sycl_device)) inline

// Returns whether this is the first failure.
inline bool is_first() noexcept {
#if defined(__SPIR__) || defined(__SPIRV__)
  auto *failed = (__attribute__((opencl_global)) unsigned *)&failed_assert.failed;
  return __spirv_AtomicCompareExchange(failed, 1 /* device */, 0x200, 0x200, 1u, 0u) == 0;
#else
  unsigned expected = 0;
  return __atomic_compare_exchange_n(&failed_assert.failed, &expected, 1u, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
#endif
}

template <int Size> inline void copy(char (&to)[Size], const char *from) noexcept {
  int at = 0;
  for (; from && at < Size - 1 && from[at]; ++at) to[at] = from[at];
  to[at] = 0;
}
} // namespace assert_detail

// The work-item continues after a failure, because others in its group may be waiting for it at a barrier. These
// functions are not `sycl_device`: DPC++ would move an inline `sycl_device` function to a module of its own.
__attribute__((noinline)) inline void record_assert(const char *condition, const char *file, unsigned line,
                                                    const char *function, unsigned long long x, unsigned long long y,
                                                    unsigned long long z) noexcept {
  if (!assert_detail::is_first()) return;
  failed_assert.line = line;
  failed_assert.item[0] = x;
  failed_assert.item[1] = y;
  failed_assert.item[2] = z;
  assert_detail::copy(failed_assert.condition, condition);
  assert_detail::copy(failed_assert.file, file);
  assert_detail::copy(failed_assert.function, function);
}
} // namespace syclbin

// SYCLBIN_ITEM: the global id of the work-item; dimension 0 varies fastest.
#if defined(__SPIR__) || defined(__SPIRV__)
#define SYCLBIN_ITEM                                                                                         \
  __spirv_BuiltInGlobalInvocationId(0), __spirv_BuiltInGlobalInvocationId(1), __spirv_BuiltInGlobalInvocationId(2)
#elif defined(__NVPTX__)
#define SYCLBIN_ID(D)                                                                                        \
  1ull * __nvvm_read_ptx_sreg_ctaid_##D() * __nvvm_read_ptx_sreg_ntid_##D() + __nvvm_read_ptx_sreg_tid_##D()
#define SYCLBIN_ITEM SYCLBIN_ID(x), SYCLBIN_ID(y), SYCLBIN_ID(z)
#else
#define SYCLBIN_ITEM 0, 0, 0
#endif
// Inlined, because PoCL 6.0 crashes on calls to functions that read the global id.
#define SYCLBIN_INLINED __attribute__((always_inline)) SYCLBIN_DEVICE
#ifdef _LIBCPP_HAS_MUSL_LIBC
#define SYCLBIN_LINE int // as musl declares it
#else
#define SYCLBIN_LINE unsigned
#endif
extern "C" {
SYCLBIN_INLINED void __assert_fail(const char *condition, const char *file, SYCLBIN_LINE line,
                                   const char *function) noexcept {
  ::syclbin::record_assert(condition, file, line, function, SYCLBIN_ITEM);
}
SYCLBIN_DEVICE void __devicelib_assert_fail(const char *condition, const char *file, int line, const char *function,
                                            __SIZE_TYPE__ x, __SIZE_TYPE__ y, __SIZE_TYPE__ z, __SIZE_TYPE__,
                                            __SIZE_TYPE__, __SIZE_TYPE__) noexcept {
  ::syclbin::record_assert(condition, file, line, function, x, y, z);
}
}
// libstdc++ containers call this if _GLIBCXX_ASSERTIONS is defined.
namespace std {
extern "C++" SYCLBIN_INLINED void __glibcxx_assert_fail(const char *file, int line, const char *function,
                                                        const char *condition) noexcept {
  ::syclbin::record_assert(condition, file, line, function, SYCLBIN_ITEM);
}
} // namespace std
#undef SYCLBIN_INLINED
#undef SYCLBIN_LINE
#undef SYCLBIN_ITEM
#undef SYCLBIN_ID
#undef SYCLBIN_DEVICE
#endif
