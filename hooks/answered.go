package hooks

import (
	"strings"
	"time"
)

// TellsAnswers reports whether this client has events that show that the model has answered.
func (e Event) TellsAnswers() bool { return e.protocol.answered != nil }

// Answered returns the time at which the session's model answered, if this event shows that;
// otherwise zero. The argument now is the time of the event.
func (e Event) Answered(config string, now time.Time) time.Time {
	if e.protocol.answered == nil {
		return time.Time{}
	}
	return e.protocol.answered(e, config, now)
}

// ScriptEnv is set by the hook script when it starts c2c only to record an answer of the model.
const ScriptEnv = "C2C_HOOK_ANSWERS"

// RunsScript reports whether the client's hooks run the hook script, which starts c2c only if c2c
// may have something to do.
func (e Event) RunsScript() bool { return e.protocol.script }

// MayAnswer reports whether Answered may return a time for this event.
func (e Event) MayAnswer() bool {
	switch e.Name {
	case "PostToolUse", "Stop", "UserPromptSubmit", "AfterTool", "AfterAgent", "Notification":
		return e.TellsAnswers() && (e.AgentID == "" || e.agentUnknown)
	}
	return false
}

// Failure returns why the session's model gave no answer, in the client's words; "" if the event
// does not report a failure.
func (e Event) Failure() string {
	if e.protocol.failed != nil {
		return e.protocol.failed(e)
	}
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

// byTools returns the time of the model's answer that called a tool or ended a turn. The answer
// came before the tool ran, so byTools subtracts the tool's duration. Otherwise, if two tools run
// in parallel and the hook of the first brings mail, the end of the second would count as an answer
// to this mail.
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
