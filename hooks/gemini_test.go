package hooks

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"c2c/client"
	"c2c/inbox/mail"
)

// geminiEvent is one as Gemini tells it, of a session whose log is in a directory.
func geminiEvent(t *testing.T, dir, more string) Event {
	t.Helper()
	e, err := Parse("gemini", strings.NewReader(fmt.Sprintf(`{"session_id":"s-1","transcript_path":%q,%s}`, filepath.Join(dir, "session.jsonl"), more)))
	if err != nil {
		t.Fatal(err)
	}
	e.ResolveAgent("")
	return e
}

func TestGeminiIsShownMailWhereItPassesItOn(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "session.jsonl")
	const answered = `{"id":"1","timestamp":"2026-11-21T12:00:00.000Z","type":"user","content":[{"text":"do it"}]}
{"id":"2","type":"gemini","content":"It is done."}
{"$set":{"lastUpdated":"2026-11-21T12:00:00.001Z"}}
`
	write(t, log, answered, 0o600)
	for more, want := range map[string]struct {
		shows content
		does  string
	}{
		`"hook_event_name":"SessionStart","source":"startup"`:                                                   {nothing, client.Idle},
		`"hook_event_name":"BeforeAgent","prompt":"do it"`:                                                      {bodies, client.Busy},
		`"hook_event_name":"BeforeAgent","prompt":"` + mail.PrefaceStart + `\nx"`:                               {nothing, client.Busy},
		`"hook_event_name":"AfterTool","tool_name":"x","tool_response":{"llmContent":"a"}`:                      {bodies, client.Busy},
		`"hook_event_name":"AfterTool","tool_name":"x","tool_response":"text"`:                                  {bodies, client.Busy},
		`"hook_event_name":"AfterTool","tool_name":"x","tool_response":{"llmContent":"a","error":{"type":"e"}}`: {nothing, client.Busy},
		`"hook_event_name":"AfterAgent","stop_hook_active":false`:                                               {bodies, client.Idle},
		`"hook_event_name":"AfterAgent","stop_hook_active":true`:                                                {bodies, client.Idle},
		`"hook_event_name":"Notification","notification_type":"ToolPermission"`:                                 {nothing, client.Waiting},
		`"hook_event_name":"Notification","notification_type":"other"`:                                          {nothing, ""},
		`"hook_event_name":"BeforeTool","tool_name":"x"`:                                                        {nothing, ""},
	} {
		e := geminiEvent(t, dir, more)
		if e.protocol.shows(e) != want.shows || e.Does() != want.does {
			t.Errorf("%s: shows %v, does %q", more, e.protocol.shows(e), e.Does())
		}
	}
	for more, shows := range map[string]bool{
		"":                         true,
		`{"$set":{"messages":[]}}`: false, // Esc
		`{"id":"3","type":"user","content":[{"functionResponse":{"name":"x"}}]}`:                                      false,
		`{"id":"3","type":"user","content":[{"text":"more"}]}` + "\n" + `{"id":"4","type":"gemini","content":"Yes."}`: true,
	} {
		write(t, log, answered+more, 0o600)
		if got := geminiEvent(t, dir, `"hook_event_name":"AfterAgent"`).ShowsMail(); got != shows {
			t.Errorf("the end of a turn whose log ends with %s: mail %v", more, got)
		}
	}
	if got := text(t, render(t, event("gemini", "AfterAgent"), msg("m1", "body"))); !strings.HasSuffix(got, "\nbody\n</c2c>") {
		t.Errorf("at the end of a turn: %s", got)
	}
	for body, shown := range map[string]int{strings.Repeat("x", 15_000): 1, strings.Repeat("<", 15_000): 0, strings.Repeat("<", 4000): 1} {
		a := render(t, event("gemini", "AfterTool"), msg("m1", body))
		if len(a.Shown) != shown || !strings.HasSuffix(text(t, a), geminiEntities) {
			t.Errorf("of a body of %d bytes %d are shown", len(body), len(a.Shown))
		}
	}
}

// What is announced at each end of a turn would continue the turn without end.
func TestTheEndOfATurnOfGeminiAnnouncesOnce(t *testing.T) {
	var often []string
	for _, name := range []string{"BeforeAgent", "AfterTool", "AfterAgent"} {
		if event("gemini", name).Often() {
			often = append(often, name)
		}
	}
	if !slices.Equal(often, []string{"AfterTool", "AfterAgent"}) {
		t.Errorf("often come %q", often)
	}
}

// Esc takes a whole turn from its model, with the mail that it had. The archive still has that.
func TestGeminiIsToldOfMailThatEscHasTakenFromIt(t *testing.T) {
	const prompt = `{"id":"1","type":"user","content":[{"text":"do it"}]}` + "\n"
	const called = `{"id":"2","type":"gemini","content":"","toolCalls":[{"result":[{"functionResponse":{"response":{"output":"<c2c event=\"message\" from=\"birch\">"}}}]}]}` + "\n"
	const taken = `{"$set":{"messages":[],"lastUpdated":"2026-11-21T12:00:00.001Z"}}` + "\n"
	for name, c := range map[string]struct {
		log  string
		told bool
	}{
		"mail in a tool's result":        {prompt + called + taken, true},
		"mail with the prompt":           {strings.Replace(prompt, "do it", `<c2c event=\"message\"`, 1) + taken, true},
		"mail by the tool":               {prompt + strings.Replace(called, `"toolCalls":[{`, `"toolCalls":[{"name":"mcp_c2c_poll_inbox",`, 1) + taken, true},
		"no mail":                        {prompt + taken, false},
		"it goes on":                     {prompt + called + taken + called, false},
		"it is the turn before the last": {prompt + called + taken + prompt, false},
		"mail in an older turn":          {prompt + called + prompt + taken, false},
		"no end":                         {prompt + called, false},
		"no log":                         {},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "session.jsonl"), c.log, 0o600)
		a := render(t, geminiEvent(t, dir, `"hook_event_name":"BeforeAgent","prompt":"and now?"`))
		if told := strings.Contains(string(a.Output), geminiNote); told != c.told || !told && a.Output != nil {
			t.Errorf("%s: told %v: %s", name, told, a.Output)
		}
		if why := geminiEvent(t, dir, `"hook_event_name":"AfterAgent"`).Failure(); (why != "") != c.told {
			t.Errorf("%s: at the end of the turn it says that the model failed: %q", name, why)
		}
		if got := text(t, render(t, geminiEvent(t, dir, `"hook_event_name":"BeforeAgent","prompt":"and now?"`), msg("m1", "body"))); !strings.Contains(got, "\nbody\n") {
			t.Errorf("%s: with mail: %s", name, got)
		}
	}
}

func TestNoSubagentOfGeminiIsGivenMail(t *testing.T) {
	const prompt = `{"id":"1","timestamp":"2026-11-21T12:00:00.000Z","type":"user","content":[{"text":"do it"}]}
{"$set":{"lastUpdated":"2026-11-21T12:00:00.001Z"}}
{"id":"2","timestamp":"2026-11-21T12:00:01.000Z","type":"gemini","content":""}
{"id":"3","timestamp":"2026-11-21T12:30:00.000Z","type":"user","content":[{"functionResponse":{"name":"x"}}]}
`
	const working = `{"sessionId":"a","kind":"subagent"}
{"id":"1","timestamp":"2026-11-21T12:00:02.000Z","type":"gemini","content":""}
`
	const done = working + `{"$set":{"summary":"It is done."}}` + "\n"
	before, after := time.Date(2026, 11, 21, 11, 59, 0, 0, time.UTC), time.Date(2026, 11, 21, 12, 0, 2, 0, time.UTC)
	for name, c := range map[string]struct {
		log, id, tool, agents, agent string
		at                           time.Time
		mail                         bool
	}{
		"alone":                              {log: prompt, mail: true},
		"one works":                          {log: prompt, agent: working, at: after},
		"the call of one is the session's":   {log: prompt, tool: "invoke_agent", agent: working, at: after, mail: true},
		"one has told its result":            {log: prompt, agent: done, at: after, mail: true},
		"one goes on behind its result":      {log: prompt, agent: done + `{"id":"2","type":"gemini"}` + "\n", at: after},
		"one of an earlier turn was stopped": {log: prompt, agent: working, at: before, mail: true},
		"one that has failed in this turn":   {log: prompt, agent: working, at: after},
		"one beside the session":             {log: prompt, agents: "skill-extraction-1", agent: working, at: after},
		"one of another session":             {log: prompt, agents: "s-2", agent: working, at: after, mail: true},
		"no log":                             {},
		"no prompt in its end":               {log: strings.Repeat("x", client.LogTail) + prompt[strings.Index(prompt, "\n"):]},
		"an id that is a path":               {log: prompt, id: "../s-1"},
		"an id that the client writes anew":  {log: prompt, id: "s.1"},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "session.jsonl"), c.log, 0o600)
		if c.agent != "" {
			log := filepath.Join(dir, "s-1", "a.jsonl")
			if c.agents != "" {
				log = filepath.Join(dir, c.agents, "a.jsonl")
			}
			write(t, log, c.agent, 0o600)
			if err := os.Chtimes(log, c.at, c.at); err != nil {
				t.Fatal(err)
			}
		}
		more := `"hook_event_name":"AfterTool","tool_name":"` + c.tool + `"`
		if c.id != "" {
			more += `,"session_id":"` + c.id + `"`
		}
		if got := geminiEvent(t, dir, more).ShowsMail(); got != c.mail {
			t.Errorf("%s: mail %v", name, got)
		}
	}
}

// A warning of a claimed file must stay when the dropped mail itself is shown again.
func TestOnlyTheNoteOfTheClientIsDropped(t *testing.T) {
	for _, added := range []string{"", "\na warning"} {
		e := Event{Note: geminiNote + added, ownNote: geminiNote}
		if e.DropOwnNote(); e.Note != strings.TrimPrefix(added, "\n") {
			t.Errorf("left is %q", e.Note)
		}
	}
	e := Event{Note: "a warning"}
	if e.DropOwnNote(); e.Note != "a warning" {
		t.Errorf("left is %q", e.Note)
	}
}
