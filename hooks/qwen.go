package hooks

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"c2c/client"
	"c2c/inbox/mail"
)

// qwen is Qwen Code 0.24.4. It appends context to the tool's result, or puts it before the prompt, with its angle
// brackets escaped. With a tool's result it cuts what is longer than 50,000 characters or 2,000 lines together, of
// which the tool has at most 30,000 and 1,000. UserPromptSubmit comes again at each step of a turn, with an empty
// prompt. What a SessionStart hook shows would have the authority of the system. The turn is over with the
// notification that the client waits for its user, which comes after Esc, too; a turn that another session's message
// starts is told by its tools alone. A notification tells of a dialog that opens, and PreToolUse that its person has
// allowed the tool. In a subagent each event has agent_id.
func qwen() protocol {
	return protocol{
		name:  "qwen",
		limit: 20_000,
		length: func(text string) (n int) {
			for line := range strings.Lines(text) {
				n += max(len(line)+strings.Count(line, "<")*len("lt;")+strings.Count(line, ">")*len("gt;"), 25)
			}
			return n
		},
		shows: func(e Event) content {
			switch {
			case e.AgentID != "":
			case e.Name == "PostToolUse", e.Name == "Stop" && !e.StopHookActive, e.Name == "UserPromptSubmit" && e.Prompt != "":
				return bodies
			}
			return nothing
		},
		does: func(e Event) string {
			switch {
			case e.AgentID != "":
			case e.Name == "Notification" && e.Notification == "permission_prompt":
				return client.Waiting
			case e.Name == "PreToolUse", e.Name == "PostToolUse", e.Name == "UserPromptSubmit" && e.Prompt != "":
				return client.Busy // PreToolUse comes behind the dialog
			case e.Name == "SessionStart", e.Name == "Notification" && e.Notification == "idle_prompt":
				return client.Idle
			}
			return ""
		},
		// A server that was killed has given back what the client had queued.
		shown: func(e Event) func(mail.Message) bool {
			read := sync.OnceValue(func() []string { return client.QwenNotes(client.Tail(e.Transcript, maxTail)) })
			return func(m mail.Message) bool { return client.QwenShows(read(), m.Envelope()) }
		},
		encode: blockOrContext,
		// A turn that another session's message began may end with the notification alone.
		answered: func(e Event, config string, now time.Time) time.Time {
			if e.AgentID == "" && e.Name == "Notification" && e.Notification == "idle_prompt" {
				return qwenAnswered(client.Tail(e.Transcript, maxTail))
			}
			return byTools(e, config, now)
		},
		tells: "Stop", // of systemMessage it shows only that of this event
	}
}

// maxTail is how much of a session's record is read.
const maxTail = 4 << 20

// qwenAnswered is when the model of a session has answered last, by its record.
func qwenAnswered(lines []byte) (at time.Time) {
	for line := range bytes.Lines(lines) {
		if !bytes.Contains(line, []byte(`"assistant"`)) {
			continue // tool results are long
		}
		var r struct {
			Type      string
			Timestamp time.Time
		}
		if json.Unmarshal(line, &r) == nil && r.Type == "assistant" {
			at = r.Timestamp
		}
	}
	return at
}
