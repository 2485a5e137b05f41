// Command picture draws docs/two-terminals.svg: a person at a terminal, an agent's session in the
// shell of another terminal, and the real output of c2c in both. Ids and times differ at each run;
// the picture always shows the same ones. It needs script(1).
//
//	go run ./e2e/picture <directory of c2c and c2cd> <file>
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"c2c/e2e/picture/terminals"
)

// scene is the list of commands in their order. dana, a person, types on the left, and birch, an
// agent, on the right.
var scene = []struct{ who, command string }{
	{"dana", "c2c send birch 'Is the build green?'"},
	{"birch", "c2c poll-inbox"},
	{"birch", "c2c reply 'Yes, since this morning.'"},
	{"dana", "c2c poll-inbox"},
	{"dana", "c2c outbox"},
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: picture <directory of c2c and c2cd> <file>")
		os.Exit(2)
	}
	drawing, err := picture(os.Args[1])
	if err == nil {
		err = os.WriteFile(os.Args[2], drawing, 0o644)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "picture: %v\n", err)
		os.Exit(1)
	}
}

func picture(bin string) ([]byte, error) {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return nil, err
	}
	home, err := os.MkdirTemp("", "c2c-picture-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(home)
	run := func(who, command string) (string, error) {
		cmd := exec.Command("sh", "-c", command)
		cmd.Dir, cmd.Env = home, []string{"HOME=" + home, "PATH=" + bin + ":/usr/bin:/bin", "USER=dana", "TERM=dumb"}
		if who == "dana" {
			cmd.Args = []string{"script", "-qec", command, os.DevNull}
			cmd.Path = "/usr/bin/script"
		} else {
			cmd.Env = append(cmd.Env, "C2C_MCP_SESSION_ID="+who)
		}
		out, err := cmd.CombinedOutput()
		out = bytes.ReplaceAll(out, []byte("\r"), nil)
		if err != nil {
			err = fmt.Errorf("%s: %w: %s", command, err, out)
		}
		return string(out), err
	}
	if _, err := run("birch", "c2c register --session-id birch birch"); err != nil {
		return nil, err
	}
	panes := map[string][]string{}
	for _, s := range scene {
		out, err := run(s.who, s.command)
		if err != nil {
			return nil, err
		}
		panes[s.who] = append(append(panes[s.who], "$ "+s.command), strings.Split(strings.TrimSuffix(out, "\n"), "\n")...)
	}
	shown := same(panes["dana"], panes["birch"])
	return terminals.Draw(78, false, terminals.Pane{Title: "dana, a person", Lines: shown[0]}, terminals.Pane{Title: "birch, an agent, in its shell", Lines: shown[1]}), nil
}

var id, clock = regexp.MustCompile(`\b[0-9a-f]{8}\b`), regexp.MustCompile(`\b[0-9]{2}:[0-9]{2}:[0-9]{2}\b`)

// same replaces each id by the next one of a fixed list, and each time by a fixed one, so that
// every run draws the same picture.
func same(panes ...[]string) [][]string {
	seen := map[string]string{}
	for _, pane := range panes {
		for i, line := range pane {
			line = clock.ReplaceAllString(line, "09:41:07")
			pane[i] = id.ReplaceAllStringFunc(line, func(s string) string {
				if seen[s] == "" {
					seen[s] = []string{"29a76b39", "41d774f1", "5be0cd19", "6a09e667"}[len(seen)%4]
				}
				return seen[s]
			})
		}
	}
	return panes
}
