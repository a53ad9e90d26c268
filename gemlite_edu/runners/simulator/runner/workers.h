// The OS threads that run a launch's blocks. They and their lanes live as long as the process.
#pragma once
#include <pthread.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "../instruments/instruments.h"
#include "block_barrier.h"
#include "copies.h"
#include "faults.h"
#include "fibers.h"
#include "local_arrays.h"
#include "shared_memory.h"
#include "time_limit.h"

// The kernel's library.
struct Program {
  void* (*touch_shared)();
  void* (*dynamic_shared)();
};

class Workers {
 public:
  Workers(unsigned count, const Program& program) : program_(program), count_(count) {
    pthread_barrier_init(&begin_, nullptr, count + 1);
    pthread_barrier_init(&end_, nullptr, count + 1);
    for (unsigned i = 0; i < count; ++i) std::thread([this] { work(); }).detach();
  }

  // Runs the launch that `launch` describes.
  void run() {
    next_ = 0;
    absent_workers = static_cast<int>(count_);
    pthread_barrier_wait(&begin_);
    pthread_barrier_wait(&end_);
  }

 private:
  [[noreturn]] void work() {
    use_own_signal_stack();
    const timer_t timer = new_timer();
    Block own;
    own.lanes = std::vector<Lane>(launch.threads);
    block = &own;
    sim_here.block_size = launch.block;
    for (;;) {
      pthread_barrier_wait(&begin_);
      limit_time(timer);
      if (own.lanes[0].stack || create_lanes_unless_too_late()) run_blocks();
      pthread_barrier_wait(&end_);
    }
  }

  // Workers create their lanes one after the other, which is sooner done than all at once, because a
  // process maps its memory under a lock. False if by then the others have begun the last block.
  bool create_lanes_unless_too_late() {
    static std::mutex creating;
    const std::lock_guard<std::mutex> lock(creating);
    const bool is_in_time = next_ < launch.grid_x * launch.grid_y;
    if (is_in_time) create_lanes(launch.threads);
    if (is_in_time && has_guarded_locals) create_shadow_of_stacks();
    return is_in_time;
  }

  void run_blocks() {
    sim_here.grid_size = {launch.grid_x, launch.grid_y, 1};
    program_.touch_shared();
    library_here = find_library();
    if (instruments) watch = new Watch(instruments->sites, instruments->outputs, launch.threads);
    if (seed_of_order) wait_for_other_workers();
    const unsigned blocks = launch.grid_x * launch.grid_y;
    for (unsigned b = next_++; b < blocks; b = next_++) {
      sim_here.block_index = {b % launch.grid_x, b / launch.grid_x, 0};
      poison_shared();
      copies_of.assign(launch.threads, {});
      if (watch) {
        watch->begin_block(b);
        Lockstep(*watch, block->lanes, b).run_block();
      } else {
        run_block(block->lanes);
        check_dynamic_shared(static_cast<unsigned char*>(program_.dynamic_shared()));
      }
    }
    if (watch) merge_into_report(*watch);
  }

  // The compiler's notes beside shared arrays that these are initialized are bools: they stay true.
  static void poison_shared() {
    if (!library_here.shared) return;
    memset(library_here.shared, POISON, library_here.shared_bytes);
    if (!instruments) return;
    for (const SharedArray& array : instruments->sites.arrays) {
      if (array.kind == SharedArray::NOT_SHARED) library_here.shared[array.offset] = 1;
    }
  }

  const Program program_;
  const unsigned count_;
  std::atomic<unsigned> next_{0};
  pthread_barrier_t begin_, end_;
};
