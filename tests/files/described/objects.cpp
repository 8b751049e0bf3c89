// Objects of SYCL and the C++ library, unnamed kernels, and classes that hold them, for what debug information tells of them.
#include <array>
#include <complex>
#include <sycl/sycl.hpp>
namespace syclexp = sycl::ext::oneapi::experimental;
#define KERNEL SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<1>))

struct Empty {};
struct Tagged : Empty {
  static const int LIMIT = 4;
  float x;
};
union Number {
  int i;
  float f;
};
struct Held {
  Number n;
};
struct Node {
  std::complex<float> z;
  std::array<short, 3> s;
  sycl::half h;
  sycl::ext::oneapi::bfloat16 b;
  sycl::vec<int, 3> v;
  sycl::vec<double, 2> d;
  Number n;
  Node *next;
  float *data;
  sycl::vec<float, 4> *rows;
  unsigned char *bytes;
  int table[2][3];
};
// What objects.txt says of them.
#define AT(TYPE, MEMBER, OFFSET) static_assert(__builtin_offsetof(TYPE, MEMBER) == OFFSET);
#define SIZE(TYPE, SIZE, ALIGN) static_assert(sizeof(TYPE) == SIZE && alignof(TYPE) == ALIGN);
SIZE(Tagged, 4, 4) SIZE(Held, 4, 4) SIZE(Node, 128, 16)
AT(Node, s, 8) AT(Node, h, 14) AT(Node, b, 16) AT(Node, v, 32) AT(Node, d, 48) AT(Node, n, 64) AT(Node, next, 72)
AT(Node, bytes, 96) AT(Node, table, 104)
syclexp::device_global<Tagged, decltype(syclexp::properties(syclexp::device_image_scope))> here;
syclexp::device_global<double, decltype(syclexp::properties(syclexp::device_image_scope))> single;
syclexp::device_global<sycl::vec<int, 4>> vector;

extern "C" {
KERNEL void library(std::complex<double> z, std::array<int, 4> a, sycl::half h, sycl::ext::oneapi::bfloat16 b, Held n,
                    Tagged t, Empty e, Node node, std::complex<float> *out) {
  out[0] = {float(z.real()) + a[1] + float(h) + sycl::bit_cast<short>(b) + n.n.f + t.x, node.z.imag() + here.get().x + float(single) + vector.get()[1]};
}
KERNEL void pointers(Node *nodes, std::array<float, 2> *pairs, sycl::half *halves, sycl::ext::oneapi::bfloat16 *brains,
                     Number *numbers, sycl::marray<int, 3> *arrays) {
  nodes[0].h = halves[0] + sycl::bit_cast<short>(brains[0]) + numbers[0].i + arrays[0][1] + pairs[0][1];
}
}

struct Sum {
  Node node;
  float *out;
  Empty nothing;
  void run(sycl::queue &q);
};
SIZE(Sum, 144, 16) AT(Sum, out, 128) AT(Sum, nothing, 136)
void Sum::run(sycl::queue &q) {
  q.parallel_for(sycl::range<1>(4), [=, *this](sycl::item<1> i) { out[i] = node.h + node.table[1][i]; });
}
void host(sycl::queue &q, float *out, sycl::buffer<float, 1> &buffer, sycl::image<2> &image) {
  Sum{{}, out, {}}.run(q);
  q.submit([&](sycl::handler &h) {
    sycl::stream text(1024, 64, h);
    sycl::accessor single(buffer, h);
    sycl::accessor<float, 0, sycl::access_mode::read_write> none(buffer, h);
    float weights[2][2] = {{1, 2}, {3, 4}};
    Tagged tagged{};
    Held number{};
    h.parallel_for(sycl::nd_range<2>({2, 2}, {1, 1}), [=](sycl::nd_item<2> i) {
      text << i.get_global_id(0);
      single[0] = weights[1][0] + tagged.x + number.n.f;
      none = 1;
    });
  });
  q.submit([&](sycl::handler &h) {
    sycl::accessor<sycl::float4, 2, sycl::access_mode::read, sycl::target::image> pixels(image, h);
    sycl::accessor<sycl::float4, 2, sycl::access_mode::write, sycl::target::image> drawn(image, h);
    sycl::sampler nearest(sycl::coordinate_normalization_mode::unnormalized, sycl::addressing_mode::clamp,
                          sycl::filtering_mode::nearest);
    sycl::local_accessor<int, 1> tile(4, h);
    h.single_task<class Draw>([=](sycl::kernel_handler) {
      tile[0] = 1;
      drawn.write(sycl::int2(0, 0), pixels.read(sycl::int2(tile[0], 1), nearest));
    });
  });
}
