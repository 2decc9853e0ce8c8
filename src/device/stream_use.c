/* SPDX-License-Identifier: Apache-2.0 */
/* Which functions a stream worked for of late. A driver reports a failure when something waits: by
 * then the call that submitted the work has returned. */
#include <stdio.h>
#include <string.h>

#include "device/stream.h"

void gantry__stream_note_use(gantry__stream_t *stream, uint64_t before, const char *name) {
    if (atomic_load(&stream->submitted) == before) return;
    gantry__mutex_lock(&stream->lock);
    gantry__stream_use_t *use = &stream->uses[(stream->use_count - 1) % GANTRY__STREAM_USES];
    if (stream->use_count == 0 || strncmp(use->name, name, sizeof use->name - 1) != 0) {
        use = &stream->uses[stream->use_count++ % GANTRY__STREAM_USES];
        (void)snprintf(use->name, sizeof use->name, "%s", name);
    }
    use->to = atomic_load(&stream->submitted);
    gantry__mutex_unlock(&stream->lock);
}

void gantry__stream_print_uses(gantry__stream_t *stream, char *out, size_t out_bytes) {
    size_t used = 0;
    out[0] = '\0';
    gantry__mutex_lock(&stream->lock);
    const uint64_t completed = atomic_load(&stream->completed), count = stream->use_count,
                   most = GANTRY__STREAM_USES;
    for (uint64_t i = count < most ? 0 : count - most; i < count; ++i) {
        const gantry__stream_use_t *use = &stream->uses[i % most];
        if (use->to <= completed || used >= out_bytes) continue;
        used += (size_t)snprintf(out + used, out_bytes - used, "%s%s", used ? ", " : "", use->name);
    }
    gantry__mutex_unlock(&stream->lock);
}
