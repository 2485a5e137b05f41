package broker

import "os"

// ofKernel is false: macOS has no file system without a disk that matters here.
func ofKernel(*os.File) bool { return false }
