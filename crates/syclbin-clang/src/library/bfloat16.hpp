// SPDX-License-Identifier: MIT OR Apache-2.0
// bfloat16 conversions for native code. Each module is compiled to native code on its own, so it cannot be
// linked with the device library's conversions.
#if defined(__SYCL_DEVICE_ONLY__) && defined(__SPIR__)
#define SYCLBIN_CONVERSION __attribute__((sycl_device, always_inline)) inline
extern "C" {
SYCLBIN_CONVERSION float __devicelib_ConvertBF16ToFINTEL(const unsigned short &from) noexcept {
  return __builtin_bit_cast(float, static_cast<unsigned>(from) << 16);
}
// Rounds to nearest, ties to even. Sets the quiet bit of a NaN, so that truncation cannot make it an infinity.
SYCLBIN_CONVERSION unsigned short __devicelib_ConvertFToBF16INTEL(const float &from) noexcept {
  unsigned bits = __builtin_bit_cast(unsigned, from);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<unsigned short>(bits >> 16 | 0x40u);
  return static_cast<unsigned short>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
#define SYCLBIN_CONVERSIONS(N)                                                                              \
  SYCLBIN_CONVERSION void __devicelib_ConvertBF16ToFINTELVec##N(const unsigned short *from,                 \
                                                                float *to) noexcept {                       \
    for (int i = 0; i < N; ++i) to[i] = __devicelib_ConvertBF16ToFINTEL(from[i]);                           \
  }                                                                                                         \
  SYCLBIN_CONVERSION void __devicelib_ConvertFToBF16INTELVec##N(const float *from,                          \
                                                                unsigned short *to) noexcept {              \
    for (int i = 0; i < N; ++i) to[i] = __devicelib_ConvertFToBF16INTEL(from[i]);                           \
  }
SYCLBIN_CONVERSIONS(1)
SYCLBIN_CONVERSIONS(2)
SYCLBIN_CONVERSIONS(3)
SYCLBIN_CONVERSIONS(4)
SYCLBIN_CONVERSIONS(8)
SYCLBIN_CONVERSIONS(16)
}
#undef SYCLBIN_CONVERSIONS
#undef SYCLBIN_CONVERSION
#endif
