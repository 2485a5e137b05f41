// Package machines makes machines for tests: homes in networks of their own, with a switch between them, sshd on some of them and a
// hub on another. It needs Linux, the real root, and a test program that lab.Isolate has cut off from the machine.
package machines
