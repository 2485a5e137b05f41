package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const manySessions = 1000

// list compares `c2c list` in a root with many sessions, of whom half live, with an empty program. The file
// is written here: 64 KiB of it is all that c2c writes itself.
func (w world) list() error {
	crowded := w
	crowded.root = filepath.Join(w.home, "crowded")
	if err := os.Mkdir(crowded.root, 0o700); err != nil {
		return err
	}
	var rows []string
	for i := range manySessions {
		pid := os.Getpid()
		if i%2 == 1 {
			pid = 1 << 24 // more than there are
		}
		rows = append(rows, fmt.Sprintf(`{"session_id":"01890a5d-ac96-774b-bcce-%012d","alias":"amber-%d",`+
			`"registered_at":1763712345.123456,"client_type":"claude","pid":%d,"pid_start_time":0}`, i, i, pid))
	}
	if err := os.WriteFile(filepath.Join(crowded.root, "registry.json"), []byte("[\n"+strings.Join(rows, ",\n")+"\n]\n"), 0o600); err != nil {
		return err
	}
	f := figure{what: fmt.Sprintf("c2c list, %d sessions", manySessions), limit: "empty Go program", aim: "3"}
	f, err := f.measure(pairs, crowded.command([]string{w.program("c2c"), "list"}), w.command([]string{w.program("empty")}))
	if err != nil {
		return err
	}
	f.print()
	return nil
}
