package hooks

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"c2c/client"
	"c2c/inbox/mail"
	"c2c/wake"
)

// OpenCode's plugin sees commands itself, by the same list.
func TestTheOpenCodePluginKnowsTheSameVerbs(t *testing.T) {
	t.Parallel()
	plugin, err := os.ReadFile("../install/opencode.ts")
	if err != nil {
		t.Fatal(err)
	}
	if want := "c2c\\s+(" + strings.Join(mailVerbs, "|") + `)\b`; !strings.Contains(string(plugin), want) {
		t.Errorf("install/opencode.ts has no %s", want)
	}
}

// What is told of work is a tool call that is none of c2c's, and a prompt that c2c has not made.
func TestWorkIsWhatHasNothingToDoWithMail(t *testing.T) {
	t.Parallel()
	message := mail.Message{From: "birch", To: "amber", ID: "one", Content: "hi"}
	prompt := func(text string) string {
		quoted, _ := json.Marshal(text)
		return string(quoted)
	}
	for event, want := range map[string][2]bool{ // works, uses a tool
		`claude {"hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"go test ./..."}}`:                     {true, true},
		`claude {"hook_event_name":"PostToolUse","tool_name":"Edit","tool_input":{"file_path":"/c2c/send.go"}}`:                    {true, true},
		`claude {"hook_event_name":"PostToolUse","tool_name":"mcp__docs__search","tool_input":["x"]}`:                              {true, true},
		`claude {"hook_event_name":"PostToolUse","tool_name":"mcp__c2c__reply","tool_input":{"content":"x"}}`:                      {false, true},
		`claude {"hook_event_name":"PostToolUse","tool_name":"mcp__plugin_c2c_c2c__send"}`:                                         {false, true},
		`claude {"hook_event_name":"PostToolUse","tool_name":"SendMessage","tool_input":{"to":"birch"}}`:                           {false, true},
		`claude {"hook_event_name":"PostToolUse","tool_name":"ToolSearch"}`:                                                        {false, true},
		`claude {"hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"c2c reply 'thanks; bye'"}}`:           {false, true},
		`claude {"hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"cd x && echo hi | /x/c2c send b -"}}`: {false, true},
		`claude {"hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"go build -o c2c ./cmd/c2c"}}`:         {true, true},
		`claude {"hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"ls c2c"}}`:                            {true, true},
		`claude {"hook_event_name":"PostToolUse","tool_name":"Bash","agent_id":"a"}`:                                               {false, false},
		`claude {"hook_event_name":"PostToolUse"}`:                                                                                 {false, true},
		`claude {"hook_event_name":"Stop"}`:                                                                                          {false, false},
		`claude {"hook_event_name":"UserPromptSubmit","prompt":"fix the build"}`:                                                     {true, false},
		`claude {"hook_event_name":"UserPromptSubmit","prompt":""}`:                                                                  {false, false},
		`claude {"hook_event_name":"UserPromptSubmit","prompt":` + prompt(message.Envelope()) + `}`:                                  {false, false},
		`claude {"hook_event_name":"UserPromptSubmit","prompt":` + prompt(wake.NoticeOf([]mail.Message{message}).Text("x")) + `}`:    {false, false},
		`claude {"hook_event_name":"UserPromptSubmit","prompt":` + prompt(mail.Preface([]mail.Message{message})) + `}`:               {false, false},
		`codex {"hook_event_name":"UserPromptSubmit","prompt":"` + client.CodexLine + `birch, not from your user"}`:                  {false, false},
		`codex {"hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":["bash","-lc","c2c poll-inbox"]}}`:        {false, true},
		`codex {"hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"cmd":"c2c reply thanks"}}`:                         {false, true},
		`codex {"hook_event_name":"PostToolUse","tool_name":"apply_patch","tool_input":"*** Begin"}`:                                 {true, true},
		`qwen {"hook_event_name":"PostToolUse","tool_name":"tool_call","tool_input":{"name":"mcp__c2c__send","arguments":{}}}`:       {false, true},
		`qwen {"hook_event_name":"PostToolUse","tool_name":"tool_call","tool_input":{"name":"mcp__docs__find"}}`:                     {true, true},
		`gemini {"hook_event_name":"AfterTool","tool_name":"run_shell_command","tool_input":{"command":"make"}}`:                     {true, true},
		`gemini {"hook_event_name":"AfterTool","tool_name":"mcp_c2c_send"}`:                                                          {false, true},
		`gemini {"hook_event_name":"BeforeAgent","prompt":"go on"}`:                                                                  {true, false},
		`copilot {"hook_event_name":"PostToolUse","tool_name":"c2c-send"}`:                                                           {false, true},
		`copilot {"hook_event_name":"PostToolUse","tool_name":"bash","tool_input":{"command":"ls"}}`:                                 {true, true},
		`cursor {"hook_event_name":"postToolUse","tool_name":"Shell","tool_input":{"command":"ls"}}`:                                 {true, true},
		`cursor {"hook_event_name":"postToolUse","tool_name":"MCP:send"}`:                                                            {false, true},
		`kimi {"hook_event_name":"UserPromptSubmit","prompt":[{"type":"text","text":"go on"}]}`:                                      {true, false},
		`claude {"hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":7,"name":[]}}`:                           {true, true},
		`claude {"hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"git -C c2c status && c2c-inbox list"}}`: {false, true},
	} {
		client, in, _ := strings.Cut(event, " ")
		e, err := Parse(client, strings.NewReader(in))
		if err != nil || e.Works() != want[0] || e.UsesTool() != want[1] {
			t.Errorf("%s: works %v, uses a tool %v, %v", event, e.Works(), e.UsesTool(), err)
		}
	}
}
