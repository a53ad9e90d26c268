// The simulator's process: runs one launch of one kernel and exits.
//
//   runner KERNEL.so MEMFD REPORT_FD WORKERS GRID_X GRID_Y THREADS SHARED_BYTES SHARED_LIMIT
//          ARGUMENT...
//   ARGUMENT = p:NAME:OFFSET:BYTES:ACCESS   tensor in the memfd, ACCESS r (input) or w (output)
//            | i:VALUE                      32-bit integer
//
// A block is one OS thread, its lanes are fibers on it, run in order of their index until each
// waits or ends. What happened goes to REPORT_FD as one line "word fields...": see report() calls;
// "done" means that all went well. A kernel's printf goes to stdout.
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "shim/cooperation.h"

extern "C" __thread SimHere sim_here = {};

namespace {

const size_t PAGE = static_cast<size_t>(sysconf(_SC_PAGESIZE));
constexpr size_t GUARD = size_t(16) << 20;
constexpr size_t ALIGNMENT = 256;
constexpr size_t STACK = size_t(512) << 10;        // CUDA gives a thread as much local memory
constexpr size_t STACK_GUARD = size_t(1) << 20;
constexpr rlim_t PRINTED_LIMIT = rlim_t(1) << 20;  // bytes; a kernel in a loop prints no more
constexpr int WARP_SIZE = 32;
constexpr unsigned char POISON = 0xFF;  // a NaN in every float format

int report_fd;

// The first thread to report ends the process; any other waits for that.
[[noreturn]] void report(const char* format, ...) {
  static std::atomic_flag reported = ATOMIC_FLAG_INIT;
  while (reported.test_and_set()) pause();
  char line[512];
  va_list values;
  va_start(values, format);
  const int length = vsnprintf(line, sizeof line, format, values);
  va_end(values);
  if (write(report_fd, line, std::min<size_t>(length, sizeof line - 1)) < 0) {}
  _exit(3);
}

// ---- tensors: each between two guards, its end on a page's end as nearly as 256 bytes allow

struct Tensor {
  std::string name;
  unsigned char* region;  // whole pages
  size_t region_bytes;
  unsigned char* data;
  size_t bytes;
  bool writable;
};
std::vector<Tensor> tensors;

size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

Tensor map_tensor(int memfd, const std::string& name, size_t offset, size_t bytes, bool writable) {
  const size_t region_bytes = round_up(round_up(bytes, ALIGNMENT), PAGE);
  void* room = mmap(nullptr, region_bytes + 2 * GUARD, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) report("memory %s", strerror(errno));
  void* region = mmap(static_cast<unsigned char*>(room) + GUARD, region_bytes,
                      writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED | MAP_FIXED, memfd,
                      static_cast<off_t>(offset));
  if (region == MAP_FAILED) report("memory %s", strerror(errno));
  auto* start = static_cast<unsigned char*>(region);
  return {name, start, region_bytes, start + region_bytes - round_up(bytes, ALIGNMENT), bytes, writable};
}

// Writes that stayed inside the pages but outside the tensor leave a trace in the poison there.
void check_margins() {
  for (const Tensor& t : tensors) {
    for (unsigned char* byte = t.region; byte < t.region + t.region_bytes; ++byte) {
      if (byte == t.data) byte += t.bytes;
      if (byte < t.region + t.region_bytes && *byte != POISON) {
        report("outside %s %td -1 -1 -1", t.name.c_str(), byte - t.data);
      }
    }
  }
}

// ---- lanes

enum class State { READY, AT_BARRIER, AT_WARP_OPERATION, DONE };

struct Lane {
  unsigned char* stack_guard = nullptr;
  jmp_buf resume;
  State state = State::DONE;
  unsigned mask = 0;     // of the warp operation it waits at
  uint64_t given = 0;    // its value there
  int source = 0;
  uint64_t taken = 0;    // what the exchange gave it
  unsigned ballot = 0;
};

struct Launch {
  void (*run_lane)(void**);
  std::vector<void*> arguments;
  unsigned grid_x, grid_y, threads;
  size_t shared_bytes, shared_limit;  // dynamic: what the launch asked for, what a block may have
};
Launch launch;

// The lanes of the block that this OS thread runs.
struct Block {
  std::vector<Lane> lanes;
  jmp_buf scheduler;
  int current = 0;
};
thread_local Block* block;

// ---- faults

// A lane's local arrays and calls have outgrown its stack.
bool is_in_own_stack_guard(const void* address) {
  if (!block) return false;
  const auto* byte = static_cast<const unsigned char*>(address);
  const unsigned char* guard = block->lanes[block->current].stack_guard;
  return guard && byte >= guard && byte < guard + STACK_GUARD;
}

void on_fault(int signal, siginfo_t* info, void*) {
  const SimHere& here = sim_here;
  if (is_in_own_stack_guard(info->si_addr)) {
    report("stack %zu -1 %u %u %u", STACK >> 10, here.block_index.x, here.block_index.y,
           here.thread_index.x);
  }
  auto* address = static_cast<unsigned char*>(info->si_addr);
  if (signal == SIGSEGV || signal == SIGBUS) {
    for (const Tensor& t : tensors) {
      if (address < t.region - GUARD || address >= t.region + t.region_bytes + GUARD) continue;
      const bool inside = address >= t.region && address < t.region + t.region_bytes;
      report("%s %s %td %u %u %u", inside ? "readonly" : "outside", t.name.c_str(), address - t.data,
             here.block_index.x, here.block_index.y, here.thread_index.x);
    }
  }
  report("signal %d %p %u %u %u", signal, info->si_addr, here.block_index.x, here.block_index.y,
         here.thread_index.x);
}

void catch_faults() {
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(signal, &action, nullptr);
}

void use_own_signal_stack() {
  stack_t stack = {};
  stack.ss_size = size_t(64) << 10;
  stack.ss_sp = malloc(stack.ss_size);
  sigaltstack(&stack, nullptr);
}

void yield_to_scheduler() {
  Block& b = *block;
  if (_setjmp(b.lanes[b.current].resume) == 0) _longjmp(b.scheduler, 1);
}

// A lane's fiber lives as long as its OS thread and runs that lane of every block there.
void live_as_lane() {
  for (;;) {
    block->lanes[block->current].state = State::DONE;
    yield_to_scheduler();
    launch.run_lane(launch.arguments.data());
  }
}

void create_lane(int index) {
  auto* guard = static_cast<unsigned char*>(mmap(nullptr, STACK_GUARD + STACK, PROT_NONE,
                                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (guard == MAP_FAILED || mprotect(guard + STACK_GUARD, STACK, PROT_READ | PROT_WRITE)) {
    report("memory %s", strerror(errno));
  }
  block->lanes[index].stack_guard = guard;
  ucontext_t fresh, back;
  getcontext(&fresh);
  fresh.uc_stack.ss_sp = guard + STACK_GUARD;
  fresh.uc_stack.ss_size = STACK;
  makecontext(&fresh, live_as_lane, 0);
  block->current = index;
  if (_setjmp(block->scheduler) == 0) swapcontext(&back, &fresh);
}

void resume(int index) {
  block->current = index;
  sim_here.thread_index = {static_cast<unsigned>(index), 0, 0};
  if (_setjmp(block->scheduler) == 0) _longjmp(block->lanes[index].resume, 1);
}

// All lanes named in the mask have come: give each its value and let them go.
void complete_warp_operation(Lane* warp, unsigned mask) {
  unsigned ballot = 0;
  for (int i = 0; i < WARP_SIZE; ++i) {
    if (mask >> i & 1) ballot |= (warp[i].given & 1 ? 1u : 0u) << i;
  }
  for (int i = 0; i < WARP_SIZE; ++i) {
    if (!(mask >> i & 1)) continue;
    Lane& lane = warp[i];
    lane.taken = mask >> lane.source & 1 ? warp[lane.source].given : ~uint64_t(0);
    lane.ballot = ballot;
    lane.state = State::READY;
  }
}

void meet_warp(unsigned mask, uint64_t value, int source) {
  Block& b = *block;
  Lane& self = b.lanes[b.current];
  const int first = b.current / WARP_SIZE * WARP_SIZE, lane_id = b.current % WARP_SIZE;
  if (!(mask >> lane_id & 1)) {
    report("notinmask %x %d %u %u %d", mask, lane_id, sim_here.block_index.x, sim_here.block_index.y,
           b.current);
  }
  self.mask = mask;
  self.given = value;
  self.source = source & (WARP_SIZE - 1);
  self.state = State::AT_WARP_OPERATION;
  bool all_here = true;
  for (int i = 0; i < WARP_SIZE; ++i) {
    if (!(mask >> i & 1)) continue;
    const int other = first + i;
    all_here &= other < static_cast<int>(b.lanes.size()) &&
                b.lanes[other].state == State::AT_WARP_OPERATION && b.lanes[other].mask == mask;
  }
  if (all_here) complete_warp_operation(&b.lanes[first], mask);
  yield_to_scheduler();
}

[[noreturn]] void report_stuck(const std::vector<Lane>& lanes) {
  int waiting = 0;
  while (lanes[waiting].state != State::AT_BARRIER && lanes[waiting].state != State::AT_WARP_OPERATION) {
    ++waiting;
  }
  for (size_t i = 0; i < lanes.size(); ++i) {
    if (lanes[i].state == State::AT_WARP_OPERATION) waiting = static_cast<int>(i);
  }
  const Lane& lane = lanes[waiting];
  int missing = 0;
  if (lane.state == State::AT_WARP_OPERATION) {
    const int first = waiting / WARP_SIZE * WARP_SIZE;
    while (!(lane.mask >> missing & 1) ||
           (first + missing < static_cast<int>(lanes.size()) &&
            lanes[first + missing].state == State::AT_WARP_OPERATION &&
            lanes[first + missing].mask == lane.mask)) {
      ++missing;
    }
    missing += first;
  } else {
    while (lanes[missing].state == State::AT_BARRIER || lanes[missing].state == State::DONE) ++missing;
  }
  report("stuck %s %d %u %u %d", lane.state == State::AT_BARRIER ? "barrier" : "warp", missing,
         sim_here.block_index.x, sim_here.block_index.y, waiting);
}

void run_block(std::vector<Lane>& lanes) {
  for (Lane& lane : lanes) lane.state = State::READY;
  for (;;) {
    bool progress = false;
    size_t done = 0, at_barrier = 0;
    for (size_t i = 0; i < lanes.size(); ++i) {
      if (lanes[i].state == State::READY) {
        resume(static_cast<int>(i));
        progress = true;
      }
    }
    for (const Lane& lane : lanes) {
      done += lane.state == State::DONE;
      at_barrier += lane.state == State::AT_BARRIER;
    }
    if (done == lanes.size()) return;
    if (done + at_barrier == lanes.size()) {
      for (Lane& lane : lanes) {
        if (lane.state == State::AT_BARRIER) lane.state = State::READY;
      }
    } else if (!progress) {
      report_stuck(lanes);
    }
  }
}

// ---- blocks

// The kernel's only thread_local variables are its shared memory: this OS thread's copy of them.
struct SharedMemory {
  const void* inside_library;
  unsigned char* data = nullptr;
  size_t bytes = 0;
};

int find_shared_memory(dl_phdr_info* info, size_t, void* result) {
  auto* shared = static_cast<SharedMemory*>(result);
  bool contains = false;
  size_t bytes = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    const auto start = info->dlpi_addr + header.p_vaddr;
    const auto address = reinterpret_cast<uintptr_t>(shared->inside_library);
    if (header.p_type == PT_LOAD) contains |= address >= start && address < start + header.p_memsz;
    if (header.p_type == PT_TLS) bytes = header.p_memsz;
  }
  if (!contains) return 0;
  shared->data = static_cast<unsigned char*>(info->dlpi_tls_data);
  shared->bytes = bytes;
  return 1;
}

// What a block wrote beyond the dynamic shared memory of its launch is no longer poison.
void check_dynamic_shared(const unsigned char* dynamic) {
  for (size_t i = launch.shared_bytes; dynamic && i < launch.shared_limit; ++i) {
    if (dynamic[i] != POISON) {
      report("shared %zu %zu %u %u -1", i, launch.shared_bytes, sim_here.block_index.x,
             sim_here.block_index.y);
    }
  }
}

void run_blocks(std::atomic<unsigned>& next, void* (*touch_shared)(), void* (*dynamic_shared)()) {
  use_own_signal_stack();
  Block own;
  own.lanes = std::vector<Lane>(launch.threads);
  block = &own;
  for (unsigned i = 0; i < launch.threads; ++i) create_lane(static_cast<int>(i));
  sim_here.block_size = {launch.threads, 1, 1};
  sim_here.grid_size = {launch.grid_x, launch.grid_y, 1};
  touch_shared();
  SharedMemory shared{reinterpret_cast<const void*>(launch.run_lane)};
  dl_iterate_phdr(find_shared_memory, &shared);

  const unsigned blocks = launch.grid_x * launch.grid_y;
  for (unsigned b = next++; b < blocks; b = next++) {
    sim_here.block_index = {b % launch.grid_x, b / launch.grid_x, 0};
    if (shared.data) memset(shared.data, POISON, shared.bytes);
    run_block(own.lanes);
    check_dynamic_shared(static_cast<unsigned char*>(dynamic_shared()));
  }
}

void limit_printing() {
  const rlimit limit = {PRINTED_LIMIT, PRINTED_LIMIT};
  setrlimit(RLIMIT_FSIZE, &limit);
  signal(SIGXFSZ, SIG_IGN);
  setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
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
    } else {
      tensors.push_back(map_tensor(memfd, fields[1], std::stoull(fields[2]), std::stoull(fields[3]),
                                   fields[4] == "w"));
      launch.arguments.push_back(&tensors.back().data);
    }
  }
}

}  // namespace

void sim_barrier() {
  block->lanes[block->current].state = State::AT_BARRIER;
  yield_to_scheduler();
}
unsigned sim_vote(unsigned mask, unsigned predicate) {
  meet_warp(mask, predicate, 0);
  return block->lanes[block->current].ballot;
}
uint64_t sim_exchange(unsigned mask, uint64_t value, int source) {
  meet_warp(mask, value, source);
  return block->lanes[block->current].taken;
}

int main(int, char** argv) {
  const int memfd = atoi(argv[2]), workers = atoi(argv[4]);
  report_fd = atoi(argv[3]);
  launch.grid_x = static_cast<unsigned>(atol(argv[5]));
  launch.grid_y = static_cast<unsigned>(atol(argv[6]));
  launch.threads = static_cast<unsigned>(atol(argv[7]));
  launch.shared_bytes = static_cast<size_t>(atol(argv[8]));
  launch.shared_limit = static_cast<size_t>(atol(argv[9]));
  char** first = argv + 10;
  char** last = first;
  while (*last) ++last;

  void* library = dlopen(argv[1], RTLD_NOW);
  if (!library) report("load %s", dlerror());
  launch.run_lane = reinterpret_cast<void (*)(void**)>(dlsym(library, "sim_run_lane"));
  auto touch_shared = reinterpret_cast<void* (*)()>(dlsym(library, "sim_touch_shared"));
  auto dynamic_shared = reinterpret_cast<void* (*)()>(dlsym(library, "sim_dynamic_shared"));

  std::vector<int32_t> integers;
  read_arguments(memfd, first, last, integers);
  catch_faults();
  limit_printing();

  std::atomic<unsigned> next{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < workers; ++i) threads.emplace_back(run_blocks, std::ref(next), touch_shared, dynamic_shared);
  for (auto& thread : threads) thread.join();
  check_margins();
  fflush(stdout);
  if (write(report_fd, "done", 4) < 0) {}
  return 0;
}
