// Device globals with initial values, which are in the code (-std=c++20).
#include <sycl/ext/oneapi/device_global/device_global.hpp>
#include <sycl/queue.hpp>
#include <sycl/usm.hpp>
using namespace sycl::ext::oneapi::experimental;
using in_image = decltype(properties(device_image_scope));

struct Sample {
  char kind;
  double weights[2];
  constexpr Sample(int n) : kind('s'), weights{n / 2.0, n * 2.0} {}
};
struct alignas(64) Wide {
  short first, second;
};
struct Defaults {
  float third = 0.75f;
};

device_global<int> plain{42};
device_global<int, in_image> image{43};
constexpr int table[2] = {44, 45};
device_global<short[3]> row{7, 8, 9};
device_global<char> letter{'z'};
device_global<Sample> sample{5};
device_global<Wide> wide{short{-1}, short{-2}};
device_global<Defaults> defaults;
device_global<int> nothing;

int main() {
  sycl::queue queue;
  double *out = sycl::malloc_device<double>(11, queue);
  queue.single_task<class Read>([=] {
    const double values[] = {
        double(plain), double(image), double(table[1]), double(row[0]), double(row[2]), double(letter),
        double(sample.get().kind), sample.get().weights[1], double(wide.get().second), defaults.get().third,
        double(nothing)};
    for (int i = 0; i < 11; ++i) out[i] = values[i];
  });
  queue.single_task<class Change>([=] { plain = plain + 1; });
}
