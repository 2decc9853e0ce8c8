/* SPDX-License-Identifier: Apache-2.0 */
/* StreamExecutor's streams, events, timers, copies and memory calls.
 *
 * Streams and events order nothing. TensorFlow enqueues work in an order that its events make
 * right; Gantry takes that work in the same order, and each of its tensors knows when it is ready.
 * An address names a new tensor as soon as the tensor's kernel returns, so whoever enqueues later
 * sees it, on whatever stream. An event is therefore complete when it is recorded: work that
 * TensorFlow enqueues after it waits for the tensors that it takes.
 *
 * Copies to the host wait on the calling thread, though Gantry could read without a wait.
 * TensorFlow ends the process when an event reports an error, but raises the error that a copy
 * returns: the user of a bad index gets InvalidArgument with the index.
 *
 * Owner: TensorFlow owns the streams and events that it creates. Threads: thread-safe. */
#ifndef GANTRY_TENSORFLOW_STREAM_H
#define GANTRY_TENSORFLOW_STREAM_H

#include <tensorflow/c/experimental/stream_executor/stream_executor.h>

/* The number of the device to which a stream belongs. */
uint32_t stream_device(SP_Stream stream);
/* Fills in all functions. */
void stream_fill_executor(SP_StreamExecutor *executor);
/* Fills in the functions of timers. */
void stream_fill_timer(SP_TimerFns *functions);

#endif
