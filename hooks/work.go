package hooks

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"c2c/inbox/mail"
)

// tool is what a client tells of a tool call. Most of its forms say more, or something else.
type tool struct {
	Command string // of a shell
	Name    string // of a tool that calls another one
}

func (t *tool) UnmarshalJSON(data []byte) error {
	var input struct {
		Command any    `json:"command"`
		Cmd     any    `json:"cmd"` // Codex's name for it, to its model
		Name    string `json:"name"`
	}
	json.Unmarshal(data, &input) // what has another form has none of these
	t.Name = input.Name
	if input.Command == nil {
		input.Command = input.Cmd
	}
	switch c := input.Command.(type) {
	case string:
		t.Command = c
	case []any:
		for _, word := range c {
			if s, ok := word.(string); ok {
				t.Command += s + " "
			}
		}
	}
	return nil
}

// UsesTool says whether the event comes behind a tool call, in the session's own agent if the agent is still unknown.
func (e Event) UsesTool() bool {
	switch e.Name {
	case "PostToolUse", "AfterTool", "postToolUse":
		return e.AgentID == "" || e.agentUnknown
	}
	return false
}

// Works says whether the event proves that the session does something but answer its mail: it has called a tool that is none
// of c2c's, or a turn begins with a prompt that c2c has not made.
func (e Event) Works() bool {
	switch {
	case e.UsesTool():
		return !ours(e.Tool, e.Input)
	case e.Name == "UserPromptSubmit" || e.Name == "BeforeAgent":
		return (e.AgentID == "" || e.agentUnknown) && e.Prompt != "" && !e.CarriesMail() && !byMail(string(e.Prompt))
	}
	return false
}

// byMail says whether c2c has made a prompt: a ring, or mail itself.
func byMail(prompt string) bool {
	return strings.Contains(prompt, "<c2c event=") || strings.Contains(prompt, mail.PrefaceStart)
}

// ours says whether a tool call is about mail alone. Claude Code's SendMessage and ListAgents reach the sessions of c2c, too;
// clients look up what tools there are before they call ours; and Cursor does not say whose MCP tool was called.
func ours(name string, in tool) bool {
	switch name {
	case "SendMessage", "ListAgents", "ToolSearch", "tool_search":
		return true
	case "tool_call": // Qwen Code calls other tools with it
		name = in.Name
	}
	return name == "" || strings.Contains(name, "c2c") || strings.HasPrefix(name, "MCP:") || callsC2C(in.Command)
}

// mailVerbs are the commands of c2c that an agent answers mail with.
var mailVerbs = []string{"send", "send-all", "reply", "ask", "poll-inbox", "peek-inbox", "history", "list", "whoami", "thread", "search", "status", "outbox", "obligations"}

// callsC2C says whether a shell's command reads or writes mail. It may do something else as well: then the next call tells.
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
