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

func init() { register("qwen", qwen) }

// qwen is Qwen Code 0.24.4. It appends a hook's context to the tool's result, or puts it before the
// prompt, with angle brackets escaped. It cuts a result with its context at 50,000 characters or
// 2,000 lines. The tool's own result has at most 30,000 characters and 1,000 lines.
// UserPromptSubmit comes again at each step of a turn, with an empty prompt. The text of a
// SessionStart hook would have the authority of the system. At the end of a turn, also after Esc, a
// notification reports that the client waits for its user. If another session's message starts a
// turn, only the events of its tools show that the turn runs. Another notification reports that a
// dialog opens; a PreToolUse after it means that the person has allowed the tool. In a subagent
// each event has agent_id.
func qwen() protocol {
	return protocol{
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
				return client.Busy // PreToolUse comes after the dialog
			case e.Name == "SessionStart", e.Name == "Notification" && e.Notification == "idle_prompt":
				return client.Idle
			}
			return ""
		},
		// After a kill of the MCP server c2c puts messages back into the mailbox. If the client has
		// shown them anyway, its record has them.
		shown: func(e Event) func(mail.Message) bool {
			read := sync.OnceValue(func() []string { return client.QwenNotes(client.Tail(e.Transcript, maxTail)) })
			return func(m mail.Message) bool { return client.QwenShows(read(), m.Envelope()) }
		},
		dropped:    qwenDropped,
		unprompted: true,
		encode:     blockOrContext,
		beforeTool: "PreToolUse",
		editors:    []string{"write_file", "edit"},
		// A turn that began with another session's message may end without a Stop event, and only
		// with the notification.
		answered: func(e Event, config string, now time.Time) time.Time {
			if e.AgentID == "" && e.Name == "Notification" && e.Notification == "idle_prompt" {
				return qwenAnswered(client.Tail(e.Transcript, maxTail))
			}
			return byTools(e, config, now)
		},
		tellsPersonAt: "Stop", // the client shows systemMessage only at this event
	}
}

// qwenDropped divides a log. A prompt has its hooks' texts in its own line, and snapshots follow
// it.
func qwenDropped(log string, answered time.Time, passed bool) (gone, left []byte) {
	return takenBack(log, answered, passed,
		func(r recordLine) bool { return r.Type == "user" },
		func(r recordLine) bool { return strings.HasSuffix(r.Subtype, "_snapshot") })
}

// maxTail is how much of a session's record c2c reads, in bytes.
const maxTail = 4 << 20

// qwenAnswered returns the time of the last answer of a session's model, from the session's record.
func qwenAnswered(lines []byte) (at time.Time) {
	for line := range bytes.Lines(lines) {
		if !bytes.Contains(line, []byte(`"assistant"`)) {
			continue // skip other lines cheaply, because tool results are long
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
