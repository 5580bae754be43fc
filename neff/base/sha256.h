/*
 * SHA-256 (FIPS 180-4), for those who must not need another library.
 */
#ifndef NEFF_BASE_SHA256_H
#define NEFF_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_SIZE = 32 };
void sha256(const void *data, size_t size, uint8_t digest[SHA256_SIZE]);

#endif
