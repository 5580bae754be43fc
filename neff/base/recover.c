#include "neff/base/recover.h"

#include "neff/base/file.h"

#include <stdio.h>
#include <stdlib.h>

static _Thread_local struct recovery *innermost;

void recovery_begin(struct recovery *r)
{
    r->outer = innermost;
    innermost = r;
}

void recovery_end(struct recovery *r)
{
    innermost = r->outer;
}

void recovery_out_of_memory(size_t bytes)
{
    struct recovery *r = innermost;
    if (r) {
        innermost = r->outer;
        longjmp(r->at, 1);
    }
    out_remove_temporaries();
    fprintf(stderr, "out of memory: could not get %zu bytes\n", bytes);
    exit(1); /* of a program: calls of the libraries have begun a recovery */
}
