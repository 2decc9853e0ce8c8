# SPDX-License-Identifier: Apache-2.0
def text(rows, gantry, tensorflow, version):
    return ""
