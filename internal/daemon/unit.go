package daemon

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// Unit is a systemd unit that runs a daemon of this user.
type Unit struct {
	Name        string // without .service
	Description string
	Program     string
	Verb        string   // the words after the program
	Dir         string   // its working directory; "": any
	Variables   []string // names of environment variables; the unit sets each one that has a value now
}

// Print prints the unit. Print writes no file, because the person decides where to put the unit.
func (u Unit) Print(out io.Writer, getenv func(string) string) error {
	program, err := unitWord(u.Program)
	if err != nil {
		return err
	}
	if _, err := unitWord(u.Dir); err != nil {
		return err
	}
	lines := []string{
		"# systemctl --user edit --force --full " + u.Name + ".service    (paste this, save)",
		"# systemctl --user enable --now " + u.Name + ".service",
		"[Unit]", "Description=" + u.Description, "",
		"[Service]", "ExecStart=" + program + " " + u.Verb,
	}
	if u.Dir != "" {
		// systemd reads this value up to the end of the line, so it is not quoted.
		lines = append(lines, "WorkingDirectory="+strings.ReplaceAll(u.Dir, "%", "%%"))
	}
	for _, name := range u.Variables {
		v := getenv(name)
		if v == "" {
			continue
		}
		word, err := unitWord(name + "=" + v)
		if err != nil {
			return err
		}
		lines = append(lines, "Environment="+word)
	}
	lines = append(lines, "Restart=on-failure", "", "[Install]", "WantedBy=default.target", "")
	_, err = io.WriteString(out, strings.Join(lines, "\n"))
	return err
}

// unitWord returns a word in the form of systemd.syntax(7): quoted, with % doubled, because systemd
// expands %. systemd does not expand $ in the path of a program, nor in Environment=.
func unitWord(word string) (string, error) {
	if strings.ContainsFunc(word, unicode.IsControl) {
		return "", fmt.Errorf("%q has a control character, which a systemd unit cannot contain", word)
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%").Replace(word) + `"`, nil
}
