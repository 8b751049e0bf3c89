; Two kernels that do nothing, for LLVM's own SPIR-V back end.
target triple = "spirv64"

define spir_kernel void @first(i32 %a) #0 {
  ret void
}

define spir_kernel void @second(i32 %a) #0 {
  ret void
}

attributes #0 = { "sycl-module-id"="kernels.cpp" }
