// SPDX-License-Identifier: MIT OR Apache-2.0
// What lambdas capture, as programs write it; captures.rs passes it by the stubs.
#include <array>
#include <sycl/sycl.hpp>
#include <vector>

struct Particle {
  float mass;
  float position[3];
  int charge;
};
enum class Mode : int { Add, Multiply = 5 };
constexpr sycl::specialization_id<int> Steps(3);

void pointers(sycl::queue &q, const float *x, float *y, size_t n) {
  q.parallel_for(n, [=](sycl::id<1> i) { y[i] += x[i]; });
}
void numbers(sycl::queue &q, long *to, bool flag, char c, unsigned short s, unsigned u, long long l, float f) {
  q.single_task([=] {
    to[0] = flag;
    to[1] = c;
    to[2] = s;
    to[3] = u;
    to[4] = l;
    to[5] = long(f * 2);
  });
}
void structs(sycl::queue &q, Particle p, float *to) {
  q.single_task([=] {
    to[0] = p.mass;
    to[1] = p.position[2];
    to[2] = p.charge;
  });
}
void particles(sycl::queue &q, Particle *all, float by, size_t n) {
  q.parallel_for(n, [=](sycl::id<1> i) { all[i].mass *= by; });
}
void enums(sycl::queue &q, Mode mode, int *to) {
  q.single_task([=] { *to = mode == Mode::Multiply ? 100 : 1; });
}
void arrays(sycl::queue &q, int *to) {
  unsigned weights[4] = {1, 2, 3, 4};
  q.parallel_for(4, [=](sycl::id<1> i) { to[i] = weights[i] * 2; });
}
void standard(sycl::queue &q, int *to) {
  std::array<int, 3> three{1, 2, 3};
  q.parallel_for(3, [=](sycl::id<1> i) { to[i] = three[i] + 1; });
}
void bindings(sycl::queue &q, Particle p, float *to) {
  auto [mass, position, charge] = p;
  q.single_task([=] { *to = mass + charge; });
}
void referred_bindings(sycl::queue &q, Particle &p, float *to) {
  auto &[mass, position, charge] = p;
  q.single_task([=] { *to = mass * charge; });
}
void references_inside(sycl::queue &q, int *to, int n) {
  q.single_task([=] {
    int sum = n;
    auto add = [&](int more) { sum += more; };
    add(3);
    *to = sum;
  });
}
void initializers(sycl::queue &q, int *to, int n) {
  q.single_task([to, twice = n * 2, first = to + 1] {
    *to = twice;
    *first = twice + 1;
  });
}
void vectors(sycl::queue &q, sycl::float4 v, sycl::id<2> id, sycl::range<2> range, float *to) {
  q.single_task([=] {
    to[0] = v.x() + v.w();
    to[1] = id[0] * 10 + id[1];
    to[2] = range[0] * 10 + range[1];
  });
}
void functions(sycl::queue &q, float *to, float factor, size_t n) {
  const auto times = [=](float x) { return x * factor; };
  q.parallel_for(n, [=](sycl::id<1> i) { to[i] = times(to[i]); });
}
void closures(sycl::queue &q, float *to, Particle p, unsigned w, size_t n) {
  auto weigh = [p, w](float x) { return x * p.mass + w; };
  q.parallel_for(n, [=](sycl::id<1> i) { to[i] = weigh(to[i]); });
}
struct Nodes {
  struct {
    unsigned next;
    float value;
  } *items;
  unsigned count;
};
void nodes(sycl::queue &q, Nodes nodes, float *to) {
  q.single_task([=] { *to = nodes.count == 0 ? 0 : nodes.items[0].value; });
}
void constants(sycl::queue &q, int *to) {
  q.submit([&](sycl::handler &h) {
    h.set_specialization_constant<Steps>(4);
    h.single_task([=](sycl::kernel_handler kh) { *to = kh.get_specialization_constant<Steps>(); });
  });
}

class Grid {
public:
  void copy(sycl::queue &q, float *to, size_t n) {
    q.parallel_for(n, [=, *this](sycl::id<1> i) { to[i] = width + i[0]; });
  }
  void point(sycl::queue &q, size_t n) {
    auto *self = this;
    q.parallel_for(n, [=](sycl::id<1> i) { self->cells[i] = self->width; });
  }
  void explicit_this(sycl::queue &q, size_t n) {
    q.parallel_for(n, [=, this](sycl::id<1> i) { cells[i] = width + 1; });
  }

private:
  float width = 2;
  float cells[8];
};
void grids(sycl::queue &q, float *to) {
  Grid grid;
  grid.copy(q, to, 4);
  grid.point(q, 4);
  grid.explicit_this(q, 4);
}

void buffers(sycl::queue &q, std::vector<float> &a, std::vector<float> &b, std::vector<float> &c) {
  sycl::buffer first(a), second(b), third(c);
  q.submit([&](sycl::handler &h) {
    sycl::accessor x(first, h, sycl::read_only);
    sycl::accessor y(second, h, sycl::read_only);
    sycl::accessor sum(third, h, sycl::write_only, sycl::no_init);
    h.parallel_for(sum.get_range(), [=](sycl::id<1> i) { sum[i] = x[i] + y[i]; });
  });
  q.submit([&](sycl::handler &h) {
    auto sum = third.get_access<sycl::access::mode::read_write>(h);
    h.parallel_for<class doubled>(sycl::range<1>(c.size()), [=](sycl::id<1> i) { sum[i] *= 2; });
  });
}
void matrices(sycl::queue &q, sycl::buffer<float, 2> &a, sycl::buffer<float, 2> &b) {
  q.submit([&](sycl::handler &h) {
    sycl::accessor from(a, h, sycl::read_only);
    sycl::accessor to(b, h, sycl::write_only);
    h.parallel_for(b.get_range(), [=](sycl::id<2> i) { to[i] = from[i[1]][i[0]]; });
  });
}
void groups(sycl::queue &q, int *data, size_t n) {
  q.submit([&](sycl::handler &h) {
    sycl::local_accessor<int, 1> tile(4, h);
    h.parallel_for(sycl::nd_range<1>(n, 4), [=](sycl::nd_item<1> i) {
      tile[i.get_local_id(0)] = data[i.get_global_id(0)];
      sycl::group_barrier(i.get_group());
      data[i.get_global_id(0)] = tile[3 - i.get_local_id(0)];
    });
  });
}
void totals(sycl::queue &q, int *data, size_t n) {
  q.submit([&](sycl::handler &h) {
    sycl::ext::oneapi::experimental::work_group_memory<int> total(h);
    sycl::ext::oneapi::experimental::work_group_memory<float[16]> unused(h);
    h.parallel_for(sycl::nd_range<1>(n, 4), [=](sycl::nd_item<1> i) {
      (void)unused;
      if (i.get_local_id(0) == 3)
        total = data[i.get_global_id(0)];
      sycl::group_barrier(i.get_group());
      data[i.get_global_id(0)] += total;
    });
  });
}
