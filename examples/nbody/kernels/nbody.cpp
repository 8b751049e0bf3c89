// SPDX-License-Identifier: MIT OR Apache-2.0
// Stars that attract each other.
#include <syclbin/math.hpp>

struct Star {
  float x, y, z;
  float mass;
};

struct Velocity {
  float x, y, z;
  float unused;
};

// One step in time: all pull at each star, one work-item a star. Positions are read from `from` and
// written to `to`, so no work-item is in the way of another.
SYCLBIN_KERNEL(1)
void step(const Star *from, Star *to, Velocity *velocities, unsigned count, float time_step,
          float softening) {
  // The linear id subtracts the launch's offset, which costs some percent on a CPU.
  size_t i = syclbin::get_nd_item<1>().get_global_id(0);
  if (i >= count) return;
  Star star = from[i];
  float x = 0, y = 0, z = 0;
  for (unsigned j = 0; j < count; ++j) {
    Star other = from[j];
    float dx = other.x - star.x, dy = other.y - star.y, dz = other.z - star.z;
    // Softened, so that stars which meet are not thrown out, and a star does not pull at itself.
    float squared = dx * dx + dy * dy + dz * dz + softening;
    float pull = other.mass / (squared * sycl::sqrt(squared));
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
