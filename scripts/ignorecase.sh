#!/usr/bin/env bash
# Runs the tests of what is in files in a folder that ignores case, as those of macOS do: C2C_IGNORECASE, or an ext4 file system
# that it makes for this. That needs root and a kernel with CONFIG_UNICODE.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${C2C_IGNORECASE-}
if [ -z "$folder" ]; then
	scratch=$(mktemp -d)
	trap 'mountpoint -q "$scratch/disk" && umount "$scratch/disk"; rm -rf "$scratch"' EXIT
	truncate -s 2G "$scratch/image"
	mkdir "$scratch/disk"
	if ! { mkfs.ext4 -q -O casefold -E encoding=utf8 "$scratch/image" && mount -o loop "$scratch/image" "$scratch/disk" &&
		mkdir "$scratch/disk/tests" && chattr +F "$scratch/disk/tests"; } 2>"$scratch/why"; then
		echo "ignorecase: skipped: $(head -n 1 "$scratch/why")"
		exit
	fi
	folder=$scratch/disk/tests
fi
touch "$folder/case"
[ -e "$folder/CASE" ] || { echo "ignorecase: $folder does not ignore case" >&2; exit 1; }
GOTMPDIR=${TMPDIR:-/tmp} TMPDIR=$folder "${GO:-go}" test -count=1 -timeout 30m \
	./broker/... ./inbox/... ./sessions/... ./rooms ./project ./relay ./install/... ./cmd/c2c
