# SPDX-License-Identifier: Apache-2.0
# A framework whose import fails, as with a library that is missing.
raise ImportError("libcudart.so.13: cannot open shared object file")
