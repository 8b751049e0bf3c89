// SPDX-License-Identifier: MIT OR Apache-2.0
// The kernel of examples/nbody in OpenCL C, statement by statement.
typedef struct {
  float x, y, z;
  float mass;
} Star;

typedef struct {
  float x, y, z;
  float unused;
} Velocity;

kernel void step(global const Star *from, global Star *to, global Velocity *velocities, uint count,
                 float time_step, float softening) {
  size_t i = get_global_id(0);
  if (i >= count) return;
  Star star = from[i];
  float x = 0, y = 0, z = 0;
  for (uint j = 0; j < count; ++j) {
    Star other = from[j];
    float dx = other.x - star.x, dy = other.y - star.y, dz = other.z - star.z;
    float squared = dx * dx + dy * dy + dz * dz + softening;
    float pull = other.mass / (squared * sqrt(squared));
    x += pull * dx;
    y += pull * dy;
    z += pull * dz;
  }
  Velocity velocity = velocities[i];
  velocity.x += time_step * x;
  velocity.y += time_step * y;
  velocity.z += time_step * z;
  velocities[i] = velocity;
  star.x += time_step * velocity.x;
  star.y += time_step * velocity.y;
  star.z += time_step * velocity.z;
  to[i] = star;
}
