#!/usr/bin/env bash
# Prints how large the product is: lines of Go without tests, blank lines and comments; packages; verbs. It is a figure to know. A
# commit that raises it says what the user gets for it.
set -euo pipefail
cd "$(dirname "$0")/.."
mapfile -t files < <(git ls-files '*.go' | grep -vE '_test\.go$|^e2e/')
lines=$(cat "${files[@]}" | grep -vcE '^[[:space:]]*(//.*)?$')
packages=$(printf '%s\n' "${files[@]}" | sed 's|/[^/]*$||' | sort -u | wc -l)
verbs=$(ls docs/commands/*.md | grep -vc README)
echo "size: $lines lines of code, $packages packages, $verbs verbs"
