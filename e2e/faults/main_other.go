//go:build !linux

package main

import "fmt"

func main() { fmt.Println("faults: skipped: it needs the strace of Linux") }
