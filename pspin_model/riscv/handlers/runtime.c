/* What gcc calls by itself for copies and comparisons of memory. */
#include <stddef.h>

#pragma GCC optimize("no-tree-loop-distribute-patterns") /* or these would call themselves */
#pragma GCC visibility push(hidden) /* linked only where they are called */

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    unsigned char *t = to;
    const unsigned char *f = from;
    if ((((size_t)t | (size_t)f) & 3) == 0)
        for (; bytes >= 4; bytes -= 4, t += 4, f += 4)
            *(unsigned *)t = *(const unsigned *)f;
    while (bytes--)
        *t++ = *f++;
    return to;
}

void *memmove(void *to, const void *from, size_t bytes)
{
    unsigned char *t = to;
    const unsigned char *f = from;
    if (t <= f || t >= f + bytes)
        return memcpy(to, from, bytes);
    while (bytes--)
        t[bytes] = f[bytes];
    return to;
}

void *memset(void *to, int value, size_t bytes)
{
    unsigned char *t = to;
    while (bytes--)
        *t++ = (unsigned char)value;
    return to;
}

int memcmp(const void *one, const void *other, size_t bytes)
{
    const unsigned char *a = one, *b = other;
    for (; bytes--; a++, b++)
        if (*a != *b)
            return *a - *b;
    return 0;
}
