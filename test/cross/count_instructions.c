/*
 * A plug-in of qemu-user: how many instructions a program runs between two marks, an instruction that does
 * nothing and that compilers do not make (aarch64: hint 126). One line each time, to qemu's log:
 *     qemu-aarch64 -plugin count_instructions.so -d plugin -D counts PROGRAM
 * Debian has no header of the plug-in interface (version 1): these are the parts of it that are used here.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define VISIBLE __attribute__((visibility("default")))

struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef void translated_fn(uint64_t id, struct qemu_plugin_tb *block);
typedef void executed_fn(unsigned cpu, void *user);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, translated_fn *f);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t i);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *instruction);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *instruction);
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *instruction, int add_u64, void *to,
                                                uint64_t value);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *instruction, executed_fn *f, int no_registers,
                                            void *user);
void qemu_plugin_outs(const char *text);

VISIBLE extern int qemu_plugin_version;
VISIBLE int qemu_plugin_version = 1;
VISIBLE int qemu_plugin_install(uint64_t id, const void *machine, int argc, char **argv);

static uint64_t count;

static void marked(unsigned cpu, void *user)
{
    char line[32];
    snprintf(line, sizeof line, "%" PRIu64 "\n", count);
    qemu_plugin_outs(line);
    count = 0;
}

static void translated(uint64_t id, struct qemu_plugin_tb *block)
{
    const uint32_t mark = 0xd5032fdf; /* hint 126 */
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); i++) {
        struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, i);
        if (qemu_plugin_insn_size(instruction) == sizeof mark &&
            !memcmp(qemu_plugin_insn_data(instruction), &mark, sizeof mark))
            qemu_plugin_register_vcpu_insn_exec_cb(instruction, marked, 0, NULL);
        else
            qemu_plugin_register_vcpu_insn_exec_inline(instruction, 0, &count, 1);
    }
}

int qemu_plugin_install(uint64_t id, const void *machine, int argc, char **argv)
{
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    return 0;
}
