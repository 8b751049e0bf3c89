/* A kernel for the back ends of clang that make native code or PTX. */
#if defined(__NVPTX__)
__attribute__((nvptx_kernel))
#elif defined(__AMDGCN__)
__attribute__((amdgpu_kernel))
#endif
void double_it(int *x) { *x *= 2; }
