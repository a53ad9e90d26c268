// The simulator's process: runs one launch of one kernel and exits.
//
//   runner KERNEL.so MEMFD SITES FILTER TIME_LIMIT WORKERS
//          GRID_X GRID_Y THREADS_X THREADS_Y THREADS_Z SHARED_BYTES SHARED_LIMIT ARGUMENT...
//   SITES    = the file that instrument.py wrote for an instrumented kernel, or - for a plain one
//              | `locals` for a plain one that tells of its accesses, see local_arrays.h
//   FILTER   = the system calls that the kernel may not make, see confinement.h
//   ARGUMENT = p:NAME:OFFSET:BYTES:ELEMENT_BYTES:ACCESS   tensor in the memfd, ACCESS r or w
//            | i:VALUE                                    32-bit integer
//            | n                                          null pointer
//
// A block is one OS thread, its lanes are fibers on it. In a plain run each lane runs, in order of
// their index, until it waits or ends; instruments/lockstep.h says how an instrumented kernel runs.
// The report goes to stdout and ends with a line "word fields...", see report() calls; "done" means
// that the kernel ran to its end. A kernel's printf goes to stderr.
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "address_spaces.h"
#include "atomics.h"
#include "block_barrier.h"
#include "confinement.h"
#include "copies.h"
#include "device_heap.h"
#include "faults.h"
#include "../instruments/instruments.h"
#include "fibers.h"
#include "local_arrays.h"
#include "printing.h"
#include "shared_barriers.h"
#include "shared_memory.h"
#include "tensors.h"
#include "time_limit.h"
#include "undefined.h"
#include "warp_operations.h"

extern "C" __thread SimHere sim_here = {};

namespace {

// Workers create their lanes one after the other, which is sooner done than all at once, because a
// process maps its memory under a lock. False if by then the others have begun the last block.
bool create_lanes_unless_too_late(const std::atomic<unsigned>& next) {
  static std::mutex creating;
  const std::lock_guard<std::mutex> lock(creating);
  const bool is_in_time = next < launch.grid_x * launch.grid_y;
  if (is_in_time) create_lanes(launch.threads);
  return is_in_time;
}

// The compiler's notes beside shared arrays that these are initialized are bools: they stay true.
void poison_shared() {
  if (!library_here.shared) return;
  memset(library_here.shared, POISON, library_here.shared_bytes);
  if (!instruments) return;
  for (const SharedArray& array : instruments->sites.arrays) {
    if (array.kind == SharedArray::NOT_SHARED) library_here.shared[array.offset] = 1;
  }
}

void run_blocks(std::atomic<unsigned>& next, void* (*touch_shared)(), void* (*dynamic_shared)()) {
  use_own_signal_stack();
  limit_own_time();
  Block own;
  own.lanes = std::vector<Lane>(launch.threads);
  block = &own;
  if (!create_lanes_unless_too_late(next)) return;
  if (has_guarded_locals) create_shadow_of_stacks();
  sim_here.block_size = launch.block;
  sim_here.grid_size = {launch.grid_x, launch.grid_y, 1};
  touch_shared();
  library_here = find_library();
  if (instruments) watch = new Watch(instruments->sites, instruments->outputs, launch.threads);

  const unsigned blocks = launch.grid_x * launch.grid_y;
  for (unsigned b = next++; b < blocks; b = next++) {
    sim_here.block_index = {b % launch.grid_x, b / launch.grid_x, 0};
    poison_shared();
    copies_of.assign(launch.threads, {});
    if (watch) {
      watch->begin_block(b);
      Lockstep(*watch, own.lanes).run_block();
    } else {
      run_block(own.lanes);
      check_dynamic_shared(static_cast<unsigned char*>(dynamic_shared()));
    }
  }
  if (watch) merge_into_report(*watch);
}

dim3 block_shape(char** words) {
  const auto number = [](const char* word) { return static_cast<unsigned>(atol(word)); };
  return {number(words[0]), number(words[1]), number(words[2])};
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> fields(1);
  for (char c : text) {
    if (c == ':') fields.emplace_back();
    else fields.back() += c;
  }
  return fields;
}

void read_arguments(int memfd, char** begin, char** end, std::vector<int32_t>& integers) {
  const size_t count = static_cast<size_t>(end - begin);
  integers.resize(count);
  tensors.reserve(count);  // launch.arguments points into both
  for (size_t i = 0; i < count; ++i) {
    const auto fields = split(begin[i]);
    if (fields[0] == "i") {
      integers[i] = std::stoi(fields[1]);
      launch.arguments.push_back(&integers[i]);
    } else if (fields[0] == "n") {
      static void* null_pointer = nullptr;
      launch.arguments.push_back(&null_pointer);
    } else {
      tensors.push_back(map_tensor(memfd, fields[1], std::stoull(fields[2]), std::stoull(fields[3]),
                                   fields[5] == "w", std::stoll(fields[4])));
      launch.arguments.push_back(&tensors.back().data);
    }
  }
}

}  // namespace

void sim_barrier() {
  stop_before(Event::MEETING, __builtin_return_address(0));
  wait_at_block_barrier();
}
int sim_count_barrier(int predicate) {
  stop_before(Event::MEETING, __builtin_return_address(0));
  wait_at_block_barrier(predicate);
  return block->predicates;
}
void sim_sync_warp(unsigned mask) {
  stop_before(Event::MEETING, __builtin_return_address(0));
  meet_warp(WarpOperation::SYNC, mask, 0, 0);
}
unsigned sim_vote(unsigned mask, unsigned predicate) {
  stop_before(Event::MEETING, __builtin_return_address(0));
  meet_warp(WarpOperation::VOTE, mask, predicate, 0);
  return block->lanes[block->current].ballot;
}
uint64_t sim_exchange(unsigned mask, uint64_t value, int source) {
  stop_before(Event::MEETING, __builtin_return_address(0));
  meet_warp(WarpOperation::EXCHANGE, mask, value, source);
  return block->lanes[block->current].taken;
}

unsigned sim_gather(unsigned mask, uint64_t value, uint64_t* values) {
  stop_before(Event::MEETING, __builtin_return_address(0));
  return gather(mask, value, values);
}
unsigned sim_active_mask() {
  stop_before(Event::MEETING, __builtin_return_address(0));
  return wait_for_active_mask(__builtin_return_address(0));
}

uint64_t sim_atomic(void* address, unsigned bytes, SimAtomic operation, uint64_t operand,
                    uint64_t compare) {
  check_takes_atomics(address, __builtin_return_address(0));
  const bool reads = operation != SimAtomic::EXCHANGE;
  watch_access(address, bytes, true, __builtin_return_address(0),
               reads ? Event::ATOMIC : Event::ATOMIC_WRITE);
  return change_atomically(address, bytes, operation, operand, compare);
}

void sim_fence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

uint64_t sim_clock() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}
extern "C" clock_t __wrap_clock() { return static_cast<clock_t>(sim_clock()); }
void sim_trap() {
  stop_before(Event::MEETING, __builtin_return_address(0));
  report("trap %u %u %d", sim_here.block_index.x, sim_here.block_index.y, block->current);
}
void sim_refuse_width(int width) {
  interrupted_at = reinterpret_cast<uintptr_t>(__builtin_return_address(0)) - 1;
  report("width %d %u %u %d", width, sim_here.block_index.x, sim_here.block_index.y, block->current);
}
// What a kernel's assert calls; its library finds the runner's before the C library's.
extern "C" void __assert_fail(const char* condition, const char*, unsigned, const char*) noexcept {
  report("assert %u %u %d %s", sim_here.block_index.x, sim_here.block_index.y, block->current,
         condition);
}

void sim_meet_to_load(const SimMatrix* own) {
  stop_before(Event::MEETING, __builtin_return_address(0));
  meet_at_matrix(WarpOperation::LOAD_MATRIX, own, line_here());
}
void sim_meet_to_store(const SimMatrix* own) {
  stop_before(Event::MEETING, __builtin_return_address(0));
  meet_at_matrix(WarpOperation::STORE_MATRIX, own, line_here());
}
void sim_multiply(const SimProduct* own) {
  stop_before(Event::MEETING, __builtin_return_address(0));
  meet_at_matrix(WarpOperation::MULTIPLY, own, line_here());
}

void sim_copy_async(void* to, const void* from, size_t bytes, size_t zero_filled) {
  void* place = __builtin_return_address(0);
  stop_before(Event::MEETING, place);
  check_copy(to, from, bytes, zero_filled);
  watch_access(from, bytes - zero_filled, false, place, Event::ASYNC);
  watch_access(to, bytes, true, place, Event::ASYNC);
  const Copy& copy = begin_copy(to, from, bytes, zero_filled, place);
  if (watch) watch->begin_copy(copy);
}
void sim_close_batch() { ++own_copies().batches; }
void sim_wait_for_copies(size_t batches_left) {
  deliver_copies(batches_left, [](const Copy& copy) {
    if (watch) watch->end_copy(copy);
  });
}

void sim_only_global(const void* address) { check_is_global(address, __builtin_return_address(0)); }

void sim_make_barrier(uint64_t* barrier, int arrivals) {
  stop_before(Event::MEETING, __builtin_return_address(0));
  make_barrier(barrier, arrivals);
}
void sim_arrive(uint64_t* barrier, int bytes) {
  stop_before(Event::MEETING, __builtin_return_address(0));
  arrive(barrier, bytes);
}
void sim_wait_for_phase(uint64_t* barrier, int phase) {
  stop_before(Event::MEETING, __builtin_return_address(0));
  wait_for_phase(barrier, phase);
}
void sim_bulk_copy(void* to, const void* from, int bytes, uint64_t* barrier) {
  stop_before(Event::MEETING, __builtin_return_address(0));
  bulk_copy(to, from, bytes, barrier);
  if (watch) watch->bulk_copied(to, static_cast<size_t>(bytes));
}

int main(int, char** argv) {
  const int memfd = atoi(argv[2]), workers = atoi(argv[6]);
  const std::string sites = argv[3];
  keep_stdout_for_reports();
  launch.grid_x = static_cast<unsigned>(atol(argv[7]));
  launch.grid_y = static_cast<unsigned>(atol(argv[8]));
  launch.block = block_shape(argv + 9);
  launch.threads = launch.block.x * launch.block.y * launch.block.z;
  launch.shared_bytes = static_cast<size_t>(atol(argv[12]));
  launch.shared_limit = static_cast<size_t>(atol(argv[13]));
  char** first = argv + 14;
  char** last = first;
  while (*last) ++last;

  limit_memory_and_files(workers);
  forbid_calls(argv[4]);
  void* library = dlopen(argv[1], RTLD_NOW);
  if (!library) report("load %s", dlerror());
  launch.run_lane = reinterpret_cast<void (*)(void**)>(dlsym(library, "sim_run_lane"));
  auto touch_shared = reinterpret_cast<void* (*)()>(dlsym(library, "sim_touch_shared"));
  auto dynamic_shared = reinterpret_cast<void* (*)()>(dlsym(library, "sim_dynamic_shared"));

  std::vector<int32_t> integers;
  read_arguments(memfd, first, last, integers);
  has_guarded_locals = sites == "locals";
  if (sites != "-" && !has_guarded_locals) begin_instruments(sites.c_str());
  catch_faults();
  begin_time_limit(atof(argv[5]));
  setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  forbid_files();

  std::atomic<unsigned> next{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < workers; ++i) threads.emplace_back(run_blocks, std::ref(next), touch_shared, dynamic_shared);
  for (auto& thread : threads) thread.join();
  fflush(stdout);
  if (instruments) write_merged_report();
  else check_margins();
  if (write(report_fd, "done", 4) < 0) {}
  return 0;
}
