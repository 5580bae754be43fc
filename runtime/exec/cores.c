/*
 * How many threads a run should have: one per physical core, of those this process may run on, and
 * not more than its control group has processor time for.
 */
#define _GNU_SOURCE
#include "runtime/exec/exec.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int quota_cores(const char *text)
{
    char *end;
    long long quota = strtoll(text, &end, 10), period = 100000; /* "max": there is no limit */
    if (end == text || quota <= 0)
        return 0;
    period = *end == ' ' ? strtoll(end, NULL, 10) : period;
    long long cores = period > 0 ? (quota + period - 1) / period : 0;
    return cores > 0 && cores < 1 << 20 ? (int)cores : 0;
}

#ifdef __linux__
/* The first hardware thread of the core that cpu belongs to; cpu itself when the system does not
 * say. */
static int first_sibling(int cpu)
{
    char path[96];
    int first = cpu;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    FILE *f = fopen(path, "r");
    if (!f)
        return cpu;
    if (fscanf(f, "%d", &first) != 1)
        first = cpu;
    fclose(f);
    return first;
}

enum { GROUP_PATH = 512 };

static bool names_controller(const char *list, const char *end, const char *name)
{
    size_t n = strlen(name);
    while (list < end) {
        size_t k = strcspn(list, ",:");
        if (k == n && !strncmp(list, name, n))
            return true;
        list += k + 1;
    }
    return false;
}

/* The control group that the process is in: of version 2 ("" for the controller), or of the controller's hierarchy of
 * version
 * 1. Where it is not known, as in a container that sees its own alone, the root. */
static void find_group(const char *controller, char *group)
{
    char line[GROUP_PATH + 64];
    FILE *f = fopen("/proc/self/cgroup", "r");
    *group = 0;
    while (f && fgets(line, sizeof line, f)) { /* NUMBER:CONTROLLER,...:PATH */
        char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
        bool own = path && (*controller ? names_controller(list + 1, path, controller) : path == list + 1);
        if (own && strlen(path + 1) < GROUP_PATH) {
            strcpy(group, path + 1);
            group[strcspn(group, "\n")] = 0;
            break;
        }
    }
    if (f)
        fclose(f);
}

static bool first_line(const char *folder, const char *group, const char *file, char *text, int room)
{
    char path[GROUP_PATH + 128];
    snprintf(path, sizeof path, "%s%s/%s", folder, group, file);
    FILE *f = fopen(path, "r");
    bool read = f && fgets(text, room, f);
    if (f)
        fclose(f);
    if (read)
        text[strcspn(text, "\n")] = 0;
    return read;
}

/* Of version 2 a file has both numbers, of version 1 each has one. */
static int group_quota(const char *folder, const char *group, bool first_version)
{
    char text[64], period[24];
    if (!first_version)
        return first_line(folder, group, "cpu.max", text, sizeof text) ? quota_cores(text) : 0;
    if (!first_line(folder, group, "cpu.cfs_quota_us", text, 32) ||
        !first_line(folder, group, "cpu.cfs_period_us", period, sizeof period))
        return 0;
    strcat(text, " ");
    strcat(text, period);
    return quota_cores(text);
}

/* The least quota of the group and of those that it is in; 0: none. */
static int min_quota(const char *folder, const char *controller)
{
    char group[GROUP_PATH];
    int min = 0;
    find_group(controller, group);
    for (;;) {
        int n = group_quota(folder, group, *controller != 0);
        min = n && (!min || n < min) ? n : min;
        char *slash = strrchr(group, '/');
        if (!slash)
            return min;
        *slash = 0;
    }
}

static int group_cores(void)
{
    static const char *const folders[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"};
    int min = 0;
    for (int i = 0; i < 3; i++) {
        int n = min_quota(folders[i], i ? "cpu" : "");
        min = n && (!min || n < min) ? n : min;
    }
    return min;
}

int physical_cores(void)
{
    cpu_set_t set, cores;
    if (sched_getaffinity(0, sizeof set, &set))
        return 1;
    CPU_ZERO(&cores);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &set)) {
            int first = first_sibling(cpu);
            CPU_SET(first >= 0 && first < CPU_SETSIZE ? first : cpu, &cores);
        }
    int n = CPU_COUNT(&cores), quota = group_cores();
    if (quota && quota < n)
        n = quota;
    return n > 0 ? n : 1;
}
#else
int physical_cores(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}
#endif
