/* SPDX-License-Identifier: Apache-2.0 */
/* All bounds of what a file may ask for. What it needs beyond them is refused with the bound in the
 * text. Threads: constant. */
#ifndef GANTRY_ONNX_LIMITS_H
#define GANTRY_ONNX_LIMITS_H

/* Versions of the format, and operator sets of ai.onnx. */
#define GANTRY__ONNX_OLDEST_IR 3
#define GANTRY__ONNX_NEWEST_IR 14
#define GANTRY__ONNX_OLDEST_OPSET 7
#define GANTRY__ONNX_NEWEST_OPSET 28

/* Messages within messages. Each subgraph takes three. */
#define GANTRY__ONNX_MOST_NESTED_MESSAGES 100
/* Subgraphs within subgraphs, and functions that call functions. */
#define GANTRY__ONNX_MOST_NESTED_GRAPHS 64
/* Nodes of a model after its functions are expanded. */
#define GANTRY__ONNX_MOST_NODES 1000000
/* Domains that a model, or a function, imports. */
#define GANTRY__ONNX_MOST_OPSETS 64
/* Bytes of a name. */
#define GANTRY__ONNX_MOST_NAME_BYTES 4096

/* Host memory: bytes for each byte of the file, and more. A message of the file takes at most 120
 * times its bytes, and files of real models three. */
#define GANTRY__ONNX_BYTES_EACH 32
#define GANTRY__ONNX_BYTES_MORE (UINT64_C(14) << 20)
/* Steps of reading: the same. */
#define GANTRY__ONNX_WORK_EACH 64
#define GANTRY__ONNX_WORK_MORE UINT64_C(4000000)

#endif
