#include "frontend/standalone/standalone.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

bool make_folder(const char *path, struct diag *d)
{
    return mkdir(path, 0777) == 0 || errno == EEXIST ||
           fail(d, "%s: cannot make the folder: %s", path, strerror(errno));
}
