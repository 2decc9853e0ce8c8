/* SPDX-License-Identifier: Apache-2.0 */
/* Streams, each on its own thread, and events.
 *
 * A queue's work runs in order; the lock is released while a piece of it runs. An error of a piece
 * stays with its stream until the stream is synchronised: later pieces still run, later records
 * carry the error, and waiting for such a record returns it. */
#include "fake_control.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

typedef fake_work_t work_t;

/* ---- work ---- */

work_t *gantry__fake_work_create(fake_call_t *call, const fake_stream_t *stream, const char *what,
                                 fake_run_fn run, uint32_t operands, size_t param_bytes) {
    if (call->error.code != GANTRY_OK) return NULL;
    const gantry_host_t *host = stream->object.instance->host;
    size_t head = sizeof(work_t) + operands * sizeof(fake_operand_t);
    work_t *work = host->reallocate(host->self, NULL, 0, head + param_bytes);
    if (!work) {
        gantry__fake_refuse(call, GANTRY_RESOURCE_EXHAUSTED,
                            "no host memory for a submission of %s", what);
        return NULL;
    }
    memset(work, 0, head + param_bytes);
    work->bytes = head + param_bytes;
    work->what = what;
    work->run = run;
    work->operand_count = operands;
    work->params = (unsigned char *)work + head;
    return work;
}

void gantry__fake_work_drop(const fake_instance_t *instance, work_t *work) {
    for (uint32_t i = 0; i < work->operand_count; ++i) {
        if (work->operands[i].region) gantry__fake_region_unuse(work->operands[i].region);
    }
    gantry__fake_mark_release(work->mark);
    const gantry_host_t *host = instance->host;
    (void)host->reallocate(host->self, work, work->bytes, 0);
}

void gantry__fake_work_operand(fake_call_t *call, work_t *work, uint32_t index,
                               const fake_device_t *device, const gantry_span_t *span,
                               uint64_t size_bytes, bool writes) {
    if (!work || (size_bytes == 0 && span->region == 0)) return;
    fake_region_t *region = gantry__fake_find(call, GANTRY_FAKE_REGION, span->region);
    if (!region) return;
    if (region->device != device) {
        gantry__fake_violate(call, "%s: region 0x%llx lies on another device", work->what,
                             (unsigned long long)span->region);
    }
    if (span->offset_bytes > region->size_bytes ||
        span->size_bytes > region->size_bytes - span->offset_bytes ||
        size_bytes > span->size_bytes) {
        gantry__fake_violate(
            call,
            "%s: %llu bytes at %llu (a span of %llu) are outside of region 0x%llx with %llu bytes",
            work->what, (unsigned long long)size_bytes, (unsigned long long)span->offset_bytes,
            (unsigned long long)span->size_bytes, (unsigned long long)span->region,
            (unsigned long long)region->size_bytes);
        return;
    }
    if (device->settings->alignment_bytes > 1 &&
        span->offset_bytes % device->settings->alignment_bytes != 0)
        ++gantry__fake.misaligned;
    work->operands[index] = (fake_operand_t){region, region->bytes + span->offset_bytes,
                                             span->offset_bytes, size_bytes, writes};
    ++region->pending;
}

static bool is_held(const fake_stream_t *stream) {
    const fake_card_t *card = gantry__fake_card(stream->device);
    return (card->closed_gates >> stream->purpose & 1) != 0 && card->permits == 0 && !card->lost;
}

/* Runs after the gate and the delay. */
static void hold(const fake_stream_t *stream) {
    fake_card_t *card = gantry__fake_card(stream->device);
    while (is_held(stream)) (void)pthread_cond_wait(&gantry__fake.changed, &gantry__fake.lock);
    if ((card->closed_gates >> stream->purpose & 1) != 0 && card->permits > 0) --card->permits;
    if (card->delay_ms == 0) return;
    struct timespec deadline = gantry__fake_deadline(card->delay_ms);
    int result = 0;
    while (!card->lost && result != ETIMEDOUT) {
        result = pthread_cond_timedwait(&gantry__fake.changed, &gantry__fake.lock, &deadline);
    }
}

static void check_operands_live(const work_t *work) {
    for (uint32_t i = 0; i < work->operand_count; ++i) {
        const fake_region_t *region = work->operands[i].region;
        if (region && region->dead) {
            gantry__fake_violate(NULL, "%s runs on region 0x%llx, which was freed", work->what,
                                 (unsigned long long)region->object.number);
        }
    }
}

static void run_piece(const fake_stream_t *stream, work_t *work, fake_error_t *error) {
    fake_card_t *card = gantry__fake_card(stream->device);
    hold(stream);
    ++gantry__fake.calls[FAKE_SLOT_work];
    if (card->lost) {
        error->code = GANTRY_UNAVAILABLE;
        (void)snprintf(error->text, sizeof error->text,
                       "device %u of the fake backend was lost while %s was pending",
                       stream->device->index, work->what);
    } else if (!gantry__fake_take_plan(FAKE_SLOT_work, error)) {
        check_operands_live(work);
        gantry__fake_unlock();
        error->code = work->run(work, error);
        gantry__fake_lock();
    }
    ++card->finished;
}

/* The lock is held, except while the work itself runs. */
static void run(fake_stream_t *stream, work_t *work) {
    fake_error_t error = {0, ""};
    switch (work->kind) {
        case FAKE_WORK_RUN: run_piece(stream, work, &error); break;
        case FAKE_WORK_RECORD:
            work->mark->error = stream->error;
            work->mark->done = true;
            break;
        case FAKE_WORK_WAIT:
            while (!work->mark->done)
                (void)pthread_cond_wait(&gantry__fake.changed, &gantry__fake.lock);
            error = work->mark->error;
            break;
    }
    if (error.code != GANTRY_OK && stream->error.code == GANTRY_OK) stream->error = error;
    gantry__fake_work_drop(stream->object.instance, work);
    ++stream->ended;
    (void)pthread_cond_broadcast(&gantry__fake.changed);
}

static void *serve(void *user) {
    fake_stream_t *stream = user;
    gantry__fake_lock();
    while (stream->first || !stream->ending) {
        work_t *work = stream->first;
        if (!work) {
            (void)pthread_cond_wait(&stream->arrived, &gantry__fake.lock);
            continue;
        }
        stream->first = work->next;
        if (!stream->first) stream->last = NULL;
        run(stream, work);
    }
    gantry__fake_unlock();
    return NULL;
}

static void enqueue(fake_stream_t *stream, work_t *work) {
    if (stream->last) {
        stream->last->next = work;
    } else {
        stream->first = work;
    }
    stream->last = work;
    (void)pthread_cond_signal(&stream->arrived);
}

void gantry__fake_submit(fake_call_t *call, fake_stream_t *stream, work_t *work) {
    if (stream && stream->graph) {
        gantry__fake_keep(call, stream, work);
        return;
    }
    if (!work) return;
    if (call->error.code == GANTRY_OK) {
        gantry__fake_take_host_memory(call, work);
        gantry__fake_order_submit(stream);
        if (work->kind == FAKE_WORK_RECORD)
            memcpy(work->mark->clock, stream->clock, sizeof stream->clock);
        for (uint32_t i = 0; i < work->operand_count; ++i)
            gantry__fake_order_access(call, stream, &work->operands[i], work->what);
    }
    if (call->error.code != GANTRY_OK) {
        gantry__fake_work_drop(stream->object.instance, work);
        return;
    }
    if (work->kind == FAKE_WORK_RUN) ++gantry__fake_card(stream->device)->submitted;
    ++stream->submitted;
    if (!stream->synchronous) {
        enqueue(stream, work);
        return;
    }
    run(stream, work);
    gantry__fake_order_join(gantry__fake.host_clock, stream->clock);
    if (stream->error.code == GANTRY_OK) return;
    /* a synchronous device reports errors at once */
    gantry__fake_refuse(call, stream->error.code, "%s", stream->error.text);
    stream->error.code = GANTRY_OK;
}

/* ---- stream slots ---- */

static void start(fake_call_t *call, fake_device_t *device, int32_t purpose,
                  gantry_backend_stream_t **out_stream) {
    fake_stream_t *stream =
        gantry__fake_create(call, device->object.instance, GANTRY_FAKE_STREAM, 0, sizeof *stream);
    if (!stream) return;
    stream->device = device;
    stream->purpose = purpose;
    stream->synchronous = (device->settings->flags & GANTRY_DEVICE_SYNCHRONOUS) != 0;
    (void)pthread_cond_init(&stream->arrived, NULL);
    int failed = stream->synchronous ? 0 : pthread_create(&stream->worker, NULL, serve, stream);
    if (failed) {
        gantry__fake_refuse(call, GANTRY_RESOURCE_EXHAUSTED, "no thread for a stream (errno %d)",
                            failed);
        (void)pthread_cond_destroy(&stream->arrived);
        gantry__fake_forget(&stream->object);
        gantry__fake_release(&stream->object);
        return;
    }
    gantry__fake_order_begin_stream(stream);
    ++device->live_objects;
    *out_stream = (gantry_backend_stream_t *)(uintptr_t)stream->object.number;
}

static int32_t create(gantry_backend_device_t *device, int32_t purpose,
                      gantry_backend_stream_t **out_stream) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_stream_create);
    *out_stream = NULL;
    fake_device_t *self = gantry__fake_find_device(&call, device);
    if (purpose < 0 || purpose >= FAKE_PURPOSES) {
        gantry__fake_violate(&call, "a stream of purpose %d", purpose);
    } else if (self) {
        start(&call, self, purpose, out_stream);
    }
    return gantry__fake_end(&call);
}

static int32_t create_with_priority(gantry_backend_device_t *device, int32_t purpose,
                                    int32_t priority, gantry_backend_stream_t **out_stream) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_stream_create_with_priority);
    gantry__fake_check_layout(&call);
    *out_stream = NULL;
    fake_device_t *self = gantry__fake_find_device(&call, device);
    int32_t place = priority + FAKE_PRIORITIES / 2;
    if (purpose < 0 || purpose >= FAKE_PURPOSES || place < 0 || place >= FAKE_PRIORITIES) {
        gantry__fake_violate(&call, "a stream of purpose %d and priority %d", purpose, priority);
    } else if (self && (priority > self->settings->least_priority ||
                        priority < self->settings->greatest_priority)) {
        gantry__fake_violate(&call, "priority %d is out of range", priority);
    } else if (self) {
        start(&call, self, purpose, out_stream);
        if (call.error.code == GANTRY_OK) ++gantry__fake_card(self)->prioritised[place];
    }
    return gantry__fake_end(&call);
}

static void destroy(gantry_backend_stream_t *handle) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_stream_destroy);
    fake_stream_t *stream =
        gantry__fake_find(&call, GANTRY_FAKE_STREAM, gantry__fake_number(handle));
    if (stream) {
        if (stream->busy || stream->waiters > 0)
            gantry__fake_violate(&call, "the stream is destroyed while another thread uses it");
        gantry__fake_forget(&stream->object);
        while (stream->busy || stream->waiters > 0)
            (void)pthread_cond_wait(&gantry__fake.changed, &gantry__fake.lock);
        gantry__fake_abandon(stream);
        stream->ending = true;
        (void)pthread_cond_signal(&stream->arrived);
        if (!stream->synchronous) {
            gantry__fake_unlock();
            (void)pthread_join(stream->worker, NULL);
            gantry__fake_lock();
        }
        (void)pthread_cond_destroy(&stream->arrived);
        gantry__fake_order_end_stream(stream);
        --stream->device->live_objects;
        gantry__fake_release(&stream->object);
    }
    (void)gantry__fake_end(&call);
}

static int32_t flush(gantry_backend_stream_t *stream) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_stream_flush);
    (void)gantry__fake_find(&call, GANTRY_FAKE_STREAM, gantry__fake_number(stream));
    return gantry__fake_end(&call);
}

static int32_t synchronize(gantry_backend_stream_t *handle) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_stream_synchronize);
    fake_stream_t *stream =
        gantry__fake_find(&call, GANTRY_FAKE_STREAM, gantry__fake_number(handle));
    gantry__fake_refuse_captured(&call, stream, "synchronize");
    if (stream && !stream->graph) {
        uint64_t until = stream->submitted;
        uint64_t clock[FAKE_CLOCKS];
        memcpy(clock, stream->clock, sizeof clock);
        ++stream->waiters;
        while (stream->ended < until)
            (void)pthread_cond_wait(&gantry__fake.changed, &gantry__fake.lock);
        --stream->waiters;
        (void)pthread_cond_broadcast(&gantry__fake.changed);
        gantry__fake_order_join(gantry__fake.host_clock, clock);
        if (stream->error.code != GANTRY_OK)
            gantry__fake_refuse(&call, stream->error.code, "%s", stream->error.text);
        stream->error.code = GANTRY_OK;
        (void)gantry__fake_check_lost(&call, stream->device);
    }
    return gantry__fake_end(&call);
}

void gantry__fake_submit_wait(fake_call_t *call, fake_stream_t *stream, fake_mark_t *mark) {
    work_t *work = gantry__fake_work_create(call, stream, "wait_event", NULL, 0, 0);
    if (!work) return;
    work->kind = FAKE_WORK_WAIT;
    work->mark = mark;
    ++work->mark->references;
    gantry__fake_order_join(stream->clock, work->mark->clock);
    gantry__fake_submit(call, stream, work);
}

/* A capture has one order, so a wait adds nothing. */
static int32_t wait_event(gantry_backend_stream_t *handle, gantry_backend_event_t *event_handle) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_stream_wait_event);
    fake_stream_t *stream = gantry__fake_enter_stream(&call, handle);
    const fake_event_t *event =
        gantry__fake_find(&call, GANTRY_FAKE_EVENT, gantry__fake_number(event_handle));
    if (event && !event->mark) gantry__fake_violate(&call, "the event was never recorded");
    if (stream && event && event->object.instance != stream->object.instance)
        gantry__fake_violate(&call, "the event is another instance's");
    if (stream && event && event->mark && gantry__fake_is_of_capture(&call, stream, event->mark) &&
        !stream->graph)
        gantry__fake_submit_wait(&call, stream, event->mark);
    gantry__fake_leave_stream(stream);
    return gantry__fake_end(&call);
}

const gantry_stream_ops_t gantry__fake_stream_ops = {
#ifdef GANTRY_FAKE_OLD_LAYOUT
    .struct_size = offsetof(gantry_stream_ops_t, create_with_priority),
#else
    .struct_size = sizeof gantry__fake_stream_ops,
#endif
    .create_with_priority = create_with_priority,
    .create = create,
    .destroy = destroy,
    .flush = flush,
    .synchronize = synchronize,
    .wait_event = wait_event,
};
