// Threads that wait for the next call, and memory that a thread keeps for its next call.
#pragma once
#include <pthread.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "vectors.h"

namespace newtonnet {

constexpr int SPINS = 4000;  // looks at a number before the thread sleeps until it changes: some microseconds

// Returns when f(number) is true; whoever makes it true must notify.
template <class F> void wait_until(const std::atomic<int>& number, const F& f) {
  for (int n = 0;; ++n) {
    const int seen = number.load(std::memory_order_acquire);
    if (f(seen)) return;
    if (n > SPINS) number.wait(seen, std::memory_order_acquire);
  }
}

struct Worker {
  std::atomic<int> share{0};  // the number of the share that it works on; 0 while it has none
  const std::function<void(int)>* job = nullptr;

  void set(int number) {
    share.store(number, std::memory_order_release);
    share.notify_one();
  }

  void work() {
    for (;; set(0)) {
      share.wait(0, std::memory_order_acquire);
      (*job)(share.load(std::memory_order_acquire));
    }
  }
};

struct Pool {
  std::mutex mutex;
  std::vector<Worker*> idle;  // has room for all that were ever made
  size_t made = 0;
};

// Never destroyed: its threads wait in it until the process ends. A forked process, where these threads do not exist
// and any of its locks may be held, begins with a new one.
inline Pool*& pool() {
  static Pool* kept = (pthread_atfork(nullptr, nullptr, [] { pool() = new Pool; }), new Pool);
  return kept;
}

// The calling thread and up to wanted - 1 others; fewer where no more can be started.
class Team {
 public:
  explicit Team(i64 wanted) {
    std::lock_guard<std::mutex> lock(home->mutex);
    std::vector<Worker*>& idle = home->idle;
    try {
      for (; size < wanted; ++size) {
        if (idle.empty()) {
          idle.reserve(home->made + 1);
          Worker* fresh = new Worker;  // lost where its thread does not start: some bytes
          std::thread([fresh] { fresh->work(); }).detach();
          idle.push_back(fresh);
          ++home->made;
        }
        others.push_back(idle.back());
        idle.pop_back();
      }
    } catch (const std::exception&) {
    }
  }
  Team(const Team&) = delete;
  ~Team() {
    std::lock_guard<std::mutex> lock(home->mutex);
    home->idle.insert(home->idle.end(), others.begin(), others.end());
  }

  // Runs f(thread) in all threads at the same time and returns when all have ended; f must not throw.
  void run(const std::function<void(int)>& f) {
    for (int thread = 1; thread < size; ++thread) {
      others[size_t(thread) - 1]->job = &f;
      others[size_t(thread) - 1]->set(thread);
    }
    f(0);
    for (const Worker* other : others) wait_until(other->share, [](int n) { return n == 0; });
  }

  // Returns when every thread has called it as often as this one, which counts in `target`.
  void meet(int& target) {
    target += int(size);
    if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == target) arrived.notify_all();
    wait_until(arrived, [&](int count) { return count >= target; });
  }

  i64 size = 1;

 private:
  Pool* home = pool();
  std::vector<Worker*> others;
  std::atomic<int> arrived{0};
};

// Memory for the arrays of one call. The thread keeps it for its next call unless it is large: the system takes as long
// to hand out fresh memory as a product takes to use it.
class Workspace {
 public:
  // An array of `count` numbers that starts a line of 64 bytes; a call may ask for five.
  template <class T> T* array(i64 count) {
    constexpr size_t LARGEST_KEPT = 1 << 20;
    thread_local std::array<std::vector<Line>, 5> kept;
    const size_t lines = (size_t(count) * sizeof(T) + 63) / 64;
    std::vector<Line>& block = lines > LARGEST_KEPT ? own[next] : kept[next];
    if (block.size() < lines) {
      block = std::vector<Line>(lines);
      want_large_pages(block.data(), lines * sizeof(Line));
    }
    ++next;
    return reinterpret_cast<T*>(block.data());
  }

 private:
  struct alignas(64) Line {
    char bytes[64];
    Line() {}  // leaves the bytes as they are
  };

  // Rows that are read at random from more pages than a core remembers wait for the tables of pages as well.
  static void want_large_pages([[maybe_unused]] void* start, [[maybe_unused]] size_t bytes) {
#ifdef MADV_HUGEPAGE
    constexpr size_t SMALL = 4096, REMEMBERED = 2048 * SMALL;
    const size_t skip = -reinterpret_cast<size_t>(start) % SMALL;
    if (bytes > REMEMBERED) madvise(static_cast<char*>(start) + skip, bytes - skip, MADV_HUGEPAGE);
#endif
  }

  std::array<std::vector<Line>, 5> own;
  size_t next = 0;
};

}  // namespace newtonnet
