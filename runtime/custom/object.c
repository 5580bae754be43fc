/*
 * Object files: what can be told of them before any of their code is loaded.
 */
#include "runtime/custom/custom.h"

#include "neff/base/sha256.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

static const struct {
    int machine, class, data;
    const char *name;
} architectures[] = {
    {EM_X86_64, ELFCLASS64, ELFDATA2LSB, "x86_64"},
    {EM_AARCH64, ELFCLASS64, ELFDATA2LSB, "aarch64"},
    {243 /* EM_RISCV */, ELFCLASS64, ELFDATA2LSB, "riscv64"},
    {EM_PPC64, ELFCLASS64, ELFDATA2LSB, "ppc64le"},
    {EM_S390, ELFCLASS64, ELFDATA2MSB, "s390x"},
};

const char *machine_architecture(void)
{
    static _Thread_local struct utsname u;
    return uname(&u) == 0 ? u.machine : "unknown";
}

static bool inside(uint64_t offset, uint64_t n, size_t size)
{
    return offset <= size && n <= size - offset;
}

/* Segments lie in the file; one of them is to be loaded. */
static bool check_segments(const uint8_t *data, size_t size, const Elf64_Ehdr *h, struct diag *d)
{
    bool loads = false;
    if (h->e_phentsize != sizeof(Elf64_Phdr) ||
        !inside(h->e_phoff, (uint64_t)h->e_phnum * sizeof(Elf64_Phdr), size))
        return fail(d, "the object's table of segments lies outside the file: it is truncated");
    for (int i = 0; i < h->e_phnum; i++) {
        Elf64_Phdr s;
        memcpy(&s, data + h->e_phoff + (size_t)i * sizeof s, sizeof s);
        if (s.p_type != PT_LOAD && s.p_type != PT_DYNAMIC)
            continue;
        loads |= s.p_type == PT_LOAD;
        if (!inside(s.p_offset, s.p_filesz, size))
            return fail(d, "a segment of the object lies outside the file: it is truncated");
    }
    return loads || fail(d, "the object has nothing to load");
}

const char *object_architecture(const uint8_t *data, size_t size, struct diag *d)
{
    Elf64_Ehdr h;
    const char *name = NULL;
    if (size < sizeof h || memcmp(data, ELFMAG, SELFMAG) != 0) {
        fail(d, "it is no shared object (ELF)");
        return NULL;
    }
    memcpy(&h, data, sizeof h);
    for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++)
        if (h.e_machine == architectures[i].machine &&
            h.e_ident[EI_CLASS] == architectures[i].class &&
            h.e_ident[EI_DATA] == architectures[i].data)
            name = architectures[i].name;
    if (!name) {
        fail(d, "it is an object for a machine that is not known (number %d, %d bits)", h.e_machine,
             h.e_ident[EI_CLASS] == ELFCLASS64 ? 64 : 32);
        return NULL;
    }
    if (!strcmp(name, machine_architecture())) {
        if (h.e_type != ET_DYN) {
            fail(d, "it is no shared object: link it with -shared");
            return NULL;
        }
        return check_segments(data, size, &h, d) ? name : NULL;
    }
    return name;
}

void custom_hash(const void *data, size_t size, char hash[CUSTOM_HASH + 1])
{
    uint8_t digest[SHA256_SIZE];
    sha256(data, size, digest);
    for (int i = 0; i < SHA256_SIZE; i++)
        snprintf(hash + 2 * i, 3, "%02x", digest[i]);
}
