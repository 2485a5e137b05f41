package install

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tailscale/hujson"
)

func fuzzOptions() Options {
	return Options{Home: "/h", Project: "/p", Binary: "/opt/c 2c/c2c", StateDir: "/s",
		Getenv: func(string) string { return "" }, HookScript: []byte(testScript)}
}

// meaning decodes JSON with comments.
func meaning(t *testing.T, data []byte) (v any) {
	t.Helper()
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(bytes.TrimSpace(data)) == 0 {
		return map[string]any{}
	}
	standard, err := hujson.Standardize(append(bytes.Clone(data), '\n')) // a comment may end it
	if err == nil {
		dec := json.NewDecoder(bytes.NewReader(standard))
		dec.UseNumber() // one may be none of Go's
		err = dec.Decode(&v)
	}
	if err != nil {
		t.Fatalf("does not parse: %v\n%s", err, data)
	}
	return v
}

// checkEditor tests what every editor promises, and returns the edited text
// and that text without our part, nil when the editor refused.
func checkEditor(t *testing.T, e editor, data []byte) (after, without []byte) {
	t.Helper()
	was := bytes.Clone(data)
	after, err := e.add("f", data)
	if !bytes.Equal(data, was) {
		t.Fatalf("add changed its input to %q", data)
	}
	if err != nil {
		if after != nil {
			t.Fatalf("add returns text with error %v", err)
		}
		return nil, nil
	}
	if !hasOurs(e, after) {
		t.Fatalf("our part is not in\n%s", after)
	}
	if again, err := e.add("f", after); err != nil || !bytes.Equal(again, after) {
		t.Fatalf("adding again: error %v and\n%s\nfrom\n%s", err, again, after)
	}
	r, err := nextRecord(nil, target{editor: e}, &File{Data: data})
	if err != nil {
		t.Fatal(err)
	}
	if !hasOurs(e, data) && !bytes.Equal(r.original(), data) {
		t.Fatalf("undo would make %q of %q", r.original(), data)
	}
	without, err = e.strip("f", after, data)
	if err != nil {
		t.Fatalf("strip: %v from\n%s", err, after)
	}
	if hasOurs(e, without) && !hasOurs(e, data) {
		t.Fatalf("strip leaves our part in\n%s", without)
	}
	if again, err := e.strip("f", without, data); err != nil || !bytes.Equal(again, without) {
		t.Fatalf("strip again: error %v and\n%s\nfrom\n%s", err, again, without)
	}
	return after, without
}

func claudeServerEditor(o Options) editor { return claudeFiles(o)[2].editor }

func FuzzEditSettings(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "{\"a\":1}", "{\n\t\"a\": 1 // x\n}", "{\"a\": 1, /* b */}", "{\"hooks\": {\"Stop\": [], // c\n}}",
		"{\"hooks\":{\"PostToolUse\":[{\"matcher\":\".*\",\"hooks\":[{\"command\":\"/x/c2c-inbox-check.sh\"},{}]}]}}",
		"{\"hooks\":{\"Stop\":[1,{\"hooks\":[{\"command\":\"'/x y/c2c-inbox-check.sh'\"}]},{\"hooks\":2}]}}",
		"{\"mcpServers\":{\"c2c\":{\"args\":[\"mcp\"],\"command\":3}}}", "{\"mcpServers\":{\"c2c\":null /**/}}//",
		"\ufeff{\r\n \"mcpServers\" : {\r\n }\r\n}\r\n", "[]", "{\"hooks\":[]}", "{\"\":44e44444}",
		"{\"hooks\":{\"Stop\":[{\"hooks\":[{\"command\":\"c2c hook --client codex\"}]}]}}",
		"{\"mcpServers\":{\"c2c\":{\"args\":[\"mcp\"],\"trust\":false}},\"hooks\":{\"Notification\":[{\"matcher\":\"\",\"hooks\":[{\"command\":\"c2c hook --client qwen\"}]}]}}",
		"{\"mcpServers\":{\"c2c\":{\"url\":\"http://localhost:1/mcp\",\"headers\":{\"X-C2C-Project\":1,\"authorization\":2}}}}",
		"{\"hooks\":{\"stop\":[1,{\"command\":\"c2c hook --client cursor\"},{\"command\":\"x\"},{\"command\":\"'/c 2c/c2c' hook --client cursor\",\"loop_limit\":9}]},\"version\":2}",
	} {
		f.Add([]byte(seed))
	}
	o := fuzzOptions()
	hooks := claudeFiles(o)[1].editor
	editors := []editor{hooks, codexFiles(o)[0].editor, claudeServerEditor(o), multiEditor{claudeServerEditor(o), hooks}, qwenFiles(o)[0].editor, geminiFiles(o)[0].editor, cursorFiles(o)[1].editor}
	o.HTTP = &HTTP{URL: "http://127.0.0.1:8788/mcp", Token: "secret", Runs: true}
	editors = append(editors, cursorFiles(o)[0].editor)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, e := range editors {
			after, without := checkEditor(t, e, data)
			if after == nil {
				continue
			}
			meaning(t, after)
			before, err := e.strip("f", data, data)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := meaning(t, without), meaning(t, before); !reflect.DeepEqual(got, want) {
				t.Fatalf("add and strip make\n%s\nof\n%s", without, data)
			}
		}
	})
}

func FuzzEditToml(f *testing.F) {
	for _, seed := range []string{
		"", "a=1", "a = 'b' # c\r\n[d]\r\n", "[mcp_servers.c2c]\ncommand = \"x\" # y\nargs = ['mcp']\n\n[z]\n",
		"[mcp_servers]\nc2c = { command = \"c\", args = [\"mcp\"] }\nd.e = 1\n", "mcp_servers.c2c.args = [\n \"mcp\", # c\n]\n[a]\nb=1",
		"[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = '''x\ny'''\n", "[mcp_servers.c2c.env]\nA=\"\"\"b\n[c]\"\"\"\n# end",
		"mcp_servers = {}", "[[mcp_servers]]", "[ \"mcp_servers\" . 'c2c' ]\n", "d = 1979-05-27 07:32:00\n", "[a] b = 1", "0=", "0='\n\n'", "a='''\n\n'''\n[mcp_servers.c2c]\nb=1\n",
	} {
		f.Add([]byte(seed))
	}
	e := codexServer(fuzzOptions())
	f.Fuzz(func(t *testing.T, data []byte) {
		checkToml(t, e, data, func(d tomlDoc) []byte { return d.withoutOurs() })
	})
}

func FuzzEditTomlHooks(f *testing.F) {
	for _, seed := range []string{
		"", "a=1", "[[hooks]]\nevent='Stop' # mine\ncommand='say done'\n\n[z]\nb=1", "hooks = []\n", "[hooks]\n", "[[hooks]]\r\n",
		"[[hooks]]\nevent = \"Stop\"\ncommand = \"/x/c2c hook --client kimi\" # tuned\ntimeout = 3\n# mine\n[[hooks]]\nevent = \"Gone\"\ncommand = '/x/c2c hook --client kimi'\n",
		"[[hooks]]\ncommand = \"\"\"c2c hook --client kimi\"\"\"\n", "[[hooks]]\nhooks.command = 1\n[[hooks.x]]\n", "[[hooks]]\nevent=\"Stop\"\ncommand=\"c2c hook --client kimi\" \n#", "[[hooks]]\ncommand=['c2c hook --client kimi']\n",
	} {
		f.Add([]byte(seed))
	}
	e := kimiFiles(fuzzOptions())[1].editor.(tomlHooks)
	f.Fuzz(func(t *testing.T, data []byte) {
		checkToml(t, e, data, func(d tomlDoc) []byte {
			_, ours, err := e.tables("f", d.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			return d.Without(spans(ours))
		})
	})
}

// checkToml is checkEditor for a TOML file, of which others gives what is not ours.
func checkToml(t *testing.T, e editor, data []byte, others func(tomlDoc) []byte) {
	t.Helper()
	after, without := checkEditor(t, e, data)
	if after == nil {
		return
	}
	texts := func(data []byte) (texts []string) {
		t.Helper()
		d, err := parseTOML("f", data)
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		for line := range strings.Lines(string(others(d))) {
			if text := strings.TrimSpace(line); text != "" {
				texts = append(texts, text)
			}
		}
		return texts
	}
	want := texts(data)
	if got := texts(after); !slices.Equal(got, want) {
		t.Fatalf("add makes\n%q\nof\n%q", got, want)
	}
	if got := texts(without); !slices.Equal(got, want) {
		t.Fatalf("strip makes\n%q\nof\n%q", got, want)
	}
}
