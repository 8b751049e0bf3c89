// The SYCL kernels of the benchmark in CUDA, with the same structure: those of examples/saxpy, nbody,
// matmul and histogram, and reduction.cpp beside this file.
#include "saxpy.cu"

extern "C" __global__ void nbody(const float4 *from, float4 *to, float4 *velocities, unsigned count,
                                 float time_step, float softening) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float4 star = from[i];
  float x = 0, y = 0, z = 0;
  for (unsigned j = 0; j < count; ++j) {
    float4 other = from[j];
    float dx = other.x - star.x, dy = other.y - star.y, dz = other.z - star.z;
    float squared = dx * dx + dy * dy + dz * dz + softening;
    float pull = other.w / (squared * sqrtf(squared));
    x += pull * dx;
    y += pull * dy;
    z += pull * dz;
  }
  float4 velocity = velocities[i];
  velocity.x += time_step * x;
  velocity.y += time_step * y;
  velocity.z += time_step * z;
  velocities[i] = velocity;
  star.x += time_step * velocity.x;
  star.y += time_step * velocity.y;
  star.z += time_step * velocity.z;
  to[i] = star;
}

constexpr unsigned SIDE = 16, EACH = 4, SQUARE = SIDE * EACH, DEPTH = 64;

extern "C" __global__ void __launch_bounds__(SIDE * SIDE)
    matmul(const float *a, const float *b, float *c, unsigned m, unsigned n, unsigned k) {
  __shared__ float of_a[SQUARE * DEPTH], of_b[DEPTH * SQUARE];
  unsigned y = threadIdx.y, x = threadIdx.x;
  size_t top = (size_t)blockIdx.y * SQUARE, left = (size_t)blockIdx.x * SQUARE;
  float sum[EACH][EACH] = {};
  for (size_t start = 0; start < k; start += DEPTH) {
    for (unsigned row = y; row < SQUARE; row += SIDE)
      for (unsigned column = x; column < DEPTH; column += SIDE) {
        bool inside = top + row < m && start + column < k;
        of_a[row * DEPTH + column] = inside ? a[(top + row) * k + start + column] : 0;
      }
    for (unsigned row = y; row < DEPTH; row += SIDE)
      for (unsigned column = x; column < SQUARE; column += SIDE) {
        bool inside = start + row < k && left + column < n;
        of_b[row * SQUARE + column] = inside ? b[(start + row) * n + left + column] : 0;
      }
    __syncthreads();
    for (unsigned depth = 0; depth < DEPTH; ++depth) {
      float from_b[EACH];
      for (unsigned j = 0; j < EACH; ++j) from_b[j] = of_b[depth * SQUARE + x + j * SIDE];
      for (unsigned i = 0; i < EACH; ++i) {
        float from_a = of_a[(y * EACH + i) * DEPTH + depth];
        for (unsigned j = 0; j < EACH; ++j) sum[i][j] += from_a * from_b[j];
      }
    }
    __syncthreads();
  }
  for (unsigned i = 0; i < EACH; ++i)
    for (unsigned j = 0; j < EACH; ++j) {
      size_t row = top + y * EACH + i, column = left + x + j * SIDE;
      if (row < m && column < n) c[row * n + column] = sum[i][j];
    }
}

extern "C" __global__ void __launch_bounds__(256)
    reduction(const float *values, size_t count, float *sums) {
  __shared__ float parts[32];
  float sum = 0;
  size_t stride = (size_t)gridDim.x * blockDim.x;
  for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
    sum += values[i];
  for (unsigned distance = 16; distance > 0; distance /= 2)
    sum += __shfl_xor_sync(~0u, sum, distance);
  unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (lane == 0) parts[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    sum = lane < blockDim.x / 32 ? parts[lane] : 0;
    for (unsigned distance = 16; distance > 0; distance /= 2)
      sum += __shfl_xor_sync(~0u, sum, distance);
    if (lane == 0) sums[blockIdx.x] = sum;
  }
}

extern "C" __global__ void __launch_bounds__(256)
    histogram(const unsigned char *bytes, size_t count, unsigned *bins) {
  __shared__ unsigned counted[256];
  counted[threadIdx.x] = 0;
  __syncthreads();
  size_t stride = (size_t)gridDim.x * blockDim.x;
  for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
    atomicAdd(&counted[bytes[i]], 1u);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], counted[threadIdx.x]);
}
