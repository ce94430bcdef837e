// Threads that are kept for the next call, and memory that a thread keeps to work in.
#pragma once
#include <pthread.h>
#include <sched.h>

#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

namespace newtonnet {

struct Job {  // `left` counts the threads that have not ended
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
    std::lock_guard<std::mutex> hold(door);
    job = work, number = thread;
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
  static Pool* kept = (pthread_atfork(nullptr, nullptr, [] { pool() = new Pool; }), new Pool);
  return kept;
}

// The calling thread and up to wanted - 1 others; fewer where no more can be started.
class Team {
 public:
  explicit Team(long wanted) {
    std::lock_guard<std::mutex> hold(home->door);
    while (long(others.size()) + 1 < wanted) try {
        if (home->idle.empty()) {
          home->idle.reserve(home->workers + 1);  // so that giving the worker back cannot fail
          Worker* fresh = new Worker;  // where the thread does not start, it is left alone: some bytes, once
          std::thread([fresh] { fresh->work(); }).detach();
          home->idle.push_back(fresh), ++home->workers;
        }
        others.push_back(home->idle.back());
        home->idle.pop_back();
      } catch (const std::exception&) {
        break;
      }
  }
  Team(const Team&) = delete;
  ~Team() {
    std::lock_guard<std::mutex> hold(home->door);
    for (Worker* other : others) home->idle.push_back(other);
  }

  long size() const { return 1 + long(others.size()); }

  // Runs f(thread) in all threads at the same time and returns when all have ended; f must not throw.
  template <class F> void run(F&& f) {
    Job job{[](void* context, int thread) { (*static_cast<std::remove_reference_t<F>*>(context))(thread); }, &f,
            int(others.size())};
    for (size_t k = 0; k < others.size(); ++k) others[k]->give(&job, int(k) + 1);
    f(0);
    for (int n = 0; __atomic_load_n(&job.left, __ATOMIC_ACQUIRE) > 0; ++n)
      if (n > 2000) sched_yield();
  }

 private:
  Pool* home = pool();
  std::vector<Worker*> others;
};

// Memory for one call, kept for the thread's next call unless it is large: the system takes as long to hand out fresh
// memory as a product takes to use it.
class Room {
 public:
  explicit Room(size_t bytes) {
    constexpr size_t KEPT = size_t(1) << 27;
    thread_local struct Kept {
      char* start = nullptr;
      size_t size = 0;
      ~Kept() { std::free(start); }
    } kept;
    if (bytes > KEPT || bytes > kept.size) {
      next = static_cast<char*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
      if (!next) throw std::bad_alloc();
      if (bytes > KEPT) own = next;
      else std::free(kept.start), kept.start = next, kept.size = bytes;
    } else next = kept.start;
  }
  Room(const Room&) = delete;
  ~Room() { std::free(own); }

  static size_t bytes(size_t count, size_t each) { return (count * each + 63) / 64 * 64; }
  template <class T> T* array(size_t count) {
    T* found = reinterpret_cast<T*>(next);
    next += bytes(count, sizeof(T));
    return found;
  }

 private:
  char *next = nullptr, *own = nullptr;
};

}  // namespace newtonnet
