package hooks

import (
	"strings"
	"time"
)

// TellsAnswers reports whether the client's hooks show when its model has answered.
func (e Event) TellsAnswers() bool { return e.protocol.answered != nil }

// Answered returns the time at which the session's model answered, if this event, which happened now, shows it; else zero.
func (e Event) Answered(config string, now time.Time) time.Time {
	if e.protocol.answered == nil {
		return time.Time{}
	}
	return e.protocol.answered(e, config, now)
}

// ScriptEnv is set by a hook script that runs c2c also to record an answer of the model.
const ScriptEnv = "C2C_HOOK_ANSWERS"

// RunsScript reports whether the client's hooks run the script, which starts c2c only if there may be something to do.
func (e Event) RunsScript() bool { return e.protocol.script }

// MayAnswer reports whether Answered may return a time.
func (e Event) MayAnswer() bool {
	switch e.Name {
	case "PostToolUse", "Stop", "UserPromptSubmit", "AfterTool", "AfterAgent", "Notification":
		return e.TellsAnswers() && (e.AgentID == "" || e.agentUnknown)
	}
	return false
}

// Failure returns why the session's model gave no answer, in the client's words; "" for any other event.
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

// byTools returns the time of an answer that called a tool, or that ended a turn. The model answered before the tool ran: if
// several tools run in parallel, the hook of one may bring mail before another one ends.
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
