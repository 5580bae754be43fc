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

/* The least quota of the control group and of those it is in (version 2: cpu.max); 0: none. */
static int group_cores(void)
{
    char line[512], path[1024], text[64];
    int min = 0;
    FILE *f = fopen("/proc/self/cgroup", "r");
    bool found = false;
    while (f && !found && fgets(line, sizeof line, f))
        found = !strncmp(line, "0::", 3);
    if (f)
        fclose(f);
    char *group = found ? line + 3 : line;
    group[found ? strcspn(group, "\n") : 0] = 0;
    for (;;) {
        snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", group);
        f = fopen(path, "r");
        int n = f && fgets(text, sizeof text, f) ? quota_cores(text) : 0;
        if (f)
            fclose(f);
        if (n && (!min || n < min))
            min = n;
        char *slash = strrchr(group, '/');
        if (!slash)
            return min;
        *slash = 0;
    }
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
