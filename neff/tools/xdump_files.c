/*
 * xdump --extract: members and constants as files.
 */
#include "neff/tools/xdump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool make_folder(const char *path, struct diag *d)
{
    return !mkdir(path, 0777) || errno == EEXIST ||
           fail(d, "%s: cannot make the folder: %s", path, strerror(errno));
}

/* Members come from a file: only plain relative names are written. */
static bool safe_name(const char *name)
{
    if (!*name || *name == '/')
        return false;
    for (const char *s = name; s; s = strchr(s, '/')) {
        s += *s == '/';
        if (!*s || *s == '/' || !strncmp(s, "../", 3) || !strcmp(s, "..") || !strncmp(s, "./", 2) ||
            !strcmp(s, "."))
            return false;
    }
    return true;
}

static bool write_member(struct dump *u, const char *folder, const struct neff_member *m,
                         struct diag *d)
{
    if (!safe_name(m->name))
        return fail(d, "member '%s': its name leaves the folder", m->name);
    char *path = arena_printf(&u->scratch, "%s/%s", folder, m->name);
    for (char *slash = strchr(path + strlen(folder) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (!make_folder(path, d))
            return false;
        *slash = '/';
    }
    return file_write_all(path, m->data, m->size, d);
}

/* NumPy's format 1.0; types it lacks as bit patterns. */
static bool write_npy(struct dump *u, const char *path, const struct tensor *t, struct diag *d)
{
    const char *shape = "";
    for (int i = 0; i < t->rank; i++)
        shape = arena_printf(&u->scratch, "%s%lld,%s", shape, (long long)t->dims[i],
                             i + 1 < t->rank ? " " : "");
    const char *dict =
        arena_printf(&u->scratch, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }",
                     dtype_info(t->dtype)->npy, shape);
    size_t length = (10 + strlen(dict) + 1 + 63) / 64 * 64 - 10;
    if (length > UINT16_MAX)
        return fail(d, "%s: header too long", path);
    const uint8_t head[10] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (uint8_t)length, (uint8_t)(length >> 8)};
    struct out_file o;
    if (!out_open(&o, path, d))
        return false;
    fwrite(head, 1, sizeof head, o.f);
    fprintf(o.f, "%-*s\n", (int)length - 1, dict);
    if (tensor_bytes(t))
        fwrite(t->data, 1, tensor_bytes(t), o.f);
    return out_commit(&o, d);
}

static bool write_constants(struct dump *u, const char *folder, struct diag *d)
{
    const char *constants = arena_printf(&u->scratch, "%s/constants", folder);
    if (!make_folder(constants, d))
        return false;
    for (int i = 0; i < u->p->nslots; i++) {
        const struct slot *s = &u->p->slots[i];
        if (s->kind != SLOT_CONST || s->data.dtype == DT_STR)
            continue;
        char *name = arena_printf(&u->scratch, "%d%s%.100s", i, s->name && *s->name ? "_" : "",
                                  s->name ? s->name : "");
        for (char *c = name; *c; c++)
            if (*c == '/' || *c == ':' || *c == '\\' || (unsigned char)*c < 0x20)
                *c = '_';
        if (!write_npy(u, arena_printf(&u->scratch, "%s/%s.npy", constants, name), &s->data, d))
            return false;
    }
    return true;
}

bool dump_extract(struct dump *u, const char *folder, struct diag *d)
{
    if (!make_folder(folder, d))
        return false;
    for (int i = 0; i < u->file->nmembers; i++)
        if (!write_member(u, folder, &u->file->members[i], d))
            return false;
    return write_constants(u, folder, d);
}
