// Products, averages and sums of integers. CUDA Math API, "Integer Intrinsics".
#pragma once
#include "bit_intrinsics.h"
#include "vectors.h"

inline unsigned umin(unsigned a, unsigned b) { return a < b ? a : b; }
inline unsigned umax(unsigned a, unsigned b) { return a < b ? b : a; }
inline long long llmin(long long a, long long b) { return a < b ? a : b; }
inline long long llmax(long long a, long long b) { return a < b ? b : a; }
inline unsigned long long ullmin(unsigned long long a, unsigned long long b) { return a < b ? a : b; }
inline unsigned long long ullmax(unsigned long long a, unsigned long long b) { return a < b ? b : a; }

// The low 32 bits of the product of the low 24 bits, signed or not.
inline int sim_low_24(int value) { return static_cast<int>(static_cast<unsigned>(value) << 8) >> 8; }
inline int __mul24(int a, int b) {
  return static_cast<int>(static_cast<int64_t>(sim_low_24(a)) * sim_low_24(b));
}
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xFFFFFFu) * (b & 0xFFFFFFu); }

// The upper half of the product.
inline int __mulhi(int a, int b) { return static_cast<int>(static_cast<int64_t>(a) * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<uint64_t>(a) * b >> 32);
}
inline long long __mul64hi(long long a, long long b) {
  return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}

// Averages rounded down, and rounded up, without overflow.
inline int __hadd(int a, int b) { return static_cast<int>((static_cast<int64_t>(a) + b) >> 1); }
inline int __rhadd(int a, int b) { return static_cast<int>((static_cast<int64_t>(a) + b + 1) >> 1); }
inline unsigned __uhadd(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<uint64_t>(a) + b) >> 1);
}
inline unsigned __urhadd(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<uint64_t>(a) + b + 1) >> 1);
}

// |a - b| + c, modulo 2^32.
inline unsigned __sad(int a, int b, unsigned c) {
  const int64_t difference = static_cast<int64_t>(a) - b;
  return c + static_cast<unsigned>(difference < 0 ? -difference : difference);
}
inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return c + (a < b ? b - a : a - b); }

// Four products of bytes, signed or not, added to c.
inline int __dp4a(char4 a, char4 b, int c) {
  return static_cast<int>(static_cast<unsigned>(c) +
                          static_cast<unsigned>(a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w));
}
inline unsigned __dp4a(uchar4 a, uchar4 b, unsigned c) {
  return c + static_cast<unsigned>(a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w);
}
inline int __dp4a(int a, int b, int c) { return __dp4a(sim_as<char4>(a), sim_as<char4>(b), c); }
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  return __dp4a(sim_as<uchar4>(a), sim_as<uchar4>(b), c);
}

// Two products of a halfword of a and a byte of the lower, or upper, half of b, added to c.
inline int sim_dp2a(short2 a, int x, int y, int c) {
  return static_cast<int>(static_cast<unsigned>(c) + static_cast<unsigned>(a.x * x + a.y * y));
}
inline unsigned sim_dp2a(ushort2 a, unsigned x, unsigned y, unsigned c) { return c + a.x * x + a.y * y; }
inline int __dp2a_lo(short2 a, char4 b, int c) { return sim_dp2a(a, b.x, b.y, c); }
inline int __dp2a_hi(short2 a, char4 b, int c) { return sim_dp2a(a, b.z, b.w, c); }
inline unsigned __dp2a_lo(ushort2 a, uchar4 b, unsigned c) { return sim_dp2a(a, b.x, b.y, c); }
inline unsigned __dp2a_hi(ushort2 a, uchar4 b, unsigned c) { return sim_dp2a(a, b.z, b.w, c); }
inline int __dp2a_lo(int a, int b, int c) { return __dp2a_lo(sim_as<short2>(a), sim_as<char4>(b), c); }
inline int __dp2a_hi(int a, int b, int c) { return __dp2a_hi(sim_as<short2>(a), sim_as<char4>(b), c); }
inline unsigned __dp2a_lo(unsigned a, unsigned b, unsigned c) {
  return __dp2a_lo(sim_as<ushort2>(a), sim_as<uchar4>(b), c);
}
inline unsigned __dp2a_hi(unsigned a, unsigned b, unsigned c) {
  return __dp2a_hi(sim_as<ushort2>(a), sim_as<uchar4>(b), c);
}
