// Kernels that do next to nothing, with 0 to 77 arguments: what is measured is the way to them. And
// saxpy, for the first result of a program. arguments.syclbin is made of this by
//
//   syclbin-clang -fsyclbin -O2 -fno-discard-value-names arguments.cpp -o arguments.syclbin
#include <syclbin/kernel.hpp>

SYCLBIN_KERNEL(1)
void take_0() {}

SYCLBIN_KERNEL(1)
void take_1(int *out) { *out = 1; }

SYCLBIN_KERNEL(1)
void take_2(int *out, int i) { *out = i; }

SYCLBIN_KERNEL(1)
void take_3(int *out, const int *a, int i) { *out = *a + i; }

SYCLBIN_KERNEL(1)
void take_4(int *out, const int *a, int i, float x) { *out = *a + i + int(x); }

SYCLBIN_KERNEL(1)
void take_5(int *out, const int *a, const int *b, int i, float x) { *out = *a + *b + i + int(x); }

SYCLBIN_KERNEL(1)
void take_6(int *out, const int *a, const int *b, int i, float x, int j) {
  *out = *a + *b + i + int(x) + j;
}

SYCLBIN_KERNEL(1)
void take_7(int *out, const int *a, const int *b, int i, float x, int j, float y) {
  *out = *a + *b + i + int(x) + j + int(y);
}

SYCLBIN_KERNEL(1)
void take_8(int *out, const int *a, const int *b, const int *c, int i, float x, int j, float y) {
  *out = *a + *b + *c + i + int(x) + j + int(y);
}

SYCLBIN_KERNEL(1)
void take_9(int *out, const int *a, const int *b, const int *c, int i, float x, int j, float y,
            int k) {
  *out = *a + *b + *c + i + int(x) + j + int(y) + k;
}

SYCLBIN_KERNEL(1)
void take_10(int *out, const int *a, const int *b, const int *c, int i, float x, int j, float y,
             int k, float z) {
  *out = *a + *b + *c + i + int(x) + j + int(y) + k + int(z);
}

SYCLBIN_KERNEL(1)
void take_40(
    int *out, const int *a, const int *b, const int *c, int i0, float x1, int i2, float x3, int i4, float
    x5, int i6, float x7, int i8, float x9, int i10, float x11, int i12, float x13, int i14, float x15, int
    i16, float x17, int i18, float x19, int i20, float x21, int i22, float x23, int i24, float x25, int i26,
    float x27, int i28, float x29, int i30, float x31, int i32, float x33, int i34, float x35) {
  *out = *a + *b + *c + i0 + int(x1) + i2 + int(x3) + i4 + int(x5) + i6 + int(x7) + i8 + int(x9) + i10 +
         int(x11) + i12 + int(x13) + i14 + int(x15) + i16 + int(x17) + i18 + int(x19) + i20 + int(x21) + i22
         + int(x23) + i24 + int(x25) + i26 + int(x27) + i28 + int(x29) + i30 + int(x31) + i32 + int(x33) +
         i34 + int(x35);
}

SYCLBIN_KERNEL(1)
void take_77(
    int *out, const int *a, const int *b, const int *c, int i0, float x1, int i2, float x3, int i4, float
    x5, int i6, float x7, int i8, float x9, int i10, float x11, int i12, float x13, int i14, float x15, int
    i16, float x17, int i18, float x19, int i20, float x21, int i22, float x23, int i24, float x25, int i26,
    float x27, int i28, float x29, int i30, float x31, int i32, float x33, int i34, float x35, int i36,
    float x37, int i38, float x39, int i40, float x41, int i42, float x43, int i44, float x45, int i46,
    float x47, int i48, float x49, int i50, float x51, int i52, float x53, int i54, float x55, int i56,
    float x57, int i58, float x59, int i60, float x61, int i62, float x63, int i64, float x65, int i66,
    float x67, int i68, float x69, int i70, float x71, int i72) {
  *out = *a + *b + *c + i0 + int(x1) + i2 + int(x3) + i4 + int(x5) + i6 + int(x7) + i8 + int(x9) + i10 +
         int(x11) + i12 + int(x13) + i14 + int(x15) + i16 + int(x17) + i18 + int(x19) + i20 + int(x21) + i22
         + int(x23) + i24 + int(x25) + i26 + int(x27) + i28 + int(x29) + i30 + int(x31) + i32 + int(x33) +
         i34 + int(x35) + i36 + int(x37) + i38 + int(x39) + i40 + int(x41) + i42 + int(x43) + i44 + int(x45)
         + i46 + int(x47) + i48 + int(x49) + i50 + int(x51) + i52 + int(x53) + i54 + int(x55) + i56 +
         int(x57) + i58 + int(x59) + i60 + int(x61) + i62 + int(x63) + i64 + int(x65) + i66 + int(x67) + i68
         + int(x69) + i70 + int(x71) + i72;
}

SYCLBIN_KERNEL(1)
void saxpy(float a, const float *x, float *y, unsigned n) {
  size_t i = syclbin::get_nd_item<1>().get_global_linear_id();
  if (i < n) y[i] = a * x[i] + y[i];
}
