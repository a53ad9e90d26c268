// CUDA's vectors are plain structs. Here they are copied by functions of their own (vectors.h), and
// <type_traits> must not tell: these are the questions that it asks the compiler.
#pragma once

// Vectors say `using SimVector = their own type;`, which a class that derives from one does not.
template <typename T, typename = T>
struct SimIsVector { static constexpr bool value = false; };
template <typename T>
struct SimIsVector<T, typename T::SimVector> { static constexpr bool value = true; };
template <typename T>
struct SimIsVector<const T, const typename T::SimVector> { static constexpr bool value = true; };

template <typename To, typename... From>
struct SimCopiesVector { static constexpr bool value = false; };
template <typename T>
struct SimCopiesVector<T, const T&> : SimIsVector<T> {};
template <typename T>
struct SimCopiesVector<T, T&&> : SimIsVector<T> {};
template <typename T>
struct SimCopiesVector<T&, const T&> : SimIsVector<T> {};
template <typename T>
struct SimCopiesVector<T&, T&&> : SimIsVector<T> {};

#define __is_trivially_copyable(T) (__is_trivially_copyable(T) || SimIsVector<T>::value)
#define __is_trivial(T) (__is_trivial(T) || SimIsVector<T>::value)
#define __is_pod(T) (__is_pod(T) || SimIsVector<T>::value)
#define __is_aggregate(T) (__is_aggregate(T) || SimIsVector<T>::value)
#define __is_trivially_constructible(...) \
  (__is_trivially_constructible(__VA_ARGS__) || SimCopiesVector<__VA_ARGS__>::value)
#define __is_trivially_assignable(...) \
  (__is_trivially_assignable(__VA_ARGS__) || SimCopiesVector<__VA_ARGS__>::value)
#include <type_traits>
#undef __is_trivially_copyable
#undef __is_trivial
#undef __is_pod
#undef __is_aggregate
#undef __is_trivially_constructible
#undef __is_trivially_assignable
