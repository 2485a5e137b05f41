package install

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/creachadair/tomledit/parser"
	"github.com/tailscale/hujson"
)

// Status says how serious a Finding is.
type Status string

// A warning is something that only the client knows for certain.
const (
	OK      Status = "ok"
	Warning Status = "warning"
	Problem Status = "problem"
)

// A Finding is one thing that Inspect looked at.
type Finding struct {
	Status Status `json:"status"`
	Part   string `json:"part"` // "mcp server", "hook Stop", "hook script", "hook trust"
	Path   string `json:"path"`
	Detail string `json:"detail"` // what was found, and for a problem what to do
}

// Inspect reports, without changing anything, whether each part of c2c is in
// place for client and could work.
func Inspect(client string, o Options) ([]Finding, error) {
	if _, err := installTargets(client, o); err != nil {
		return nil, err
	}
	if client == Codex {
		hooks := codexHooks(o)
		return slices.Concat(inspectCodexServer(o), inspectHooks(hooks, o), inspectTrust(hooks, o)), nil
	}
	return slices.Concat(inspectClaudeServer(o), inspectHooks(claudeSettings(o), o), inspectScript(claudeScript(o))), nil
}

func again(client string) string { return "; c2c install " + client + " puts it right" }

// inspectClaudeServer is content with an entry in either place.
func inspectClaudeServer(o Options) []Finding {
	targets := []target{claudeUserServer(o)}
	if filepath.IsAbs(o.Project) {
		targets = append(targets, claudeProjectServer(o))
	}
	var found []Finding
	for _, t := range targets {
		f, err := readFile(t.path)
		if err == nil {
			_, err = parseJSON(t.path, f.data)
		}
		if err != nil {
			found = append(found, Finding{Problem, "mcp server", t.path, err.Error()})
			continue
		}
		if v, ok := member(f.data, "mcpServers", serverName); ok {
			command, _ := field(v, "command").Value.(hujson.Literal)
			found = append(found, inspectCommand(Claude, t.path, isOurServer(v), command.String(), o))
		}
	}
	if found == nil {
		path := targets[len(targets)-1].path
		found = append(found, Finding{Problem, "mcp server", path, "no entry" + again(Claude)})
	}
	return found
}

func inspectCodexServer(o Options) []Finding {
	t := codexConfig(o)
	f, err := readFile(t.path)
	var all []statement
	if err == nil {
		all, err = parseTOML(t.path, f.data)
	}
	if err != nil {
		return []Finding{{Problem, "mcp server", t.path, err.Error()}}
	}
	if len(ourRuns(all)) == 0 {
		return []Finding{{Problem, "mcp server", t.path, "no entry" + again(Codex)}}
	}
	command, _ := tomlString(ourValues(all)["command"])
	return []Finding{inspectCommand(Codex, t.path, isOurTable(all), command, o)}
}

// inspectCommand reports on an MCP server entry that starts command.
func inspectCommand(client, path string, ours bool, command string, o Options) Finding {
	f := Finding{OK, "mcp server", path, command}
	if !ours {
		f.Status, f.Detail = Problem, fmt.Sprintf("the entry c2c is not this c2c's (it runs %q)", command)+again(client)
	} else if err := runnable(command, o); err != nil {
		f.Status, f.Detail = Problem, err.Error()+again(client)
	}
	return f
}

// runnable returns why the program called command cannot be started, or nil.
func runnable(command string, o Options) error {
	if !strings.Contains(command, "/") {
		if lookPath(command, o) == "" {
			return fmt.Errorf("no program %q on PATH", command)
		}
		return nil
	}
	return executable(command)
}

func inspectHooks(t target, o Options) []Finding {
	e := t.editor.(hookEditor)
	f, err := readFile(t.path)
	var d *jsonDoc
	if err == nil {
		d, err = parseJSON(t.path, f.data)
	}
	if err != nil {
		return []Finding{{Problem, "hooks", t.path, err.Error()}}
	}
	var found []Finding
	for _, event := range e.events {
		groups, _ := field(field(d.root, "hooks"), event.name).Value.(*hujson.Array)
		found = append(found, e.inspect(t, groups, event, o))
	}
	return found
}

func (e hookEditor) inspect(t target, groups *hujson.Array, event hookEvent, o Options) Finding {
	f := Finding{Problem, "hook " + event.name, t.path, "no entry" + again(t.client)}
	if groups == nil {
		return f
	}
	for ref := range e.entries(groups) {
		command := field(hujson.Value{Value: ref.entry()}, "command").Value.(hujson.Literal).String()
		err := runnable(hookProgram(command), o)
		switch {
		case f.Status == OK:
			f.Status, f.Detail = Problem, "more than one entry, mail is looked for twice"+again(t.client)
		case slices.Contains(event.legacy, ref.matcher()):
			f.Detail = "the entry is that of another c2c" + again(t.client)
		case err != nil:
			f.Detail = err.Error() + again(t.client)
		default:
			f.Status, f.Detail = OK, command
		}
	}
	return f
}

func inspectScript(t target) []Finding {
	f, err := readFile(t.path)
	found := Finding{OK, "hook script", t.path, "as this c2c writes it"}
	switch {
	case err != nil:
		found.Status, found.Detail = Problem, err.Error()
	case f.data == nil:
		found.Status, found.Detail = Problem, "no such file"+again(Claude)
	case !bytes.Equal(f.data, t.editor.(scriptEditor).content):
		found.Status, found.Detail = Problem, "the content is not what this c2c writes"+again(Claude)
	case f.mode&0o111 != 0o111:
		found.Status, found.Detail = Problem, fmt.Sprintf("mode %04o is not executable", f.mode)+again(Claude)
	}
	return []Finding{found}
}

// inspectTrust looks for Codex's note that the user has reviewed our hooks:
// [hooks.state."PATH:EVENT:GROUP:INDEX"] in config.toml (0.169.0). The hash in
// it is Codex's own affair, so a note is no proof, but no note means no hook.
func inspectTrust(t target, o Options) []Finding {
	hooks, err1 := readFile(t.path)
	config, err2 := readFile(codexConfig(o).path)
	if err1 != nil || err2 != nil {
		return nil // reported where the file itself is inspected
	}
	all, err := parseTOML(config.path, config.data)
	if err != nil {
		return nil
	}
	var missing []string
	for _, event := range t.editor.(hookEditor).events {
		v, _ := member(hooks.data, "hooks", event.name)
		groups, ok := v.Value.(*hujson.Array)
		if !ok {
			continue
		}
		for ref := range t.editor.(hookEditor).entries(groups) {
			suffix := fmt.Sprintf("%s:%s:%d:%d", filepath.Base(t.path), snake(event.name), ref.group, ref.index)
			if !slices.ContainsFunc(all, func(s statement) bool { return isTrust(s.full, suffix) }) {
				missing = append(missing, event.name)
			}
		}
	}
	if missing != nil {
		return []Finding{{Warning, "hook trust", config.path, "not yet reviewed in Codex: " +
			strings.Join(missing, ", ") + `; start codex and answer "Hooks need review"`}}
	}
	return nil
}

func isTrust(key parser.Key, suffix string) bool {
	return len(key) >= 3 && key[0] == "hooks" && key[1] == "state" && strings.HasSuffix(key[2], "/"+suffix)
}

// snake turns PostToolUse into post_tool_use.
func snake(event string) string {
	var b strings.Builder
	for i, r := range event {
		if 'A' <= r && r <= 'Z' {
			if i > 0 {
				b.WriteByte('_')
			}
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}
