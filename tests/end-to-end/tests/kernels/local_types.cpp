// SPDX-License-Identifier: MIT OR Apache-2.0
// Different types of one name, which are local to different functions and blocks.
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
