/* SPDX-License-Identifier: Apache-2.0 */
/* Device names: parsing and printing.
 *
 * One scanner walks a text once, keeps the byte offset `at`, and on failure leaves the column there
 * and a phrase that names the error.
 *
 *   full       = "" | "/" | ["/"] component { "/" component }
 *   component  = "job:" (WORD | "*") | "replica:" count | "task:" count | "device:" device
 *              | ("cpu" | "gpu" | ..., in any case) [ ":" count ] [ "@" BACKEND ]
 *   device     = ( WORD [ ":" count ] | "*" [ ":*" ] ) [ "@" BACKEND ]      count = DIGITS | "*"
 *   reference  = full
 *              | ["/"] "physical_device:" WORD ":" DIGITS [ "@" BACKEND ]
 *              | ["/"] ["device:"] BACKEND [ ":" count ]
 *              | "UUID:" ID | "GPU-" HEX | "MIG-" ID | ["PCI:"] ADDRESS
 *
 * The full grammar is TensorFlow's (device_name_utils), made stricter: a number out of int32's
 * range is refused instead of cut to 32 bits, a repeated component is refused instead of the last
 * one winning, an index without a type is refused, and cpu and gpu become upper case everywhere.
 * `@backend` is Gantry's own. Linear in the text. */
#include "device/device_name.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/failure.h"

typedef struct known_t {
    const char *const *backends;
    size_t count;
} known_t;

typedef struct scan_t {
    const char *text;
    size_t at;
    unsigned seen; /* components found so far, as SEEN_ bits */
    const known_t *known;
    const char *what; /* the failure */
} scan_t;

enum { SEEN_JOB = 1, SEEN_REPLICA = 2, SEEN_TASK = 4, SEEN_DEVICE = 8 };

/* Types that need no "device:" in front, in any case: TensorFlow's list, and Gantry's own third
 * type. */
static const char *const bare_types[] = {"CPU", "GPU", "ACCELERATOR", "TPU", "EPU", "CUSTOM"};
static const char *const keywords[] = {"job",  "replica", "task", "device", "physical_device",
                                       "uuid", "pci"};
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Whether c is a digit of ASCII, whatever the locale. */
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static char device_name_lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }
static bool is_letter(char c) { return device_name_lower(c) >= 'a' && device_name_lower(c) <= 'z'; }
static bool is_word_char(char c) { return is_letter(c) || is_digit(c) || c == '_'; }
static bool is_hex(char c) {
    return is_digit(c) || (device_name_lower(c) >= 'a' && device_name_lower(c) <= 'f');
}

static bool starts_nocase(const char *text, const char *prefix) {
    while (*prefix && device_name_lower(*text) == device_name_lower(*prefix)) {
        text++;
        prefix++;
    }
    return *prefix == '\0';
}

static bool is_equal_nocase(const char *word, size_t length, const char *other) {
    return strlen(other) == length && starts_nocase(word, other);
}

/* ---- The scanner. */

static bool device_name_refuse(scan_t *scan, size_t at, const char *what) {
    scan->at = at;
    scan->what = what;
    return false;
}

static bool refuse_here(scan_t *scan, const char *wanted) {
    switch (scan->text[scan->at]) {
        case ' ':
        case '\t':
        case '\n':
        case '\r': return device_name_refuse(scan, scan->at, "a blank");
        case '+':
        case '-': return device_name_refuse(scan, scan->at, "a sign");
        default: return device_name_refuse(scan, scan->at, wanted);
    }
}

static char device_name_peek(const scan_t *scan) { return scan->text[scan->at]; }

static bool consume(scan_t *scan, const char *prefix) {
    size_t length = strlen(prefix);
    if (strncmp(scan->text + scan->at, prefix, length) != 0) return false;
    scan->at += length;
    return true;
}

static bool expect_end(scan_t *scan) {
    return device_name_peek(scan) == '\0' || refuse_here(scan, "text after the end of the name");
}

static size_t word_length(const char *text) {
    size_t length = 0;
    if (!is_letter(text[0])) return 0;
    while (is_word_char(text[length])) length++;
    return length;
}

static bool parse_word(scan_t *scan, char *out_word, size_t word_bytes, const char *wanted) {
    size_t length = word_length(scan->text + scan->at);
    if (length == 0) return refuse_here(scan, wanted);
    if (length >= word_bytes)
        return device_name_refuse(scan, scan->at + word_bytes - 1, "a word that is too long");
    memcpy(out_word, scan->text + scan->at, length);
    out_word[length] = '\0';
    scan->at += length;
    return true;
}

static bool parse_number(scan_t *scan, bool *out_has, int32_t *out_value, const char *wanted) {
    size_t start = scan->at;
    if (!is_digit(device_name_peek(scan))) return refuse_here(scan, wanted);
    int64_t value = 0;
    for (; is_digit(device_name_peek(scan)); scan->at++) {
        value = value * 10 + (device_name_peek(scan) - '0');
        if (value > INT32_MAX) return device_name_refuse(scan, start, "a number above 2147483647");
    }
    *out_has = true;
    *out_value = (int32_t)value;
    return true;
}

static bool parse_count(scan_t *scan, bool *out_has, int32_t *out_value) {
    if (consume(scan, "*")) return true;
    return parse_number(scan, out_has, out_value, "no number and no *");
}

/* ---- Components. */

static const char *find_bare_type(const char *word, size_t length) {
    for (size_t i = 0; i < COUNT(bare_types); ++i)
        if (is_equal_nocase(word, length, bare_types[i])) return bare_types[i];
    return NULL;
}

const char *gantry__device_type_standard(const char *word) {
    return find_bare_type(word, strlen(word));
}

/* The known backend of that name, in the spelling of the list; NULL if there is none, and for words
 * of the grammar. */
static const char *find_backend(const known_t *known, const char *word, size_t length) {
    for (size_t i = 0; i < known->count; ++i)
        if (is_equal_nocase(word, length, known->backends[i])) return known->backends[i];
    return NULL;
}

static const char *find_alias(const known_t *known, const char *word, size_t length) {
    if (find_bare_type(word, length)) return NULL;
    for (size_t i = 0; i < COUNT(keywords); ++i)
        if (is_equal_nocase(word, length, keywords[i])) return NULL;
    return find_backend(known, word, length);
}

static bool parse_backend(scan_t *scan, gantry__device_name_t *name) {
    if (!consume(scan, "@")) return true;
    size_t start = scan->at;
    if (!parse_word(scan, name->backend, sizeof name->backend, "no backend name")) return false;
    name->has_backend = true;
    const char *found = find_backend(scan->known, name->backend, strlen(name->backend));
    if (!found) return device_name_refuse(scan, start, "an unknown backend");
    memcpy(name->backend, found, strlen(found));
    return true;
}

static bool parse_type(scan_t *scan, gantry__device_name_t *name) {
    if (!parse_word(scan, name->type, sizeof name->type, "no device type")) return false;
    const char *standard = find_bare_type(name->type, strlen(name->type));
    if (standard) memcpy(name->type, standard, strlen(standard));
    name->has_type = true;
    return true;
}

static bool parse_device(scan_t *scan, gantry__device_name_t *name) {
    if (consume(scan, "*")) {
        if (consume(scan, ":") && !consume(scan, "*"))
            return refuse_here(scan, "an index without a type");
        return device_name_peek(scan) != '@' || refuse_here(scan, "a backend without a type");
    }
    if (!parse_type(scan, name)) return false;
    if (consume(scan, ":") && !parse_count(scan, &name->has_index, &name->index)) return false;
    return parse_backend(scan, name);
}

static bool is_bare_device(const scan_t *scan) {
    const char *word = scan->text + scan->at;
    size_t length = word_length(word);
    return find_bare_type(word, length) != NULL;
}

static bool mark_seen(scan_t *scan, size_t start, unsigned bit) {
    if (scan->seen & bit)
        return device_name_refuse(scan, start,
                                  bit == SEEN_DEVICE ? "a second device" : "a repeated component");
    scan->seen |= bit;
    return true;
}

static bool parse_component(scan_t *scan, gantry__device_name_t *name) {
    size_t start = scan->at;
    if (consume(scan, "job:")) {
        if (!mark_seen(scan, start, SEEN_JOB)) return false;
        if (consume(scan, "*")) return true;
        return name->has_job = parse_word(scan, name->job, sizeof name->job,
                                          "no job name (it begins with a letter)");
    }
    if (consume(scan, "replica:"))
        return mark_seen(scan, start, SEEN_REPLICA) &&
               parse_count(scan, &name->has_replica, &name->replica);
    if (consume(scan, "task:"))
        return mark_seen(scan, start, SEEN_TASK) && parse_count(scan, &name->has_task, &name->task);
    if (consume(scan, "device:") || is_bare_device(scan))
        return mark_seen(scan, start, SEEN_DEVICE) && parse_device(scan, name);
    bool is_empty = device_name_peek(scan) == '/' || device_name_peek(scan) == '\0';
    return refuse_here(scan, is_empty ? "an empty component" : "an unknown component");
}

static bool parse_components(scan_t *scan, gantry__device_name_t *name) {
    if (strcmp(scan->text, "/") == 0) return true;
    while (device_name_peek(scan) != '\0') {
        if (!consume(scan, "/") && scan->at > 0)
            return refuse_here(scan, "an unexpected character");
        if (!parse_component(scan, name)) return false;
    }
    return true;
}

/* ---- References. */

static bool parse_alias(scan_t *scan, const char *backend, size_t word_at,
                        gantry__device_reference_t *reference) {
    reference->kind = GANTRY__DEVICE_BACKEND_ALIAS;
    size_t length = strlen(backend);
    if (length >= sizeof reference->name.backend)
        return device_name_refuse(scan, word_at, "a backend name that is too long");
    memcpy(reference->name.backend, backend, length + 1);
    reference->name.has_backend = true;
    scan->at = word_at + length;
    if (consume(scan, ":") &&
        !parse_count(scan, &reference->name.has_index, &reference->name.index))
        return false;
    return expect_end(scan);
}

static bool parse_physical(scan_t *scan, gantry__device_reference_t *reference) {
    gantry__device_name_t *name = &reference->name;
    reference->kind = GANTRY__DEVICE_PHYSICAL;
    if (!parse_type(scan, name)) return false;
    if (!consume(scan, ":")) return refuse_here(scan, "no index");
    if (!parse_number(scan, &name->has_index, &name->index, "no number")) return false;
    return parse_backend(scan, name) && expect_end(scan);
}

static bool is_id_char(char c) {
    return is_word_char(c) || c == '-' || c == '.' || c == ':' || c == '/';
}

static bool parse_uuid(scan_t *scan, gantry__device_reference_t *reference) {
    reference->kind = GANTRY__DEVICE_UUID_PREFIX;
    size_t start = scan->at;
    bool is_gpu = starts_nocase(scan->text + start, "GPU-");
    if (is_gpu || starts_nocase(scan->text + start, "MIG-")) scan->at += 4;
    size_t digits = scan->at;
    while (is_gpu ? is_hex(device_name_peek(scan)) || device_name_peek(scan) == '-'
                  : is_id_char(device_name_peek(scan)))
        scan->at++;
    if (scan->at == digits) return device_name_refuse(scan, scan->at, "no digit of a UUID");
    if (scan->at - start >= sizeof reference->text)
        return device_name_refuse(scan, start, "a UUID that is too long");
    memcpy(reference->text, scan->text + start, scan->at - start);
    reference->text[scan->at - start] = '\0';
    return expect_end(scan);
}

static bool parse_reference(scan_t *scan, gantry__device_reference_t *reference) {
    const char *text = scan->text;
    if (starts_nocase(text, "UUID:")) {
        scan->at = strlen("UUID:");
        return parse_uuid(scan, reference);
    }
    if (starts_nocase(text, "GPU-") || starts_nocase(text, "MIG-"))
        return parse_uuid(scan, reference);
    if (gantry__pci_normalise(text, reference->text)) {
        reference->kind = GANTRY__DEVICE_PCI_ADDRESS;
        return true;
    }
    if (starts_nocase(text, "PCI:"))
        return device_name_refuse(scan, strlen("PCI:"), "no address DOMAIN:BUS:DEVICE.FUNCTION");
    if (consume(scan, "/physical_device:") || consume(scan, "physical_device:"))
        return parse_physical(scan, reference);
    size_t word_at = text[0] == '/' ? 1 : 0;
    if (strncmp(text + word_at, "device:", 7) == 0) word_at += 7;
    const char *backend = find_alias(scan->known, text + word_at, word_length(text + word_at));
    if (backend) return parse_alias(scan, backend, word_at, reference);
    return parse_components(scan, &reference->name);
}

/* ---- Failure text. */

/* Longer texts are cut in messages, so that the rest of the message stays. */
#define SHOWN_BYTES 200

static gantry_status_t fail_malformed(const scan_t *scan, const char *accepted) {
    const char *more = strlen(scan->text) > SHOWN_BYTES ? "..." : "";
    return gantry__refuse("Malformed device specification '%.*s%s': %s at column %zu; accepted: %s",
                          SHOWN_BYTES, scan->text, more, scan->what, scan->at + 1, accepted);
}

/* Appends to a buffer of text_bytes, cutting the text; length counts on. */
static void device_name_put(char *text, size_t text_bytes, size_t *length, const char *format, ...)
    GANTRY__PRINTF(4, 5);
static void device_name_put(char *text, size_t text_bytes, size_t *length, const char *format,
                            ...) {
    size_t used = *length < text_bytes ? *length : text_bytes;
    va_list args;
    va_start(args, format);
    int added = vsnprintf(text ? text + used : NULL, text_bytes - used, format, args);
    va_end(args);
    if (added > 0) *length += (size_t)added;
}

static gantry_status_t fail_malformed_reference(const scan_t *scan) {
    char accepted[768];
    size_t length = 0;
    device_name_put(
        accepted, sizeof accepted, &length,
        "GPU:0, gpu, /GPU:0, /gpu:*, /device:GPU:0, /job:localhost/replica:0/task:0/device:GPU:0, /physical_device:GPU:0, UUID:PREFIX or GPU-PREFIX, PCI:0000:65:00.0");
    for (size_t i = 0; i < scan->known->count; ++i)
        device_name_put(accepted, sizeof accepted, &length, ", %s:0, GPU:0@%s",
                        scan->known->backends[i], scan->known->backends[i]);
    return fail_malformed(scan, accepted);
}

/* ---- Entry points. */

static gantry_status_t parse_or_explain(const char *text, const known_t *known, bool explain,
                                        gantry__device_reference_t *out_reference) {
    memset(out_reference, 0, sizeof *out_reference);
    scan_t scan = {.text = text, .known = known};
    gantry__device_reference_t reference = {0};
    if (!parse_reference(&scan, &reference))
        return explain ? fail_malformed_reference(&scan) : GANTRY_INVALID_ARGUMENT;
    *out_reference = reference;
    return GANTRY_OK;
}

gantry_status_t gantry__device_reference_parse(const char *text, const char *const *backends,
                                               size_t backend_count,
                                               gantry__device_reference_t *out_reference) {
    known_t known = {.backends = backends, .count = backend_count};
    if (text) return parse_or_explain(text, &known, true, out_reference);
    memset(out_reference, 0, sizeof *out_reference);
    return gantry__refuse("Malformed device specification: NULL; accepted: a text such as GPU:0");
}

bool gantry__device_reference_try(const char *text, const char *const *backends,
                                  size_t backend_count, gantry__device_reference_t *out_reference) {
    known_t known = {.backends = backends, .count = backend_count};
    if (text) return parse_or_explain(text, &known, false, out_reference) == GANTRY_OK;
    memset(out_reference, 0, sizeof *out_reference);
    return false;
}

/* ---- Printing. */

static void put_device(const gantry__device_name_t *name, char *text, size_t text_bytes,
                       size_t *length) {
    device_name_put(text, text_bytes, length, "%s:", name->type);
    if (name->has_index)
        device_name_put(text, text_bytes, length, "%d", (int)name->index);
    else
        device_name_put(text, text_bytes, length, "*");
    if (name->has_backend) device_name_put(text, text_bytes, length, "@%s", name->backend);
}

size_t gantry__device_name_format(const gantry__device_name_t *name, char *out_text,
                                  size_t text_bytes) {
    size_t length = 0;
    if (text_bytes > 0) out_text[0] = '\0';
    if (name->has_job) device_name_put(out_text, text_bytes, &length, "/job:%s", name->job);
    if (name->has_replica)
        device_name_put(out_text, text_bytes, &length, "/replica:%d", (int)name->replica);
    if (name->has_task) device_name_put(out_text, text_bytes, &length, "/task:%d", (int)name->task);
    if (name->has_type) {
        device_name_put(out_text, text_bytes, &length, "/device:");
        put_device(name, out_text, text_bytes, &length);
    }
    return length;
}

size_t gantry__device_reference_format(const gantry__device_reference_t *reference, char *out_text,
                                       size_t text_bytes) {
    const gantry__device_name_t *name = &reference->name;
    size_t length = 0;
    switch (reference->kind) {
        case GANTRY__DEVICE_LOGICAL: return gantry__device_name_format(name, out_text, text_bytes);
        case GANTRY__DEVICE_PHYSICAL:
            device_name_put(out_text, text_bytes, &length, "/physical_device:");
            put_device(name, out_text, text_bytes, &length);
            break;
        case GANTRY__DEVICE_BACKEND_ALIAS:
            device_name_put(out_text, text_bytes, &length, "%s", name->backend);
            if (name->has_index)
                device_name_put(out_text, text_bytes, &length, ":%d", (int)name->index);
            break;
        case GANTRY__DEVICE_UUID_PREFIX:
            device_name_put(out_text, text_bytes, &length, "UUID:%s", reference->text);
            break;
        case GANTRY__DEVICE_PCI_ADDRESS:
            device_name_put(out_text, text_bytes, &length, "%s", reference->text);
            break;
    }
    return length;
}

/* ---- Hardware identities. */

static int hex_value(char c) { return is_digit(c) ? c - '0' : device_name_lower(c) - 'a' + 10; }

/* Reads one to max_digits hexadecimal digits; moves *text to after them. */
static bool read_hex(const char **text, int max_digits, unsigned *out_value) {
    unsigned value = 0;
    int digits = 0;
    for (; digits < max_digits && is_hex(**text); digits++, (*text)++)
        value = value * 16 + (unsigned)hex_value(**text);
    *out_value = value;
    return digits > 0;
}

bool gantry__pci_normalise(const char *text, char out_text[GANTRY__PCI_BYTES]) {
    out_text[0] = '\0';
    if (!text) return false;
    if (starts_nocase(text, "PCI:")) text += strlen("PCI:");
    unsigned group[3] = {0, 0, 0}; /* domain, bus, device */
    unsigned function = 0;
    bool has_domain = strchr(text, ':') != strrchr(text, ':');
    static const int max_digits[3] = {8, 2, 2};
    static const char after[3] = {':', ':', '.'};
    for (int i = has_domain ? 0 : 1; i < 3; ++i)
        if (!read_hex(&text, max_digits[i], &group[i]) || *text++ != after[i]) return false;
    if (!read_hex(&text, 1, &function) || *text != '\0' || group[2] > 0x1f || function > 7)
        return false;
    (void)snprintf(out_text, GANTRY__PCI_BYTES, "%04x:%02x:%02x.%x", group[0], group[1], group[2],
                   function);
    return true;
}

static bool is_of_part(const char *uuid) { return starts_nocase(uuid, "MIG-"); }

static const char *without_tag(const char *uuid) {
    return starts_nocase(uuid, "GPU-") || is_of_part(uuid) ? uuid + 4 : uuid;
}

/* A driver that does not say whether a device is a part of a card (MIG) tags all with "GPU-": so a
 * part's UUID matches such a device, too. Conversely, the device's own tag decides. */
bool gantry__uuid_has_prefix(const char *uuid, const char *prefix) {
    if (!uuid || !prefix || *without_tag(prefix) == '\0') return false;
    if (is_of_part(uuid) && starts_nocase(prefix, "GPU-")) return false;
    return starts_nocase(without_tag(uuid), without_tag(prefix));
}
