// SPDX-License-Identifier: MIT OR Apache-2.0
// Kernels for the SYCL compiler of LLVM itself, without a SYCL library.
#define GLOBAL __attribute__((opencl_global))

extern "C" [[clang::sycl_external]] unsigned long _Z33__spirv_BuiltInGlobalInvocationIdi(int);

// A kernel as a SYCL library makes it: named by a type, and called with one object.
template <typename Name, typename Function>
[[clang::sycl_kernel_entry_point(Name)]] void entry(Function function) {
  function();
}

struct Fill {
  int *out;
  int start;
  void operator()() const {
    unsigned long i = _Z33__spirv_BuiltInGlobalInvocationIdi(0);
    out[i] = start + static_cast<int>(i);
  }
};

void use(int *out) { entry<class Filled>(Fill{out, 7}); }

extern "C" [[clang::device_kernel]] [[clang::sycl_external]] void scale(GLOBAL float *data, float factor) {
  data[_Z33__spirv_BuiltInGlobalInvocationIdi(0)] *= factor;
}
