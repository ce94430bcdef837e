// Threads that wait for the next call, and memory that a thread keeps for its next call.
#pragma once
#include <pthread.h>

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
  std::vector<Worker*> idle;
  size_t workers = 0;
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
    try {
      while (size() < wanted) {
        others.reserve(others.size() + 1);  // from here on only the start of a thread can fail
        if (home->idle.empty()) start_worker();
        others.push_back(home->idle.back());
        home->idle.pop_back();
      }
    } catch (const std::exception&) {
    }
  }
  Team(const Team&) = delete;
  ~Team() {
    std::lock_guard<std::mutex> lock(home->mutex);
    for (Worker* other : others) home->idle.push_back(other);
  }

  i64 size() const { return 1 + i64(others.size()); }

  // Runs f(thread) in all threads at the same time and returns when all have ended; f must not throw.
  void run(const std::function<void(int)>& f) {
    for (size_t k = 0; k < others.size(); ++k) {
      others[k]->job = &f;
      others[k]->set(int(k) + 1);
    }
    f(0);
    for (Worker* other : others) wait_until(other->share, [](int share) { return share == 0; });
  }

 private:
  void start_worker() {
    home->idle.reserve(home->workers + 1);  // so that giving the worker back cannot fail
    Worker* fresh = new Worker;             // lost where its thread does not start: some bytes
    std::thread([fresh] { fresh->work(); }).detach();
    home->idle.push_back(fresh);
    ++home->workers;
  }

  Pool* home = pool();
  std::vector<Worker*> others;
};

// Where the threads of one call wait for each other.
struct Barrier {
  const int threads;
  std::atomic<int> arrived{0};

  // Returns when every thread has called it as often as this one, which counts in `target`.
  void meet(int& target) {
    target += threads;
    if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == target) arrived.notify_all();
    wait_until(arrived, [&](int count) { return count >= target; });
  }
};

// Memory for the arrays of one call. The thread keeps it for its next call unless it is large: the system takes as long
// to hand out fresh memory as a product takes to use it.
class Workspace {
 public:
  // The 64-byte lines of an array.
  template <class T> static i64 lines(i64 count) { return (count * i64(sizeof(T)) + 63) / 64; }

  explicit Workspace(i64 size) {
    constexpr i64 LARGEST_KEPT = 1 << 21;
    thread_local std::vector<Line> kept;
    std::vector<Line>& lines = size > LARGEST_KEPT ? own : kept;
    if (i64(lines.size()) < size) lines = std::vector<Line>(size_t(size));
    next = lines.data();
  }

  // The next array of `count` numbers.
  template <class T> T* array(i64 count) {
    T* found = reinterpret_cast<T*>(next);
    next += lines<T>(count);
    return found;
  }

 private:
  struct alignas(64) Line {
    char bytes[64];
    Line() {}  // leaves the bytes as they are
  };

  std::vector<Line> own;
  Line* next;
};

}  // namespace newtonnet
