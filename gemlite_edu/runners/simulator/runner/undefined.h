// What -fsanitize=undefined calls where a kernel does what C++ leaves undefined. The structs are
// those that the compiler writes down for each place (GCC's libsanitizer, ubsan_handlers.h).
#pragma once
#include <math.h>

#include "../instruments/instruments.h"
#include "address_spaces.h"

struct SanitizedPlace {
  const char* file;
  uint32_t line, column;
};
struct SanitizedType {
  enum Kind : uint16_t { INTEGER, FLOAT } kind;
  uint16_t info;  // of an integer: twice the logarithm of its bits, odd if it is signed
  char name[1];   // in quotes

  unsigned bits() const { return 1u << (info >> 1); }
  bool is_signed() const { return info & 1; }
};
// An integer's value, in the register that holds it.
inline int64_t signed_value(const SanitizedType& type, uintptr_t given) {
  if (type.bits() > 64) return *reinterpret_cast<const int64_t*>(given);
  const unsigned unused = 64 - type.bits();
  const auto raised = static_cast<int64_t>(static_cast<uint64_t>(given) << unused);
  return type.is_signed() ? raised >> unused : static_cast<int64_t>(static_cast<uint64_t>(raised) >> unused);
}

struct ShiftPlace {
  SanitizedPlace place;
  const SanitizedType *number, *count;
};
struct ArithmeticPlace {
  SanitizedPlace place;
  const SanitizedType* type;
};
struct IndexPlace {
  SanitizedPlace place;
  const SanitizedType *array, *index;
};
struct CastTypes {
  const SanitizedType *from, *to;
};

#define SIM_PLACE __builtin_return_address(0)

inline void stop_undefined(void* place, const char* what) {
  interrupted_at = reinterpret_cast<uintptr_t>(place) - 1;
  report("undefined %u %u %d %s", sim_here.block_index.x, sim_here.block_index.y, block->current, what);
}

inline void stop_at_overflow(void* place, const SanitizedType& type, const char* operation,
                             int64_t a, int64_t b) {
  char what[128];
  snprintf(what, sizeof what, "%s %u %" PRId64 " %" PRId64, operation, type.bits(), a, b);
  stop_undefined(place, what);
}

// Some versions of the compiler put the place before the types (libubsan does the same test).
inline const CastTypes& cast_types(const void* data) {
  const auto* first = *static_cast<const unsigned char* const*>(data);
  const bool is_type = first[0] + first[1] < 2 || first[0] == 0xFF || first[1] == 0xFF;
  const auto* types = static_cast<const unsigned char*>(data) + (is_type ? 0 : sizeof(SanitizedPlace));
  return *reinterpret_cast<const CastTypes*>(types);
}

inline double floating_value(const SanitizedType& type, uintptr_t given) {
  float narrow;
  double wide;
  memcpy(&narrow, &given, sizeof narrow);
  memcpy(&wide, &given, sizeof wide);
  return type.info == 32 ? narrow : type.info == 64 ? wide : static_cast<double>(NAN);
}

// An access of a shared array tells more, when it comes; of any other array only this call tells.
inline void note_overrun(const IndexPlace& data, uintptr_t index, void* place) {
  if (!watch) return;
  Overrun& overrun = watch->lanes[static_cast<size_t>(block->current)].overrun;
  if (!overrun.place) overrun = {place, signed_value(*data.index, index), data.array->name};
}

extern "C" {
void __ubsan_handle_shift_out_of_bounds_abort(ShiftPlace* data, uintptr_t, uintptr_t count) {
  char what[64];
  snprintf(what, sizeof what, "shift %u %" PRId64, data->number->bits(), signed_value(*data->count, count));
  stop_undefined(SIM_PLACE, what);
}
void __ubsan_handle_divrem_overflow_abort(ArithmeticPlace* data, uintptr_t a, uintptr_t b) {
  if (signed_value(*data->type, b) == 0) stop_undefined(SIM_PLACE, "zero");
  stop_at_overflow(SIM_PLACE, *data->type, "/", signed_value(*data->type, a), signed_value(*data->type, b));
}
void __ubsan_handle_negate_overflow_abort(ArithmeticPlace* data, uintptr_t a) {
  stop_at_overflow(SIM_PLACE, *data->type, "-", 0, signed_value(*data->type, a));
}
#define SIM_OVERFLOW(NAME, SIGN)                                                                 \
  void __ubsan_handle_##NAME##_overflow_abort(ArithmeticPlace* data, uintptr_t a, uintptr_t b) { \
    stop_at_overflow(SIM_PLACE, *data->type, SIGN, signed_value(*data->type, a),                 \
                     signed_value(*data->type, b));                                              \
  }
SIM_OVERFLOW(add, "+")
SIM_OVERFLOW(sub, "-")
SIM_OVERFLOW(mul, "*")
#undef SIM_OVERFLOW
void __ubsan_handle_float_cast_overflow_abort(void* data, uintptr_t given) {
  const CastTypes& types = cast_types(data);
  char what[64];
  snprintf(what, sizeof what, "cast %.9g %d %u", floating_value(*types.from, given),
           types.to->is_signed(), types.to->bits());
  stop_undefined(SIM_PLACE, what);
}
void __ubsan_handle_load_invalid_value_abort(void*, uintptr_t value) {
  char what[64];
  snprintf(what, sizeof what, "bool %u", static_cast<unsigned char>(value));
  stop_undefined(SIM_PLACE, what);
}
void sim_break_promise(const char* kind) { stop_undefined(SIM_PLACE, kind); }
void __ubsan_handle_builtin_unreachable(SanitizedPlace*) { stop_undefined(SIM_PLACE, "unreachable"); }
void __ubsan_handle_out_of_bounds(IndexPlace* data, uintptr_t index) {
  note_overrun(*data, index, SIM_PLACE);
}
// Of an access that does not fit into the variable that its pointer comes from. The instruments
// see those in shared and global memory.
void __ubsan_handle_type_mismatch_v1(void*, const void* address) {
  const bool is_seen = is_shared(address, 1) || find_tensor(address);
  if (!watch || is_seen || !address) return;
  watch->stop_after_overrun(block->current);
  stop_undefined(SIM_PLACE, "object");
}
}
