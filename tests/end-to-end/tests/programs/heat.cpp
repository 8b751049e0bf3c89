// SPDX-License-Identifier: MIT OR Apache-2.0
// Heat in a square plate: a five-point stencil, in global memory and in tiles of local memory.
//
//   heat [--size N] [--steps N] [--tile N] [--alpha X] [--verbose]

#include <sycl/accessor.hpp>
#include <sycl/atomic_ref.hpp>
#include <sycl/bit_cast.hpp>
#include <sycl/buffer.hpp>
#include <sycl/builtins.hpp>
#include <sycl/group_barrier.hpp>
#include <sycl/properties/queue_properties.hpp>
#include <sycl/queue.hpp>
#include <sycl/usm.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct Options {
  size_t size = 256;
  size_t steps = 50;
  size_t tile = 16;
  float alpha = 0.2f;
  bool verbose = false;
  std::string output;
};

class UsageError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

Options parse(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    auto value = [&]() -> std::string {
      if (i + 1 >= argc)
        throw UsageError(argument + " needs a value");
      return argv[++i];
    };
    if (argument == "--size")
      options.size = std::stoul(value());
    else if (argument == "--steps")
      options.steps = std::stoul(value());
    else if (argument == "--tile")
      options.tile = std::stoul(value());
    else if (argument == "--alpha")
      options.alpha = std::stof(value());
    else if (argument == "--output")
      options.output = value();
    else if (argument == "--verbose")
      options.verbose = true;
    else
      throw UsageError("unknown option " + argument);
  }
  if (options.size < 3 || options.tile == 0 || options.size % options.tile != 0)
    throw UsageError("the size must be a multiple of the tile");
  return options;
}

class Timer {
public:
  Timer() : start(std::chrono::steady_clock::now()) {}
  double seconds() const {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - start).count();
  }

private:
  std::chrono::steady_clock::time_point start;
};

/// A grid of n times n cells; the outermost cells keep their temperature.
template <typename T> class Grid {
public:
  Grid(size_t n, T value) : n(n), cells(n * n, value) {}
  T &operator()(size_t row, size_t column) { return cells[row * n + column]; }
  const T &operator()(size_t row, size_t column) const { return cells[row * n + column]; }
  std::vector<T> &data() { return cells; }
  const std::vector<T> &data() const { return cells; }
  size_t size() const { return n; }

private:
  size_t n;
  std::vector<T> cells;
};

void reference(Grid<float> &grid, size_t steps, float alpha) {
  const size_t n = grid.size();
  Grid<float> next = grid;
  for (size_t step = 0; step < steps; ++step) {
    for (size_t y = 1; y + 1 < n; ++y)
      for (size_t x = 1; x + 1 < n; ++x) {
        const float around = grid(y - 1, x) + grid(y + 1, x) + grid(y, x - 1) + grid(y, x + 1);
        next(y, x) = grid(y, x) + alpha * (around - 4.0f * grid(y, x));
      }
    std::swap(grid.data(), next.data());
  }
}

} // namespace

/// A hot spot in the middle and a hot upper edge.
static void initialize(sycl::queue &q, sycl::buffer<float, 2> &plate) {
  q.submit([&](sycl::handler &h) {
    sycl::accessor cells(plate, h, sycl::write_only, sycl::no_init);
    const sycl::range<2> size = plate.get_range();
    h.parallel_for(size, [=](sycl::id<2> id) {
      const size_t row = id[0], column = id[1];
      const size_t half = size[0] / 2;
      const bool spot = row >= half - 1 && row <= half && column >= half - 1 && column <= half;
      cells[id] = row == 0 ? 100.0f : spot ? 500.0f : 0.0f;
    });
  });
}

/// The first kernel is slower than others.
static sycl::event warm_up(sycl::queue &q) {
  float *memory = sycl::malloc_shared<float>(16, q);
  sycl::event event = q.submit([&](sycl::handler &h) {
    h.parallel_for(sycl::range<1>(16), [=](sycl::id<1> i) { memory[i] = 0.5f * i[0]; });
  });
  event.wait();
  sycl::free(memory, q);
  return event;
}

/// One step, straight from global memory.
static void step(sycl::queue &q, sycl::buffer<float, 2> &from, sycl::buffer<float, 2> &to, float alpha) {
  q.submit([&](sycl::handler &h) {
    sycl::accessor old(from, h, sycl::read_only);
    sycl::accessor next(to, h, sycl::write_only);
    const size_t n = from.get_range()[0];
    h.parallel_for<class simple_step>(sycl::range<2>(n - 2, n - 2), [=](sycl::item<2> item) {
      const size_t y = item.get_id(0) + 1, x = item.get_id(1) + 1;
      const float centre = old[y][x];
      const float around = old[y - 1][x] + old[y + 1][x] + old[y][x - 1] + old[y][x + 1];
      next[y][x] = centre + alpha * (around - 4.0f * centre);
    });
  });
}

/// One step, where each work-group first copies its tile and the cells around it.
static void tiled_step(sycl::queue &q, sycl::buffer<float, 2> &from, sycl::buffer<float, 2> &to, float alpha,
                       size_t tile) {
  q.submit([&](sycl::handler &h) {
    auto old = from.get_access<sycl::access::mode::read>(h);
    auto next = to.get_access<sycl::access::mode::write>(h);
    sycl::local_accessor<float, 2> cache(sycl::range<2>(tile + 2, tile + 2), h);
    const int n = static_cast<int>(from.get_range()[0]);
    const sycl::nd_range<2> range(from.get_range(), sycl::range<2>(tile, tile));
    h.parallel_for(range, [=](sycl::nd_item<2> item) {
      const int row = item.get_global_id(0), column = item.get_global_id(1);
      const int y = item.get_local_id(0) + 1, x = item.get_local_id(1) + 1;
      const int last = item.get_local_range(0);
      auto load = [&](int dy, int dx) {
        const int r = sycl::clamp(row + dy, 0, n - 1), c = sycl::clamp(column + dx, 0, n - 1);
        cache[y + dy][x + dx] = old[r][c];
      };
      load(0, 0);
      if (y == 1)
        load(-1, 0);
      if (y == last)
        load(1, 0);
      if (x == 1)
        load(0, -1);
      if (x == last)
        load(0, 1);
      sycl::group_barrier(item.get_group());
      const bool inside = row > 0 && row < n - 1 && column > 0 && column < n - 1;
      const float centre = cache[y][x];
      const float around = cache[y - 1][x] + cache[y + 1][x] + cache[y][x - 1] + cache[y][x + 1];
      next[row][column] = inside ? centre + alpha * (around - 4.0f * centre) : centre;
    });
  });
}

/// The largest change of a cell between two steps, in bits of a float that is not negative.
static float largest_change(sycl::queue &q, sycl::buffer<float, 2> &a, sycl::buffer<float, 2> &b) {
  unsigned bits = 0;
  {
    sycl::buffer<unsigned> result(&bits, 1);
    q.submit([&](sycl::handler &h) {
      sycl::accessor first(a, h, sycl::read_only), second(b, h, sycl::read_only);
      sycl::accessor most(result, h);
      h.parallel_for(a.get_range(), [=](sycl::id<2> id) {
        const float change = sycl::fabs(first[id] - second[id]);
        sycl::atomic_ref<unsigned, sycl::memory_order::relaxed, sycl::memory_scope::device,
                         sycl::access::address_space::global_space>
            largest(most[0]);
        largest.fetch_max(sycl::bit_cast<unsigned>(change));
      });
    });
  }
  return sycl::bit_cast<float>(bits);
}

static void write_image(const std::string &path, const Grid<float> &grid) {
  std::ofstream file(path, std::ios::binary);
  if (!file)
    throw std::runtime_error("cannot write " + path);
  const auto hottest = *std::max_element(grid.data().begin(), grid.data().end());
  file << "P5\n" << grid.size() << ' ' << grid.size() << "\n255\n";
  for (float cell : grid.data())
    file.put(static_cast<char>(255.0f * cell / std::max(hottest, 1.0f)));
}

int main(int argc, char **argv) try {
  const Options options = parse(argc, argv);
  auto handler = [](sycl::exception_list errors) {
    for (const std::exception_ptr &error : errors)
      std::rethrow_exception(error);
  };
  sycl::queue q{sycl::default_selector_v, handler, sycl::property::queue::in_order{}};
  std::cout << "device: " << q.get_device().get_info<sycl::info::device::name>() << '\n';

  warm_up(q);

  const size_t n = options.size;
  Grid<float> result(n, 0.0f), start(n, 0.0f);
  float change = 0;
  Timer timer;
  {
    sycl::buffer<float, 2> a(result.data().data(), sycl::range<2>(n, n)), b(sycl::range<2>(n, n));
    initialize(q, a);
    initialize(q, b);
    {
      sycl::host_accessor cells(a, sycl::read_only);
      for (size_t y = 0; y < n; ++y)
        for (size_t x = 0; x < n; ++x)
          start(y, x) = cells[y][x];
    }
    for (size_t i = 0; i < options.steps; ++i) {
      auto &from = i % 2 == 0 ? a : b;
      auto &to = i % 2 == 0 ? b : a;
      if (i % 4 < 2)
        step(q, from, to, options.alpha);
      else
        tiled_step(q, from, to, options.alpha, options.tile);
    }
    change = largest_change(q, a, b);
    // The steps end in b if their number is odd.
    if (options.steps % 2 == 1)
      q.submit([&](sycl::handler &h) {
        sycl::accessor from(b, h, sycl::read_only);
        sycl::accessor to(a, h, sycl::write_only);
        h.parallel_for(sycl::range<2>(n, n), [=](sycl::id<2> id) { to[id] = from[id]; });
      });
    q.wait_and_throw();
  }
  const double seconds = timer.seconds();

  Grid<float> expected = start;
  reference(expected, options.steps, options.alpha);
  float worst = 0;
  for (size_t i = 0; i < n * n; ++i)
    worst = std::max(worst, std::fabs(expected.data()[i] - result.data()[i]));
  std::cout << std::fixed << std::setprecision(3) << options.steps << " steps of " << n << " x " << n << " cells: "
            << seconds * 1e3 << " ms, last change " << change << ", largest error " << worst << '\n';
  if (options.verbose)
    for (size_t x = 0; x < n; x += std::max<size_t>(n / 8, 1))
      std::cout << "  cell " << x << ": " << result(n / 2, x) << '\n';
  if (!options.output.empty())
    write_image(options.output, result);
  return worst < 1e-2f ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const UsageError &error) {
  std::cerr << error.what() << "\nusage: heat [--size N] [--steps N] [--tile N] [--alpha X] [--verbose]\n";
  return 2;
} catch (const sycl::exception &error) {
  std::cerr << "SYCL: " << error.what() << '\n';
  return 3;
} catch (const std::exception &error) {
  std::cerr << error.what() << '\n';
  return 1;
}
