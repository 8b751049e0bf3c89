// The kernel of examples/saxpy in CUDA. It has a file of its own, because the time to a first result is
// measured with a module of one kernel.
extern "C" __global__ void saxpy(float a, const float *x, float *y, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
