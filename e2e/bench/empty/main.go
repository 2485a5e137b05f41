// Command empty does nothing. Bench compares the start of c2c with it.
package main

func main() {}
