// Command empty does nothing: the limit that c2c's start is measured against.
package main

func main() {}
