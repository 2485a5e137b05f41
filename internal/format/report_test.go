package format

import (
	"strings"
	"testing"
)

func TestAFactIsOneLine(t *testing.T) {
	var out strings.Builder
	gone := "stat /opt/c2c: no such file or directory; c2c install "
	Print(&out, []Finding{
		{Client: "kimi", Status: Warning, Part: "program", Detail: "not on the PATH"},
		{Client: "kimi", Status: Problem, Part: "mcp server", Path: "mcp.json", Detail: gone + "kimi repairs it"},
		{Client: "kimi", Status: Problem, Part: "hook Stop", Path: "config.toml", Detail: gone + "kimi repairs it"},
		{Client: "qwen", Status: Warning, Part: "program", Detail: "not on the PATH"},
		{Client: "qwen", Status: Problem, Part: "mcp server", Path: "settings.json", Detail: gone + "qwen repairs it"},
		{Client: "gemini", Status: Problem, Part: "mcp server", Path: "settings.json", Detail: "removed; c2c install gemini repairs it"},
		{Status: Problem, Part: "damaged file", Path: "a", Detail: "set aside"},
		{Status: Problem, Part: "damaged file", Path: "b", Detail: "set aside"},
	}, false)
	want := `warning  kimi, qwen program: not on the PATH
problem  kimi, qwen setup: ` + gone + `repairs it
problem  gemini mcp server: removed; c2c install gemini repairs it (settings.json)
problem  damaged file: set aside (a)
problem  damaged file: set aside (b)
0 checks ok (--verbose shows them)
`
	if out.String() != want {
		t.Errorf("%s\nwant\n%s", out.String(), want)
	}
}
