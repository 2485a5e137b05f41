package sessions

import (
	"time"

	"c2c/wake"
)

// Now says what a session does now, as far as c2c knows.
type Now struct {
	Does  State     `json:"does"`
	Since time.Time `json:"since,omitzero"`     // UTC; zero: not known
	Known string    `json:"known_by,omitempty"` // ByProcess, ByRecord, ByHook, ByPlugin, …
	// Background says that no turn runs, but something that the model has started in the
	// background, as far as its client records that.
	Background bool `json:"background,omitempty"`
	// Dir is a directory of the client whose files change when Does changes; "" if there is none.
	Dir string `json:"-"`
}

// followed reports whether a process that rings the session follows its state through the client's
// server or plugin.
func (s Session) followed() bool {
	return wake.AboutMethod(s.Facts.TurnBy).Follows
}

// ToldByHooks reports whether a session's hooks report what it does.
func (s Session) ToldByHooks() bool { return s.Turn != "" && !s.followed() }
