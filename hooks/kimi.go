package hooks

import (
	"os"
	"path/filepath"
	"slices"
	"time"

	"c2c/inbox"
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
		encode: func(e Event, text, _ string) any {
			if e.Name == "Stop" {
				return text
			}
			return map[string]string{"message": text}
		},
		errors: "Stop",
		opened: "SessionStart",
		agent:  kimiAgent,
	}
}

// A log is synced to the disk line by line, and so is behind: 150 ms were seen. kimiLag is how long it is waited for
// when another agent may be meant; until one is found it is read every kimiLook, kimiLooks times.
const (
	kimiLag   = 250 * time.Millisecond
	kimiLook  = 10 * time.Millisecond
	kimiLooks = 100
)

// Below a session's directory each agent has one of its own, called by its id, with its log.
const (
	kimiOwn = "main" // the session's own agent
	kimiLog = "wire.jsonl"
)

// kimiAgent finds the agent in which a hook runs: each has a log, and the client waits for the hook. "" is the
// session's own agent. When another one may be meant, or none is known, it is neither. A prompt is in no log yet, so
// that one can only be told when there is no other agent.
func kimiAgent(e Event, config string) string {
	if !inbox.ValidName(e.SessionID) {
		return unknownAgent
	}
	dirs := kimiAgents(config, e.SessionID)
	alone := len(dirs) == 1 && filepath.Base(dirs[0]) == kimiOwn
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
		stopping = kimiStopping(kimiAgents(config, e.SessionID))
	}
	switch {
	case len(stopping) != 1:
		return unknownAgent
	case filepath.Base(stopping[0]) == kimiOwn:
		return ""
	}
	return filepath.Base(stopping[0])
}

// kimiAgents gives the directories of a session's agents.
func kimiAgents(config, session string) (dirs []string) {
	sessions := filepath.Join(config, "sessions")
	projects, _ := os.ReadDir(sessions)
	for _, project := range projects {
		dir := filepath.Join(sessions, project.Name(), session, "agents")
		agents, _ := os.ReadDir(dir) // the session is in one of them
		for _, agent := range agents {
			dirs = append(dirs, filepath.Join(dir, agent.Name()))
		}
	}
	return dirs
}

// kimiStopping gives the agents that may run a Stop hook now.
func kimiStopping(dirs []string) (stopping []string) {
	for _, dir := range dirs {
		if _, stops := kimiTurn(filepath.Join(dir, kimiLog)); stops {
			stopping = append(stopping, dir)
		}
	}
	return stopping
}

// KimiRuns says whether a turn of a session's own agent runs, by its log.
func KimiRuns(config, session string) bool {
	if !inbox.ValidName(session) {
		return false
	}
	return slices.ContainsFunc(kimiAgents(config, session), func(dir string) bool {
		runs, _ := kimiTurn(filepath.Join(dir, kimiLog))
		return runs && filepath.Base(dir) == kimiOwn
	})
}

// kimiTurn says by the log of an agent whether a turn of it runs, and whether a Stop hook may run now: its model has
// answered and calls no tool, and the turn is not over. Each line is a JSON object.
func kimiTurn(log string) (runs, stops bool) {
	type record struct {
		Type  string
		Event struct{ Type, FinishReason string }
	}
	for _, r := range records[record](log) {
		switch r.Type {
		case "turn.prompt", "agent.turn.started":
			runs, stops = true, false
		case "context.append_loop_event":
			runs, stops = true, r.Event.Type == "step.end" && r.Event.FinishReason != "tool_use"
		case "turn.ended":
			runs, stops = false, false
		}
	}
	return runs, stops
}
