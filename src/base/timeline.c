/* SPDX-License-Identifier: Apache-2.0 */
/* The file of a timeline, in this order: the text of an event, its pieces that are kept, the file,
 * the buffers.
 *
 * The file is one JSON array, and valid after each write: a block of events ends with the array's
 * bracket, and the next block begins on top of it.
 *
 *     [ {head}              ]
 *     [ {head}, {..}, {..}  ]          one pwrite, at the place of the bracket
 *     [ {head}, {..}, {..}, {..} ]
 *
 * So a process that ends early loses its buffers (a second of events, at most), not the file. A
 * block that the disk does not take is cut off again, and nothing follows it.
 *
 * The lock of a slot is taken before the lock of the file. The log is told without either: its
 * function may run ops. */
#define _GNU_SOURCE /* syscall, the program's name */

#include "base/timeline.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif

#include <gantry/version.h>

#include "base/files.h"
#include "base/json_text.h"

#define TEXT_BYTES 256 /* longest text of an event; the rest is cut */
/* the longest event: its texts and numbers with their punctuation, and the closing of a block */
#define LINE_BYTES ((GANTRY__TIMELINE_ARGS + 3) * 2 * (TEXT_BYTES + 16))
#define LONGEST_STAY_NS UINT64_C(1000000000)

/* ---- the text of an event, which always has room: at most LINE_BYTES ----
 *
 * A function writes at `at`, and returns the end of its text. This is the greatest part of an
 * event's cost, so it copies few bytes at a time and divides rarely. */

static inline char *put_bytes(char *at, const char *bytes, size_t count) {
    memcpy(at, bytes, count);
    return at + count;
}
#define PUT(at, literal) put_bytes(at, literal, sizeof(literal) - 1)

static inline void put_pair(char *at, unsigned number) {
    static const char pairs[] =
        "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243"
        "4445464748495051525354555657585960616263646566676869707172737475767778798081828384858687"
        "888990919293949596979899";
    memcpy(at, pairs + (size_t)2 * number, 2);
}

static inline unsigned count_digits(uint64_t number) {
    unsigned count = 1;
    for (; number >= 100; number /= 100) count += 2;
    return count + (number >= 10);
}

/* Exactly so many digits, with zeros before the number. */
static inline char *put_exactly(char *at, uint64_t number, unsigned digits) {
    char *const end = at + digits;
    for (; digits >= 2; digits -= 2) {
        put_pair(at + digits - 2, (unsigned)(number % 100));
        number /= 100;
    }
    if (digits) *at = (char)('0' + number % 10);
    return end;
}

static inline char *put_digits(char *at, uint64_t number) {
    return put_exactly(at, number, count_digits(number));
}

/* Nanoseconds behind the point of microseconds. */
static inline char *put_rest(char *at, uint32_t ns) {
    at[0] = '.';
    at[1] = (char)('0' + ns / 100);
    put_pair(at + 2, ns % 100);
    return at + 4;
}

static inline char *put_duration(char *at, uint64_t ns) {
    if (ns >= 10000) return put_rest(put_digits(at, ns / 1000), (uint32_t)(ns % 1000));
    *at = (char)('0' + (uint32_t)ns / 1000);
    return put_rest(at + 1, (uint32_t)ns % 1000);
}

/* A moment's whole seconds stay the same for many events, so their text is kept. */
typedef struct second_t {
    uint64_t number; /* 0: no text is kept */
    unsigned digits;
    char text[24];
} second_t;

static inline char *put_time(char *at, uint64_t ns, second_t *second) {
    const uint64_t number = ns / 1000000000;
    const uint32_t rest = (uint32_t)(ns % 1000000000);
    if (number == 0) return put_duration(at, ns);
    if (second->number != number) {
        second->number = number;
        second->digits = (unsigned)(put_digits(second->text, number) - second->text);
    }
    memcpy(at, second->text, sizeof second->text);
    at += second->digits;
    put_pair(at, rest / 10000000);
    put_pair(at + 2, rest / 100000 % 100);
    put_pair(at + 4, rest / 1000 % 100);
    return put_rest(at + 6, rest % 1000);
}

/* Copied as it is: printable ASCII but the quote and the backslash. */
static inline bool timeline_is_plain(char c) {
    return (unsigned char)(c - 0x20) < 0x5f && c != '"' && c != '\\';
}

/* One character of a string that needs more than a copy; returns its bytes in the text. */
static size_t put_character(char **at, const char *text) {
    const unsigned char first = (unsigned char)*text;
    const size_t bytes = first > 0x7f ? gantry__utf8_bytes(text) : 0;
    if (bytes == 0) *at += snprintf(*at, 8, "\\u%04x", first > 0x7f ? 0xfffdu : first);
    *at = put_bytes(*at, text, bytes);
    return bytes > 0 ? bytes : 1;
}

static char *put_string(char *at, const char *text) {
    const char *const end = at + TEXT_BYTES;
    *at++ = '"';
    while (*text && at < end) {
        if (timeline_is_plain(*text)) {
            *at++ = *text++;
        } else {
            text += put_character(&at, text);
        }
    }
    *at++ = '"';
    return at;
}

/* A constant text of the library: all its characters are plain. */
static inline char *put_name(char *at, const char *name) {
    *at++ = '"';
    while (*name) *at++ = *name++;
    *at++ = '"';
    return at;
}

static inline bool is_left_out(const gantry__timeline_event_t *event,
                               const gantry__timeline_arg_t *arg) {
    return arg->text ? !*arg->text : arg->number == 0 && event->phase != 'C';
}

/* Args from `first` on; is_behind: others stand before them. */
static inline char *put_args(char *at, const gantry__timeline_event_t *event, uint32_t first,
                             bool is_behind) {
    for (uint32_t i = first; i < event->arg_count && i < GANTRY__TIMELINE_ARGS; ++i) {
        const gantry__timeline_arg_t *arg = &event->args[i];
        if (is_left_out(event, arg)) continue;
        if (is_behind) *at++ = ',';
        is_behind = true;
        at = put_name(at, arg->name);
        *at++ = ':';
        at = arg->text ? put_string(at, arg->text) : put_digits(at, arg->number);
    }
    return at;
}

/* A number of the calling thread that other living threads do not have. */
static uint64_t this_thread(void) {
    static _Thread_local uint64_t number;
#if defined(__linux__)
    if (number == 0) number = (uint64_t)syscall(SYS_gettid);
#else
    if (number == 0) number = ((uint64_t)(uintptr_t)&number >> 4) & UINT32_MAX;
#endif
    return number;
}

/* A line, up to its time. */
static char *put_head(char *at, const gantry__timeline_event_t *event, uint64_t caller) {
    at = PUT(at, ",\n{\"name\":");
    at = put_string(at, event->name);
    if (event->category) {
        at = PUT(at, ",\"cat\":");
        at = put_name(at, event->category);
    }
    at = PUT(at, ",\"ph\":\"");
    *at++ = event->phase;
    at = PUT(at, "\",\"pid\":");
    at = put_digits(at, event->process);
    at = PUT(at, ",\"tid\":");
    at = put_digits(at, event->thread ? event->thread : caller);
    return event->phase == 'M' ? at : PUT(at, ",\"ts\":");
}

static inline char *put_times(char *at, const gantry__timeline_event_t *event, second_t *second) {
    if (event->phase == 'M') return at;
    at = put_time(at, event->begin_ns, second);
    if (event->phase != 'X') return at;
    at = PUT(at, ",\"dur\":");
    return put_duration(at, event->end_ns > event->begin_ns ? event->end_ns - event->begin_ns : 0);
}

static char *put_event(char *at, const gantry__timeline_event_t *event, uint64_t caller,
                       second_t *second) {
    at = put_times(put_head(at, event, caller), event, second);
    if (event->arg_count == 0) return PUT(at, "}");
    at = PUT(at, ",\"args\":{");
    at = put_args(at, event, 0, false);
    return PUT(at, "}}");
}

/* ---- pieces of lines ----
 *
 * Most lines differ from an earlier one in their numbers alone:
 *
 *     ,\n{"name":"Add","cat":"op","ph":"X","pid":1,"tid":7,"ts":  1.500  ,"dur":  0.250
 *     |----------------------- head --------------------------|
 *     ,"args":{"device":"/device:CPU:0","reason":"..."  ,"launches":1}}
 *     |-------------------- tail ---------------------|
 *
 * A slot keeps heads and tails in a hash table by the addresses of their texts. A line that finds
 * no room replaces another. */

enum { FORMS = 128, FORM_PROBES = 8, FORM_TEXTS = 4, FORM_HEAD = 128, FORM_TAIL = 192 };

typedef struct form_t {
    const char *name, *category; /* name NULL: no line is kept here */
    uint64_t caller, thread;
    uint32_t process, text_count;
    struct {
        const char *name, *text;
    } texts[FORM_TEXTS];
    char phase;
    bool has_args; /* in the tail */
    uint16_t head_bytes, tail_bytes;
    char head[FORM_HEAD], tail[FORM_TAIL];
} form_t;

static inline uint32_t count_texts(const gantry__timeline_event_t *event) {
    uint32_t count = 0;
    while (count < event->arg_count && event->args[count].text) ++count;
    return count;
}

static inline bool is_form_of(const form_t *form, const gantry__timeline_event_t *event,
                              uint64_t caller, uint32_t text_count) {
    if (form->name != event->name || form->category != event->category || form->caller != caller ||
        form->thread != event->thread || form->process != event->process ||
        form->phase != event->phase || form->text_count != text_count)
        return false;
    for (uint32_t i = 0; i < text_count; ++i)
        if (form->texts[i].text != event->args[i].text ||
            form->texts[i].name != event->args[i].name)
            return false;
    return true;
}

static inline uint32_t hash_event(const gantry__timeline_event_t *event, uint64_t caller,
                                  uint32_t text_count) {
    uint64_t mix = (uintptr_t)event->name ^ caller << 32 ^ event->thread << 40 ^
                   (uint64_t)event->process << 48 ^ (uint64_t)text_count << 56;
    for (uint32_t i = 0; i < text_count; ++i)
        mix = mix * UINT64_C(0x9e3779b97f4a7c15) + (uintptr_t)event->args[i].text;
    return (uint32_t)((mix * UINT64_C(0x9e3779b97f4a7c15)) >> 57);
}
_Static_assert(FORMS == 1 << (64 - 57), "hash_event gives the position of a form");

/* False: the line's pieces are too long to be kept. text has room for a line. */
static bool make_form(form_t *form, const gantry__timeline_event_t *event, uint64_t caller,
                      uint32_t text_count, char *text) {
    form->name = NULL;
    const size_t head = (size_t)(put_head(text, event, caller) - text);
    if (head > FORM_HEAD) return false;
    memcpy(form->head, text, head);
    gantry__timeline_event_t texts = *event;
    texts.arg_count = text_count;
    char *end = event->arg_count > 0 ? PUT(text, ",\"args\":{") : text;
    char *const first = end;
    end = put_args(end, &texts, 0, false);
    if (end > text + FORM_TAIL) return false;
    memcpy(form->tail, text, (size_t)(end - text));
    form->head_bytes = (uint16_t)head;
    form->tail_bytes = (uint16_t)(end - text);
    form->has_args = end > first;
    for (uint32_t i = 0; i < text_count; ++i) {
        form->texts[i].text = event->args[i].text;
        form->texts[i].name = event->args[i].name;
    }
    form->category = event->category;
    form->caller = caller;
    form->thread = event->thread;
    form->process = event->process;
    form->phase = event->phase;
    form->text_count = text_count;
    form->name = event->name;
    return true;
}

/* The pieces of the event's line, made if they are not kept; NULL: they cannot be kept. text has
 * room for a line. */
static inline const form_t *find_form(form_t *forms, const gantry__timeline_event_t *event,
                                      uint64_t caller, uint32_t text_count, char *text) {
    const uint32_t first = hash_event(event, caller, text_count);
    form_t *form = &forms[first];
    for (uint32_t i = 0; i < FORM_PROBES; ++i) {
        form_t *next = &forms[(first + i) % FORMS];
        if (is_form_of(next, event, caller, text_count)) return next;
        if (!next->name) {
            form = next;
            break;
        }
    }
    return make_form(form, event, caller, text_count, text) ? form : NULL;
}

/* The piece lies in an array of whole steps, and the line has room for one step more: copies of a
 * constant size need no call. */
static inline char *put_piece(char *at, const char *piece, unsigned bytes) {
    enum { STEP = 32 };
    for (unsigned i = 0; i < bytes; i += STEP) memcpy(at + i, piece + i, STEP);
    return at + bytes;
}

static inline char *put_formed(char *at, const gantry__timeline_event_t *event, uint64_t caller,
                               second_t *second, form_t *forms) {
    const uint32_t text_count = count_texts(event);
    if (!event->has_constant_texts || text_count > FORM_TEXTS)
        return put_event(at, event, caller, second);
    const form_t *form = find_form(forms, event, caller, text_count, at);
    if (!form) return put_event(at, event, caller, second);
    at = put_piece(at, form->head, form->head_bytes);
    at = put_times(at, event, second);
    at = put_piece(at, form->tail, form->tail_bytes);
    if (event->arg_count == 0) return PUT(at, "}");
    at = put_args(at, event, text_count, form->has_args);
    return PUT(at, "}}");
}

#define SLOT_TEXT_BYTES (GANTRY__TIMELINE_SLOT_BYTES - FORMS * sizeof(form_t))

typedef struct timeline_slot_t {
    gantry__mutex_t lock;
    char *bytes; /* NULL until the first event; of SLOT_TEXT_BYTES, behind the forms */
    form_t *forms;
    size_t used;
    uint64_t first_ns; /* of the oldest event */
    second_t second;
} timeline_slot_t;

struct gantry__timeline_t {
    const gantry__heap_t *heap;
    const gantry__log_t *log;
    atomic_bool is_on;   /* events are taken */
    atomic_bool is_mute; /* the log knows of the failure, or there is none */
    timeline_slot_t slots[GANTRY__TIMELINE_SLOTS];
    gantry__mutex_t lock;
    /* under lock */
    bool is_started;
    int file;     /* -1: not open */
    uint64_t end; /* of the last event in the file */
    gantry_status_t status;
    char failure[GANTRY__TIMELINE_PATH_BYTES + 256];
    char path[GANTRY__TIMELINE_PATH_BYTES];
};

/* ---- the file; timeline->lock is held ---- */

static const char closing[] = "\n]\n";
enum { CLOSING_BYTES = sizeof closing - 1 };

static bool write_at(int file, const char *bytes, size_t size, uint64_t at) {
    while (size > 0) {
        const ssize_t done = gantry__file_put(file, bytes, size, (int64_t)at);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return false;
        bytes += done;
        at += (uint64_t)done;
        size -= (size_t)done;
    }
    return true;
}

/* Keeps the failure that is the thread's last message; the first one counts. */
static gantry_status_t keep_timeline_failure(gantry__timeline_t *timeline, gantry_status_t status) {
    atomic_store(&timeline->is_on, false);
    if (timeline->status != GANTRY_OK) return status;
    timeline->status = status;
    (void)snprintf(timeline->failure, sizeof timeline->failure, "%s", gantry__message());
    atomic_store(&timeline->is_mute, false);
    return status;
}

/* bytes has room for the closing behind size. */
static gantry_status_t write_block(gantry__timeline_t *timeline, char *bytes, size_t size) {
    memcpy(bytes + size, closing, CLOSING_BYTES);
    if (write_at(timeline->file, bytes, size + CLOSING_BYTES, timeline->end)) {
        timeline->end += size;
        return GANTRY_OK;
    }
    const gantry_status_t status = gantry__file_fail("write", timeline->path, errno);
    if (ftruncate(timeline->file, (off_t)timeline->end) == 0 && timeline->end > 0)
        (void)write_at(timeline->file, closing, CLOSING_BYTES, timeline->end);
    return keep_timeline_failure(timeline, status);
}

/* Empties the file, which no other runtime writes. */
static gantry_status_t take_file(const gantry__timeline_t *timeline, int file) {
    if (flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return gantry__fail(
            GANTRY_FAILED_PRECONDITION,
            "cannot write a timeline to '%s': another runtime writes it; in a name with %%p each process has its own file",
            timeline->path);
    /* ext4 writes a file to the disk at its close if it was ever truncated, even when empty */
    struct stat info;
    if (fstat(file, &info) == 0 && info.st_size == 0) return GANTRY_OK;
    return ftruncate(file, 0) == 0 ? GANTRY_OK : gantry__file_fail("empty", timeline->path, errno);
}

static const char *program_name(void) {
#if defined(__GLIBC__)
    return program_invocation_short_name;
#else
    return "";
#endif
}

static gantry_status_t write_head(gantry__timeline_t *timeline) {
    char bytes[2 * TEXT_BYTES];
    char *at =
        PUT(bytes, "[\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"args\":{\"name\":");
    at = put_string(at, program_name());
    at = PUT(at, ",\"version\":\"" GANTRY_VERSION "\",\"clock\":\"CLOCK_MONOTONIC\",\"process\":");
    at = put_digits(at, (uint64_t)getpid());
    at = PUT(at, "}}");
    return write_block(timeline, bytes, (size_t)(at - bytes));
}

/* Does nothing if the file is open, or cannot be opened. */
static gantry_status_t open_timeline(gantry__timeline_t *timeline) {
    if (timeline->file >= 0 || timeline->status != GANTRY_OK) return timeline->status;
    if (gantry__file_check_plain(timeline->path) != GANTRY_OK)
        return keep_timeline_failure(timeline, GANTRY_INVALID_ARGUMENT);
    const int file =
        open(timeline->path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
    gantry_status_t status =
        file >= 0 ? take_file(timeline, file) : gantry__file_fail("open", timeline->path, errno);
    if (status != GANTRY_OK) {
        if (file >= 0) (void)close(file);
        return keep_timeline_failure(timeline, status);
    }
    timeline->file = file;
    timeline->end = 0;
    status = write_head(timeline);
    if (status == GANTRY_OK) return GANTRY_OK;
    timeline->file = -1;
    (void)close(file);
    return status;
}

/* ---- buffers ---- */

/* The slot's lock is held. */
static void flush_slot(gantry__timeline_t *timeline, timeline_slot_t *slot) {
    if (slot->used == 0) return;
    const uint32_t before = gantry__failures();
    gantry__mutex_lock(&timeline->lock);
    if (open_timeline(timeline) == GANTRY_OK) (void)write_block(timeline, slot->bytes, slot->used);
    gantry__mutex_unlock(&timeline->lock);
    slot->used = 0;
    gantry__forget_since(before);
}

/* The slot's lock is held. False: no memory. */
static bool open_slot(const gantry__timeline_t *timeline, timeline_slot_t *slot) {
    const uint32_t before = gantry__failures();
    slot->forms = gantry__heap_zalloc(timeline->heap, GANTRY__TIMELINE_SLOT_BYTES);
    slot->bytes = slot->forms ? (char *)(slot->forms + FORMS) : NULL;
    gantry__forget_since(before);
    return slot->bytes;
}

/* The slot's lock is held. */
static void keep_event(gantry__timeline_t *timeline, timeline_slot_t *slot,
                       const gantry__timeline_event_t *event, uint64_t caller) {
    if (!slot->bytes && !open_slot(timeline, slot)) return; /* the event is lost */
    if (slot->used + LINE_BYTES > SLOT_TEXT_BYTES ||
        (slot->used > 0 && event->end_ns > slot->first_ns + LONGEST_STAY_NS))
        flush_slot(timeline, slot);
    if (slot->used == 0) slot->first_ns = event->end_ns;
    char *end = put_formed(slot->bytes + slot->used, event, caller, &slot->second, slot->forms);
    slot->used = (size_t)(end - slot->bytes);
}

void gantry__timeline_tell(gantry__timeline_t *timeline) {
    if (atomic_load_explicit(&timeline->is_mute, memory_order_relaxed) ||
        atomic_exchange(&timeline->is_mute, true))
        return;
    gantry__log(timeline->log, GANTRY_LEVEL_WARNING, "The timeline ends here: %s",
                timeline->failure);
}

void gantry__timeline_write(gantry__timeline_t *timeline, const gantry__timeline_event_t *event) {
    const uint64_t caller = this_thread();
    timeline_slot_t *slot = &timeline->slots[caller % GANTRY__TIMELINE_SLOTS];
    gantry__mutex_lock(&slot->lock);
    if (atomic_load_explicit(&timeline->is_on, memory_order_acquire))
        keep_event(timeline, slot, event, caller);
    gantry__mutex_unlock(&slot->lock);
}

/* ---- life ---- */

gantry_status_t gantry__timeline_create(const gantry__heap_t *heap, const gantry__log_t *log,
                                        gantry__timeline_t **out_timeline) {
    gantry__timeline_t *timeline = gantry__heap_zalloc(heap, sizeof *timeline);
    *out_timeline = timeline;
    if (!timeline) return GANTRY_RESOURCE_EXHAUSTED;
    timeline->heap = heap;
    timeline->log = log;
    timeline->file = -1;
    atomic_init(&timeline->is_mute, true);
    /* as everywhere on Linux, making a mutex without attributes cannot fail */
    (void)gantry__mutex_init(&timeline->lock);
    for (int i = 0; i < GANTRY__TIMELINE_SLOTS; ++i)
        (void)gantry__mutex_init(&timeline->slots[i].lock);
    return GANTRY_OK;
}

void gantry__timeline_destroy(gantry__timeline_t *timeline) {
    if (!timeline) return;
    const uint32_t before = gantry__failures();
    (void)gantry__timeline_stop(timeline);
    gantry__forget_since(before);
    for (int i = 0; i < GANTRY__TIMELINE_SLOTS; ++i) {
        timeline_slot_t *slot = &timeline->slots[i];
        if (slot->forms)
            gantry__heap_free(timeline->heap, slot->forms, GANTRY__TIMELINE_SLOT_BYTES);
        gantry__mutex_deinit(&slot->lock);
    }
    gantry__mutex_deinit(&timeline->lock);
    gantry__heap_free(timeline->heap, timeline, sizeof *timeline);
}

/* Copies path, with the process's number for each "%p". */
static gantry_status_t set_path(gantry__timeline_t *timeline, const char *path) {
    const size_t most = sizeof timeline->path - 1;
    size_t length = 0;
    for (const char *at = path; *at && length < most; ++at) {
        if (at[0] == '%' && at[1] == 'p') {
            (void)snprintf(timeline->path + length, most - length + 1, "%ld", (long)getpid());
            length += strlen(timeline->path + length);
            ++at;
        } else {
            timeline->path[length++] = *at;
        }
    }
    timeline->path[length] = '\0';
    if (length > 0 && length < most) return GANTRY_OK;
    return gantry__fail(GANTRY_INVALID_ARGUMENT,
                        "the path of the timeline has %zu bytes; 1 to %zu are accepted",
                        strlen(path), most - 1);
}

gantry_status_t gantry__timeline_start(gantry__timeline_t *timeline, const char *path,
                                       bool is_lazy) {
    gantry_status_t status = GANTRY_OK;
    gantry__mutex_lock(&timeline->lock);
    if (timeline->is_started)
        status = gantry__fail(GANTRY_FAILED_PRECONDITION,
                              "a timeline is being written to '%s'; gantry_trace_stop ends it",
                              timeline->path);
    if (status == GANTRY_OK) status = set_path(timeline, path);
    if (status == GANTRY_OK) {
        timeline->status = GANTRY_OK;
        if (!is_lazy) status = open_timeline(timeline);
        timeline->is_started = status == GANTRY_OK;
        atomic_store(&timeline->is_mute, true);
        atomic_store_explicit(&timeline->is_on, timeline->is_started, memory_order_release);
    }
    gantry__mutex_unlock(&timeline->lock);
    return status;
}

static gantry_status_t fail_unstarted(void) {
    return gantry__fail(
        GANTRY_FAILED_PRECONDITION,
        "no timeline is being written; gantry_trace_start, the option trace or GANTRY_TRACE=FILE begins one");
}

gantry_status_t gantry__timeline_stop(gantry__timeline_t *timeline) {
    if (!timeline) return fail_unstarted();
    atomic_store(&timeline->is_on, false);
    for (int i = 0; i < GANTRY__TIMELINE_SLOTS; ++i) {
        gantry__mutex_lock(&timeline->slots[i].lock);
        flush_slot(timeline, &timeline->slots[i]);
        gantry__mutex_unlock(&timeline->slots[i].lock);
    }
    gantry__mutex_lock(&timeline->lock);
    if (timeline->file >= 0 && close(timeline->file) != 0 && errno != EINTR)
        (void)keep_timeline_failure(timeline, gantry__file_fail("close", timeline->path, errno));
    gantry_status_t status = timeline->status;
    if (status != GANTRY_OK) (void)gantry__fail(status, "%s", timeline->failure);
    if (!timeline->is_started) status = fail_unstarted();
    timeline->file = -1;
    timeline->is_started = false;
    gantry__mutex_unlock(&timeline->lock);
    gantry__timeline_tell(timeline);
    return status;
}
