// SPDX-License-Identifier: MIT OR Apache-2.0
// Loads one SYCLBIN file with the reference runtime, runs kernels of it, and saves what that
// runtime writes of the same bundle. Results are compared with what is computed here.
//
//   judge STATE FILE CONTENT LINKED [KERNEL...]
//
// STATE is that of the file: what is `input` is built and what is `object` is linked before it
// runs. CONTENT takes the bundle as it was loaded, LINKED as it was built or linked; `-` for no
// file. The kernels are those of tests/files/*.cpp; `NAME=SYMBOL` asks the runtime for another
// symbol. `blur_set` is `blur` in an input whose specialization constants are set before it is built. One line a kernel goes to standard output, `ok NAME` or `wrong NAME: WHY`, after `loaded`;
// what the runtime refuses is `refused: WHY`.
#include <sycl/sycl.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace syclexp = sycl::ext::oneapi::experimental;
using Loaded = sycl::kernel_bundle<sycl::bundle_state::executable>;

struct Wrong : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Run {
  sycl::queue &queue;
  Loaded &bundle;
  std::string symbol;

  // Memory that both sides see; freed with the last pointer to it.
  template <typename T> std::shared_ptr<T[]> shared(const std::vector<T> &values) const {
    T *memory = sycl::malloc_shared<T>(values.size(), queue);
    if (!memory)
      throw Wrong("no shared memory");
    std::copy(values.begin(), values.end(), memory);
    sycl::queue owner = queue;
    return {memory, [owner](T *pointer) { sycl::free(pointer, owner); }};
  }

  template <typename Submit> void submit(Submit &&with) const {
    if (!bundle.ext_oneapi_has_kernel(symbol))
      throw Wrong("the bundle has no kernel " + symbol);
    sycl::kernel kernel = bundle.ext_oneapi_get_kernel(symbol);
    queue.submit([&](sycl::handler &handler) {
      // Without this the runtime launches some kernels on a shorter path, on which it does not
      // give device globals their memory: 2026.2.0 then runs `lookup` on a null pointer.
      handler.use_kernel_bundle(bundle);
      with(handler, kernel);
    }).wait_and_throw();
  }

  template <typename Range, typename... Arguments>
  void launch(Range range, Arguments... arguments) const {
    submit([&](sycl::handler &handler, const sycl::kernel &kernel) {
      handler.set_args(arguments...);
      handler.parallel_for(range, kernel);
    });
  }

  template <typename... Arguments> void launch_one(Arguments... arguments) const {
    submit([&](sycl::handler &handler, const sycl::kernel &kernel) {
      handler.set_args(arguments...);
      handler.single_task(kernel);
    });
  }
};

// Exactly: the inputs are such that no result needs rounding.
template <typename T>
void compare(const char *name, const std::vector<T> &expected, const T *found) {
  for (size_t i = 0; i < expected.size(); ++i)
    if (!(expected[i] == found[i])) {
      std::ostringstream text;
      text << name << "[" << i << "]: expected " << +expected[i] << ", found " << +found[i];
      throw Wrong(text.str());
    }
}

void saxpy(const Run &run) {
  const unsigned n = 1000; // less than is launched: the rest must stay as it was
  std::vector<float> x(1024), y(1024), expected(1024);
  for (unsigned i = 0; i < 1024; ++i) {
    x[i] = float(i) - 300;
    y[i] = expected[i] = 0.5f * float(i % 17);
    if (i < n)
      expected[i] += 2.5f * x[i];
  }
  auto in = run.shared(x), out = run.shared(y);
  run.launch(sycl::nd_range<1>(1024, 64), 2.5f, in.get(), out.get(), n);
  compare("y", expected, out.get());
}

void iota(const Run &run) {
  std::vector<float> expected(100, -1.0f);
  auto out = run.shared(expected);
  for (int i = 0; i < 99; ++i)
    expected[i] = 7.25f + float(i);
  run.launch_one(7.25f, out.get(), 99);
  compare("out", expected, out.get());
}

template <typename T> void scale(const Run &run) {
  std::vector<T> data(256), expected(256);
  for (int i = 0; i < 256; ++i) {
    data[i] = T(i - 128);
    expected[i] = T(-3 * (i - 128));
  }
  auto memory = run.shared(data);
  run.launch(sycl::nd_range<1>(256, 32), memory.get(), T(-3));
  compare("data", expected, memory.get());
}

void block_sum(const Run &run) {
  std::vector<int> in(64 * 5), expected(5);
  for (int i = 0; i < 64 * 5; ++i) {
    in[i] = i * i - 1000;
    expected[i / 64] += in[i];
  }
  auto input = run.shared(in), output = run.shared(std::vector<int>(5));
  run.submit([&](sycl::handler &handler, const sycl::kernel &kernel) {
    syclexp::work_group_memory<int[64]> scratch(handler);
    handler.set_args(input.get(), output.get(), scratch);
    handler.parallel_for(sycl::nd_range<1>(64 * 5, 64), kernel);
  });
  compare("out", expected, output.get());
}

void coords(const Run &run) {
  const int d0 = 4, d1 = 12, d2 = 16;
  std::vector<int> expected;
  for (int i = 0; i < d0; ++i)
    for (int j = 0; j < d1; ++j)
      for (int k = 0; k < d2; ++k)
        expected.push_back(i * 10000 + j * 100 + k);
  auto out = run.shared(std::vector<int>(expected.size(), -1));
  run.launch(sycl::nd_range<3>({d0, d1, d2}, {2, 4, 8}), out.get());
  compare("out", expected, out.get());
}

void histogram(const Run &run) {
  std::vector<unsigned char> bytes(4096);
  std::vector<unsigned> expected(256);
  for (unsigned i = 0; i < 4096; ++i) {
    bytes[i] = static_cast<unsigned char>(i * i / 7);
    ++expected[bytes[i]];
  }
  auto input = run.shared(bytes);
  auto bins = run.shared(std::vector<unsigned>(256));
  run.launch(sycl::nd_range<1>(4096, 64), input.get(), bins.get());
  compare("bins", expected, bins.get());
}

// As in structs.cpp.
struct Particle {
  float mass;
  int id;
  double position[3];
  sycl::float4 velocity;
};
struct Span {
  float *data;
  int count;
};

void kinetic(const Run &run) {
  const unsigned long count = 100;
  std::vector<Particle> particles(128);
  std::vector<float> expected(128, -1.0f);
  auto output = run.shared(expected);
  for (int i = 0; i < 128; ++i) {
    Particle particle{float(2 * i), i, {1, 2, 3}, {float(i % 5), 2, 0.5f, -1}};
    particles[i] = particle;
    float x = float(i % 5);
    if (i < int(count))
      expected[i] = 0.5f * float(2 * i) * (x * x + 4 + 0.25f + 1) + 12.5f;
  }
  auto input = run.shared(particles);
  Particle proto{12.5f, 0, {0, 0, 0}, {9, 9, 9, 9}};
  run.launch(sycl::nd_range<1>(128, 32), proto, input.get(), output.get(), count);
  compare("out", expected, output.get());
}

void widen(const Run &run) {
  std::vector<sycl::half> halves(64);
  std::vector<float> expected(64, -1.0f);
  auto output = run.shared(expected);
  for (int i = 0; i < 64; ++i) {
    halves[i] = sycl::half(0.25f * float(i - 20));
    if (i < 60)
      expected[i] = 0.25f * float(i - 20);
  }
  auto input = run.shared(halves);
  run.launch(sycl::nd_range<1>(64, 16), Span{output.get(), 60}, input.get(), 0);
  compare("out.data", expected, output.get());
}

// Device globals: `table` is zero at first, written from the host, then by the kernel `store`;
// `bias` has no address on the host (device_image_scope), and stays zero.
void lookup(const Run &run) {
  std::vector<int> index(64);
  for (int i = 0; i < 64; ++i)
    index[i] = (i * 7) % 13;
  auto input = run.shared(index);
  auto output = run.shared(std::vector<float>(64, -1.0f));
  auto expect = [&](const char *name, std::vector<float> table) {
    std::vector<float> expected(64);
    for (int i = 0; i < 64; ++i)
      expected[i] = table[index[i] & 3];
    run.launch(sycl::nd_range<1>(64, 16), input.get(), output.get());
    compare(name, expected, output.get());
  };
  expect("out with the first table", {0, 0, 0, 0});

  auto device = run.queue.get_device();
  if (!run.bundle.ext_oneapi_has_device_global("table"))
    throw Wrong("the bundle has no device global table");
  if (run.bundle.ext_oneapi_get_device_global_size("table") != 4 * sizeof(int))
    throw Wrong("the device global table has another size");
  void *table = run.bundle.ext_oneapi_get_device_global_address("table", device);
  int values[4] = {11, -22, 33, 44};
  run.queue.memcpy(table, values, sizeof values).wait_and_throw();
  expect("out with the table of the host", {11, -22, 33, 44});

  Run{run.queue, run.bundle, "store"}.launch_one(6);
  expect("out with the table of store", {0, 6, 12, 18});
}

// As in constants.cpp, with the defaults.
struct Stencil {
  float weight[3];
  int radius;
};
constexpr sycl::specialization_id<int> offset(7);
constexpr sycl::specialization_id<double> gain(2.5);
constexpr sycl::specialization_id<Stencil> stencil(Stencil{{0.25f, 0.5f, 0.25f}, 1});

// What DPC++ adds to a program that has the constants: the symbols that the device code has them
// under. A compiler that knows nothing of SYCL adds nothing.
template <> const char *sycl::detail::get_spec_constant_symbolic_ID_impl<offset>() {
  return "____ZL6offset";
}
template <> const char *sycl::detail::get_spec_constant_symbolic_ID_impl<gain>() {
  return "____ZL4gain";
}
template <> const char *sycl::detail::get_spec_constant_symbolic_ID_impl<stencil>() {
  return "____ZL7stencil";
}
#include <sycl/detail/spec_const_integration.hpp> // has to stand behind them

// The values that `blur_set` runs with. Of the stencil, two parts stay as they are.
const int set_offset = -40;
const double set_gain = 0.5;
const Stencil set_stencil{{0.25f, -2, 4}, 1};

void blur_with(const Run &run, int offset, double gain, Stencil stencil) {
  const int n = 100;
  std::vector<float> in(n), expected(128, -1.0f);
  for (int i = 0; i < n; ++i)
    in[i] = float((i * 37) % 23) - 9;
  for (int i = 0; i < n; ++i) {
    float sum = 0;
    for (int k = -stencil.radius; k <= stencil.radius; ++k)
      sum += stencil.weight[(k + 1) % 3] * in[std::clamp(i + k, 0, n - 1)];
    expected[i] = float(sum * gain + offset);
  }
  auto input = run.shared(in), output = run.shared(std::vector<float>(128, -1.0f));
  // A kernel handler, on a device that specializes code.
  struct { void *values; } handler{nullptr};
  run.launch(sycl::nd_range<1>(128, 32), input.get(), output.get(), n, handler);
  compare("out", expected, output.get());
}

void blur(const Run &run) { blur_with(run, 7, 2.5, Stencil{{0.25f, 0.5f, 0.25f}, 1}); }

void blur_set(const Run &run) { blur_with(run, set_offset, set_gain, set_stencil); }

// Gives the constants of a bundle other values, and looks whether it took them.
void specialize(sycl::kernel_bundle<sycl::bundle_state::input> &bundle) {
  if (bundle.get_specialization_constant<offset>() != 7)
    throw Wrong("offset has another default");
  bundle.set_specialization_constant<offset>(set_offset);
  bundle.set_specialization_constant<gain>(set_gain);
  bundle.set_specialization_constant<stencil>(set_stencil);
  Stencil found = bundle.get_specialization_constant<stencil>();
  if (bundle.get_specialization_constant<offset>() != set_offset ||
      bundle.get_specialization_constant<gain>() != set_gain ||
      std::memcmp(&found, &set_stencil, sizeof found) != 0)
    throw Wrong("the bundle has not the values that were set");
}

const std::map<std::string, void (*)(const Run &)> kernels = {
    {"saxpy", saxpy},         {"iota", iota},       {"scale_int", scale<int>},
    {"block_sum", block_sum}, {"coords", coords},   {"histogram", histogram},
    {"kinetic", kinetic},     {"widen", widen},     {"lookup", lookup},
    {"scale_double", scale<double>}, {"blur", blur}, {"blur_set", blur_set},
};

template <typename Bundle> void save(Bundle &bundle, const char *path) {
  if (std::strcmp(path, "-") == 0)
    return;
  std::vector<char> content = bundle.ext_oneapi_get_content();
  std::ofstream file(path, std::ios::binary);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  if (!file.flush())
    throw std::runtime_error(std::string("cannot write ") + path);
}

template <sycl::bundle_state State> auto load(sycl::queue &queue, const char *path) {
  return syclexp::get_kernel_bundle<State>(queue.get_context(), {queue.get_device()},
                                           std::filesystem::path(path));
}

Loaded open(sycl::queue &queue, const std::string &state, char **paths, bool specialized) {
  const char *file = paths[0], *content = paths[1], *linked = paths[2];
  const std::vector<sycl::device> devices = {queue.get_device()};
  if (state == "executable") {
    auto bundle = load<sycl::bundle_state::executable>(queue, file);
    save(bundle, content);
    return bundle;
  }
  if (state == "object") {
    auto object = load<sycl::bundle_state::object>(queue, file);
    save(object, content);
    auto bundle = sycl::link(object, devices);
    save(bundle, linked);
    return bundle;
  }
  if (state == "input") {
    auto input = load<sycl::bundle_state::input>(queue, file);
    save(input, content);
    if (specialized)
      specialize(input);
    auto bundle = sycl::build(input, devices);
    save(bundle, linked);
    return bundle;
  }
  throw std::runtime_error("no such state: " + state);
}

int main(int count, char **arguments) {
  if (count < 5) {
    std::fprintf(stderr, "usage: judge STATE FILE CONTENT LINKED [KERNEL...]\n");
    return 2;
  }
  bool good = true;
  try {
    sycl::queue queue;
    const bool specialized = std::any_of(arguments + 5, arguments + count, [](const char *kernel) {
      return std::strncmp(kernel, "blur_set", 8) == 0;
    });
    Loaded bundle = open(queue, arguments[1], arguments + 2, specialized);
    std::printf("loaded\n");
    for (int i = 5; i < count; ++i) {
      std::string name = arguments[i], symbol = name;
      if (auto equals = name.find('='); equals != std::string::npos) {
        symbol = name.substr(equals + 1);
        name = name.substr(0, equals);
      }
      try {
        kernels.at(name)(Run{queue, bundle, symbol});
        std::printf("ok %s\n", name.c_str());
      } catch (const std::exception &error) {
        std::printf("wrong %s: %s\n", name.c_str(), error.what());
        good = false;
      }
    }
  } catch (const std::exception &error) {
    std::printf("refused: %s\n", error.what());
    good = false;
  }
  return good ? 0 : 1;
}
