// SPDX-License-Identifier: MIT OR Apache-2.0
// LLVM's own OffloadBinary reader, timed on demand: the other side of `read.rs`, which compiles and
// runs this. Reads FILE into memory once, says which LLVM it is, then answers lines on stdin:
//
//   open N   N times: OffloadBinary::create on the file's first binary, result freed
//   walk N   N times: create on every binary of the file, all kept; then image and strings of every
//            entry looked at; all freed
//
// Each answer is one line: nanoseconds for all N, entries, bytes of images, bytes of strings (the
// sums of one time); or `error` and what LLVM said.

#include "llvm/Config/llvm-config.h"
#include "llvm/Object/OffloadBinary.h"
#include "llvm/Support/MathExtras.h"

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

using namespace llvm;
using object::OffloadBinary;

namespace {

struct Sums {
  uint64_t entries = 0, images = 0, strings = 0;
};

// Up to LLVM 22, `create` gives one object; later, a vector of one for each entry. A call of either
// overload is the whole of what the library offers on one binary.
using Kept = SmallVector<std::unique_ptr<OffloadBinary>>;

uint64_t keep(std::unique_ptr<OffloadBinary> one, Kept &all) {
  uint64_t size = one->getSize();
  all.push_back(std::move(one));
  return size;
}

template <typename Vector> uint64_t keep(Vector many, Kept &all) {
  uint64_t size = many.empty() ? 0 : many.front()->getSize();
  if (all.empty()) // the usual file: nothing is moved piece by piece
    all = std::move(many);
  else
    for (auto &one : many)
      all.push_back(std::move(one));
  return size;
}

uint64_t count(const std::unique_ptr<OffloadBinary> &) { return 1; }
template <typename Vector> uint64_t count(const Vector &many) { return many.size(); }

bool open(StringRef bytes, Sums &sums, std::string &error) {
  auto result = OffloadBinary::create(MemoryBufferRef(bytes, "file"));
  if (!result) {
    error = toString(result.takeError());
    return false;
  }
  sums.entries = count(*result);
  return true;
}

bool walk(StringRef bytes, Sums &sums, std::string &error) {
  Kept all;
  const StringRef magic("\x10\xff\x10\xad", 4);
  do {
    auto result = OffloadBinary::create(MemoryBufferRef(bytes, "file"));
    if (!result) {
      error = toString(result.takeError());
      return false;
    }
    uint64_t size = alignTo(keep(std::move(*result), all), 8);
    bytes = size == 0 ? StringRef() : bytes.drop_front(std::min<uint64_t>(size, bytes.size()));
  } while (bytes.take_front(4) == magic);
  sums = {};
  for (const auto &entry : all) {
    sums.entries += 1;
    sums.images += entry->getImage().size();
    for (const auto &[key, value] : entry->strings())
      sums.strings += key.size() + value.size();
  }
  return true;
}

} // namespace

int main(int argc, char **argv) {
  std::ifstream file(argc == 2 ? argv[1] : "", std::ios::binary | std::ios::ate);
  if (!file) {
    std::fprintf(stderr, "usage: %s FILE\n", argv[0]);
    return 2;
  }
  size_t size = static_cast<size_t>(file.tellg());
  // `create` wants 8-byte alignment.
  auto *bytes = static_cast<char *>(std::aligned_alloc(8, alignTo(size + 1, 8)));
  if (!bytes || !file.seekg(0) || !file.read(bytes, static_cast<std::streamsize>(size))) {
    std::fprintf(stderr, "%s cannot be read\n", argv[1]);
    return 2;
  }
  std::printf("%s %u\n", LLVM_VERSION_STRING, static_cast<unsigned>(OffloadBinary::Version));
  std::fflush(stdout);

  char command[8];
  uint64_t times;
  while (std::scanf("%7s %" SCNu64, command, &times) == 2) {
    auto *parse = std::strcmp(command, "walk") == 0 ? walk : open;
    Sums sums;
    std::string error;
    bool good = true;
    auto start = std::chrono::steady_clock::now();
    for (uint64_t i = 0; i < times && good; ++i)
      good = parse(StringRef(bytes, size), sums, error);
    auto end = std::chrono::steady_clock::now();
    if (good) {
      int64_t taken = std::chrono::duration_cast<std::chrono::nanoseconds>(end - start).count();
      std::printf("%" PRId64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", taken, sums.entries,
                  sums.images, sums.strings);
    } else {
      std::printf("error %s\n", error.c_str());
    }
    std::fflush(stdout);
  }
  std::free(bytes);
  return 0;
}
