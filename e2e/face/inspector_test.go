package face

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// inspect is a run of the inspector's command line on the daemon.
func (d *daemon) inspect(args ...string) *exec.Cmd {
	program := filepath.Join(tool(d.t, "@modelcontextprotocol+inspector@"), "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")
	return node(d.t, append([]string{program, "--cli", d.url, "--transport", "http", "--header", "Authorization: Bearer " + d.token,
		"--header", "X-C2C-Project: " + d.home}, args...)...)
}

func (d *daemon) inspected(args ...string) []byte {
	d.t.Helper()
	cmd := d.inspect(args...)
	var out, wrong bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &wrong
	if err := cmd.Run(); err != nil {
		d.t.Fatalf("inspector %q: %v\n%s%s", args, err, out.Bytes(), wrong.Bytes())
	}
	return out.Bytes()
}

// People try servers with the inspector.
func TestTheInspector(t *testing.T) {
	d := start(t)
	d.c2c("register", "amber", "--session-id", "amber")
	var list struct{ Tools []struct{ Name string } }
	if out := d.inspected("--method", "tools/list", "--strict"); json.Unmarshal(out, &list) != nil || len(list.Tools) != 9 {
		t.Errorf("tools: %s", out)
	}
	out := d.inspected("--method", "tools/call", "--tool-name", "send", "--tool-arg", "to_alias=amber", "--tool-arg", "content=hello")
	if strings.Contains(string(out), `"isError": true`) {
		t.Errorf("send: %s", out)
	}
	if mail := d.c2c("poll-inbox", "--session-id", "amber"); !strings.Contains(mail, "hello") {
		t.Errorf("mail: %s", mail)
	}
	d.token += "x"
	if out, err := d.inspect("--method", "tools/list").CombinedOutput(); err == nil {
		t.Errorf("with a wrong token: %s", out)
	}
}
