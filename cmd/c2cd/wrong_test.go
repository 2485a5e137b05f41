package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"c2c/client"
	"c2c/cmd/cli"
	"c2c/hooks"
)

var update = flag.Bool("update", false, "write the golden table")

// One table: what is typed, the exit status, the words and the hint, and the same with --json.
// Nothing of it is done.
func TestWrongInputs(t *testing.T) {
	path := filepath.Join("..", "..", "testdata", "wrong-inputs.txt")
	table, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w := newMistaken(t)
	before := w.tree()
	var out strings.Builder
	inputs, after := 0, ""
	clients := strings.NewReplacer(strings.Join(client.Names(), ", "), "{clients}", strings.Join(hooks.Clients(), ", "), "{clients with hooks}")
	answers := false // the lines below an input are its answer
	for line := range strings.Lines(string(table)) {
		input, is := strings.CutPrefix(strings.TrimSpace(line), "$ ")
		switch {
		case is:
			inputs++
			if strings.HasPrefix(input, "mcp ") && after == "" {
				after = w.tree() // who starts a server is bound to its process
			}
			if answers {
				out.WriteString("\n")
			}
			out.WriteString("$ " + input + "\n" + clients.Replace(w.answer(input)))
			answers = true
		case strings.HasPrefix(line, "#") && answers:
			out.WriteString("\n" + line)
			answers = false
		case !answers:
			out.WriteString(line)
		}
	}
	if got := out.String(); *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got != string(table) {
		t.Errorf("not as the table says: %s", firstDifference(string(table), got))
	}
	if inputs < 100 {
		t.Errorf("%d inputs are too few", inputs)
	}
	if after != before {
		t.Errorf("something was done. Before:\n%safter:\n%s", before, after)
	}
}

func firstDifference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	input := ""
	for i := range min(len(a), len(b)) {
		if strings.HasPrefix(b[i], "$ ") {
			input = b[i]
		}
		if a[i] != b[i] {
			return fmt.Sprintf("line %d, %s\nwant %s\ngot  %s", i+1, input, a[i], b[i])
		}
	}
	return "one of them is longer"
}

// mistaken is the session birch beside amber and coral, which makes mistakes.
type mistaken struct{ *keeper }

func newMistaken(t *testing.T) mistaken {
	w := mistaken{newKeeper(t)}
	for _, name := range []string{"amber", "birch", "coral"} {
		w.run("register", name, "--session-id", name)
	}
	for name, text := range map[string]string{"letter.txt": "Dear amber\n", "empty.txt": ""} {
		if err := os.WriteFile(filepath.Join(w.home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	everybodys := filepath.Join(w.home, "everybodys")
	if err := errors.Join(os.Mkdir(everybodys, 0o700), os.Chmod(everybodys, 0o777)); err != nil {
		t.Fatal(err)
	}
	return w
}

// answer is what c2c says, and says with --json.
func (w mistaken) answer(input string) string {
	if call, is := strings.CutPrefix(input, "mcp "); is {
		return w.tool(call)
	}
	out := w.shell(input)
	_, line, _ := strings.Cut(input, "c2c ")
	verb, _, _ := strings.Cut(line, " ")
	v, known := cli.Find(verb)
	hasJSON := !known && line != "" && verb != "help"
	for _, o := range v.Options {
		hasJSON = hasJSON || o.Name == "json"
	}
	if !hasJSON || strings.Contains(input, "--json") {
		return out
	}
	as := w.shell(strings.Replace(input, "c2c "+verb, "c2c "+verb+" --json", 1))
	if status, words, _ := strings.Cut(as, "\n"); strings.HasPrefix(out, status+"\n") {
		as = words // the status is the same
	}
	return out + as
}

func (w mistaken) shell(line string) string {
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = w.home
	cmd.Env = append(w.env(), "C2C_MCP_SESSION_ID=birch")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		w.t.Fatalf("%s: %v", line, err)
	}
	said := errs.String()
	if usage, _, is := strings.Cut(said, "\n\n"); is && strings.HasPrefix(usage, "usage: ") {
		said = usage + "\n…\n" // the whole overview is tested elsewhere
	}
	if out.Len() > 0 {
		said += "answer: " + out.String()
	}
	return fmt.Sprintf("exit %d\n", cmd.ProcessState.ExitCode()) + strings.ReplaceAll(said, w.home, "$HOME")
}

// tool is what the MCP server answers to a call of a tool.
func (w mistaken) tool(call string) string {
	name, args, _ := strings.Cut(call, " ")
	cmd := w.command("mcp")
	cmd.Env = append(cmd.Env, "C2C_MCP_SESSION_ID=birch")
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"mistaken","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"` + name + `","arguments":` + args + `}}
`)
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("%s: %v", call, err)
	}
	for line := range strings.Lines(string(out)) {
		var answer struct {
			ID     int
			Error  struct{ Message string }
			Result struct {
				IsError bool
				Content []struct{ Text string }
			}
		}
		if err := json.Unmarshal([]byte(line), &answer); err != nil || answer.ID != 2 {
			continue
		}
		if len(answer.Result.Content) > 0 && answer.Result.IsError {
			return "tool error: " + answer.Result.Content[0].Text + "\n"
		}
		return "error: " + answer.Error.Message + "\n"
	}
	w.t.Fatalf("%s: no answer in %s", call, out)
	return ""
}

// tree is every file of the home, without locks and logs, the mark of a look for what is due, and
// who has mail.
func (w mistaken) tree() string {
	out, err := exec.Command("find", w.home, "-type", "f", "-not", "-name", "*.lock", "-not", "-name", "*.log", "-not", "-name", "owed.due", "-size", "+0", "-printf", "%P %s\n").Output()
	if err != nil {
		w.t.Fatal(err)
	}
	return string(out)
}
