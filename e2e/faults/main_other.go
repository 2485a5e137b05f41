//go:build !linux

package main

import "fmt"

func main() { fmt.Println("faults: skipped: it needs strace, which is only on Linux") }
