package hooks

import (
	"path/filepath"
	"strings"
	"time"

	"c2c/client"
	"c2c/inbox/mail"
)

func init() { register("kimi", kimi) }

// kimi is Kimi Code 2.1.0. The text of a Stop hook comes as a user message, once in a turn. The
// text of UserPromptSubmit comes as a message before the prompt, in a tag that says that a hook
// wrote it. The text of any other hook does not reach the model. Stop also runs in subagents. In
// side questions (/btw) Stop and UserPromptSubmit run. These events do not name the agent.
// SessionStart runs when a window or the server of `kimi web` makes or opens a session, before its
// first prompt.
func kimi() protocol {
	return protocol{
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
			if person != "" { // here both the model and the person read the text
				text = strings.TrimPrefix(text+"\n"+person+"\n"+kimiLate, "\n")
			}
			return map[string]string{"message": text}
		},
		errors:        "Stop",
		tellsPersonAt: "UserPromptSubmit", // the client does not show the answer to Stop
		opened:        "SessionStart",
		answered:      kimiAnswered,
		agent:         kimiAgent,
	}
}

// kimiLate comes after lines about mail. It says that an earlier Stop gave this mail to the model.
const kimiLate = "c2c: that came at the end of an earlier turn, where Kimi Code shows nothing."

// The client writes a line of a log late, because it syncs each line to the disk: we measured 150
// ms. kimiAgent reads the logs every kimiLook until it finds an agent, at most kimiLooks times. If
// the session has other agents, it then waits kimiLag for late lines.
const (
	kimiLag   = 250 * time.Millisecond
	kimiLook  = 10 * time.Millisecond
	kimiLooks = 100
)

// kimiAgent finds the agent in which a hook runs, from the agents' logs, while the client waits for
// the hook. It returns "" for the session's own agent, and unknownAgent if it finds no agent, or
// several that may run the hook. While the hook of a prompt runs, the prompt is not in any log yet.
// So kimiAgent then knows the agent only if the session has no agent but its own.
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

// kimiAnswered returns the present time at a Stop if the session has no agent but its own, because
// then that agent's turn ends. In all other cases it reads the session's log, which also has the
// answer to mail that a Stop hook has brought.
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

// kimiStopping returns the directories of the agents that may run a Stop hook now.
func kimiStopping(dirs []string) (stopping []string) {
	for _, dir := range dirs {
		if _, stops := client.KimiTurn(filepath.Join(dir, client.KimiLog)); stops {
			stopping = append(stopping, dir)
		}
	}
	return stopping
}
