// CUDA's vectors, char1 to double4. A vector whose size is a power of two is read and written whole,
// by accesses of up to 16 bytes, as a GPU does: its copies go through a type of that width.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "cooperation.h"

template <size_t bytes>
struct SimWhole;
template <> struct SimWhole<1> { typedef uint8_t type __attribute__((may_alias)); };
template <> struct SimWhole<2> { typedef uint16_t type __attribute__((may_alias)); };
template <> struct SimWhole<4> { typedef uint32_t type __attribute__((may_alias)); };
template <> struct SimWhole<8> { typedef uint64_t type __attribute__((may_alias)); };
template <> struct SimWhole<16> {
  typedef uint64_t type __attribute__((may_alias, vector_size(16)));
};
template <typename T>
auto sim_copy_whole(T* to, const T* from) {
#ifdef SIM_SPLIT_VECTORS  // field by field, to see which fields are used
  to->copy_fields(*from);
#else
  constexpr size_t bytes = sizeof(T) < 16 ? sizeof(T) : 16;
  using Whole = typename SimWhole<bytes>::type;
  const Whole* source = reinterpret_cast<const Whole*>(from);
  Whole* target = reinterpret_cast<Whole*>(to);
  target[0] = source[0];
  if constexpr (sizeof(T) > 16) target[1] = source[1];
#endif
}

constexpr size_t sim_vector_alignment(size_t bytes) { return bytes < 16 ? bytes : 16; }

// Takes a field's value only in braces: float4 v = {1}, and not float4 v = 1.
template <typename T>
struct SimField {
  T value;
  constexpr SimField(T v) : value(v) {}
};
#define SIM_COPIED_WHOLE(NAME)                       \
  NAME() = default;                                  \
  NAME(const NAME& other) noexcept { sim_copy_whole(this, &other); } \
  NAME& operator=(const NAME& other) noexcept {      \
    sim_copy_whole(this, &other);                    \
    return *this;                                    \
  }
#define SIM_VECTOR1(NAME, T) \
  struct NAME { T x; };      \
  inline NAME make_##NAME(T x) { return {x}; }
#define SIM_VECTOR2(NAME, T)                                        \
  struct alignas(sim_vector_alignment(2 * sizeof(T))) NAME {        \
    using SimVector = NAME;                                         \
    T x, y;                                                         \
    constexpr NAME(SimField<T> a) : x(a.value), y(0) {}             \
    constexpr NAME(T a, T b) : x(a), y(b) {}                        \
    void copy_fields(const NAME& o) { x = o.x, y = o.y; }           \
    SIM_COPIED_WHOLE(NAME)                                          \
  };                                                                \
  inline NAME make_##NAME(T a, T b) { return {a, b}; }
// Three fields are three accesses: such a vector is aligned as its fields are.
#define SIM_VECTOR3(NAME, T)                                        \
  struct NAME {                                                     \
    using SimVector = NAME;                                         \
    T x, y, z;                                                      \
    NAME() = default;                                               \
    constexpr NAME(SimField<T> a) : x(a.value), y(0), z(0) {}       \
    constexpr NAME(T a, T b, T c = 0) : x(a), y(b), z(c) {}         \
    NAME(const NAME& o) noexcept : x(o.x), y(o.y), z(o.z) {}        \
    NAME& operator=(const NAME& o) noexcept {                       \
      x = o.x, y = o.y, z = o.z;                                    \
      return *this;                                                 \
    }                                                               \
  };                                                                \
  inline NAME make_##NAME(T a, T b, T c) { return {a, b, c}; }
#define SIM_VECTOR4(NAME, T)                                        \
  struct alignas(sim_vector_alignment(4 * sizeof(T))) NAME {        \
    using SimVector = NAME;                                         \
    T x, y, z, w;                                                   \
    constexpr NAME(SimField<T> a) : x(a.value), y(0), z(0), w(0) {} \
    constexpr NAME(T a, T b, T c = 0, T d = 0) : x(a), y(b), z(c), w(d) {} \
    void copy_fields(const NAME& o) { x = o.x, y = o.y, z = o.z, w = o.w; } \
    SIM_COPIED_WHOLE(NAME)                                          \
  };                                                                \
  inline NAME make_##NAME(T a, T b, T c, T d) { return {a, b, c, d}; }

#define SIM_VECTORS(NAME, T) \
  SIM_VECTOR1(NAME##1, T)    \
  SIM_VECTOR2(NAME##2, T)    \
  SIM_VECTOR3(NAME##3, T)    \
  SIM_VECTOR4(NAME##4, T)
SIM_VECTORS(char, signed char)
SIM_VECTORS(uchar, unsigned char)
SIM_VECTORS(short, short)
SIM_VECTORS(ushort, unsigned short)
SIM_VECTORS(int, int)
SIM_VECTORS(long, long)
SIM_VECTORS(ulong, unsigned long)
SIM_VECTORS(longlong, long long)
SIM_VECTORS(ulonglong, unsigned long long)
SIM_VECTORS(float, float)
SIM_VECTORS(double, double)
SIM_VECTOR1(uint1, unsigned)
SIM_VECTOR2(uint2, unsigned)
SIM_VECTOR4(uint4, unsigned)
inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
