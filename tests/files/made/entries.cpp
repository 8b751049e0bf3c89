// Parameters of kernels as clang passes them on CUDA devices, under the names that DPC++ gives to free functions.
typedef float float4 __attribute__((ext_vector_type(4)));
struct Particle { float mass; int id; double position[3]; };
struct Span { float *data; int count; };
#define KERNEL __attribute__((nvptx_kernel)) void

extern "C" {
KERNEL __sycl_kernel_saxpy(float a, const float *x, float *y, unsigned n) {}
KERNEL __sycl_kernel_numbers(bool a, char b, unsigned short c, int d, double e) {}
KERNEL __sycl_kernel_structs(Particle p, Span s, float4 v, _Float16 h) {}
KERNEL __sycl_kernel_shared(__attribute__((address_space(3))) int *scratch, int *out) {}
KERNEL __sycl_kernel_wide(long n) {}
}
KERNEL __sycl_kernel_scale(int *data, long by) {}
KERNEL __sycl_kernel_move(Particle p, float *to) {}
