// SPDX-License-Identifier: MIT OR Apache-2.0
// The kernel of examples/matmul in OpenCL C, statement by statement.
#define SIDE 16
#define EACH 4
#define SQUARE (SIDE * EACH)
#define DEPTH 64

kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1)))
void matmul(global const float *a, global const float *b, global float *c, uint m, uint n, uint k,
            local float *of_a, local float *of_b) {
  uint y = get_local_id(1), x = get_local_id(0);
  size_t top = get_group_id(1) * SQUARE, left = get_group_id(0) * SQUARE;

  float sum[EACH][EACH];
  for (uint i = 0; i < EACH; ++i)
    for (uint j = 0; j < EACH; ++j) sum[i][j] = 0;
  for (size_t start = 0; start < k; start += DEPTH) {
    for (uint row = y; row < SQUARE; row += SIDE)
      for (uint column = x; column < DEPTH; column += SIDE) {
        bool inside = top + row < m && start + column < k;
        of_a[row * DEPTH + column] = inside ? a[(top + row) * k + start + column] : 0;
      }
    for (uint row = y; row < DEPTH; row += SIDE)
      for (uint column = x; column < SQUARE; column += SIDE) {
        bool inside = start + row < k && left + column < n;
        of_b[row * SQUARE + column] = inside ? b[(start + row) * n + left + column] : 0;
      }
    barrier(CLK_LOCAL_MEM_FENCE);

#pragma unroll 8
    for (uint depth = 0; depth < DEPTH; ++depth) {
      float from_b[EACH];
      for (uint j = 0; j < EACH; ++j) from_b[j] = of_b[depth * SQUARE + x + j * SIDE];
      for (uint i = 0; i < EACH; ++i) {
        float from_a = of_a[(y * EACH + i) * DEPTH + depth];
        for (uint j = 0; j < EACH; ++j) sum[i][j] += from_a * from_b[j];
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }

  for (uint i = 0; i < EACH; ++i)
    for (uint j = 0; j < EACH; ++j) {
      size_t row = top + y * EACH + i, column = left + x + j * SIDE;
      if (row < m && column < n) c[row * n + column] = sum[i][j];
    }
}
