/*
 * What operators need of other libraries, each in a shared object of its own, libxrt_NAME.so, that
 * is loaded when a model asks for it: libxrt itself needs the C library only, and does without any
 * of them.
 *
 * A plugin is one file of this folder, which defines one function, PLUGIN(NAME) of plugins.def, and
 * uses nothing of libxrt but picture.c and diag.c, which it contains. It is looked for in the folders of
 * $XRT_PLUGIN_PATH, beside libxrt and the program, where the build and the installation have it,
 * and where the system looks for libraries.
 */
#ifndef RUNTIME_PLUGINS_PLUGIN_H
#define RUNTIME_PLUGINS_PLUGIN_H

#include "neff/base/diag.h"
#include "neff/core/tensor.h"
#include "runtime/plugins/picture.h"

/* Bytes from..to of string i match; false ends the search. */
typedef bool (*plugin_found_fn)(void *user, int64_t i, size_t from, size_t to);

enum plugin {
#define PLUGIN(name, library, result, parameters) PLUGIN_##name,
#include "runtime/plugins/plugins.def"
    PLUGIN_COUNT
};

/* The types of the plugins' functions, plugin_NAME_fn, and the functions under the names by which
 * they are found. The number is that of this interface: another version's plugin is not found. */
#define PLUGIN(name, library, result, parameters)                                                  \
    typedef result(*plugin_##name##_fn) parameters;                                                \
    __attribute__((visibility("default"))) result xrt_plugin_1_##name parameters;
#include "runtime/plugins/plugins.def"

/* The plugin's function; NULL with a message that says what to install. Loaded once, for good; any
 * thread may call. */
void *plugin_find(enum plugin p, struct diag *d);

#endif
