package httpd

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"c2c/broker/loops"
	"c2c/rooms/talk"
)

// PortVariable is the variable that sets the daemon's port.
const PortVariable = "C2C_HTTP_PORT"

// Settings are the variables that the daemon obeys.
func Settings() []string {
	return []string{"C2C_MCP_BROKER_ROOT", loops.HopsVariable, talk.WakesVariable}
}

// PrintUnit prints a systemd unit that runs a program in a directory. It writes no file: the person chooses where units are.
func PrintUnit(out io.Writer, program, dir string, getenv func(string) string) error {
	c2c, err := unitWord(program)
	if err != nil {
		return err
	}
	if _, err := unitWord(dir); err != nil {
		return err
	}
	dir = strings.ReplaceAll(dir, "%", "%%") // in the unit, this value is a path up to the end of the line, so it is not quoted
	_, err = io.WriteString(out, "# systemctl --user edit --force --full c2c-serve.service    (paste this, save)\n"+
		"# systemctl --user enable --now c2c-serve.service\n"+
		"[Unit]\nDescription=c2c over HTTP, on this machine alone\n\n"+
		"[Service]\nExecStart="+c2c+" serve run\nWorkingDirectory="+dir+"\n")
	for _, name := range append([]string{"XDG_STATE_HOME", PortVariable}, Settings()...) {
		v := getenv(name)
		if v == "" || err != nil {
			continue
		}
		word, werr := unitWord(name + "=" + v)
		if werr != nil {
			return werr
		}
		_, err = fmt.Fprintf(out, "Environment=%s\n", word)
	}
	if err == nil {
		_, err = io.WriteString(out, "Restart=on-failure\n\n[Install]\nWantedBy=default.target\n")
	}
	return err
}

// unitWord returns a word in the form of systemd.syntax(7): quoted, with % doubled, because systemd expands %. systemd does not expand
// $ in the path of a program, nor in Environment=.
func unitWord(word string) (string, error) {
	if strings.ContainsFunc(word, unicode.IsControl) {
		return "", fmt.Errorf("%q has a control character, which a systemd unit cannot contain", word)
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%").Replace(word) + `"`, nil
}
