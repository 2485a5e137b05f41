// Package budget holds what the commands that run most may cost, in numbers that do not depend on the machine's mood:
// system calls, opens, syncs, page faults, and bytes. Its test fails when one is passed.
package budget
