// Kernels that do next to nothing, with 0 to 10 arguments: what is measured is the way to them. And
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
void saxpy(float a, const float *x, float *y, unsigned n) {
  size_t i = syclbin::get_nd_item<1>().get_global_linear_id();
  if (i < n) y[i] = a * x[i] + y[i];
}
