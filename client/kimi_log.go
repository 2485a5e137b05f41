package client

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Each agent of a session has a directory below the session's directory. The name of the directory
// is the agent's id; the directory holds the agent's log.
const (
	KimiOwn = "main" // the session's own agent
	KimiLog = "wire.jsonl"
)

// KimiAgents returns the directories of a session's agents.
func KimiAgents(config, session string) (dirs []string) {
	sessions := filepath.Join(config, "sessions")
	projects, _ := os.ReadDir(sessions)
	for _, project := range projects {
		dir := filepath.Join(sessions, project.Name(), session, "agents")
		agents, _ := os.ReadDir(dir) // on an error go on: only one of the projects has the session
		for _, agent := range agents {
			dirs = append(dirs, filepath.Join(dir, agent.Name()))
		}
	}
	return dirs
}

// kimiLine is a line of an agent's log. Its time is in milliseconds.
type kimiLine struct {
	Type, Reason string
	Time         int64
	Event        struct{ Type, FinishReason string }
}

// kimiDoing is Profile.Doing for Kimi Code. It reads the log of the session's own agent.
func kimiDoing(config string, _ int, session string) (d Doing) {
	if session == "" || session != filepath.Base(session) {
		return d
	}
	for _, dir := range KimiAgents(config, session) {
		if filepath.Base(dir) == KimiOwn {
			d = kimiLogged(filepath.Join(dir, KimiLog))
		}
	}
	return d
}

// KimiAnswered returns the time of the last answer of a session's model, from the log of the
// session's own agent.
func KimiAnswered(config, session string) time.Time { return kimiDoing(config, 0, session).Answered }

// kimiLogged returns the activity of an agent, from its log. The line interaction.request opens a
// dialog; any other line of an interaction, or a line of the turn, closes the dialog.
func kimiLogged(log string) (d Doing) {
	var turn, answered time.Time
	d.Word = Idle // a log without any of the lines below means that no turn runs
	for _, r := range Records[kimiLine](log) {
		at := millis(r.Time)
		if r.Event.Type == "content.part" || r.Type == "turn.ended" && r.Reason == "completed" {
			answered = at
		}
		switch {
		case r.Type == "turn.prompt", r.Type == "agent.turn.started" && d.Word == Idle:
			turn = at
			d = Doing{Word: Busy, Since: turn}
		case r.Type == "interaction.request":
			d = Doing{Word: Waiting, Since: at}
		case r.Type == "context.append_loop_event", strings.HasPrefix(r.Type, "interaction."), r.Type == "agent.message.appended" && d.Word == Waiting:
			d = Doing{Word: Busy, Since: turn}
		case r.Type == "turn.ended":
			d = Doing{Word: Idle, Since: at}
		}
	}
	d.Answered = answered
	return d
}

// KimiTurn reads an agent's log. The result runs tells whether a turn runs. The result stops tells
// whether a Stop hook may run now: the model has answered and calls no tool, and the turn is not
// over.
func KimiTurn(log string) (runs, stops bool) {
	for _, r := range Records[kimiLine](log) {
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
