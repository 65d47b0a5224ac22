/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Functions that stand before others of any arguments, count their calls and make some fail; for x86-64 alone. */
#ifndef CALLS_PASSED_ON_H
#define CALLS_PASSED_ON_H

typedef void any_function(void);

/* The treatment of a call: code 0, pass it on; else return `answer`. */
typedef struct outcome {
    long code, answer;
} outcome;

/* Defines the function SYMBOL. It saves its arguments, calls `outcome DECIDE(TYPE *entry, const long *frame)`, and
 * else jumps on, with all arguments where they are, to what the entry's first member points to. `frame` is its %rbp:
 * its first six arguments lie under that, frame[-1] to frame[-6], the others from frame[2] on. */
#define PASSED_ON(symbol, entry, decide)                                                           \
    __asm__(".text\n.globl " #symbol "\n.type " #symbol ", @function\n" #symbol ":\n"              \
            "push %rbp\nmov %rsp, %rbp\n"                                                          \
            "push %rdi\npush %rsi\npush %rdx\npush %rcx\npush %r8\npush %r9\n"                     \
            "lea " #entry "(%rip), %rdi\nmov %rbp, %rsi\ncall " #decide "\n"                       \
            "mov %rdx, %r11\ntest %rax, %rax\n"                                                    \
            "pop %r9\npop %r8\npop %rcx\npop %rdx\npop %rsi\npop %rdi\npop %rbp\n"                 \
            "jne 1f\njmp *" #entry "(%rip)\n1: mov %r11, %rax\nret\n"                              \
            ".size " #symbol ", . - " #symbol "\n");

#endif
