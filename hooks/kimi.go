package hooks

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"c2c/inbox"
)

// kimi is Kimi Code 2.1.0. The text of a Stop hook comes as a user message, once in a turn; what UserPromptSubmit
// adds comes as one of its own before the prompt, in a tag that says that a hook wrote it. Stop runs inside subagents
// and both inside side questions (/btw), with the id of the session and without a mark. Nothing else reaches the model.
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
		encode: func(e Event, text string) any {
			if e.Name == "Stop" {
				return text
			}
			return map[string]string{"message": text}
		},
		errors: "Stop",
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

// kimiAgent finds the agent in which a hook runs: each has a log, and the client waits for the hook. "" is the
// session's own agent. When another one may be meant, or none is known, it is neither. A prompt is in no log yet, so
// that one can only be told when there is no other agent.
func kimiAgent(e Event, config string) string {
	const own, unknown = "main", "unknown"
	if !inbox.ValidName(e.SessionID) {
		return unknown
	}
	dirs := kimiAgents(config, e.SessionID)
	alone := len(dirs) == 1 && filepath.Base(dirs[0]) == own
	if e.Name != "Stop" {
		if alone {
			return ""
		}
		return unknown
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
		return unknown
	case filepath.Base(stopping[0]) == own:
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
		if kimiStops(filepath.Join(dir, "wire.jsonl")) {
			stopping = append(stopping, dir)
		}
	}
	return stopping
}

// kimiTail is how much of a log is read.
const kimiTail = 1 << 20

// kimiStops says whether by its log an agent may run a Stop hook now: its model has answered and calls no tool, and the
// turn is not over. Each line is a JSON object.
func kimiStops(log string) (stops bool) {
	for line := range bytes.Lines(tail(log, kimiTail)) {
		var r struct {
			Type  string
			Event struct{ Type, FinishReason string }
		}
		if json.Unmarshal(line, &r) != nil {
			continue // the first may be a part of a line
		}
		switch r.Type {
		case "turn.prompt", "turn.ended":
			stops = false
		case "context.append_loop_event":
			stops = r.Event.Type == "step.end" && r.Event.FinishReason != "tool_use"
		}
	}
	return stops
}
