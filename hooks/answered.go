package hooks

import (
	"strings"
	"time"
)

// TellsAnswers says whether the client's hooks tell when its model has answered.
func (e Event) TellsAnswers() bool { return e.protocol.answered != nil }

// Answered is when the session's model has answered, by this event, which happened now; zero: it tells nothing of that.
func (e Event) Answered(config string, now time.Time) time.Time {
	if e.protocol.answered == nil {
		return time.Time{}
	}
	return e.protocol.answered(e, config, now)
}

// ScriptEnv is set for c2c by a hook script that calls it for an answer of the model, too.
const ScriptEnv = "C2C_HOOK_ANSWERS"

// RunsScript says whether the client's hooks run the script, which calls c2c only when there may be something to do.
func (e Event) RunsScript() bool { return e.protocol.script }

// MayAnswer says whether Answered may tell something.
func (e Event) MayAnswer() bool {
	switch e.Name {
	case "PostToolUse", "Stop", "UserPromptSubmit", "AfterTool", "AfterAgent", "Notification":
		return e.TellsAnswers() && (e.AgentID == "" || e.agentUnknown)
	}
	return false
}

// Failure is why the session's model gave no answer, in words of its client; "" for any other event.
func (e Event) Failure() string {
	if e.Name != "StopFailure" || e.AgentID != "" && !e.agentUnknown {
		return ""
	}
	var parts []string
	for _, part := range []any{e.Error, e.ErrorType, e.ErrorMessage, e.ErrorDetails} {
		if text, ok := part.(string); ok && text != "" {
			parts = append(parts, text)
		}
	}
	if parts == nil {
		return "unknown"
	}
	return strings.Join(parts, ": ")
}

// byTools is the time of an answer that called a tool, or that a turn has ended with. The model has answered before a tool ran:
// of several that ran beside each other, one may end behind mail that the end of another one has brought.
func byTools(e Event, _ string, now time.Time) time.Time {
	if e.AgentID != "" && !e.agentUnknown {
		return time.Time{}
	}
	switch e.Name {
	case "PostToolUse", "AfterTool":
		took, _ := e.Took.(float64)
		return now.Add(-time.Duration(max(0, min(took, 1e9)) * float64(time.Millisecond)))
	case "Stop":
		return now
	}
	return time.Time{}
}
