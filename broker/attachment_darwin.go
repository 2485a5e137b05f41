package broker

import "os"

// ofKernel: macOS has no files that are none.
func ofKernel(*os.File) bool { return false }
