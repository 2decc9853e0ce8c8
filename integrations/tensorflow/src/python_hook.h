/* SPDX-License-Identifier: Apache-2.0 */
/* The way from the plug-in to its Python package. TensorFlow's C API cannot answer Keras's question
 * for XLA, nor see ops that run on the CPU; python/gantry_tensorflow can. Owner: nothing is kept.
 * Threads: init-only, on the thread that imports TensorFlow. */
#ifndef GANTRY_TENSORFLOW_PYTHON_HOOK_H
#define GANTRY_TENSORFLOW_PYTHON_HOOK_H

/* Calls gantry_tensorflow.attach.attach(path of this plug-in) in the Python that imports
 * TensorFlow. A process without Python, or without the package, goes on without it. */
void python_hook_attach(void);

#endif
