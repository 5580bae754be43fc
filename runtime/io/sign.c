#include "runtime/io/sign.h"

#include "neff/archive/archive.h"
#include "neff/base/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#ifdef XCC_HOGWEED
#include <nettle/eddsa.h>
#endif

bool read_copy(const char *path, void **data, size_t *size, struct diag *d)
{
    struct mapped_file f;
    FILE *in = file_map(&f, path, d) ? fopen(path, "rb") : NULL; /* it says what is no file */
    if (!in)
        return fail(d, "%s: cannot open: %s", path, strerror(errno)), file_unmap(&f), false;
    size_t room = (f.size + 64) / 64 * 64;
    file_unmap(&f);
    *data = aligned_alloc(64, room);
    *size = *data ? fread(*data, 1, room, in) : 0;
    bool ok = *data && !ferror(in) && feof(in);
    fclose(in);
    if (ok)
        return true;
    if (!*data)
        fail_memory(d, "%s: out of memory: %zu bytes", path, room);
    else
        fail(d, "%s: cannot read: it changes", path);
    free(*data);
    return false;
}

bool check_archive(const void *data, size_t size, const char *path, struct diag *d)
{
    struct neff_file f;
    if (!neff_open_memory(&f, data, size, path, d))
        return false;
    bool ok = neff_check_hash(&f, d) || fail_in(d, "%s", path);
    neff_close(&f);
    return ok;
}

#ifdef XCC_HOGWEED

static void to_hex(const uint8_t *v, size_t n, char *text)
{
    for (size_t i = 0; i < n; i++)
        snprintf(text + 2 * i, 3, "%02x", v[i]);
    strcpy(text + 2 * n, "\n");
}

/* n bytes as hexadecimal text, and nothing else in the file. */
static bool read_hex(const char *path, uint8_t *v, size_t n, struct diag *d)
{
    struct mapped_file f;
    if (!file_map(&f, path, d))
        return false;
    size_t size = f.size;
    while (size > 0 && strchr(" \r\n\t", f.data[size - 1]))
        size--;
    bool ok = size == 2 * n;
    for (size_t i = 0; ok && i < n; i++) {
        char digits[3] = {(char)f.data[2 * i], (char)f.data[2 * i + 1], 0}, *end;
        ok = strspn(digits, "0123456789abcdefABCDEF") == 2;
        v[i] = (uint8_t)strtoul(digits, &end, 16);
    }
    file_unmap(&f);
    return ok || fail(d, "%s: expected %zu hexadecimal digits and nothing else", path, 2 * n);
}

static bool write_hex(const char *path, const uint8_t *v, size_t n, struct diag *d)
{
    char text[2 * ED25519_SIGNATURE_SIZE + 2];
    to_hex(v, n, text);
    return file_write_all(path, text, strlen(text), d);
}

static char *with_suffix(const char *path, const char *suffix)
{
    char *s = malloc(strlen(path) + strlen(suffix) + 1);
    return s ? strcat(strcpy(s, path), suffix) : NULL;
}

bool sign_new_key(const char *path, struct diag *d)
{
    uint8_t key[ED25519_KEY_SIZE], public[ED25519_KEY_SIZE];
    struct stat st;
    if (stat(path, &st) == 0)
        return fail(d, "%s: exists; keys are not replaced", path);
    if (getrandom(key, sizeof key, 0) != (ssize_t)sizeof key)
        return fail(d, "no random numbers: %s", strerror(errno));
    ed25519_sha512_public_key(public, key);
    char *name = with_suffix(path, ".pub");
    mode_t mask = umask(077);
    bool ok = name ? write_hex(path, key, sizeof key, d) : fail_memory(d, "out of memory");
    umask(mask);
    ok = ok && write_hex(name, public, sizeof public, d);
    free(name);
    memset(key, 0, sizeof key);
    return ok;
}

bool sign_archive(const char *archive, const char *key_file, struct diag *d)
{
    uint8_t key[ED25519_KEY_SIZE], public[ED25519_KEY_SIZE], signature[ED25519_SIGNATURE_SIZE];
    void *data = NULL;
    size_t size;
    if (!read_hex(key_file, key, sizeof key, d) || !read_copy(archive, &data, &size, d))
        return false;
    char *name = with_suffix(archive, ".sig");
    bool ok = check_archive(data, size, archive, d) && (name || fail_memory(d, "out of memory"));
    if (ok) {
        ed25519_sha512_public_key(public, key);
        ed25519_sha512_sign(public, key, NEFF_HEADER_SIZE, data, signature);
        ok = write_hex(name, signature, sizeof signature, d);
    }
    free(name);
    free(data);
    memset(key, 0, sizeof key);
    return ok;
}

bool check_signature(const void *data, size_t size, const char *path, const char *public_key,
                     struct diag *d)
{
    uint8_t public[ED25519_KEY_SIZE], signature[ED25519_SIGNATURE_SIZE];
    char *name = with_suffix(path, ".sig");
    bool ok = name ? read_hex(public_key, public, sizeof public, d) &&
                         read_hex(name, signature, sizeof signature, d)
                   : fail_memory(d, "out of memory");
    free(name);
    return ok && check_archive(data, size, path, d) &&
           (ed25519_sha512_verify(public, NEFF_HEADER_SIZE, data, signature) ||
            fail(d, "%s: not signed by the owner of %s", path, public_key));
}

#else

static bool no_signatures(struct diag *d)
{
    return fail(d, "this program was built without libhogweed: it cannot sign or check signatures");
}

bool sign_new_key(const char *path, struct diag *d)
{
    return no_signatures(d);
}

bool sign_archive(const char *archive, const char *key, struct diag *d)
{
    return no_signatures(d);
}

bool check_signature(const void *data, size_t size, const char *path, const char *public_key,
                     struct diag *d)
{
    return no_signatures(d);
}

#endif
