package hooks

import (
	"path/filepath"
	"strings"
	"time"

	"c2c/client"
	"c2c/inbox/mail"
)

// kimi is Kimi Code 2.1.0. The text of a Stop hook comes as a user message, once in a turn; what UserPromptSubmit
// adds comes as one of its own before the prompt, in a tag that says that a hook wrote it. Stop runs inside subagents
// and both inside side questions (/btw), with the id of the session and without a mark. Nothing else reaches the model.
// SessionStart comes when a window or the server of `kimi web` makes or opens a session, before a prompt in it.
func kimi() protocol {
	return protocol{
		name:   "kimi",
		limit:  40_000,
		length: func(text string) int { return len(text) },
		shows: func(e Event) content {
			switch {
			case e.AgentID == "" && (e.Name == "Stop" || e.Name == "UserPromptSubmit"):
				return bodies
			case e.Name == "UserPromptSubmit":
				return notice
			}
			return nothing
		},
		encode: func(e Event, text, person string) any {
			if e.Name == "Stop" {
				return text
			}
			if person != "" { // here both read it
				text = strings.TrimPrefix(text+"\n"+person+"\n"+kimiLate, "\n")
			}
			return map[string]string{"message": text}
		},
		errors:   "Stop",
		tells:    "UserPromptSubmit", // of the answer to Stop it shows nothing
		secret:   "Stop",
		opened:   "SessionStart",
		answered: kimiAnswered,
		agent:    kimiAgent,
	}
}

// kimiLate stands below the lines that tell of mail which Stop has brought to the model.
const kimiLate = "c2c: that came at the end of an earlier turn, where Kimi Code shows nothing."

// A log is synced to the disk line by line, and so is behind: 150 ms were seen. kimiLag is how long it is waited for
// when another agent may be meant; until one is found it is read every kimiLook, kimiLooks times.
const (
	kimiLag   = 250 * time.Millisecond
	kimiLook  = 10 * time.Millisecond
	kimiLooks = 100
)

// kimiAgent finds the agent in which a hook runs: each has a log, and the client waits for the hook. "" is the
// session's own agent. When another one may be meant, or none is known, it is neither. A prompt is in no log yet, so
// that one can only be told when there is no other agent.
func kimiAgent(e Event, config string) string {
	if !mail.ValidName(e.SessionID) {
		return unknownAgent
	}
	dirs := client.KimiAgents(config, e.SessionID)
	alone := isKimiAlone(dirs)
	if e.Name != "Stop" {
		if alone {
			return ""
		}
		return unknownAgent
	}
	stopping := kimiStopping(dirs)
	for range kimiLooks {
		if len(stopping) > 0 {
			break
		}
		time.Sleep(kimiLook)
		stopping = kimiStopping(dirs)
	}
	if len(stopping) == 1 && !alone {
		time.Sleep(kimiLag)
		stopping = kimiStopping(client.KimiAgents(config, e.SessionID))
	}
	switch {
	case len(stopping) != 1:
		return unknownAgent
	case filepath.Base(stopping[0]) == client.KimiOwn:
		return ""
	}
	return filepath.Base(stopping[0])
}

// kimiAnswered knows that a turn of the session's own agent ends when the session has no other one. What ends in any other
// case, and what comes behind mail that Stop has brought, its log tells.
func kimiAnswered(e Event, config string, now time.Time) time.Time {
	if !mail.ValidName(e.SessionID) {
		return time.Time{}
	}
	if e.Name == "Stop" && isKimiAlone(client.KimiAgents(config, e.SessionID)) {
		return now
	}
	return client.KimiAnswered(config, e.SessionID)
}

// isKimiAlone says whether a session has no agent but its own.
func isKimiAlone(dirs []string) bool {
	return len(dirs) == 1 && filepath.Base(dirs[0]) == client.KimiOwn
}

// kimiStopping gives the agents that may run a Stop hook now.
func kimiStopping(dirs []string) (stopping []string) {
	for _, dir := range dirs {
		if _, stops := client.KimiTurn(filepath.Join(dir, client.KimiLog)); stops {
			stopping = append(stopping, dir)
		}
	}
	return stopping
}
