/* SPDX-License-Identifier: Apache-2.0 */
/* Events. A wait takes the record that is the event's latest when the wait is submitted; the event
 * may then be recorded again. */
#include "fake_internal.h"

#include <string.h>

/* ---- records ---- */

static fake_mark_t *make_mark(fake_call_t *call, fake_instance_t *instance) {
    const gantry_host_t *host = instance->host;
    fake_mark_t *mark = host->reallocate(host->self, NULL, 0, sizeof *mark);
    if (!mark) {
        gantry__fake_refuse(call, GANTRY_RESOURCE_EXHAUSTED,
                            "no host memory for a record of an event");
        return NULL;
    }
    memset(mark, 0, sizeof *mark);
    mark->instance = instance;
    mark->references = 1;
    return mark;
}

void gantry__fake_mark_release(fake_mark_t *mark) {
    if (!mark || --mark->references > 0) return;
    const gantry_host_t *host = mark->instance->host;
    (void)host->reallocate(host->self, mark, sizeof *mark, 0);
}

/* ---- slots ---- */

static int32_t create(gantry_backend_device_t *device, gantry_backend_event_t **out_event) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_event_create);
    *out_event = NULL;
    fake_device_t *self = gantry__fake_find_device(&call, device);
    fake_event_t *event = self ? gantry__fake_create(&call, self->object.instance,
                                                     GANTRY_FAKE_EVENT, 0, sizeof *event)
                               : NULL;
    if (event) {
        event->device = self;
        ++self->live_objects;
        *out_event = (gantry_backend_event_t *)(uintptr_t)event->object.number;
    }
    return gantry__fake_end(&call);
}

static void destroy(gantry_backend_event_t *handle) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_event_destroy);
    fake_event_t *event = gantry__fake_find(&call, GANTRY_FAKE_EVENT, gantry__fake_number(handle));
    if (event) {
        if (event->users > 0)
            gantry__fake_violate(&call, "the event is destroyed while another thread waits for it");
        gantry__fake_forget(&event->object);
        while (event->users > 0) (void)pthread_cond_wait(&gantry__fake.changed, &gantry__fake.lock);
        --event->device->live_objects;
        gantry__fake_mark_release(event->mark);
        gantry__fake_release(&event->object);
    }
    (void)gantry__fake_end(&call);
}

/* The work shares the new mark. A record in a capture keeps only the mark. */
void gantry__fake_submit_record(fake_call_t *call, fake_stream_t *stream, fake_mark_t **mark) {
    fake_work_t *work = gantry__fake_work_create(call, stream, "record", NULL, 0, 0);
    if (!work) return;
    work->kind = FAKE_WORK_RECORD;
    work->mark = make_mark(call, stream->object.instance);
    if (work->mark) {
        work->mark->graph = gantry__fake_capture(stream);
        gantry__fake_mark_release(*mark);
        *mark = work->mark;
        ++(*mark)->references;
    }
    if (stream->graph && call->error.code == GANTRY_OK) {
        gantry__fake_work_drop(stream->object.instance, work);
    } else {
        gantry__fake_submit(call, stream, work);
    }
}

static int32_t record(gantry_backend_event_t *handle, gantry_backend_stream_t *stream_handle) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_event_record);
    fake_stream_t *stream = gantry__fake_enter_stream(&call, stream_handle);
    fake_event_t *event = gantry__fake_find(&call, GANTRY_FAKE_EVENT, gantry__fake_number(handle));
    if (event && event->users > 0)
        gantry__fake_violate(&call, "the event is recorded again while a thread waits for it");
    if (event && stream && event->device != stream->device)
        gantry__fake_violate(&call, "the event is another device's");
    if (event && stream) gantry__fake_submit_record(&call, stream, &event->mark);
    gantry__fake_leave_stream(stream);
    return gantry__fake_end(&call);
}

static void report(fake_call_t *call, const fake_mark_t *mark) {
    gantry__fake_order_join(gantry__fake.host_clock, mark->clock);
    if (mark->error.code != GANTRY_OK)
        gantry__fake_refuse(call, mark->error.code, "%s", mark->error.text);
}

static fake_event_t *find_recorded(fake_call_t *call, const gantry_backend_event_t *handle) {
    fake_event_t *event = gantry__fake_find(call, GANTRY_FAKE_EVENT, gantry__fake_number(handle));
    if (event && !event->mark) gantry__fake_violate(call, "the event was never recorded");
    bool is_captured = event && event->mark && event->mark->graph != 0;
    if (is_captured)
        gantry__fake_refuse(call, GANTRY_FAILED_PRECONDITION, "the event was captured");
    return event && event->mark && !is_captured ? event : NULL;
}

static int32_t query(gantry_backend_event_t *handle, int32_t *out_done) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_event_query);
    *out_done = 0;
    const fake_event_t *event = find_recorded(&call, handle);
    if (event && event->mark->done) {
        *out_done = 1;
        report(&call, event->mark);
    }
    return gantry__fake_end(&call);
}

static int32_t synchronize(gantry_backend_event_t *handle) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_event_synchronize);
    fake_event_t *event = find_recorded(&call, handle);
    if (event) {
        fake_mark_t *mark = event->mark;
        ++mark->references;
        ++event->users;
        while (!mark->done) (void)pthread_cond_wait(&gantry__fake.changed, &gantry__fake.lock);
        report(&call, mark);
        --event->users;
        gantry__fake_mark_release(mark);
        (void)pthread_cond_broadcast(&gantry__fake.changed);
    }
    return gantry__fake_end(&call);
}

const gantry_event_ops_t gantry__fake_event_ops = {
    .struct_size = sizeof gantry__fake_event_ops,
    .create = create,
    .destroy = destroy,
    .record = record,
    .query = query,
    .synchronize = synchronize,
};
