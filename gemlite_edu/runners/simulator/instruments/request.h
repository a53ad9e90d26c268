// One request: what some lanes of a warp ask of memory with one instruction, and what that costs.
#pragma once
#include <stdint.h>

#include <algorithm>

#include "../runner/lanes.h"

constexpr int SECTOR_BYTES = 32;
constexpr int BANKS = 32;
constexpr int WORD_BYTES = 4;  // 1 << 2

struct Request {
  int lanes = 0;                // that take part, in rising order
  int lane[WARP_SIZE];
  int64_t offset[WARP_SIZE];    // of each lane's first byte in the tensor or shared array
  unsigned size = 0;            // bytes that each lane asks for

  void add(int lane_id, int64_t first_byte) {
    lane[lanes] = lane_id;
    offset[lanes++] = first_byte;
  }
};

struct Cost {
  unsigned asked = 0;  // distinct bytes
  unsigned units = 0;  // sectors of global memory, wavefronts of shared memory
  unsigned least = 0;  // units that as many lanes need where nothing conflicts
};

inline unsigned distinct(int64_t* begin, int64_t* end) {
  if (!std::is_sorted(begin, end)) std::sort(begin, end);
  return static_cast<unsigned>(std::unique(begin, end) - begin);
}

inline unsigned distinct_bytes(const Request& r) {
  int64_t first[WARP_SIZE];
  std::copy(r.offset, r.offset + r.lanes, first);
  if (!std::is_sorted(first, first + r.lanes)) std::sort(first, first + r.lanes);
  int64_t end = INT64_MIN;
  unsigned bytes = 0;
  for (int i = 0; i < r.lanes; ++i) {
    const int64_t last = first[i] + r.size;
    if (last > end) bytes += static_cast<unsigned>(last - std::max(end, first[i]));
    end = std::max(end, last);
  }
  return bytes;
}

// Global memory moves the 32-byte sectors that the lanes' bytes touch.
inline Cost global_cost(const Request& r) {
  int64_t sectors[2 * WARP_SIZE];
  int count = 0;
  for (int i = 0; i < r.lanes; ++i) {
    const int64_t first = r.offset[i] & ~int64_t(SECTOR_BYTES - 1);
    sectors[count++] = first;
    if (r.offset[i] + r.size > first + SECTOR_BYTES) sectors[count++] = first + SECTOR_BYTES;
  }
  Cost cost;
  cost.asked = distinct_bytes(r);
  cost.units = distinct(sectors, sectors + count);
  cost.least = (cost.asked + SECTOR_BYTES - 1) / SECTOR_BYTES;
  return cost;
}

// Distinct words in the fullest bank, among the lanes from `begin` to `end`.
inline unsigned words_in_fullest_bank(const Request& r, int begin, int end) {
  int64_t words[WARP_SIZE * 4];
  int count = 0;
  for (int i = begin; i < end; ++i) {
    const int64_t last = (r.offset[i] + r.size - 1) >> 2;  // offsets before the array are negative
    for (int64_t word = r.offset[i] >> 2; word <= last; ++word) words[count++] = word;
  }
  unsigned in_bank[BANKS] = {}, fullest = 0;
  const unsigned number = distinct(words, words + count);
  for (unsigned i = 0; i < number; ++i) {
    fullest = std::max(fullest, ++in_bank[words[i] & (BANKS - 1)]);
  }
  return fullest;
}

// Each lane asks for what the lane with the number `lane ^ flip` asks for, if that takes part.
inline bool partners_agree(const Request& r, int flip) {
  int64_t offset_of[WARP_SIZE];
  unsigned active = 0;
  for (int i = 0; i < r.lanes; ++i) {
    active |= 1u << r.lane[i];
    offset_of[r.lane[i]] = r.offset[i];
  }
  for (int i = 0; i < r.lanes; ++i) {
    const int partner = r.lane[i] ^ flip;
    if (active >> partner & 1 && offset_of[partner] != r.offset[i]) return false;
  }
  return true;
}

// Shared memory serves one word of each bank in a wavefront, and equal words are broadcast. Lanes
// take their turns 32 at a time, 16 with accesses of 8 bytes, 8 with 16 bytes. Wide loads take
// twice as many if all neighbours, or all lanes two apart, ask for the same.
inline Cost shared_cost(const Request& r, bool writes) {
  int lanes_per_turn = r.size <= WORD_BYTES ? WARP_SIZE : 128 / static_cast<int>(r.size);
  const bool is_wide_load = r.size > WORD_BYTES && !writes;
  if (is_wide_load && (partners_agree(r, 1) || partners_agree(r, 2))) lanes_per_turn *= 2;
  Cost cost;
  cost.asked = distinct_bytes(r);
  for (int begin = 0; begin < r.lanes;) {
    int end = begin;
    while (end < r.lanes && r.lane[end] / lanes_per_turn == r.lane[begin] / lanes_per_turn) ++end;
    cost.units += words_in_fullest_bank(r, begin, end);
    ++cost.least;
    begin = end;
  }
  return cost;
}
