package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"c2c/client"
	"c2c/inbox/mail"
)

func init() { register("gemini", gemini) }

// gemini is Gemini CLI 0.61.0. The text of AfterTool comes at the end of the tool's result, and
// that of BeforeAgent after the prompt. Both are in a tag that says that a hook wrote them. The
// reason of AfterAgent comes as a user message, and the turn continues with another BeforeAgent. If
// a shell's output and a hook's text are together longer than 40,000 characters, the client cuts
// the middle. If a tool has failed, the client ignores a hook's text. AfterTool also runs inside
// subagents, with the session's id and without a sign of the subagent. AfterAgent also runs after
// Esc has ended the turn; then the hook's reason is lost. After Esc during the model's answer, the
// client forgets the whole turn. A notification reports that a dialog opens; only the events after
// the tool show that the dialog is closed.
func gemini() protocol {
	return protocol{
		limit: 20_000,
		length: func(text string) int {
			return len(text) + strings.Count(text, "<")*len("lt;") + strings.Count(text, ">")*len("gt;")
		},
		shows: func(e Event) content {
			switch {
			case e.Name == "BeforeAgent":
				if !strings.HasPrefix(string(e.Prompt), mail.PrefaceStart) { // with this prefix, the prompt is the text that AfterAgent has shown
					return bodies
				}
			case (e.Name == "AfterAgent" || e.Name == "AfterTool" && !bool(e.ToolFailed)) && e.AgentID == "":
				return bodies
			}
			return nothing
		},
		does: func(e Event) string {
			switch {
			case e.Name == "BeforeAgent", e.Name == "AfterTool":
				return client.Busy
			case e.Name == "SessionStart", e.Name == "AfterAgent":
				return client.Idle
			case e.Name == "Notification" && e.Notification == "ToolPermission":
				return client.Waiting
			}
			return ""
		},
		encode: func(e Event, text, person string) any {
			if e.Name == "AfterAgent" {
				return map[string]string{"decision": "deny", "reason": text}
			}
			return context(e, text+geminiEntities, person)
		},
		hides:   func(e Event) bool { return e.Name != "AfterAgent" },
		agent:   geminiAgent,
		dropped: geminiDropped,
		note: func(e Event) string {
			if e.Name == "BeforeAgent" && geminiForgot(e.Transcript) {
				return geminiNote
			}
			return ""
		},
		failed: func(e Event) string {
			if e.Name == "AfterAgent" && geminiForgot(e.Transcript) {
				return "the request failed or was stopped, and Gemini CLI has dropped the mail in it; the next prompt brings the mail again"
			}
			return ""
		},
		beforeTool: "BeforeTool",
		editors:    []string{"write_file", "replace"},
		often:      []string{"AfterTool", "AfterAgent"},
		answered: func(e Event, config string, now time.Time) time.Time {
			if e.Name == "AfterAgent" {
				return geminiAnswered(e.Transcript)
			}
			return byTools(e, config, now)
		},
	}
}

// geminiEntities tells the model how the client escapes angle brackets in a hook's text. The client
// does not escape anything in this line, because it has no brackets.
const geminiEntities = "\nAbove, &lt; and &gt; stand for angle brackets."

// geminiNote comes with the next prompt after Esc has made the client drop a turn in which mail
// came.
const geminiNote = "c2c: the turn before this one was interrupted, and you do not have it any more. Mail from other agents came in it: c2c's tool look shows it (at: history)."

// geminiOwn is the tool that starts a subagent. A subagent has no such tool.
const geminiOwn = "invoke_agent"

// geminiAgent returns "" for the session's own agent, which reads a hook's text. It returns
// unknownAgent if a tool may have run in a subagent, or if a turn has ended without an answer.
func geminiAgent(e Event, _ string) string {
	if e.Name != "AfterTool" && e.Name != "AfterAgent" || e.Tool == geminiOwn {
		return ""
	}
	began, answered := geminiTurn(e.Transcript)
	if e.Name == "AfterAgent" {
		if answered {
			return ""
		}
		return unknownAgent
	}
	if began.IsZero() || !mail.ValidName(e.SessionID) || strings.Contains(e.SessionID, ".") { // the id is the name of a directory
		return unknownAgent
	}
	if geminiWorks(filepath.Dir(e.Transcript), e.SessionID, began.Add(-geminiLag)) {
		return unknownAgent
	}
	return ""
}

// geminiLag is longer than the time by which a file's modification time can lag behind the clock.
const geminiLag = time.Second

// geminiWorks reports whether a subagent that has written since the turn began may still work. If
// it cannot read the logs, it returns true. The logs of a session's subagents are in the directory
// chats/session. Subagents that extract skills have their own directory.
func geminiWorks(chats, session string, began time.Time) bool {
	all, err := os.ReadDir(chats)
	for _, dir := range all {
		if name := dir.Name(); !dir.IsDir() || name != session && !strings.HasPrefix(name, "skill-extraction-") {
			continue
		}
		logs, rerr := os.ReadDir(filepath.Join(chats, dir.Name()))
		err = errors.Join(err, rerr)
		for _, log := range logs {
			at, serr := log.Info()
			err = errors.Join(err, serr)
			if serr == nil && !at.ModTime().Before(began) && !geminiDone(filepath.Join(chats, dir.Name(), log.Name())) {
				return true
			}
		}
	}
	return err != nil
}

// geminiLine is the part of a log line that c2c reads. A line with $set replaces data of earlier
// lines.
type geminiLine struct {
	ID, Type  string
	Timestamp time.Time
	Content   json.RawMessage
	Set       struct {
		Messages []struct{}
		Summary  *string
	} `json:"$set"`
}

// geminiTurn returns when a session's present or last turn began, and whether the model has
// answered since. After Esc the client writes all remaining messages to the log again, without
// those of the turn.
func geminiTurn(log string) (began time.Time, answered bool) {
	for _, r := range client.Records[geminiLine](log) {
		var parts []struct{ Text string }
		switch {
		case r.Set.Messages != nil:
			answered = false
		case r.Type == "gemini":
			answered = true
		case r.Type == "user":
			answered = false
			if json.Unmarshal(r.Content, &parts) == nil && len(parts) > 0 && parts[0].Text != "" {
				began = r.Timestamp
			}
		}
	}
	return began, answered
}

// geminiAnswered returns the time of the last answer that is still in a session's conversation.
// After a failure the client writes all remaining messages to the log again.
func geminiAnswered(log string) (at time.Time) {
	for _, r := range client.Records[geminiLine](log) {
		switch {
		case r.Set.Messages != nil:
			at = time.Time{}
		case r.Type == "gemini":
			at = r.Timestamp
		}
	}
	return at
}

// maxConversation is how many bytes of a log c2c reads to find the conversation that is left. All
// of it may be in one line.
const maxConversation = 64 << 20

// geminiDropped divides a log: all of it, and the conversation that is left, which the client has
// written anew.
func geminiDropped(log string, _ time.Time, _ bool) (all, left []byte) {
	text := client.Tail(log, maxConversation)
	begin := 0
	for line := range bytes.Lines(text) {
		var r geminiLine
		if bytes.Contains(line, []byte(`"$set"`)) && json.Unmarshal(line, &r) == nil && r.Set.Messages != nil {
			all, left = text, text[begin:]
		}
		begin += len(line)
	}
	return all, left
}

// geminiForgot reports whether mail came in the last turn of a log, and the client has dropped that
// turn.
func geminiForgot(log string) (forgot bool) {
	mail := false
	for line, r := range client.Records[geminiLine](log) {
		switch {
		case r.Set.Messages != nil:
			forgot = mail
		case r.Type == "user" && !bytes.Contains(r.Content, []byte("functionResponse")):
			forgot, mail = false, false
		case r.Type == "gemini":
			forgot = false
		}
		mail = mail || r.Set.Messages == nil && (bytes.Contains(line, []byte(`c2c event=\"message\"`)) || bytes.Contains(line, []byte("_c2c_poll_inbox")))
	}
	return forgot
}

// geminiDone reports whether a subagent has returned its result; then its log ends with a summary.
// A subagent that has failed writes no summary.
func geminiDone(log string) (done bool) {
	for _, r := range client.Records[geminiLine](log) {
		done = r.Set.Summary != nil || done && r.ID == ""
	}
	return done
}
