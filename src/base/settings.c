#include "base/settings.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

gantry_status_t gantry__settings_init(gantry__settings_t *settings, const gantry__heap_t *heap) {
    *settings = (gantry__settings_t){.heap = heap};
    if (gantry__mutex_init(&settings->lock) != 0) return gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "cannot make a mutex");
    return GANTRY_OK;
}

static void release_entry(const gantry__heap_t *heap, gantry__setting_t *entry) {
    gantry__heap_free_text(heap, entry->name);
    gantry__heap_free_text(heap, entry->value);
    gantry__heap_free(heap, entry, sizeof *entry);
}

void gantry__settings_deinit(gantry__settings_t *settings) {
    for (size_t i = 0; i < settings->count; ++i) release_entry(settings->heap, settings->entries[i]);
    gantry__heap_free(settings->heap, settings->entries, settings->capacity * sizeof *settings->entries);
    gantry__mutex_deinit(&settings->lock);
}

static gantry__setting_t *find(const gantry__settings_t *settings, const char *name) {
    for (size_t i = 0; i < settings->count; ++i) {
        if (strcmp(settings->entries[i]->name, name) == 0) return settings->entries[i];
    }
    return NULL;
}

static gantry__setting_t *add(gantry__settings_t *settings, const char *name, const char *value,
                              gantry__setting_source_t source) {
    const gantry__heap_t *heap = settings->heap;
    if (!gantry__heap_grow(heap, &settings->entries, settings->count, &settings->capacity, sizeof *settings->entries))
        return NULL;
    gantry__setting_t *entry = gantry__heap_zalloc(heap, sizeof *entry);
    if (!entry) return NULL;
    entry->source = source;
    entry->name = gantry__heap_strdup(heap, name);
    entry->value = value ? gantry__heap_strdup(heap, value) : NULL;
    if (!entry->name || (value && !entry->value)) {
        release_entry(heap, entry);
        return NULL;
    }
    settings->entries[settings->count++] = entry;
    return entry;
}

gantry_status_t gantry__settings_put(gantry__settings_t *settings, const char *name, const char *value) {
    return add(settings, name, value, GANTRY__SOURCE_OPTION) ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
}

gantry_status_t gantry__settings_put_all(gantry__settings_t *settings, const char *const *assignments) {
    for (; assignments && *assignments; ++assignments) {
        const char *equals = strchr(*assignments, '=');
        if (!equals || equals == *assignments) {
            return gantry__fail(GANTRY_INVALID_ARGUMENT, "extra option \"%s\" is not of the form NAME=VALUE",
                                *assignments);
        }
        char *name = gantry__heap_strdup(settings->heap, *assignments);
        if (!name) return GANTRY_RESOURCE_EXHAUSTED;
        name[equals - *assignments] = '\0';
        gantry_status_t status = gantry__settings_put(settings, name, equals + 1);
        gantry__heap_free(settings->heap, name, strlen(*assignments) + 1);
        GANTRY__TRY(status);
    }
    return GANTRY_OK;
}

const char *gantry__settings_get(gantry__settings_t *settings, const char *name, gantry__setting_source_t *out_source) {
    gantry__mutex_lock(&settings->lock);
    const gantry__setting_t *entry = find(settings, name);
    if (!entry) {
        const char *value = getenv(name);
        entry = add(settings, name, value, value ? GANTRY__SOURCE_ENVIRONMENT : GANTRY__SOURCE_DEFAULT);
    }
    gantry__mutex_unlock(&settings->lock);
    if (out_source) *out_source = entry ? entry->source : GANTRY__SOURCE_DEFAULT;
    return entry ? entry->value : NULL;
}

static bool equals_ignoring_case(const char *a, const char *b) {
    while (*a && tolower((unsigned char)*a) == tolower((unsigned char)*b)) ++a, ++b;
    return tolower((unsigned char)*a) == tolower((unsigned char)*b);
}

gantry_status_t gantry__settings_get_bool(gantry__settings_t *settings, const char *name, bool *out) {
    static const char *const words[] = {"0", "off", "false", "no", "1", "on", "true", "yes"};
    const char *value = gantry__settings_get(settings, name, NULL);
    if (!value || !*value) return GANTRY_OK;
    for (int i = 0; i < 8; ++i) {
        if (equals_ignoring_case(value, words[i])) {
            *out = i >= 4;
            return GANTRY_OK;
        }
    }
    return gantry__fail(GANTRY_INVALID_ARGUMENT, "%s is \"%s\"; accepted are 0, off, false, no, 1, on, true, yes", name,
                        value);
}

gantry_status_t gantry__settings_get_word(gantry__settings_t *settings, const char *name, const char *const *words,
                                          int count, int *out) {
    const char *value = gantry__settings_get(settings, name, NULL);
    if (!value || !*value) return GANTRY_OK;
    char accepted[256] = "";
    for (int i = 0; i < count; ++i) {
        if (equals_ignoring_case(value, words[i])) {
            *out = i;
            return GANTRY_OK;
        }
        if (i) strncat(accepted, ", ", sizeof accepted - strlen(accepted) - 1);
        strncat(accepted, words[i], sizeof accepted - strlen(accepted) - 1);
    }
    return gantry__fail(GANTRY_INVALID_ARGUMENT, "%s is \"%s\"; accepted are %s", name, value, accepted);
}

gantry_status_t gantry__settings_get_bytes(gantry__settings_t *settings, const char *name, uint64_t *out) {
    const char *value = gantry__settings_get(settings, name, NULL);
    if (!value || !*value) return GANTRY_OK;
    const char *p = value;
    uint64_t number = 0;
    bool ok = isdigit((unsigned char)*p);
    for (; ok && isdigit((unsigned char)*p); ++p) {
        uint64_t digit = (uint64_t)(*p - '0');
        ok = number <= (UINT64_MAX - digit) / 10;
        number = number * 10 + digit;
    }
    static const char units[] = "KMGT";
    const char *unit = ok && *p ? strchr(units, toupper((unsigned char)*p)) : NULL;
    if (unit) {
        unsigned shift = 10u * (unsigned)(unit - units + 1);
        ok = number <= (UINT64_MAX >> shift);
        number <<= shift;
        ++p;
    }
    if (!ok || *p) {
        return gantry__fail(GANTRY_INVALID_ARGUMENT,
                            "%s is \"%s\"; accepted is a number of bytes such as 1048576, 512M or 2G", name, value);
    }
    *out = number;
    return GANTRY_OK;
}
