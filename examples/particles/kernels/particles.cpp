// SPDX-License-Identifier: MIT OR Apache-2.0
// Particles that hang together by springs. Structs go to the kernels as they are: `World` by value,
// `Particle` by pointer, with a `Vec3` inside.
#include <syclbin/math.hpp>

struct Vec3 {
  float x, y, z;
  friend Vec3 operator+(Vec3 a, Vec3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
  friend Vec3 operator-(Vec3 a, Vec3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
  friend Vec3 operator*(float by, Vec3 a) { return {by * a.x, by * a.y, by * a.z}; }
  float dot(Vec3 b) const { return x * b.x + y * b.y + z * b.z; }
  float length() const { return sycl::sqrt(dot(*this)); }
};

struct Particle {
  Vec3 position;
  Vec3 velocity;
  float mass;
  unsigned neighbours[2]; // the particles it has a spring to
};

struct World {
  float stiffness; // of a spring
  float length;    // of a spring at rest
  float time_step;
  unsigned count; // how many particles there are
};

static size_t own_index() {
  return syclbin::get_nd_item<1>().get_global_id(0);
}

// The springs pull for one step in time. Positions are read and velocities written, so no work-item
// is in the way of another.
SYCLBIN_KERNEL(1)
void accelerate(World world, Particle *particles) {
  size_t i = own_index();
  if (i >= world.count) return;
  Particle &particle = particles[i];
  Vec3 force = {0, 0, 0};
  for (unsigned neighbour : particle.neighbours) {
    Vec3 spring = particles[neighbour].position - particle.position;
    float length = spring.length();
    force = force + world.stiffness * (length - world.length) / length * spring;
  }
  particle.velocity = particle.velocity + world.time_step / particle.mass * force;
}

// Each particle flies on for one step in time.
SYCLBIN_KERNEL(1)
void advance(World world, Particle *particles) {
  size_t i = own_index();
  if (i >= world.count) return;
  particles[i].position = particles[i].position + world.time_step * particles[i].velocity;
}

// The energy of each particle: of its motion, and half of that of its springs.
SYCLBIN_KERNEL(1)
void energy(World world, const Particle *particles, float *energies) {
  size_t i = own_index();
  if (i >= world.count) return;
  const Particle &particle = particles[i];
  float energy = 0.5f * particle.mass * particle.velocity.dot(particle.velocity);
  for (unsigned neighbour : particle.neighbours) {
    float stretch = (particles[neighbour].position - particle.position).length() - world.length;
    energy += 0.25f * world.stiffness * stretch * stretch;
  }
  energies[i] = energy;
}
