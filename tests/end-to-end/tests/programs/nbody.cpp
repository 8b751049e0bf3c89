// SPDX-License-Identifier: MIT OR Apache-2.0
// Bodies under their own gravity, in single and double precision.
//
// Usage: nbody [-n BODIES] [-s STEPS] [-d (use double)] [-v]

#include <sycl/sycl.hpp>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <iomanip>
#include <iostream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace nbody {

template <typename T> struct Body {
  sycl::vec<T, 4> position; // the last is the mass
  sycl::vec<T, 4> velocity;
};

template <typename T> inline sycl::vec<T, 4> attraction(const sycl::vec<T, 4> &on, const sycl::vec<T, 4> &by, T softening) {
  const sycl::vec<T, 4> d = by - on;
  const T square = d.x() * d.x() + d.y() * d.y() + d.z() * d.z() + softening;
  const T inverse = T(1) / sycl::sqrt(square);
  const T scale = by.w() * inverse * inverse * inverse;
  return {d.x() * scale, d.y() * scale, d.z() * scale, T(0)};
}

struct Parameters {
  float step;
  float softening;
  enum class Method : unsigned char { Direct, Tiled } method;
};

/// All bodies on the device, and what can be done with them.
template <typename T> class System {
public:
  System(sycl::queue queue, const std::vector<Body<T>> &start, Parameters parameters)
      : queue(std::move(queue)), count(start.size()), parameters(parameters) {
    bodies = sycl::malloc_device<Body<T>>(count, this->queue);
    forces = sycl::malloc_device<sycl::vec<T, 4>>(count, this->queue);
    if (!bodies || !forces)
      throw std::runtime_error("no memory for " + std::to_string(count) + " bodies");
    this->queue.copy(start.data(), bodies, count).wait();
  }

  System(const System &) = delete;
  System &operator=(const System &) = delete;

  ~System() {
    sycl::free(bodies, queue);
    sycl::free(forces, queue);
  }

  void advance() {
    const sycl::event ready = parameters.method == Parameters::Method::Tiled ? attract_tiled() : attract();
    move(ready).wait();
  }

  T energy() {
    T *sum = sycl::malloc_shared<T>(1, queue);
    *sum = T(0);
    auto *all = bodies;
    const size_t n = count;
    const T softening = parameters.softening;
    queue
        .submit([&](sycl::handler &h) {
          h.parallel_for(sycl::range<1>(n), [=](sycl::id<1> id) {
            const size_t i = id;
            const auto own = all[i];
            T energy = T(0.5) * own.position.w() *
                       (own.velocity.x() * own.velocity.x() + own.velocity.y() * own.velocity.y() +
                        own.velocity.z() * own.velocity.z());
            for (size_t j = 0; j < i; ++j) {
              const auto d = all[j].position - own.position;
              energy -= own.position.w() * all[j].position.w() /
                        sycl::sqrt(d.x() * d.x() + d.y() * d.y() + d.z() * d.z() + softening);
            }
            sycl::atomic_ref<T, sycl::memory_order::relaxed, sycl::memory_scope::device,
                             sycl::access::address_space::global_space>(*sum)
                .fetch_add(energy);
          });
        })
        .wait();
    const T result = *sum;
    sycl::free(sum, queue);
    return result;
  }

  std::vector<Body<T>> download() {
    std::vector<Body<T>> all(count);
    queue.memcpy(all.data(), bodies, count * sizeof(Body<T>)).wait();
    return all;
  }

private:
  sycl::event attract() {
    const auto [step, softening, method] = parameters;
    return queue.parallel_for(sycl::range{count}, [=, bodies = bodies, forces = forces, n = count](sycl::id<1> i) {
      sycl::vec<T, 4> force(T(0));
      for (size_t j = 0; j < n; ++j)
        if (j != i)
          force += attraction(bodies[i].position, bodies[j].position, T(softening));
      forces[i] = force;
    });
  }

  /// The same, with the positions of a work-group's bodies in local memory.
  sycl::event attract_tiled() {
    constexpr size_t width = 32;
    const size_t groups = (count + width - 1) / width;
    return queue.submit([&](sycl::handler &h) {
      sycl::local_accessor<sycl::vec<T, 4>, 1> tile(width, h);
      const Body<T> *all = bodies;
      sycl::vec<T, 4> *to = forces;
      const size_t n = count;
      const T softening = parameters.softening;
      h.parallel_for(sycl::nd_range<1>(groups * width, width), [=](sycl::nd_item<1> item) {
        const size_t i = item.get_global_id(0), lane = item.get_local_id(0);
        const auto own = all[sycl::min(i, n - 1)].position;
        sycl::vec<T, 4> force(T(0));
        for (size_t start = 0; start < n; start += width) {
          // A body without mass attracts nothing.
          tile[lane] = start + lane < n ? all[start + lane].position : sycl::vec<T, 4>(T(0));
          sycl::group_barrier(item.get_group());
          for (size_t j = 0; j < width; ++j)
            force += attraction(own, tile[j], softening);
          sycl::group_barrier(item.get_group());
        }
        if (i < n)
          to[i] = force;
      });
    });
  }

  sycl::event move(const sycl::event &after) {
    return queue.submit([&](sycl::handler &h) {
      h.depends_on(after);
      h.parallel_for(sycl::range<1>(count), Move{bodies, forces, T(parameters.step)});
    });
  }

  struct Move {
    Body<T> *bodies;
    const sycl::vec<T, 4> *forces;
    T step;
    void operator()(sycl::item<1> item) const {
      Body<T> &body = bodies[item];
      body.velocity += forces[item] * step;
      body.position += body.velocity * sycl::vec<T, 4>(step, step, step, T(0));
    }
  };

  sycl::queue queue;
  size_t count;
  Parameters parameters;
  Body<T> *bodies = nullptr;
  sycl::vec<T, 4> *forces = nullptr;
};

template <typename T> void reference(std::vector<Body<T>> &bodies, Parameters parameters) {
  std::vector<std::array<T, 3>> forces(bodies.size());
  for (size_t i = 0; i < bodies.size(); ++i) {
    forces[i] = {};
    for (size_t j = 0; j < bodies.size(); ++j) {
      T d[3], square = parameters.softening;
      for (int k = 0; k < 3; ++k) {
        d[k] = bodies[j].position[k] - bodies[i].position[k];
        square += d[k] * d[k];
      }
      for (int k = 0; k < 3; ++k)
        forces[i][k] += bodies[j].position[3] * d[k] / (square * std::sqrt(square));
    }
  }
  for (size_t i = 0; i < bodies.size(); ++i)
    for (int k = 0; k < 3; ++k) {
      bodies[i].velocity[k] += forces[i][k] * parameters.step;
      bodies[i].position[k] += bodies[i].velocity[k] * parameters.step;
    }
}

} // namespace nbody

/// Gives the bodies a spin around the z axis.
static void initialize(sycl::queue &q, nbody::Body<float> *bodies, size_t count, unsigned turns) {
  q.parallel_for(sycl::range(count), [=](sycl::id<1> i) {
     auto &body = bodies[i];
     body.velocity.x() = -body.position.y() * turns;
     body.velocity.y() = body.position.x() * turns;
   }).wait();
}

/// The device should be awake before anything is timed.
static sycl::event warm_up(sycl::queue &q) {
  int *memory = sycl::malloc_device<int>(64, q);
  sycl::event event = q.submit([&](sycl::handler &h) {
    h.parallel_for(sycl::range<1>(64), [=](sycl::id<1> i) { memory[i] = static_cast<int>(i) * 3; });
  });
  event.wait();
  sycl::free(memory, q);
  return event;
}

template <typename T> static int run(sycl::queue &q, size_t count, int steps, bool verbose) {
  using namespace nbody;
  std::vector<Body<T>> bodies(count);
  std::mt19937_64 random{2024};
  std::normal_distribution<T> place;
  for (auto &body : bodies) {
    body.position = {place(random), place(random), place(random), T(1) / count};
    body.velocity = {T(0), T(0), T(0), T(0)};
  }
  if constexpr (std::is_same_v<T, float>) {
    auto *spinning = sycl::malloc_device<Body<float>>(count, q);
    q.copy(bodies.data(), spinning, count).wait();
    initialize(q, spinning, count, 1);
    q.copy(spinning, bodies.data(), count).wait();
    sycl::free(spinning, q);
  }
  const Parameters parameters{0.01f, 0.001f, Parameters::Method::Tiled};
  System<T> tiled(q, bodies, parameters), direct(q, bodies, {0.01f, 0.001f, Parameters::Method::Direct});
  const T before = tiled.energy();
  const auto start = std::chrono::steady_clock::now();
  for (int step = 0; step < steps; ++step) {
    tiled.advance();
    direct.advance();
    reference(bodies, parameters);
  }
  const auto time = std::chrono::steady_clock::now() - start;
  T worst = 0;
  const auto first = tiled.download(), second = direct.download();
  for (size_t i = 0; i < count; ++i)
    for (int k = 0; k < 3; ++k) {
      worst = std::max(worst, std::abs(first[i].position[k] - bodies[i].position[k]));
      worst = std::max(worst, std::abs(second[i].position[k] - bodies[i].position[k]));
    }
  std::ostringstream line;
  line << count << " bodies, " << steps << " steps: "
       << std::chrono::duration_cast<std::chrono::microseconds>(time).count() << " us, energy " << before << " -> "
       << tiled.energy() << ", largest difference " << worst;
  std::cout << line.str() << std::endl;
  if (verbose)
    for (size_t i = 0; i < std::min<size_t>(count, 5); ++i)
      std::cout << std::setw(4) << i << ": " << first[i].position[0] << ", " << first[i].position[1] << '\n';
  return worst < T(1e-3) ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv) {
  std::unordered_map<std::string, std::string> options{{"-n", "512"}, {"-s", "10"}};
  bool twice = false, verbose = false;
  for (int i = 1; i < argc; ++i) {
    const std::string option(argv[i]);
    if (option == "-d")
      twice = true;
    else if (option == "-v")
      verbose = true;
    else if (options.count(option) && i + 1 < argc)
      options[option] = argv[++i];
    else {
      std::cerr << "usage: " << argv[0] << " [-n BODIES] [-s STEPS] [-d] [-v]\n";
      return 2;
    }
  }
  try {
    sycl::queue q(sycl::gpu_selector_v, sycl::property::queue::enable_profiling{});
    const size_t count = std::stoull(options["-n"]);
    const int steps = std::stoi(options["-s"]);
    int *device_count = sycl::malloc_shared<int>(1, q);
    q.single_task([=] { *device_count = static_cast<int>(count); }).wait();
    if (*device_count != static_cast<int>(count))
      throw std::runtime_error("the device does not run kernels");
    sycl::free(device_count, q);
    const sycl::event event = warm_up(q);
    const auto begun = event.get_profiling_info<sycl::info::event_profiling::command_start>();
    const auto ended = event.get_profiling_info<sycl::info::event_profiling::command_end>();
    std::cout << "first kernel: " << (ended - begun) * 1e-3 << " us\n";
    if (twice && !q.get_device().has(sycl::aspect::fp64))
      throw std::runtime_error("the device has no double precision");
    return twice ? run<double>(q, count, steps, verbose) : run<float>(q, count, steps, verbose);
  } catch (std::exception const &error) {
    std::cerr << "error: " << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
