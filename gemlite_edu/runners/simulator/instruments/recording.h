// The steps of one warp of one block, for a player: kept only when the host asks for a window of them.
#pragma once
#include <string.h>

#include <map>
#include <vector>

#include "findings.h"

// Which steps to keep: `count` from `first` on; none if count is 0.
struct Window {
  unsigned block = 0;
  int warp = 0;
  uint64_t first = 0, count = 0;
};
inline Window window;

struct StepFault {
  FindingKey key;
  Finding found;
  bool is_of_other;  // another thread found it, and raced with this step
};

constexpr int NO_WRITER = -1;

struct RecordedStep {
  const char* what = "";
  int site = -1, object = -1;
  unsigned size = 0, cost = 0;         // bytes of a lane; sectors or wavefronts
  unsigned lanes = 0;                  // that take part
  unsigned ended = 0, waiting = 0;     // of the others
  unsigned phase = 0;                  // barriers that the block has passed
  unsigned known = 0;                  // lanes whose value is known
  SimNumber number = SimNumber::OTHER;  // what a shuffle hands over
  // Each lane's first byte in the object, its source lane, or how many batches its wait may leave.
  int64_t at[WARP_SIZE] = {};
  int writer[WARP_SIZE];  // the thread that wrote what the lane loads from shared memory
  unsigned char bytes[WARP_SIZE][32] = {};  // the value; for a shuffle 8 bytes given, 8 taken
  std::vector<uintptr_t> calls;          // return addresses in the library, the innermost first
  std::map<size_t, unsigned> copies;     // of each batch: the warp's copies that are on their way
  std::vector<StepFault> faults;

  RecordedStep() { std::fill_n(writer, WARP_SIZE, NO_WRITER); }
};

class Recording {
 public:
  std::vector<RecordedStep> steps;
  uint64_t total = 0;        // steps of the warp, those outside the window too
  int64_t first_fault = -1;  // the number of the first step with a fault
  bool is_checking = false;  // the last step's accesses, before they happen

  static bool is_of(unsigned block, int warp) {
    return window.count && block == window.block && warp == window.warp;
  }

  // The new step, or null outside the window.
  RecordedStep* begin(const char* what, int site) {
    singles_.clear();
    is_kept_ = total >= window.first && total < window.first + window.count;
    ++total;
    if (!is_kept_) return nullptr;
    steps.emplace_back();
    steps.back().what = what;
    steps.back().site = site;
    return &steps.back();
  }

  // The step of what each lane does by itself, and no lane waits: lanes that do it one after the other
  // share it. Null outside the window.
  template <typename Begin>
  RecordedStep* begin_or_join(const char* what, int site, int lane, Begin begin) {
    for (Single& single : singles_) {
      if (single.what != what || single.site != site || single.lanes >> lane & 1) continue;
      single.lanes |= 1u << lane;
      return single.step < 0 ? nullptr : &steps[static_cast<size_t>(single.step)];
    }
    std::vector<Single> before = std::move(singles_);
    RecordedStep* step = begin();
    before.push_back({what, site, 1u << lane, step ? step - steps.data() : -1});
    singles_ = std::move(before);
    return step;
  }

  // Of the newest step, or of one for another object at the same instruction.
  void add_fault(const FindingKey& key, const Finding& found) {
    if (!total) return;
    note_first_fault(static_cast<int64_t>(total) - 1);
    if (!is_kept_) return;
    for (auto step = steps.rbegin(); step != steps.rend() && step->site == key.site; ++step) {
      if (step->object == key.object) return step->faults.push_back({key, found, false});
    }
    steps.back().faults.push_back({key, found, false});
  }

  // A thread races with what this warp's `lane` did before: its latest step there.
  void add_fault_of_other(const FindingKey& key, const Finding& found, int lane) {
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
      const bool is_it = step->site == key.other_site && step->object == key.object &&
                         step->lanes >> lane & 1 && step->at[lane] < found.offset + found.size &&
                         found.offset < step->at[lane] + step->size;
      if (!is_it) continue;
      note_first_fault(static_cast<int64_t>(window.first) + (steps.rend() - step) - 1);
      return step->faults.push_back({key, found, true});
    }
  }

  // Of the newest step that reaches the object; wide copies have several requests.
  void add_cost(int object, unsigned units) {
    for (auto step = steps.rbegin(); is_kept_ && step != steps.rend(); ++step) {
      if (step->object != object) continue;
      step->cost += units;
      return;
    }
  }

  // The lane's store is on its way: `keep_stored` reads the value when the lane has stopped again.
  void expect_store(int lane, const unsigned char* address) {
    stores_[lane] = {steps.size() - 1, address};
  }
  void keep_stored(int lane) {
    const Store store = stores_[lane];
    stores_[lane] = {};
    if (!store.address) return;
    RecordedStep& step = steps[store.step];
    memcpy(step.bytes[lane], store.address, step.size);
    step.known |= 1u << lane;
  }

 private:
  struct Store {
    size_t step = 0;
    const unsigned char* address = nullptr;
  };
  Store stores_[WARP_SIZE];
  struct Single {
    const char* what;
    int site;
    unsigned lanes;
    int64_t step;  // -1 outside the window
  };
  std::vector<Single> singles_;  // since the last step that lanes do together
  bool is_kept_ = false;  // the newest step

  void note_first_fault(int64_t step) {
    if (first_fault < 0 || step < first_fault) first_fault = step;
  }
};
