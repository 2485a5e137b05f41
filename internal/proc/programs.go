package proc

import "os"

// Program is a process with its program, arguments and environment.
type Program struct {
	PID, Parent int
	Args        []string
	Env         []string
	File        os.FileInfo // the program's file; it may have been renamed or removed since the start
}

// Terminal is a process that has a terminal.
type Terminal struct {
	PID, Parent int
	Args        []string // at least one element
	Folder      string
	Env         []string
}
