package broker

import "os"

// isFromKernel returns false: macOS has no file system like /proc, whose files the kernel makes from the secrets of a process.
func isFromKernel(*os.File) bool { return false }
