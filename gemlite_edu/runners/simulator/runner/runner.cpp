// The simulator's process: runs launches of one kernel.
//
//   runner KERNEL.so MEMFD SITES FILTER WORKERS THREADS_X THREADS_Y THREADS_Z SHARED_LIMIT
//   SITES    = the file that instrument.py wrote for an instrumented kernel, or - for a plain one
//              | `locals` for a plain one that tells of its accesses, see local_arrays.h
//   FILTER   = the system calls that the kernel may not make, see confinement.h
//
// Each launch is a request on stdin, see requests.h; the process ends with them, or with a fault.
// A block is one OS thread, its lanes are fibers on it. In a plain run each lane runs, in order of
// their index, until it waits or ends; instruments/lockstep.h says how an instrumented kernel runs.
// The report goes to stdout and ends with a line "word fields...", see report() calls; "done" means
// that the kernel ran to its end. A kernel's printf goes to stderr.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include <string>

#include "address_spaces.h"
#include "atomics.h"
#include "block_barrier.h"
#include "confinement.h"
#include "copies.h"
#include "device_heap.h"
#include "faults.h"
#include "fibers.h"
#include "first_values.h"
#include "../instruments/instruments.h"
#include "local_arrays.h"
#include "printing.h"
#include "requests.h"
#include "shared_barriers.h"
#include "shared_window.h"
#include "time_limit.h"
#include "undefined.h"
#include "warp_operations.h"
#include "workers.h"

extern "C" __thread SimHere sim_here = {};

void sim_barrier() {
  stop_before(Event::MEETING, __builtin_return_address(0));
  wait_at_block_barrier();
}
int sim_count_barrier(int predicate) {
  stop_before(Event::MEETING, __builtin_return_address(0));
  wait_at_block_barrier(predicate);
  return block->predicates;
}
void sim_meet(int threads) {
  stop_before(Event::MEETING, __builtin_return_address(0));
  if (meet(threads) && watch) watch->pass_meeting();
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
uint64_t sim_exchange(unsigned mask, uint64_t value, int source, SimNumber number) {
  stop_before(Event::MEETING, __builtin_return_address(0));
  block->lanes[block->current].number = number;
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
void sim_close_batch() {
  if (watch) watch->keep_batch("commit", __builtin_return_address(0), __builtin_frame_address(0), 0);
  ++own_copies().batches;
}
void sim_wait_for_copies(size_t batches_left) {
  if (watch) {
    watch->keep_batch("wait", __builtin_return_address(0), __builtin_frame_address(0), batches_left);
  }
  deliver_copies(batches_left, [](const Copy& copy) {
    if (watch) watch->end_copy(copy);
  });
}

void sim_only_global(const void* address) { check_is_global(address, __builtin_return_address(0)); }
uint32_t sim_shared_address(const void* shared) {
  check_is_shared(shared, __builtin_return_address(0));
  return shared_address(shared);
}
void* sim_at_shared_address(uint32_t address) { return at_shared_address(address); }

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
void sim_copy_box(void* to, const void* from, int there, int rows, size_t stride, uint64_t* barrier) {
  stop_before(Event::MEETING, __builtin_return_address(0));
  copy_box(static_cast<unsigned char*>(to), static_cast<const unsigned char*>(from), there, rows, stride,
           barrier);
  if (watch) watch->bulk_copied(to, static_cast<size_t>(rows) * 128);
}

namespace {

dim3 block_shape(char** words) {
  const auto number = [](const char* word) { return static_cast<unsigned>(atol(word)); };
  return {number(words[0]), number(words[1]), number(words[2])};
}

Program load(const char* path) {
  void* library = dlopen(path, RTLD_NOW);
  if (!library) report("load %s", dlerror());
  launch.run_lane = reinterpret_cast<void (*)(void**)>(dlsym(library, "sim_run_lane"));
  return {reinterpret_cast<void* (*)()>(dlsym(library, "sim_touch_shared")),
          reinterpret_cast<void* (*)()>(dlsym(library, "sim_dynamic_shared"))};
}

void run_launch(Workers& workers, const Sites* sites) {
  if (sites) begin_instruments(*sites);
  workers.run();
  fflush(stdout);
  if (instruments) write_merged_report();
  else check_margins();
  if (write(report_fd, "done", 4) < 0) {}
}

}  // namespace

int main(int, char** argv) {
  const int memfd = atoi(argv[2]), count = atoi(argv[5]);
  const std::string word = argv[3];
  keep_stdout_for_reports();
  keep_stdin_for_requests();
  launch.block = block_shape(argv + 6);
  launch.threads = launch.block.x * launch.block.y * launch.block.z;
  launch.shared_limit = static_cast<size_t>(atol(argv[9]));
  has_guarded_locals = word == "locals";

  limit_memory_and_files(count);
  forbid_calls(argv[4]);
  const Program program = load(argv[1]);
  const FirstValues first_values(find_library());
  const bool is_instrumented = word != "-" && !has_guarded_locals;
  Sites sites;
  if (is_instrumented) sites.read(argv[3]);
  catch_faults();
  catch_end_of_time();
  setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  forbid_files();

  Workers workers(static_cast<unsigned>(count), program);
  while (take_request(memfd)) {
    first_values.restore();
    device_heap.release_all();
    run_launch(workers, is_instrumented ? &sites : nullptr);
  }
  _exit(0);
}
