//go:build !linux

package main

import "fmt"

func main() { fmt.Println("powercut: skipped: it needs the loop devices and shutdown calls of Linux") }
