#include "neff/base/version.h"

const char xcc_version_text[] = XCC_VERSION; /* the build defines it */
