/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a timeline's event, in this order: numbers and texts, an event, its pieces that are
 * kept.
 *
 * A function writes at `at`, which must have room, and returns the end of its text. Most events
 * come here by thousands, so it copies few bytes at a time and divides rarely. */
#include "base/timeline_line.h"

#include <stdio.h>
#include <string.h>

#include "base/json_text.h"
#include "shared/printable.h"

/* ---- numbers and texts ---- */

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

/* Writes exactly so many digits, with zeros before the number. */
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

/* Writes nanoseconds after the point of microseconds. */
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

/* Whether a character is copied as it is: printable ASCII but the quote and the backslash. */
static inline bool timeline_is_plain(char c) {
    return (unsigned char)(c - 0x20) < 0x5f && c != '"' && c != '\\';
}

/* Writes one character of a string that needs more than a copy; returns its bytes in the text. */
static size_t put_character(char **at, const char *text) {
    const unsigned char first = (unsigned char)*text;
    const size_t bytes = first > 0x7f ? gantry__utf8_bytes(text) : 0;
    if (bytes == 0) *at += snprintf(*at, 8, "\\u%04x", first > 0x7f ? 0xfffdu : first);
    *at = put_bytes(*at, text, bytes);
    return bytes > 0 ? bytes : 1;
}

char *gantry__timeline_put_text(char *at, const char *text) {
    const char *const end = at + GANTRY__TIMELINE_TEXT_BYTES;
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

/* ---- an event ---- */

static inline bool is_left_out(const gantry__timeline_event_t *event,
                               const gantry__timeline_arg_t *arg) {
    return arg->text ? !*arg->text : arg->number == 0 && event->phase != 'C';
}

/* Writes args from `first` on; is_behind: others come before them. */
static inline char *put_args(char *at, const gantry__timeline_event_t *event, uint32_t first,
                             bool is_behind) {
    for (uint32_t i = first; i < event->arg_count && i < GANTRY__TIMELINE_ARGS; ++i) {
        const gantry__timeline_arg_t *arg = &event->args[i];
        if (is_left_out(event, arg)) continue;
        if (is_behind) *at++ = ',';
        is_behind = true;
        at = put_name(at, arg->name);
        *at++ = ':';
        at = arg->text ? gantry__timeline_put_text(at, arg->text) : put_digits(at, arg->number);
    }
    return at;
}

/* A line, up to its time. */
static char *put_head(char *at, const gantry__timeline_event_t *event) {
    at = PUT(at, ",\n{\"name\":");
    at = gantry__timeline_put_text(at, event->name);
    if (event->category) {
        at = PUT(at, ",\"cat\":");
        at = put_name(at, event->category);
    }
    at = PUT(at, ",\"ph\":\"");
    *at++ = event->phase;
    at = PUT(at, "\",\"pid\":");
    at = put_digits(at, event->process);
    at = PUT(at, ",\"tid\":");
    at = put_digits(at, event->thread);
    return event->phase == 'M' ? at : PUT(at, ",\"ts\":");
}

static inline char *put_times(char *at, const gantry__timeline_event_t *event, second_t *second) {
    if (event->phase == 'M') return at;
    at = put_time(at, event->begin_ns, second);
    if (event->phase != 'X') return at;
    at = PUT(at, ",\"dur\":");
    return put_duration(at, event->end_ns > event->begin_ns ? event->end_ns - event->begin_ns : 0);
}

static char *put_event(char *at, const gantry__timeline_event_t *event, second_t *second) {
    at = put_times(put_head(at, event), event, second);
    if (event->arg_count == 0) return PUT(at, "}");
    at = PUT(at, ",\"args\":{");
    at = put_args(at, event, 0, false);
    return PUT(at, "}}");
}

/* ---- pieces of lines ----
 *
 * Most lines differ from an earlier one only in their numbers:
 *
 *     ,\n{"name":"Add","cat":"op","ph":"X","pid":1,"tid":7,"ts":  1.500  ,"dur":  0.250
 *     |----------------------- head --------------------------|
 *     ,"args":{"device":"/device:CPU:0","reason":"..."  ,"launches":1}}
 *     |-------------------- tail ---------------------|
 *
 * Heads and tails are kept in a hash table by the addresses of their texts. A line that finds no
 * room replaces another. */

enum { FORMS = 128, FORM_PROBES = 8, FORM_TEXTS = 4, FORM_HEAD = 128, FORM_TAIL = 192 };

typedef struct form_t {
    const char *name, *category; /* name NULL: no line is kept here */
    uint64_t thread;
    uint32_t process, text_count;
    struct {
        const char *name, *text;
    } texts[FORM_TEXTS];
    char phase;
    bool has_args; /* there are args in the tail */
    uint16_t head_bytes, tail_bytes;
    char head[FORM_HEAD], tail[FORM_TAIL];
} form_t;

static inline uint32_t count_texts(const gantry__timeline_event_t *event) {
    uint32_t count = 0;
    while (count < event->arg_count && event->args[count].text) ++count;
    return count;
}

static inline bool is_form_of(const form_t *form, const gantry__timeline_event_t *event,
                              uint32_t text_count) {
    if (form->name != event->name || form->category != event->category ||
        form->thread != event->thread || form->process != event->process ||
        form->phase != event->phase || form->text_count != text_count)
        return false;
    for (uint32_t i = 0; i < text_count; ++i)
        if (form->texts[i].text != event->args[i].text ||
            form->texts[i].name != event->args[i].name)
            return false;
    return true;
}

static inline uint32_t hash_event(const gantry__timeline_event_t *event, uint32_t text_count) {
    uint64_t mix = (uintptr_t)event->name ^ event->thread << 32 ^ (uint64_t)event->process << 48 ^
                   (uint64_t)text_count << 56;
    for (uint32_t i = 0; i < text_count; ++i)
        mix = mix * UINT64_C(0x9e3779b97f4a7c15) + (uintptr_t)event->args[i].text;
    return (uint32_t)((mix * UINT64_C(0x9e3779b97f4a7c15)) >> 57);
}
_Static_assert(FORMS == 1 << (64 - 57), "hash_event gives the position of a form");

/* Makes the form of a line; false: the line's pieces are too long to be kept. text must have room
 * for a line. */
static bool make_form(form_t *form, const gantry__timeline_event_t *event, uint32_t text_count,
                      char *text) {
    form->name = NULL;
    const size_t head = (size_t)(put_head(text, event) - text);
    if (head > FORM_HEAD) return false;
    memcpy(form->head, text, head);
    gantry__timeline_event_t texts = *event;
    texts.arg_count = text_count;
    char *const first = PUT(text, ",\"args\":{");
    const char *const end = put_args(first, &texts, 0, false);
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
                                      uint32_t text_count, char *text) {
    const uint32_t first = hash_event(event, text_count);
    form_t *form = &forms[first];
    for (uint32_t i = 0; i < FORM_PROBES; ++i) {
        form_t *next = &forms[(first + i) % FORMS];
        if (is_form_of(next, event, text_count)) return next;
        if (!next->name) {
            form = next;
            break;
        }
    }
    return make_form(form, event, text_count, text) ? form : NULL;
}

/* The piece is in an array of whole steps, and the line has room for one step more, so that copies
 * of a constant size need no call. */
static inline char *put_piece(char *at, const char *piece, unsigned bytes) {
    enum { STEP = 32 };
    for (unsigned i = 0; i < bytes; i += STEP) memcpy(at + i, piece + i, STEP);
    return at + bytes;
}

struct gantry__timeline_kept_t {
    second_t second;
    form_t forms[FORMS];
};
const size_t gantry__timeline_kept_bytes = sizeof(gantry__timeline_kept_t);

char *gantry__timeline_put_line(char *at, const gantry__timeline_event_t *event,
                                gantry__timeline_kept_t *kept) {
    const uint32_t text_count = count_texts(event);
    const form_t *form = event->has_constant_texts && text_count <= FORM_TEXTS
                             ? find_form(kept->forms, event, text_count, at)
                             : NULL;
    if (!form) return put_event(at, event, &kept->second);
    at = put_piece(at, form->head, form->head_bytes);
    at = put_times(at, event, &kept->second);
    if (event->arg_count == 0) return PUT(at, "}");
    at = put_piece(at, form->tail, form->tail_bytes);
    at = put_args(at, event, text_count, form->has_args);
    return PUT(at, "}}");
}
