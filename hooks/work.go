package hooks

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"c2c/inbox/mail"
)

// tool is the part that c2c reads of a tool call's input. The form of the input depends on the
// tool.
type tool struct {
	Command string // the command that a shell runs
	Patch   string // what a tool for patches is to apply
	Name    string // the name of another tool that this tool calls
	Path    string // the file that the tool reads or changes
}

func (t *tool) UnmarshalJSON(data []byte) error {
	var input struct {
		Command any    `json:"command"`
		Cmd     any    `json:"cmd"` // Codex's name for the command
		Name    string `json:"name"`
		Path    string `json:"file_path"`

		// Other names of the path.
		Notebook string `json:"notebook_path"`
		Absolute string `json:"absolute_path"`
		File     string `json:"path"`

		Patch string `json:"input"`
	}
	json.Unmarshal(data, &input) // an input of another form has none of these fields
	t.Name, t.Patch, t.Path = input.Name, input.Patch, cmp.Or(input.Path, input.Notebook, input.Absolute, input.File)
	if input.Command == nil {
		input.Command = input.Cmd
	}
	switch c := input.Command.(type) {
	case string:
		t.Command = c
	case []any:
		for _, word := range c {
			if s, ok := word.(string); ok {
				t.Command += s + "\n"
			}
		}
	}
	return nil
}

// UsesTool reports whether the event comes after a tool call of the session's own agent. An unknown
// agent counts as the session's own.
func (e Event) UsesTool() bool {
	switch e.Name {
	case "PostToolUse", "AfterTool", "postToolUse":
		return e.AgentID == "" || e.agentUnknown
	}
	return false
}

// Works reports whether the event proves that the session does more than answer its mail. This is
// so if the session has called a tool that is not c2c's, or if a turn begins with a prompt that
// does not come from c2c.
func (e Event) Works() bool {
	switch {
	case e.UsesTool():
		return !ours(e.Tool, e.Input)
	case e.Name == "UserPromptSubmit" || e.Name == "BeforeAgent":
		return (e.AgentID == "" || e.agentUnknown) && e.Prompt != "" && !e.CarriesMail() && !byMail(string(e.Prompt))
	}
	return false
}

// byMail reports whether a prompt is from c2c: a ring, or mail itself.
func byMail(prompt string) bool {
	return strings.Contains(prompt, "<c2c event=") || strings.Contains(prompt, mail.PrefaceStart)
}

// ours reports whether a tool call is only about mail. Claude Code's SendMessage and ListAgents
// also reach the sessions of c2c. For a search for tools ours returns true, because clients search
// before they call c2c's tools. It also returns true for each MCP tool of Cursor, because Cursor
// does not name the MCP server of a tool.
func ours(name string, in tool) bool {
	switch name {
	case "SendMessage", "ListAgents", "ToolSearch", "tool_search":
		return true
	case "tool_call": // the tool by which Qwen Code calls other tools
		name = in.Name
	}
	return name == "" || strings.Contains(name, "c2c") || strings.HasPrefix(name, "MCP:") || callsC2C(in.Command)
}

// mailVerbs are the commands of c2c by which an agent reads and answers mail.
var mailVerbs = []string{"send", "send-all", "reply", "ask", "poll-inbox", "peek-inbox", "history", "list", "whoami", "thread", "search", "status", "outbox", "obligations"}

// callsC2C reports whether a shell command reads or writes mail. If the command also does other
// work, c2c finds that out only at the next tool call.
func callsC2C(command string) bool {
	if !strings.Contains(command, "c2c") {
		return false
	}
	words := strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \t\r\n;|&()\"'`", r) })
	for i, word := range words[:max(0, len(words)-1)] {
		if path.Base(word) == "c2c" && slices.Contains(mailVerbs, words[i+1]) {
			return true
		}
	}
	return false
}
