// SPDX-License-Identifier: MIT OR Apache-2.0
// What the reference runtime does beside `syclbin-rt`, for `cargo bench -p syclbin-rt`.
//
//   submit launch WAY FILE       the kernels of FILE are put into an in-order queue, as WAY says
//   submit first FILE            the first result of saxpy, of a compiled file
//   submit source FILE           the same, compiled from the source in FILE when it runs
//   submit save FILE SAVED       FILE, loaded and written again as an executable
//
// WAY is `submit`: queue.submit with a handler, or `launch`: nd_launch of sycl_ext_oneapi_enqueue_functions,
// which makes no event.
//
// `launch` says `ready DEVICE`, then answers each line `ARGUMENTS COUNT` with `QUEUED FINISHED`: nanoseconds
// until the last of COUNT launches was put into the queue, and until all had finished. `first` and `source`
// say `first DEVICE` once the result is right. What went wrong is `error WHY`.
#include <sycl/sycl.hpp>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace syclexp = sycl::ext::oneapi::experimental;
using Loaded = sycl::kernel_bundle<sycl::bundle_state::executable>;

namespace {

Loaded load(const sycl::queue &queue, const char *file) {
  return syclexp::get_kernel_bundle<sycl::bundle_state::executable>(
      queue.get_context(), {queue.get_device()}, std::filesystem::path(file));
}

std::string name(const sycl::queue &queue) {
  return queue.get_device().get_info<sycl::info::device::name>();
}

sycl::kernel kernel(Loaded &bundle, const std::string &symbol) {
  if (!bundle.ext_oneapi_has_kernel(symbol))
    throw std::runtime_error("the file has no kernel " + symbol);
  return bundle.ext_oneapi_get_kernel(symbol);
}

// Puts kernels into a queue. Pointers are of device memory, which is what this runtime is fastest with.
class Launcher {
public:
  Launcher(sycl::queue &queue, const char *file, bool with_event)
      : queue(queue), bundle(load(queue, file)), two(kernel(bundle, "take_2")),
        four(kernel(bundle, "take_4")),
        ten(kernel(bundle, "take_10")), with_event(with_event) {
    for (int *&pointer : memory) {
      pointer = sycl::malloc_device<int>(1, queue);
      if (!pointer)
        throw std::runtime_error("no device memory");
      queue.memset(pointer, 0, sizeof(int));
    }
    queue.wait_and_throw();
  }

  void launch(int arguments) {
    const auto [out, in, more, last] = memory;
    switch (arguments) {
    case 2:
      return put(two, out, 1);
    case 4:
      return put(four, out, in, 1, 2.0f);
    case 10:
      return put(ten, out, in, more, last, 1, 2.0f, 3, 4.0f, 5, 6.0f);
    default:
      throw std::runtime_error("no kernel with so many arguments");
    }
  }

private:
  template <typename... Arguments> void put(const sycl::kernel &kernel, Arguments... arguments) {
    const sycl::nd_range<1> range(1, 1);
    if (!with_event)
      return syclexp::nd_launch(queue, range, kernel, arguments...);
    queue.submit([&](sycl::handler &handler) {
      handler.set_args(arguments...);
      handler.parallel_for(range, kernel);
    });
  }

  sycl::queue &queue;
  Loaded bundle;
  sycl::kernel two, four, ten;
  bool with_event;
  std::array<int *, 4> memory{};
};

int serve(const char *way, const char *file) {
  sycl::queue queue{sycl::property::queue::in_order()};
  Launcher launcher(queue, file, std::strcmp(way, "submit") == 0);
  std::printf("ready %s\n", name(queue).c_str());
  std::fflush(stdout);
  int arguments;
  unsigned count;
  while (std::scanf("%d %u", &arguments, &count) == 2) {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    for (unsigned i = 0; i < count; ++i)
      launcher.launch(arguments);
    const auto queued = Clock::now();
    queue.wait_and_throw();
    const auto finished = Clock::now();
    auto since = [&](Clock::time_point end) {
      return static_cast<long long>(std::chrono::nanoseconds(end - start).count());
    };
    std::printf("%lld %lld\n", since(queued), since(finished));
    std::fflush(stdout);
  }
  return 0;
}

int first(sycl::queue &queue, const sycl::kernel &saxpy) {
  const unsigned n = 1024;
  std::vector<float> x(n, 1.0f), y(n, 2.0f);
  float *in = sycl::malloc_device<float>(n, queue), *out = sycl::malloc_device<float>(n, queue);
  if (!in || !out)
    throw std::runtime_error("no device memory");
  queue.memcpy(in, x.data(), n * sizeof(float));
  queue.memcpy(out, y.data(), n * sizeof(float));
  queue.submit([&](sycl::handler &handler) {
    handler.set_args(2.0f, in, out, n);
    handler.parallel_for(sycl::nd_range<1>(n, 64), saxpy);
  });
  queue.memcpy(y.data(), out, n * sizeof(float)).wait_and_throw();
  for (float value : y)
    if (value != 4.0f)
      throw std::runtime_error("the result is wrong");
  std::printf("first %s\n", name(queue).c_str());
  std::fflush(stdout);
  sycl::free(in, queue);
  sycl::free(out, queue);
  return 0;
}

int first_of_file(const char *file) {
  sycl::queue queue{sycl::property::queue::in_order()};
  Loaded bundle = load(queue, file);
  return first(queue, kernel(bundle, "saxpy"));
}

int first_of_source(const char *file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  sycl::queue queue{sycl::property::queue::in_order()};
  auto source = syclexp::create_kernel_bundle_from_source(
      queue.get_context(), syclexp::source_language::sycl, text.str());
  Loaded bundle = syclexp::build(source);
  return first(queue, kernel(bundle, "saxpy"));
}

int save(const char *file, const char *saved) {
  sycl::queue queue;
  const std::vector<char> content = load(queue, file).ext_oneapi_get_content();
  std::ofstream stream(saved, std::ios::binary);
  stream.write(content.data(), static_cast<std::streamsize>(content.size()));
  if (!stream.flush())
    throw std::runtime_error(std::string("cannot write ") + saved);
  return 0;
}

} // namespace

int main(int count, char **arguments) {
  const std::string what = count > 1 ? arguments[1] : "";
  try {
    if (what == "launch" && count == 4)
      return serve(arguments[2], arguments[3]);
    if (what == "first" && count == 3)
      return first_of_file(arguments[2]);
    if (what == "source" && count == 3)
      return first_of_source(arguments[2]);
    if (what == "save" && count == 4)
      return save(arguments[2], arguments[3]);
  } catch (const std::exception &error) {
    std::printf("error %s\n", error.what());
    return 1;
  }
  std::fprintf(stderr, "usage: submit launch WAY FILE | first FILE | source FILE | save FILE SAVED\n");
  return 2;
}
