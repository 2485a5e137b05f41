package procstat

import "os"

// Program is a process and what it runs.
type Program struct {
	PID, Parent int
	Args        []string
	Env         []string
	File        os.FileInfo // its program's file, which may be renamed or removed by now
}

// Terminal is a process with a terminal, and its current directory.
type Terminal struct {
	PID, Parent int
	Args        []string // at least one
	Folder      string
	Env         []string
}
