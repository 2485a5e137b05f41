package hooks

import (
	"path/filepath"
	"strings"
	"time"

	"c2c/client"
	"c2c/inbox/mail"
)

// kimi is Kimi Code 2.1.0. The text of a Stop hook comes as a user message, once in a turn. What UserPromptSubmit adds
// comes as a message before the prompt, in a tag that says that a hook wrote it. Stop also runs in subagents, and both run
// in side questions (/btw), with the id of the session and without a mark. Nothing else reaches the model. SessionStart
// comes when a window or the server of `kimi web` makes or opens a session, before a prompt in it.
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
			if person != "" { // here the model and the person both read the text
				text = strings.TrimPrefix(text+"\n"+person+"\n"+kimiLate, "\n")
			}
			return map[string]string{"message": text}
		},
		errors:   "Stop",
		tells:    "UserPromptSubmit", // the client does not show the answer to Stop
		secret:   "Stop",
		opened:   "SessionStart",
		answered: kimiAnswered,
		agent:    kimiAgent,
	}
}

// kimiLate stands below the lines about mail that Stop has brought to the model.
const kimiLate = "c2c: that came at the end of an earlier turn, where Kimi Code shows nothing."

// The client syncs each line of a log to the disk, so the log lags: we measured 150 ms. kimiAgent waits kimiLag for the log
// if another agent may run the hook. Until it finds an agent it reads the logs every kimiLook, up to kimiLooks times.
const (
	kimiLag   = 250 * time.Millisecond
	kimiLook  = 10 * time.Millisecond
	kimiLooks = 100
)

// kimiAgent finds the agent in which a hook runs from the agents' logs, while the client waits for the hook. "" is the
// session's own agent. If several agents may run the hook, or none is found, it returns unknownAgent. A new prompt is in
// no log yet, so for a prompt it knows the agent only if the session has no other one.
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

// kimiAnswered returns now at a Stop if the session has no other agent: then its own agent's turn ends. In any other case,
// and after mail that Stop has brought, it reads the session's log.
func kimiAnswered(e Event, config string, now time.Time) time.Time {
	if !mail.ValidName(e.SessionID) {
		return time.Time{}
	}
	if e.Name == "Stop" && isKimiAlone(client.KimiAgents(config, e.SessionID)) {
		return now
	}
	return client.KimiAnswered(config, e.SessionID)
}

// isKimiAlone reports whether a session has no agent but its own.
func isKimiAlone(dirs []string) bool {
	return len(dirs) == 1 && filepath.Base(dirs[0]) == client.KimiOwn
}

// kimiStopping returns the agents that may run a Stop hook now.
func kimiStopping(dirs []string) (stopping []string) {
	for _, dir := range dirs {
		if _, stops := client.KimiTurn(filepath.Join(dir, client.KimiLog)); stops {
			stopping = append(stopping, dir)
		}
	}
	return stopping
}
