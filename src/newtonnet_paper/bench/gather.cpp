// What bounds a sparse product on a large graph: a loop that only reads the rows of a block which the entries of a matrix
// name, and combines their bits so that they are read. `newtonnet-paper bench` compiles it.
#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

using i32 = std::int32_t;
using i64 = std::int64_t;

template <int Lanes> struct Register {
  typedef i32 type __attribute__((vector_size(4 * Lanes)));
};

// The row that is `ahead` entries later is prefetched, unless that is 0.
template <int Columns> i32 read(const i32* entries, i64 count, const float* x, i64 ahead) {
  constexpr int LANES = std::min(Columns, 8), REGISTERS = Columns / LANES;
  typedef typename Register<LANES>::type Bits;
  typedef Bits Anywhere __attribute__((aligned(4), may_alias));
  Bits all[REGISTERS]{};
  const auto add = [&](i64 e) {
    const float* row = x + i64(entries[e]) * Columns;
    for (int k = 0; k < REGISTERS; ++k) all[k] ^= *reinterpret_cast<const Anywhere*>(row + k * LANES);
  };
  i64 e = 0;
  for (; ahead && e < count - ahead; ++e) {
    const float* soon = x + i64(entries[e + ahead]) * Columns;
    for (int j = 0; j < Columns; j += 16) __builtin_prefetch(soon + j);
    add(e);
  }
  for (; e < count; ++e) add(e);
  i32 one = 0;
  for (const Bits bits : all) {
    for (int j = 0; j < LANES; ++j) one ^= bits[j];
  }
  return one;
}

// All bits read, combined. The columns are 2, 4, 8, 16 or 64.
extern "C" i32 gather(const i32* entries, i64 count, const float* x, i64 columns, i64 ahead, i64 threads) {
  const auto f = columns == 2 ? read<2> : columns == 4 ? read<4> : columns == 8 ? read<8> : columns == 16 ? read<16> : read<64>;
  std::vector<i32> parts(static_cast<std::size_t>(threads));
  std::vector<std::thread> team;
  for (i64 t = 0; t < threads; ++t) {
    const i64 lo = count * t / threads, hi = count * (t + 1) / threads;
    team.emplace_back([=, &parts] { parts[static_cast<std::size_t>(t)] = f(entries + lo, hi - lo, x, ahead); });
  }
  i32 all = 0;
  for (std::thread& one : team) one.join();
  for (const i32 part : parts) all ^= part;
  return all;
}
