#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# without.sh FOLDER... -- COMMAND...: runs the command with these folders empty, as if they had been moved away, for
# this command alone. When the system does not allow this, the script prints so and runs the command with the folders
# in place. PoCL's cache (POCL_CACHE_DIR), which may lie in one of them, stays available in the folder KEPT.
set -eu
if [ "${WITHOUT_INSIDE:-}" != yes ]; then
    for how in "unshare -m" "unshare -rm"; do
        if $how sh -c 'mount -t tmpfs none "$0"' "$1" 2>/dev/null; then
            WITHOUT_INSIDE=yes
            export WITHOUT_INSIDE
            exec $how sh "$0" "$@"
        fi
    done
    echo "NOTE: no folder can be hidden here (unshare): source and build stay where they are"
fi
if [ "${WITHOUT_INSIDE:-}" = yes ] && [ -d "${POCL_CACHE_DIR:-}" ]; then
    mount --bind "$POCL_CACHE_DIR" "$KEPT"
    POCL_CACHE_DIR=$KEPT
    export POCL_CACHE_DIR
fi
while [ "$1" != -- ]; do
    [ "${WITHOUT_INSIDE:-}" != yes ] || mount -t tmpfs none "$1"
    shift
done
shift
exec "$@"
