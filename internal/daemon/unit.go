package daemon

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// PrintUnit prints a systemd unit that runs the daemon of this user, with the variables env. It
// writes no file, because the person decides where to put the unit.
func PrintUnit(out io.Writer, program string, env []string) error {
	lines := []string{
		"# systemctl --user edit --force --full c2c.service    (paste this, save)",
		"# systemctl --user enable --now c2c.service",
		"[Unit]", "Description=the daemon of c2c", "",
		"[Service]", "ExecStart=" + unitWord(program) + " daemon run",
	}
	for _, v := range env {
		lines = append(lines, "Environment="+unitWord(v))
	}
	lines = append(lines, "Restart=on-failure", "", "[Install]", "WantedBy=default.target", "")
	for _, line := range lines {
		if strings.ContainsFunc(line, unicode.IsControl) {
			return fmt.Errorf("%q has a control character, which a systemd unit cannot contain", line)
		}
	}
	_, err := io.WriteString(out, strings.Join(lines, "\n"))
	return err
}

// unitWord returns a word in the form of systemd.syntax(7): quoted, with % doubled, because systemd
// expands %. systemd does not expand $ in the path of a program, nor in Environment=.
func unitWord(word string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%").Replace(word) + `"`
}
