#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Promise: Every #include of the tree follows scripts/directions.txt.
# Promise: scripts/check-directions notices a wrong #include, a circle, a type with two definitions, and a function that
# is defined in another room than its header.
# Promise: No file of kernels/ includes one of backends/, and a family of kernels includes another only where
# scripts/directions.txt says so.
# Promise: No .c file of src/ has a vendor's name in a text, except for the list of Gantry's own backends.
# Promise: Only src/base/os includes an operating system's headers and reads its macros, but for the files that
# scripts/directions.txt frees.
#
# $1: sources, $2: an empty folder.
import importlib.machinery
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

SOURCES, WORK = Path(sys.argv[1]), Path(sys.argv[2])
sys.dont_write_bytecode = True

# A file, what it includes (the sign before the name says how), and whether it may.
EXAMPLES = (
    ("src/base/heap.c", '"base/heap.h', True),
    ("src/base/heap.c", '<stdlib.h', True),
    ("src/base/heap.c", '<gantry/status.h', True),
    ("src/base/heap.c", '"heap.h', False),
    ("src/base/heap.c", '"backend/module.h', False),
    ("src/base/heap.c", '<CL/cl.h', False),
    ("src/backend/module.c", '"base/files.h', True),
    ("src/backend/module.c", '"io/npy.h', False),
    ("src/io/npy.c", '"backend/module.h', False),
    ("src/memory/bfc.c", '"io/npy.h', True),
    ("src/memory/bfc.c", '"device/stream.h', False),
    ("src/device/stream.c", '"memory/bfc.h', True),
    ("src/run/eager.c", '"place/placer.h', True),
    ("src/place/placer.c", '"run/eager.h', False),
    ("src/run/eager.c", '"../place/placer.h', False),
    ("src/run/eager.c", '"cpu/cpu_backend.h', False),
    ("src/device/logical.c", '"fake_backend.h', False),
    ("backends/opencl/opencl_memory.c", '<gantry/backend_abi.h', True),
    ("backends/opencl/opencl_memory.c", '<gantry/status.h', False),
    ("backends/opencl/opencl_memory.c", '<CL/cl.h', True),
    ("backends/opencl/opencl_memory.c", '"opencl/opencl_backend.h', True),
    ("backends/opencl/opencl_memory.c", '"kernels/common/kernel_types.h', True),
    ("backends/opencl/opencl_memory.c", '"driver/host_call.h', True),
    ("backends/opencl/opencl_memory.c", '"cpu/cpu_pool.h', False),
    ("backends/driver/library_open.c", '"kernels/common/kernel_types.h', True),
    ("backends/driver/library_open.c", '"cuda/cuda_driver.h', False),
    ("kernels/common/launch.h", '<gantry/backend_abi.h', True),
    ("kernels/common/launch.h", '<gantry/status.h', False),
    ("kernels/common/launch.h", '"kernels/math/math_float32.cl', False),
    ("kernels/common/launch.h", '"kernels/scan/scan_items.h', False),
    ("kernels/scan/scan_items.c", '"kernels/common/launch.h', True),
    ("kernels/scan/scan_items.c", '"kernels/math/math_float32.cl', True),
    ("kernels/scan/scan_items.c", '"kernels/scan/scan_items.h', True),
    ("kernels/scan/scan_items.c", '"kernels/sort/sort_items.h', False),
    ("kernels/scan/scan_items.c", '"scan_items.h', False),
    ("kernels/index/scatter_items.c", '"kernels/sort/sort_items.h', True),
    ("kernels/sort/sort_items.c", '"kernels/index/scatter_items.h', False),
    ("kernels/scan/scan_cpu_simd.c", '"cpu/cpu_pool.h', False),
    ("kernels/scan/scan_items.c", '"driver/host_call.h', False),
    ("src/kernel/call.c", '"kernels/common/launch.h', False),
    ("backends/cpu/cpu_pool.c", '"base/heap.h', False),
    ("src/op/op_rows.def", '"ops/elementwise.def', True),
    ("src/api/ops_elementwise.c", '"ops/elementwise.def', True),
    ("src/run/eager.c", '"ops/elementwise.def', False),
    ("kernels/elementwise/elementwise_cpu.c", '"ops/elementwise.def', True),
    ("backends/opencl/opencl_memory.c", '"ops/elementwise.def', False),
    ("ops/elementwise.def", '<gantry/backend_abi.h', False),
    ("src/base/fp_mode.h", '"host/fp_mode.h', True),
    ("train/base/fp_mode.h", '"host/fp_mode.h', True),
    ("backends/cpu/cpu_pool.c", '"host/fp_mode.h', True),
    ("tools/run/run.c", '"base/os/thread.h', True),
    ("tools/run/run.c", '"base/heap.h', False),
    ("tools/run/run.c", '"base/os/library.h', True),
    ("backends/driver/library_open.c", '"base/os/library.h', True),
    ("train/data/dataset_cache.c", '"base/os/library.h', True),
    ("src/base/os/library.h", '"base/heap.h', False),
    ("train/data/dataset_cache.c", '"base/os/thread.h', True),
    ("train/data/dataset_cache.c", '"src/base/heap.h', False),
    ("src/shared/fail.h", '<gantry/status.h', True),
    ("src/shared/fail.h", '<gantry/runtime.h', False),
    ("src/shared/fail.h", '"base/heap.h', False),
    ("src/shared/fail.h", '"base/os/library.h', True),
    ("tools/run/run.c", '"command/command.h', True),
    ("tools/command/command.c", '"run/run.h', False),
    ("include/gantry/runtime.h", '"host/fp_mode.h', False),
    ("host/fp_mode.h", '<stdint.h', True),
    ("host/fp_mode.h", '"base/heap.h', False),
    ("host/fp_mode.h", '<gantry/status.h', False),
    ("include/gantry/device.h", '<gantry/runtime.h', True),
    ("include/gantry/device.h", '"base/heap.h', False),
    ("include/gantry/backend_abi.h", '<stdint.h', True),
    ("include/gantry/backend_abi.h", '<gantry/status.h', False),
    ("include/gantry/backend_abi.h", '<gantry/abi_telemetry.h', True),
    ("include/gantry/abi_types.h", '<stdint.h', True),
    ("include/gantry/abi_types.h", '<gantry/export.h', False),
    ("kernels/common/dialect.cl", '<gantry/abi_types.h', True),
    ("tests/stand_ins/fake_stream.c", '<gantry/backend_abi.h', True),
    ("examples/gpu_guide.c", '<gantry/gantry.h', True),
    ("examples/gpu_guide.c", '"example.h', True),
    ("examples/gpu_guide.c", '"base/heap.h', False),
    ("tests/conformance/golden.c", '"../../src/base/heap.h', False),
    ("tests/unit/base/test_heap.c", '"base/heap.h', True),
    ("bench/cases/internal/bfc.c", '"memory/bfc.h', True),
    ("bench/cases/add.c", '"memory/bfc.h', False),
    ("tests/stand_ins/fake_stream.c", '"base/heap.h', False),
    ("tests/stand_ins/fake_stream.c", '<gantry/runtime.h', False),
    ("tests/stand_ins/fake_stream.c", '"fake_internal.h', True),
)


def check(tree):
    run = subprocess.run([sys.executable, tree / "scripts/check-directions"], capture_output=True, text=True)
    if run.returncode == 77:
        print(run.stdout)
        sys.exit(77)
    return run.returncode, run.stdout + run.stderr


def check_examples():
    loader = importlib.machinery.SourceFileLoader("directions", str(SOURCES / "scripts/check-directions"))
    script = importlib.util.module_from_spec(importlib.util.spec_from_loader("directions", loader))
    loader.exec_module(script)
    law = script.Law((SOURCES / "scripts/directions.txt").read_text())
    wrong = []
    for path, name, may in EXAMPLES:
        why = law.refusal(path, name[1:], name[0] == '"', lambda p: (SOURCES / p).is_file())
        if (why is None) != may:
            wrong.append(f"{path} includes {name[1:]}: {why or 'allowed'}")
    assert not wrong, "\n".join(wrong)


def small_tree(files):
    shutil.rmtree(WORK, ignore_errors=True)
    (WORK / "scripts").mkdir(parents=True)
    shutil.copy(SOURCES / "scripts/check-directions", WORK / "scripts")
    (WORK / "scripts/directions.txt").write_text("names src src\nunnamed src NVIDIA\nroom src/low:\nroom src/low/os:\nroom src/high: src/low\n"
                                                "system room src/low/os\nsystem wings src\nsystem headers unistd.h sys/\nsystem macros __linux__\n"
                                                "system free src/high/export.h\n")
    for path, text in ((p, t) for p, t in files.items()):
        (WORK / path).parent.mkdir(parents=True, exist_ok=True)
        (WORK / path).write_text(text)
    return check(WORK)


HEAD = "/* SPDX */\n/* A room. Threads: thread-safe. */\n#ifndef X\n"
GOOD = {"src/low/a.h": HEAD + "int a(void);\ntypedef int a_t;\n#endif\n", "src/low/a.c": '#include "low/a.h"\nint a(void) { return 1; }\n',
        "src/high/b.c": '#include "low/a.h"\n', "src/low/os/file.c": "#include <unistd.h>\n",
        "src/high/export.h": HEAD + "#if defined(__linux__)\n#endif\n#endif\n", "src/high/word.c": "/* <unistd.h> of __linux__ */\n",
        "src/high/b.h": HEAD + "#endif\n"}
BREACHES = (
    ({"src/low/a.c": '#include "high/b.h"\n'}, "src/low/a.c:1: includes high/b.h: src/low may not include src/high"),
    ({"src/low/a.c": '#include "a.h"\n'}, "src/low/a.c:1: includes a.h: there is no such file"),
    ({"src/low/a.c": '#include "low/c.h"\n', "src/low/c.h": HEAD + '#include "low/a.h"\n#endif\n'}, "a circle of #include: src/low/a, src/low/c"),
    ({"src/high/b.h": HEAD + "typedef int a_t;\n#endif\n"}, "type a_t is defined in src/low/a.h, too"),
    ({"src/low/a.c": "", "src/high/b.c": "int a(void) { return 1; }\n"}, "a is declared here and defined in src/high"),
    ({"src/high/b.h": "/* SPDX */\n/* A room. */\n#ifndef X\n#endif\n"}, "the first comment does not say how threads"),
    ({"src/low/a.c": 'char *v = "NVIDIA";\n'}, "src/low/a.c:1: names a vendor"),
    ({"src/low/a.c": "#include <unistd.h>\n"}, "src/low/a.c:1: needs unistd.h of an operating system: only src/low/os may"),
    ({"src/low/a.c": "\n# include <sys/stat.h>\n"}, "src/low/a.c:2: needs sys/stat.h"),
    ({"src/low/a.c": "#if !defined(__linux__)\n#endif\n"}, "src/low/a.c:1: needs __linux__"),
    ({"src/other/c.c": ""}, "its folder is no room"),
)

check_examples()
code, text = small_tree(GOOD)
assert code == 0, text
assert small_tree({})[0] == 1, "nothing checked is no success"
for change, message in BREACHES:
    code, text = small_tree({**GOOD, **change})
    assert code == 1 and message in text, f"no \"{message}\" in: {text}"
code, text = check(SOURCES)
print(text)
assert code == 0
