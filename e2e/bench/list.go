package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const manySessions = 1000

// list compares `c2c list` in a root with many sessions, of whom one in fifty lives, with an empty program.
// The files are written here: c2c itself writes no registry of more than 64 KiB, which is about 400.
func (w world) list() error {
	crowded := w
	crowded.root = filepath.Join(w.home, "crowded")
	facts := filepath.Join(crowded.root, "sessions")
	for _, dir := range []string{crowded.root, facts} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	var rows []string
	for i := range manySessions {
		pid := 1 << 24 // more than there are
		if i%50 == 0 {
			pid = os.Getpid()
		}
		sid := fmt.Sprintf("01890a5d-ac96-774b-bcce-%012d", i)
		rows = append(rows, fmt.Sprintf(`{"session_id":%q,"alias":"amber-%d","registered_at":1763712345.123456,`+
			`"client_type":"claude","pid":%d,"pid_start_time":0}`, sid, i, pid))
		text := fmt.Sprintf("{\n  \"alias\": \"amber-%d\",\n  \"client\": \"claude\",\n  \"client_ids\": [\n    %q\n  ]\n}\n", i, sid)
		if err := os.WriteFile(filepath.Join(facts, sid+".json"), []byte(text), 0o600); err != nil {
			return err
		}
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
