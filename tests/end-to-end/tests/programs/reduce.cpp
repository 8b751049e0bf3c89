// SPDX-License-Identifier: MIT OR Apache-2.0
// Sums, dot products, minima and histograms of random numbers, with local memory, groups and USM.

#include <sycl/accessor.hpp>
#include <sycl/atomic_ref.hpp>
#include <sycl/buffer.hpp>
#include <sycl/functional.hpp>
#include <sycl/group_algorithm.hpp>
#include <sycl/group_barrier.hpp>
#include <sycl/queue.hpp>
#include <sycl/usm.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

constexpr size_t GroupSize = 64;
constexpr size_t Bins = 32;

struct Settings {
  size_t count = 1 << 20;
  unsigned seed = 42;
  int repeats = 3;
};

/// Frees memory of a queue.
struct Free {
  sycl::queue queue;
  void operator()(void *memory) const { sycl::free(memory, queue); }
};

template <typename T> using Shared = std::unique_ptr<T[], Free>;

template <typename T> Shared<T> allocate(sycl::queue &q, size_t count) {
  T *memory = sycl::malloc_shared<T>(count, q);
  if (!memory)
    throw std::bad_alloc();
  return Shared<T>(memory, Free{q});
}

/// Settings by "name=value", or nothing if an argument is wrong.
static std::optional<Settings> read_settings(int argc, const char *const *argv) {
  Settings settings;
  const std::map<std::string_view, std::function<void(const char *)>> known = {
      {"count", [&](const char *value) { settings.count = std::strtoull(value, nullptr, 10); }},
      {"seed", [&](const char *value) { settings.seed = std::strtoul(value, nullptr, 10); }},
      {"repeats", [&](const char *value) { settings.repeats = std::atoi(value); }},
  };
  for (const char *const *argument = argv + 1; argument != argv + argc; ++argument) {
    const char *equals = std::strchr(*argument, '=');
    if (!equals)
      return std::nullopt;
    const auto found = known.find(std::string_view(*argument, equals - *argument));
    if (found == known.end())
      return std::nullopt;
    found->second(equals + 1);
  }
  return settings;
}

/// Numbers from 0 to 999, from a generator that any device can have.
static void initialize(sycl::queue &q, std::uint32_t *numbers, size_t count, unsigned seed) {
  q.parallel_for(sycl::range(count), [=](sycl::id<1> i) {
     std::uint32_t x = static_cast<std::uint32_t>(i) * 747796405u + seed;
     x = ((x >> ((x >> 28) + 4)) ^ x) * 277803737u;
     numbers[i] = ((x >> 22) ^ x) % 1000;
   }).wait();
}

/// One sum for each group, by halving in local memory.
template <typename T> void partial_sums(sycl::queue &q, const T *numbers, T *sums, size_t count) {
  const size_t groups = (count + GroupSize - 1) / GroupSize;
  q.submit([&](sycl::handler &h) {
     sycl::local_accessor<T, 1> scratch{GroupSize, h};
     h.parallel_for(sycl::nd_range<1>{groups * GroupSize, GroupSize}, [=](sycl::nd_item<1> it) {
       const auto local = it.get_local_id(0);
       const auto global = it.get_global_id(0);
       scratch[local] = global < count ? numbers[global] : T{};
       for (size_t width = GroupSize / 2; width > 0; width /= 2) {
         it.barrier(sycl::access::fence_space::local_space);
         if (local < width)
           scratch[local] += scratch[local + width];
       }
       if (local == 0)
         sums[it.get_group(0)] = scratch[0];
     });
   }).wait();
}

/// The sum of all, on the device until one number is left.
template <typename T> T sum(sycl::queue &q, const T *numbers, size_t count) {
  auto first = allocate<T>(q, count / GroupSize + 1), second = allocate<T>(q, count / GroupSize + 1);
  T *from = first.get(), *to = second.get();
  partial_sums(q, numbers, from, count);
  for (size_t left = (count + GroupSize - 1) / GroupSize; left > 1; left = (left + GroupSize - 1) / GroupSize) {
    partial_sums(q, from, to, left);
    std::swap(from, to);
  }
  return from[0];
}

/// A dot product as a function object, with the sum of each group from the group's own function.
class DotProduct {
public:
  DotProduct(const float *x, const float *y, double *result, size_t count)
      : x(x), y(y), result(result), count(count) {}

  void operator()(sycl::nd_item<1> item) const {
    float own = 0;
    for (size_t i = item.get_global_id(0); i < count; i += item.get_global_range(0))
      own += x[i] * y[i];
    const float group = sycl::reduce_over_group(item.get_group(), own, sycl::plus<>());
    if (item.get_group().leader()) {
      sycl::atomic_ref<double, sycl::memory_order::relaxed, sycl::memory_scope::device> total(*result);
      total += group;
    }
  }

private:
  const float *x;
  const float *y;
  double *result;
  size_t count;
};

struct Extremes {
  std::uint32_t smallest;
  std::uint32_t largest;
};

/// The smallest and the largest number, with atomics on one struct.
static void extremes(sycl::queue &q, const std::uint32_t *numbers, size_t count, Extremes *found) {
  *found = {std::numeric_limits<std::uint32_t>::max(), 0};
  q.parallel_for(sycl::range<1>(count), [=](auto i) {
     using Ref = sycl::atomic_ref<std::uint32_t, sycl::memory_order::relaxed, sycl::memory_scope::device,
                                  sycl::access::address_space::global_space>;
     Ref(found->smallest).fetch_min(numbers[i]);
     Ref(found->largest).fetch_max(numbers[i]);
   }).wait();
}

/// How many numbers each bin has: counted in local memory, and then added to the others' counts.
static void histogram(sycl::queue &q, const std::uint32_t *numbers, size_t count, std::array<std::uint32_t, Bins> &bins) {
  bins.fill(0);
  sycl::buffer<std::uint32_t> totals(bins.data(), bins.size());
  const size_t groups = 8;
  q.submit([&](sycl::handler &h) {
    sycl::accessor total{totals, h, sycl::read_write};
    sycl::local_accessor<std::uint32_t> own(sycl::range<1>(Bins), h);
    h.parallel_for<class histogram_kernel>(
        sycl::nd_range<1>(groups * GroupSize, GroupSize), [=](sycl::nd_item<1> item) {
          using Local = sycl::atomic_ref<std::uint32_t, sycl::memory_order::relaxed, sycl::memory_scope::work_group,
                                         sycl::access::address_space::local_space>;
          using Global = sycl::atomic_ref<std::uint32_t, sycl::memory_order::relaxed, sycl::memory_scope::device,
                                          sycl::access::address_space::global_space>;
          const size_t lane = item.get_local_linear_id();
          for (size_t bin = lane; bin < Bins; bin += item.get_local_range(0))
            own[bin] = 0;
          sycl::group_barrier(item.get_group());
          for (size_t i = item.get_global_id(0); i < count; i += item.get_global_range(0))
            Local(own[numbers[i] * Bins / 1000]).fetch_add(1u);
          sycl::group_barrier(item.get_group());
          for (size_t bin = lane; bin < Bins; bin += item.get_local_range(0))
            Global(total[bin]).fetch_add(own[bin]);
        });
  });
}

template <typename F> static double best_of(int repeats, F &&work) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repeats; ++i) {
    const auto begin = std::chrono::high_resolution_clock::now();
    work();
    const std::chrono::duration<double, std::milli> time = std::chrono::high_resolution_clock::now() - begin;
    best = std::min(best, time.count());
  }
  return best;
}

static bool check(const char *what, double found, double expected, double milliseconds) {
  const bool same = std::abs(found - expected) <= 1e-4 * std::max(1.0, std::abs(expected));
  std::printf("%-10s %14.1f  expected %14.1f  %8.3f ms  %s\n", what, found, expected, milliseconds,
              same ? "ok" : "WRONG");
  return same;
}

int main(int argc, char *argv[]) {
  const auto settings = read_settings(argc, argv);
  if (!settings) {
    std::cerr << "usage: " << argv[0] << " [count=N] [seed=N] [repeats=N]" << std::endl;
    return 2;
  }
  const size_t count = settings->count;
  try {
    sycl::queue q;
    const sycl::device device = q.get_device();
    std::cout << device.get_info<sycl::info::device::name>() << ", "
              << device.get_info<sycl::info::device::max_compute_units>() << " units" << std::endl;
    bool ok = true;

    auto numbers = allocate<std::uint32_t>(q, count);
    initialize(q, numbers.get(), count, settings->seed);
    std::uint32_t total = 0;
    double time = best_of(settings->repeats, [&] { total = sum(q, numbers.get(), count); });
    ok &= check("sum", total, std::accumulate(&numbers[0], &numbers[0] + count, std::uint32_t{0}), time);

    auto found = allocate<Extremes>(q, 1);
    time = best_of(settings->repeats, [&] { extremes(q, numbers.get(), count, found.get()); });
    const auto [least, most] = std::minmax_element(&numbers[0], &numbers[0] + count);
    ok &= check("smallest", found[0].smallest, *least, time) && check("largest", found[0].largest, *most, time);

    std::array<std::uint32_t, Bins> bins{}, expected{};
    time = best_of(settings->repeats, [&] { histogram(q, numbers.get(), count, bins); });
    for (size_t i = 0; i < count; ++i)
      ++expected[numbers[i] * Bins / 1000];
    ok &= check("histogram", bins == expected, 1, time);

    auto x = allocate<float>(q, count), y = allocate<float>(q, count);
    auto dot = allocate<double>(q, 1);
    std::mt19937 generator(settings->seed);
    std::uniform_real_distribution<float> distribution(0, 1);
    std::generate_n(x.get(), count, [&] { return distribution(generator); });
    q.single_task([to = y.get(), count] {
       for (size_t i = 0; i < count; ++i)
         to[i] = 1.0f / static_cast<float>(1 + i % 7);
     }).wait();
    time = best_of(settings->repeats, [&] {
      *dot.get() = 0;
      const sycl::nd_range<1> range(16 * GroupSize, GroupSize);
      q.parallel_for(range, DotProduct(x.get(), y.get(), dot.get(), count)).wait();
    });
    ok &= check("dot", dot[0], std::inner_product(x.get(), x.get() + count, y.get(), 0.0), time);

    float scaled = sum(q, x.get(), count);
    ok &= check("floats", scaled, std::accumulate(x.get(), x.get() + count, 0.0), 0);
    return ok ? 0 : 1;
  } catch (const sycl::exception &e) {
    std::cerr << "SYCL error " << e.code().value() << ": " << e.what() << std::endl;
    return 3;
  }
}
