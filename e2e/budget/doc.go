// Package budget limits the cost of the commands that run most, in numbers that do not depend on
// the load of the machine: system calls, opens, syncs, page faults, and bytes. Its test fails when
// a command costs more.
package budget
