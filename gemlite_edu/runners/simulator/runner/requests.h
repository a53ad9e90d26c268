// What the host asks this process to launch, again and again: a request comes on its original stdin as
// words that each end with a 0 byte; an empty word ends it.
//
//   TIME_LIMIT ORDER SPOILED GRID_X GRID_Y SHARED_BYTES BLOCK WARP FIRST COUNT ARGUMENT...
//   ORDER    = 0 for lock step, or the seed of another order, see mixed_order.h
//   SPOILED  = what is spoiled on purpose, see spoiled.h
//   BLOCK WARP FIRST COUNT = the window of steps to record, see recording.h
//   ARGUMENT = p:NAME:OFFSET:BYTES:ELEMENT_BYTES:ACCESS   tensor in the memfd, ACCESS r or w
//            | i:VALUE                                    32-bit integer
//            | n                                          null pointer
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "../instruments/mixed_order.h"
#include "../instruments/recording.h"
#include "lanes.h"
#include "spoiled.h"
#include "tensors.h"
#include "time_limit.h"

inline FILE* requests;
// A kernel that reads its stdin finds nothing there.
inline void keep_stdin_for_requests() {
  requests = fdopen(dup(STDIN_FILENO), "r");
  if (!freopen("/dev/null", "r", stdin)) report("load /dev/null");
}

// No words if the host wants no more.
inline std::vector<std::string> read_words() {
  static char* word = nullptr;
  static size_t room = 0;
  std::vector<std::string> words;
  while (getdelim(&word, &room, 0, requests) > 1) words.emplace_back(word);
  return words;
}

inline std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> fields(1);
  for (char c : text) {
    if (c == ':') fields.emplace_back();
    else fields.back() += c;
  }
  return fields;
}

inline void take_arguments(int memfd, const std::vector<std::string>& words, size_t first) {
  static std::vector<int32_t> integers;
  unmap_tensors();
  launch.arguments.clear();
  integers.assign(words.size(), 0);
  tensors.reserve(words.size());  // launch.arguments points into both
  for (size_t i = first; i < words.size(); ++i) {
    const auto fields = split(words[i]);
    if (fields[0] == "i") {
      integers[i] = std::stoi(fields[1]);
      launch.arguments.push_back(&integers[i]);
    } else if (fields[0] == "n") {
      static void* null_pointer = nullptr;
      launch.arguments.push_back(&null_pointer);
    } else {
      tensors.push_back(map_tensor(memfd, fields[1], std::stoull(fields[2]), std::stoull(fields[3]),
                                   fields[5][0], std::stoll(fields[4])));
      launch.arguments.push_back(&tensors.back().data);
    }
  }
}

// False if there is none.
inline bool take_request(int memfd) {
  const auto words = read_words();
  if (words.empty()) return false;
  const auto number = [&words](size_t i) { return std::stoul(words[i]); };
  time_limit = std::stod(words[0]);
  seed_of_order = number(1);
  spoiled = number(2);
  launch.grid_x = static_cast<unsigned>(number(3));
  launch.grid_y = static_cast<unsigned>(number(4));
  launch.shared_bytes = number(5);
  window = {static_cast<unsigned>(number(6)), static_cast<int>(number(7)), number(8), number(9)};
  take_arguments(memfd, words, 10);
  return true;
}
