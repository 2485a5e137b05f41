// Command empty does nothing: bench compares c2c's start with it.
package main

func main() {}
