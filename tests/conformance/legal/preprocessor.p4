//# top: conditions
#if 0
this is skipped $ ` "
#elif defined(X) || !defined Y && (1 + 1 == 2)
const bit<8> k = 1;
#else
nor this
#endif
//# top: macros
#define N 8
#define ADD(a, b) ((a) + (b))
#define T(n) bit<n>
const T(N) k = ADD(1, ADD(2, 3));
//# top: pasted and made into text
#define NAME(a) a##_t
#define TEXT(a) #a
struct NAME(s) { bit<8> a; } const string s = TEXT(a b);
//# top: over several lines
#define LONG 1 + \
    2
const int k = LONG;
//# top: undefined and defined anew
#define A 1
#undef A
#define A 2
const int k = A;
//# top: a macro that names itself
#define k k
const int k = 1;
//# top: a comment in a macro
#define A 1 /* one */ // first
const int k = A;
//# top: nested conditions
#ifdef A
#if 1
wrong
#endif
#else
#ifndef A
const int k = 1;
#endif
#endif
//# top: arguments with commas in brackets
#define F(a) a
struct s_t { bit<8> a; bit<8> b; } const s_t k = F(({ 1, 2 }));
//# top: variadic macros
#define F(a, ...) a + __VA_ARGS__
const int k = F(1, 2);
//# top: line and file
#line 100 "other.p4"
const string s = __FILE__; const int k = __LINE__;
//# top: lines with # that mean nothing
#pragma once
#ident "x"
const int k = 1;
//# top: remarks as in Python
# don't stop "here
  #1. look up, 2. forward
# 12 bytes
const int k = 1;
//# top: apostrophes in comments
// it's fine
/* don't */ const int k = 1;
//# core: an include twice
#include <core.p4>
const int k = 1;
