#define _GNU_SOURCE
#include "runtime/exec/exec.h"

#include <sched.h>
#include <stdio.h>
#include <unistd.h>

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
    int n = CPU_COUNT(&cores);
    return n > 0 ? n : 1;
}
#else
int physical_cores(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}
#endif
