package procstat

import "os"

// Program is a process and what it runs.
type Program struct {
	PID, Parent int
	Args        []string
	Env         []string
	File        os.FileInfo // of its program, which may have another name or none by now
}

// Terminal is a process with a terminal, and the folder in which it is.
type Terminal struct {
	PID, Parent int
	Args        []string // at least one
	Folder      string
	Env         []string
}
