/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: In races of 8 processes for 3 devices with kills at random moments, no device has two
 * holders, a child keeps its killed parent's claim, and no claim is left.
 *
 * The first argument, or GANTRY_TEST_CLAIM_RACES, is the number of races; 100 otherwise. Shared
 * memory records who works on a device, independently of the locks. */
#define _GNU_SOURCE
#include <dirent.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "claim/claim.h"
#include "test.h"

enum { PROCESSES = 8, DEVICES = 3 };

typedef struct shared_t {
    atomic_int is_started;
    atomic_int owners[DEVICES];          /* the number of the process that works, from 1; 0: none */
    atomic_int is_doomed[PROCESSES + 1]; /* its kill is under way */
    atomic_int doubles, claims, refusals, orphans, errors;
} shared_t;

static shared_t *shared;
static char race_folder[64];
static uint32_t random_state;

static uint32_t next_random(void) {
    random_state = random_state * 1664525U + 1013904223U;
    return random_state >> 8;
}

static void pause_us(uint32_t most) {
    const struct timespec pause = {.tv_nsec = (long)(most ? next_random() % most : 0) * 1000};
    (void)nanosleep(&pause, NULL);
}

/* Works on the claimed devices: nobody else may begin to, or be at it. */
static void work(const int *devices, size_t count, int number) {
    for (size_t i = 0; i < count; ++i) {
        int before = atomic_exchange(&shared->owners[devices[i]], number);
        if (before != 0 && !atomic_load(&shared->is_doomed[before]))
            (void)atomic_fetch_add(&shared->doubles, 1);
    }
    pause_us(500);
    for (size_t i = 0; i < count; ++i) {
        int mine = number;
        if (!atomic_compare_exchange_strong(&shared->owners[devices[i]], &mine, 0))
            (void)atomic_fetch_add(&shared->doubles, 1);
    }
}

static size_t claim_some(gantry__claim_t *claim, size_t wanted, int *devices) {
    const int first = (int)(next_random() % DEVICES);
    size_t count = 0;
    for (int i = 0; i < DEVICES && count < wanted; ++i) {
        char name[16];
        int device = (first + i) % DEVICES;
        (void)snprintf(name, sizeof name, "card-%d", device);
        gantry_status_t status = gantry__claim_take(claim, name);
        if (status == GANTRY_OK) devices[count++] = device;
        if (status != GANTRY_OK && status != GANTRY_UNAVAILABLE)
            (void)atomic_fetch_add(&shared->errors, 1);
    }
    if (count < wanted) gantry__claim_give_back(claim);
    return count < wanted ? 0 : count;
}

/* Waits in the queue, or tries once. */
static size_t get(gantry__claim_t *claim, bool is_waiting, size_t wanted, int *devices) {
    for (int attempt = 0; attempt < (is_waiting ? 40 : 1); ++attempt) {
        size_t count = 0;
        gantry_status_t status = gantry__claim_begin_turn(claim, is_waiting, NULL);
        if (status == GANTRY_OK) {
            count = claim_some(claim, wanted, devices);
            status = gantry__claim_end_turn(claim, count == 0 && is_waiting);
        }
        if (status != GANTRY_OK && status != GANTRY_UNAVAILABLE)
            (void)atomic_fetch_add(&shared->errors, 1);
        if (count > 0) return count;
        pause_us(200);
    }
    (void)atomic_fetch_add(&shared->refusals, 1);
    return 0;
}

/* The child of a claimant, as `gantry run` starts it: it works, and may outlive its parent. */
static void work_in_child(const int *devices, size_t count, int number) {
    pid_t child = fork();
    if (child == 0) {
        work(devices, count, number);
        _exit(0);
    }
    if (child > 0) (void)waitpid(child, NULL, 0);
}

static void contend(int number, uint32_t seed) {
    gantry__claim_t claim;
    int devices[DEVICES];
    random_state = seed;
    while (!atomic_load(&shared->is_started)) pause_us(0);
    if (gantry__claim_open(race_folder, "race", &claim) != GANTRY_OK) {
        (void)atomic_fetch_add(&shared->errors, 1);
        _exit(1);
    }
    size_t count = get(&claim, next_random() % 2, 1 + next_random() % 2, devices);
    if (count > 0) {
        (void)atomic_fetch_add(&shared->claims, 1);
        if (next_random() % 3 == 0) {
            work_in_child(devices, count, number);
        } else {
            work(devices, count, number);
        }
    }
    gantry__claim_close(&claim);
    _exit(0);
}

/* A claimant with a child is doomed only in part: the child works on. So the flag is for those
 * that have no child, which the pipe below cannot tell; the parent looks at /proc. */
static bool has_child(pid_t process) {
    char path[64], text[32] = "";
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)process, (int)process);
    FILE *file = fopen(path, "r");
    if (!file) return false;
    bool has = fgets(text, sizeof text, file) && *text;
    (void)fclose(file);
    return has;
}

/* Stops the process first, so that it cannot start a child between the look and the kill. */
static void kill_one(pid_t process, int number) {
    int status;
    if (kill(process, SIGSTOP) != 0) return;
    if (waitpid(process, &status, WUNTRACED) != process || !WIFSTOPPED(status)) return;
    if (has_child(process)) {
        (void)atomic_fetch_add(&shared->orphans, 1);
    } else {
        atomic_store(&shared->is_doomed[number], 1);
    }
    (void)kill(process, SIGKILL);
    (void)waitpid(process, NULL, 0);
}

static void clear(void) {
    atomic_store(&shared->is_started, 0);
    for (int i = 0; i < DEVICES; ++i) atomic_store(&shared->owners[i], 0);
    for (int i = 0; i <= PROCESSES; ++i) atomic_store(&shared->is_doomed[i], 0);
}

/* Every process, orphans included, holds the writing end; the end of file says that all ended. */
static void wait_for_all(int reading, pid_t *processes) {
    char byte;
    while (read(reading, &byte, 1) > 0) {
    }
    (void)close(reading);
    for (int i = 0; i < PROCESSES; ++i) {
        if (processes[i] > 0) (void)waitpid(processes[i], NULL, 0);
    }
}

static void race(uint32_t number) {
    int ends[2];
    pid_t processes[PROCESSES];
    clear();
    random_state = number * 2654435761U + 1;
    assert_int_equal(pipe(ends), 0);
    for (int i = 0; i < PROCESSES; ++i) {
        const uint32_t seed = next_random();
        processes[i] = fork();
        if (processes[i] == 0) contend(i + 1, seed);
        assert_true(processes[i] > 0);
    }
    (void)close(ends[1]);
    atomic_store(&shared->is_started, 1);
    for (uint32_t kills = next_random() % 4; kills > 0; --kills) {
        pause_us(700);
        int victim = (int)(next_random() % PROCESSES);
        kill_one(processes[victim], victim + 1);
    }
    wait_for_all(ends[0], processes);
}

static void expect_no_claim_left(void) {
    gantry__claim_t claim;
    size_t before;
    assert_int_equal(gantry__claim_open(race_folder, "judge", &claim), GANTRY_OK);
    assert_int_equal(gantry__claim_count_waiting(&claim.folder), 0);
    assert_int_equal(gantry__claim_begin_turn(&claim, false, &before), GANTRY_OK);
    for (int i = 0; i < DEVICES; ++i) {
        char name[16];
        (void)snprintf(name, sizeof name, "card-%d", i);
        assert_int_equal(gantry__claim_take(&claim, name), GANTRY_OK);
    }
    gantry__claim_close(&claim);
}

static void remove_folder(void) {
    DIR *directory = opendir(race_folder);
    assert_non_null(directory);
    for (const struct dirent *entry; (entry = readdir(directory));) {
        if (entry->d_name[0] != '.') (void)unlinkat(dirfd(directory), entry->d_name, 0);
    }
    (void)closedir(directory);
    assert_int_equal(rmdir(race_folder), 0);
}

static uint32_t races = 100;

TEST(races_with_kills_never_give_a_device_twice) {
    for (uint32_t i = 0; i < races; ++i) {
        race(i);
        expect_no_claim_left();
        assert_int_equal(atomic_load(&shared->doubles), 0);
        assert_int_equal(atomic_load(&shared->errors), 0);
    }
    print_message(
        "%u races: %d claims, %d refusals, %d children outlived their parent, 0 double claims, 0 left\n",
        races, atomic_load(&shared->claims), atomic_load(&shared->refusals),
        atomic_load(&shared->orphans));
    assert_true(atomic_load(&shared->claims) > (int)races);
    remove_folder();
}

int main(int count, char **arguments) {
    const char *text = count > 1 ? arguments[1] : getenv("GANTRY_TEST_CLAIM_RACES");
    if (text) races = (uint32_t)strtoul(text, NULL, 10);
    (void)snprintf(race_folder, sizeof race_folder, "/tmp/gantry_race_XXXXXX");
    if (!mkdtemp(race_folder)) return 1;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return 1;
    return test_main();
}
