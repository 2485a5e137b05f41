// This file is written by make docs. It links the packages by which c2c wakes clients that have a
// protocol of their own.

package ringer

import (
	_ "c2c/wake/claude"
	_ "c2c/wake/codex"
	_ "c2c/wake/kimi"
	_ "c2c/wake/qwen"
)
