// Threads that are kept for the next call, and memory that a thread keeps to work in.
#pragma once
#include <pthread.h>
#include <sched.h>

#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace newtonnet {

struct Job {  // call(context, thread) for threads 1 to n - 1; `left` counts those that have not ended
  void (*call)(void*, int);
  void* context;
  int left;
};

struct Worker {
  std::mutex door;
  std::condition_variable wake;
  Job* job = nullptr;
  int number = 0;

  void give(Job* work, int thread) {
    {
      std::lock_guard<std::mutex> hold(door);
      job = work, number = thread;
    }
    wake.notify_one();
  }

  void work() {
    for (;;) {
      std::unique_lock<std::mutex> hold(door);
      wake.wait(hold, [&] { return job != nullptr; });
      Job* mine = job;
      job = nullptr;
      hold.unlock();
      mine->call(mine->context, number);
      __atomic_fetch_sub(&mine->left, 1, __ATOMIC_ACQ_REL);  // the job may be gone from here on
    }
  }
};

struct Pool {
  std::mutex door;
  std::vector<Worker*> idle;
  size_t workers = 0;
};

// Never destroyed: its threads wait in it until the process ends. A forked process, where these threads do not exist
// and any lock may be held by one of them, begins with a new one.
inline Pool*& pool() {
  static Pool* kept = [] {
    pthread_atfork(nullptr, nullptr, [] { pool() = new Pool; });
    return new Pool;
  }();
  return kept;
}

// The calling thread and up to wanted - 1 others, for one call at a time.
class Team {
 public:
  explicit Team(int wanted) {
    if (wanted <= 1) return;
    others.reserve(wanted - 1);
    std::lock_guard<std::mutex> hold(home->door);
    while (int(others.size()) < wanted - 1 && !home->idle.empty()) {
      others.push_back(home->idle.back());
      home->idle.pop_back();
    }
    while (int(others.size()) < wanted - 1) {
      Worker* fresh = nullptr;
      try {
        home->idle.reserve(home->workers + 1);  // so that giving the worker back cannot fail
        fresh = new Worker;
        std::thread([fresh] { fresh->work(); }).detach();
        others.push_back(fresh), ++home->workers;
      } catch (const std::exception&) {  // no more threads or memory: fewer will do
        delete fresh;
        break;
      }
    }
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  ~Team() {
    if (others.empty()) return;
    std::lock_guard<std::mutex> hold(home->door);
    for (Worker* other : others) home->idle.push_back(other);
  }

  int size() const { return 1 + int(others.size()); }

  // Runs f(thread) in all threads at the same time and returns when all have ended; f must not throw.
  template <class F> void run(F& f) {
    Job job{[](void* context, int thread) { (*static_cast<F*>(context))(thread); }, &f, int(others.size())};
    for (size_t k = 0; k < others.size(); ++k) others[k]->give(&job, int(k) + 1);
    f(0);
    for (int n = 0; __atomic_load_n(&job.left, __ATOMIC_ACQUIRE) > 0; ++n)
      if (n > 2000) sched_yield();
  }

 private:
  Pool* home = pool();
  std::vector<Worker*> others;
};

// Memory for one call. It is kept for the thread's next call unless it is large, since the system takes as long to hand
// out fresh memory as a product takes to use it.
class Room {
 public:
  static constexpr size_t KEPT = size_t(1) << 27, LINE = 64;

  explicit Room(size_t bytes) : size(bytes) {
    thread_local Kept kept;
    if (size > KEPT || kept.size < size) {
      start = std::aligned_alloc(LINE, (size + LINE - 1) / LINE * LINE);
      if (!start) throw std::bad_alloc();
      if (size > KEPT) own = start;
      else std::free(kept.start), kept.start = start, kept.size = size;
    }
    next = static_cast<char*>(size > KEPT ? start : kept.start);
  }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  ~Room() { std::free(own); }

  static size_t bytes(size_t count, size_t each) { return (count * each + LINE - 1) / LINE * LINE; }

  template <class T> T* array(size_t count) {
    T* found = reinterpret_cast<T*>(next);
    next += bytes(count, sizeof(T));
    return found;
  }

 private:
  struct Kept {
    void* start = nullptr;
    size_t size = 0;
    ~Kept() { std::free(start); }
  };

  size_t size;
  void *start = nullptr, *own = nullptr;
  char* next = nullptr;
};

}  // namespace newtonnet
