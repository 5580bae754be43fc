/* The version of this build, as --version and archives tell it. */
#ifndef NEFF_BASE_VERSION_H
#define NEFF_BASE_VERSION_H

extern const char xcc_version_text[];

#endif
