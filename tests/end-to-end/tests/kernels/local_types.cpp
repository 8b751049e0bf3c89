// SPDX-License-Identifier: MIT OR Apache-2.0
// Different types of one name, which are local to different functions and blocks.
#include <sycl/group_barrier.hpp>
#include <sycl/queue.hpp>

void first(sycl::queue &queue, float *out, void *memory) {
  struct Point { float x, y; } p;
  enum Kind : unsigned char { A, B } kind;
  struct Row { float x; int n; };
  auto *rows = static_cast<Row *>(memory);
  queue.single_task<class first_kernel>([=] {
    rows[1].n = kind;
    out[0] = p.x;
    out[1] = p.y;
  });
}

void second(sycl::queue &queue, float *out, void *memory) {
  struct Point { float y, x; } p;
  enum Kind : int { A, B } kind;
  {
    struct Row { long n[3]; float x; };
    auto *rows = static_cast<Row *>(memory);
    queue.single_task<class second_kernel>([=] {
      rows[1].n[2] = kind;
      out[0] = p.x;
      out[1] = p.y;
    });
  }
}

void third(sycl::queue &queue, void *memory) {
  union Row { float x; long n[8]; };
  auto *rows = static_cast<Row *>(memory);
  queue.single_task<class third_kernel>([=] { rows[1].x = 1; });
}

// Read before the struct of the same name in `early_2`.
void early(sycl::queue &queue, void *memory) {
  union Late { double d[2]; long n; };
  auto *all = static_cast<Late *>(memory);
  queue.single_task<class early_1>([=] { all[1].n = 1; });
}

void late(sycl::queue &queue, void *memory) {
  struct Late { int n; };
  auto *all = static_cast<Late *>(memory);
  queue.single_task<class early_2>([=] { all[1].n = 2; });
}

void of_floats(sycl::queue &queue, float *from, float *out) {
  struct Link { float *to; } link{from};
  queue.single_task<class links_1>([=] { out[0] = link.to[0]; });
}

void of_ints(sycl::queue &queue, int *from, float *out) {
  struct Link { int *to; } link{from};
  queue.single_task<class links_2>([=] { out[0] = link.to[0]; });
}

// The only byte of `Params`' base class is inherited.
struct Flag { signed char c; };
struct Named : Flag {};
struct Params : Named { float x; };
struct OnlyFlag : Named {};
struct Tag { static constexpr int N = 4; };
struct Pair { float x, y; };
struct Tagged : Pair, Tag { int k; };

void bases(sycl::queue &queue, Params p, OnlyFlag flag, Tagged tagged, float *out) {
  queue.single_task<class bases_kernel>([=] {
    out[0] = p.x + p.c;
    out[1] = flag.c;
    out[2] = tagged.x + tagged.k;
  });
}

// Arrays of arrays as elements.
void arrays(sycl::queue &queue, int (*in)[2][3], int *out) {
  queue.submit([&](sycl::handler &handler) {
    sycl::local_accessor<int[2][3], 1> local(2, handler);
    handler.parallel_for<class arrays_kernel>(sycl::nd_range<1>(4, 4), [=](sycl::nd_item<1> item) {
      int i = item.get_local_linear_id();
      if (i < 2)
        for (int j = 0; j < 6; ++j) local[i][j / 3][j % 3] = in[i][j / 3][j % 3];
      sycl::group_barrier(item.get_group());
      out[i] = local[1][1][i % 3] + local[0][i % 2][2];
    });
  });
}
