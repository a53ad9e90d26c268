// Groups of threads: a block, parts of a warp. CUDA C++ Programming Guide, "Cooperative Groups".
#pragma once
#include "cuda_runtime.h"

namespace cooperative_groups {

class thread_block {
 public:
  void sync() const { __syncthreads(); }
  unsigned thread_rank() const {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  }
  unsigned num_threads() const { return blockDim.x * blockDim.y * blockDim.z; }
  unsigned size() const { return num_threads(); }
  dim3 group_index() const { return blockIdx; }
  dim3 thread_index() const { return threadIdx; }
  dim3 group_dim() const { return blockDim; }
  dim3 dim_threads() const { return blockDim; }
};
inline thread_block this_thread_block() { return {}; }

// Lanes of one warp: those whose bits are set.
class SimLanes {
 public:
  explicit SimLanes(unsigned mask) : mask_(mask) {}
  void sync() const { __syncwarp(mask_); }
  unsigned num_threads() const { return static_cast<unsigned>(__popc(mask_)); }
  unsigned size() const { return num_threads(); }
  unsigned thread_rank() const {
    return static_cast<unsigned>(__popc(mask_ & ((1u << sim_lane()) - 1)));
  }

  template <typename T>
  T shfl(T value, unsigned rank) const { return from(value, rank % size()); }
  template <typename T>
  T shfl_down(T value, unsigned delta) const { return from(value, thread_rank() + delta); }
  template <typename T>
  T shfl_up(T value, unsigned delta) const { return from(value, thread_rank() - delta); }
  int any(int predicate) const { return __any_sync(mask_, predicate); }
  int all(int predicate) const { return __all_sync(mask_, predicate); }
  unsigned ballot(int predicate) const { return by_rank(__ballot_sync(mask_, predicate)); }
  template <typename T>
  unsigned match_any(T value) const { return by_rank(__match_any_sync(mask_, value)); }
  template <typename T>
  unsigned match_all(T value, int& predicate) const {
    return by_rank(__match_all_sync(mask_, value, &predicate));
  }
  template <typename T, typename Operation>
  T sim_reduced(T value, Operation operation) const { return sim_reduce(mask_, value, operation); }

 protected:
  // A rank that no lane has means the lane's own value.
  template <typename T>
  T from(T value, unsigned rank) const {
    const int lane = rank < size() ? static_cast<int>(__fns(mask_, 0, static_cast<int>(rank) + 1)) : sim_lane();
    return sim_shuffle(mask_, value, lane);
  }
  // Bit r of the result is the bit of the lane with rank r.
  unsigned by_rank(unsigned lanes) const {
    unsigned result = 0, rank = 0;
    for (unsigned lane = 0; lane < 32; ++lane) {
      if (mask_ >> lane & 1) result |= (lanes >> lane & 1) << rank++;
    }
    return result;
  }

 private:
  unsigned mask_;
};

template <unsigned Size, typename Parent = void>
class thread_block_tile : public SimLanes {
  static_assert(Size && Size <= 32 && (Size & (Size - 1)) == 0, "the simulator has tiles of up to 32 threads");

 public:
  thread_block_tile() : SimLanes((Size == 32 ? ~0u : (1u << Size) - 1) << first_lane()) {}
  static constexpr unsigned num_threads() { return Size; }
  static constexpr unsigned size() { return Size; }
  unsigned meta_group_rank() const { return this_thread_block().thread_rank() / Size; }
  unsigned meta_group_size() const { return (this_thread_block().size() + Size - 1) / Size; }
  template <typename T>
  T shfl_xor(T value, unsigned lane_mask) const { return this->from(value, this->thread_rank() ^ lane_mask); }

 private:
  static unsigned first_lane() { return static_cast<unsigned>(sim_lane()) & ~(Size - 1); }
};
template <unsigned Size, typename Parent>
thread_block_tile<Size, Parent> tiled_partition(const Parent&) { return {}; }

class coalesced_group : public SimLanes {
 public:
  coalesced_group() : SimLanes(__activemask()) {}
};
inline coalesced_group coalesced_threads() { return {}; }

template <typename Group>
void sync(const Group& group) { group.sync(); }
template <typename Group>
unsigned thread_rank(const Group& group) { return group.thread_rank(); }
template <typename Group>
unsigned group_size(const Group& group) { return group.size(); }

}  // namespace cooperative_groups
