/* SPDX-License-Identifier: Apache-2.0 */
/* All bounds of what a file may need. What it needs beyond them is refused with the bound in the
 * text. Threads: constant. */
#ifndef GANTRY_ONNX_LIMITS_H
#define GANTRY_ONNX_LIMITS_H

/* Versions of the format. */
#define GANTRY__ONNX_OLDEST_IR 3
#define GANTRY__ONNX_NEWEST_IR 14
/* Operator sets of ai.onnx. The rows of the table say which version of an op they know; most begin
 * at 7, and a file that imports an older one is read. */
#define GANTRY__ONNX_NEWEST_OPSET 28

/* Messages within messages. Each subgraph takes three. */
#define GANTRY__ONNX_MOST_NESTED_MESSAGES 100
/* Subgraphs within subgraphs, and functions that call functions. */
#define GANTRY__ONNX_MOST_NESTED_GRAPHS 64
/* Messages of one list: nodes of a graph, attributes of a node. */
#define GANTRY__ONNX_MOST_LISTED 1000000
/* Nodes of a model after its functions are expanded. */
#define GANTRY__ONNX_MOST_NODES 1000000
/* Domains that a model, or a function, imports. */
#define GANTRY__ONNX_MOST_OPSETS 64
/* Steps of a loop, so that one without an end ends. */
#define GANTRY__ONNX_MOST_STEPS 10000000
/* Bytes of a name. */
#define GANTRY__ONNX_MOST_NAME_BYTES 4096

/* Host memory: bytes for each byte of the file, and more. A message of the file takes at most 120
 * times its bytes, and files of real models three. */
#define GANTRY__ONNX_BYTES_EACH 32
#define GANTRY__ONNX_BYTES_MORE (UINT64_C(24) << 20)
#define GANTRY__ONNX_MESSAGE_BYTES_MORE (UINT64_C(8) << 20)
/* Steps of reading: the same. */
#define GANTRY__ONNX_WORK_EACH 16
#define GANTRY__ONNX_WORK_MORE UINT64_C(8000000)

#endif
