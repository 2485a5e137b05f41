package httpd

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"c2c/broker/loops"
)

// PortVariable says at which port the daemon listens.
const PortVariable = "C2C_HTTP_PORT"

// Settings are the variables of c2c that the daemon goes by.
func Settings() []string {
	return []string{"C2C_MCP_BROKER_ROOT", loops.HopsVariable}
}

// PrintUnit prints a unit for systemd that runs a program in a directory. Nothing is written: where units are is their person's choice.
func PrintUnit(out io.Writer, program, dir string, getenv func(string) string) error {
	c2c, err := unitWord(program)
	if err != nil {
		return err
	}
	if _, err := unitWord(dir); err != nil {
		return err
	}
	dir = strings.ReplaceAll(dir, "%", "%%") // this is a path up to the end of the line, and no word
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

// unitWord writes a word as systemd.syntax(7) has it: quoted, with % doubled, since systemd fills that in. It fills
// in no $ in the path of a program, and none in Environment=.
func unitWord(word string) (string, error) {
	if strings.ContainsFunc(word, unicode.IsControl) {
		return "", fmt.Errorf("%q cannot stand in a unit", word)
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%").Replace(word) + `"`, nil
}
