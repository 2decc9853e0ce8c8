/* SPDX-License-Identifier: Apache-2.0 */
/* This process, and programs that it starts.
 *
 * Functions that return an int return 0, or an errno value. Owner: the caller must wait for a child
 * that it started, kill it or leave it. Threads: thread-safe for different children. */
#ifndef GANTRY_BASE_OS_PROCESS_H
#define GANTRY_BASE_OS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- this process ---- */

/* The process's number. A child of fork, where a system has that, has another one. */
int64_t gantry__os_process(void);
/* The number of the user who started it; -1 on a system without such numbers. */
int64_t gantry__os_user(void);
/* The number of the calling thread, which no other living thread of the process has. */
uint64_t gantry__os_thread(void);
/* Writes the machine's name; "" if it is unknown. */
void gantry__os_host_name(char *out, size_t out_bytes);
/* Writes the command line, cut, with spaces between the arguments; "" if it is unknown. */
void gantry__os_command_line(char *out, size_t out_bytes);
/* The program's name without its folder; "" if it is unknown. The text belongs to the system. */
const char *gantry__os_program_name(void);
/* Writes the system's name and the processor's, as "Linux" and "x86_64"; each may be NULL. */
void gantry__os_system_name(char *out_system, char *out_machine, size_t each_bytes);
/* The machine's memory in bytes; 0 if it is unknown. */
uint64_t gantry__os_memory_bytes(void);

/* ---- limits of this process ---- */

typedef enum gantry__os_limit_t {
    GANTRY__OS_LIMIT_SPACE, /* the address space */
    GANTRY__OS_LIMIT_DATA,  /* writable private memory */
    GANTRY__OS_LIMIT_FILE   /* the size of a file */
} gantry__os_limit_t;

/* Whether the process has the limit, in bytes. A system without such limits has none. */
bool gantry__os_limit(gantry__os_limit_t limit, uint64_t *out_bytes);
/* What the first two limits count; false if the system does not say. */
bool gantry__os_limited_use(uint64_t *out_space, uint64_t *out_data);

/* ---- programs that it starts ---- */

/* The number that the report's end has in the child. */
#define GANTRY__OS_CHILD_REPORT 3

typedef struct gantry__os_start_t {
    const char *program;          /* a path; no folder is searched */
    const char *const *arguments; /* the program's name first; NULL ends them */
    const char *const *variables; /* "NAME=VALUE", each in place of this process's variable of that
                                   * name; NULL ends them. NULL: no changes */
    int report;                   /* the writing end of a pipe, which the child has as
                                   * GANTRY__OS_CHILD_REPORT; -1: none */
} gantry__os_start_t;

typedef struct gantry__os_child_t {
    int64_t process;
    void *handle; /* the system's, where a number is not enough */
} gantry__os_child_t;

typedef enum gantry__os_end_t {
    GANTRY__OS_RUNS,    /* it has not ended */
    GANTRY__OS_EXITED,  /* with a code */
    GANTRY__OS_CRASHED, /* by a fault of its own: the code is the signal, or the exception */
    GANTRY__OS_ALARMED, /* by an alarm that it had set itself */
    GANTRY__OS_KILLED,  /* by others, as by a terminal, a user or a lack of memory */
    GANTRY__OS_LOST     /* other code of this process took the child's end */
} gantry__os_end_t;

/* Starts a program without input and output; of Gantry's open files it has only the report. What
 * stops or ends this process by its terminal does not reach the child. */
int gantry__os_child_start(const gantry__os_start_t *start, gantry__os_child_t *out_child);
/* Waits at most so long, and examines the child every pause_ns. *out_code is set for EXITED,
 * CRASHED, ALARMED and KILLED. After any result but RUNS the child is gone. */
gantry__os_end_t gantry__os_child_wait(gantry__os_child_t *child, uint64_t timeout_ns,
                                       uint64_t pause_ns, int *out_code);
/* Ends the child with all that it started, and waits for it. */
void gantry__os_child_kill(gantry__os_child_t *child);
/* Gives up waiting for a child, which runs on. */
void gantry__os_child_leave(gantry__os_child_t *child);
/* Whether the end of a child can be known: false where this process lets the system take it. */
bool gantry__os_child_can_wait(void);

/* Makes a pipe, whose ends no child inherits but by gantry__os_start_t. Reading does not wait: it
 * is EAGAIN while there is nothing. */
int gantry__os_pipe(int *out_reading, int *out_writing);

#endif
